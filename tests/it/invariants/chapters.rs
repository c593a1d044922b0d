//! Closing tasks of a generated session into chapters.

use contextd::domain::model::format::Format;
use contextd::service::compaction::NewChapter;
use contextd::service::core::error::ServiceError;

use super::world::World;

impl World {
    /// Closes some tasks into a chapter, where that can be.
    pub async fn close(&mut self, from: u8, count: u8) {
        let tasks = self.service.queries().tasks(self.tenant, self.id()).await.unwrap();
        let start = i64::from(from) % (tasks.len() as i64 + 1) + 1;
        let chapter = NewChapter { start, end: start + i64::from(count), name: "c".into(), message: "done".into() };
        let before = self.service.queries().snapshot(self.tenant, self.id()).await.unwrap();
        let view = self.context(Format::Native, None).await;
        match self.service.write_chapters(self.tenant, self.id(), vec![chapter]).await {
            Ok(written) => {
                self.compactions_done += 1;
                let ended = self.service.compaction(self.tenant, written.compaction_id.unwrap()).await.unwrap();
                let result = ended.result.unwrap();
                assert!(result.tokens_after <= result.tokens_before, "{result:?}");
                assert_eq!((result.tokens_after, written.chapters.len()), (written.snapshot.tokens, 1));
                self.learn(written.chapters[0].id);
                self.learn(result.entry_id.unwrap());
                self.check_anchors(&view).await;
            }
            Err(ServiceError::Invalid(_)) => {
                assert_eq!(self.service.queries().snapshot(self.tenant, self.id()).await.unwrap(), before);
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}
