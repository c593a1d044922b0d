//! What happens between a compaction's begin and its commit.

use contextd::domain::compaction::result::Reason;
use contextd::domain::model::format::Format;
use contextd::service::compaction::summarise::SummaryOutcome;
use contextd::service::compaction::work::CompactionWork;
use contextd::service::compaction::{Committed, CompactRequest, Status};
use contextd::store::queue::Job;
use contextd::worker::{Handler, JobOutcome};
use uuid::Uuid;

use super::generate::{Appending, Race};
use super::world::{Effect, World};
use crate::service_support::read_compaction;

impl World {
    async fn begin(&mut self) -> Option<(Job, Box<CompactionWork>)> {
        if self.ask(CompactRequest { force: true, ..CompactRequest::default() }).await == Status::Succeeded {
            return None;
        }
        let job = self.claim().await.unwrap();
        match read_compaction(&self.service, self.tenant, job.compaction_id.unwrap()).await {
            Some(work) => Some((job, work)),
            None => {
                assert_eq!(self.jobs.run(&job).await, JobOutcome::Done);
                None
            }
        }
    }

    async fn has_ended(&self, compaction: Uuid) -> bool {
        let found = self.service.compaction(self.tenant, compaction).await.unwrap();
        !matches!(found.status, Status::Queued | Status::Running)
    }

    /// A summary of what the work asks for.
    fn summary(work: &CompactionWork) -> SummaryOutcome {
        let history = work.summary_task.is_some().then(|| "- did things".to_owned());
        SummaryOutcome { history, ..SummaryOutcome::default() }
    }

    pub async fn race(&mut self, race: Race, meanwhile: &Appending) {
        let before = self.service.queries().snapshot(self.tenant, self.id()).await.unwrap();
        let Some((job, work)) = self.begin().await else { return };
        let (service, outcome) = (self.service.clone(), World::summary(&work));
        let commit = async |job: &Job| service.commit_compaction(&work, outcome.clone(), job.proof()).await.unwrap();
        match race {
            Race::Append => {
                self.append(&Appending { under: None, ..meanwhile.clone() }).await;
                self.force_fit().await;
                if self.has_ended(work.compaction_id).await {
                    return assert_eq!(commit(&job).await, Committed::LeaseLost);
                }
                let before = service.queries().snapshot(self.tenant, self.id()).await.unwrap().tokens;
                let view = self.context(Format::Native, None).await;
                assert_eq!(commit(&job).await, Committed::Done);
                let ended = service.compaction(self.tenant, work.compaction_id).await.unwrap();
                self.check_ended(&ended, before, &view).await;
            }
            Race::BegunTwice => {
                let view = self.context(Format::Native, None).await;
                assert_eq!(commit(&job).await, Committed::Done);
                let ended = service.compaction(self.tenant, work.compaction_id).await.unwrap();
                self.check_ended(&ended, before.tokens, &view).await;
                assert_eq!(commit(&job).await, Committed::LeaseLost);
            }
            Race::Cancelled => {
                service.cancel_compaction(self.tenant, work.compaction_id).await.unwrap();
                self.ask(CompactRequest { force: true, ..CompactRequest::default() }).await;
                self.work_off(Effect::Other).await;
                assert_eq!(commit(&job).await, Committed::LeaseLost);
            }
            Race::Navigate(place) => {
                let begun_at = self.model().leaf;
                let target = self.model().any(place);
                self.navigate(target).await;
                self.force_fit().await;
                if self.has_ended(work.compaction_id).await {
                    return assert_eq!(commit(&job).await, Committed::LeaseLost);
                }
                let model = self.model();
                if !model.path(model.leaf).contains(&begun_at.unwrap()) {
                    assert_eq!(commit(&job).await, Committed::Replan);
                    let skipped = service.skip_compaction(&work, Reason::Superseded, job.proof()).await.unwrap();
                    assert_eq!(skipped, Committed::Done);
                } else {
                    let view = self.context(Format::Native, None).await;
                    let before = service.queries().snapshot(self.tenant, self.id()).await.unwrap().tokens;
                    if commit(&job).await == Committed::Replan {
                        service.skip_compaction(&work, Reason::Superseded, job.proof()).await.unwrap();
                    } else {
                        let ended = service.compaction(self.tenant, work.compaction_id).await.unwrap();
                        self.check_ended(&ended, before, &view).await;
                    }
                }
            }
        }
        self.work_off(Effect::Other).await;
    }
}
