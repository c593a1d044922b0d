//! Closing chapters: a compaction whose summaries the agent wrote, carried out within its call.

mod draft;
mod request;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::chapter::{Chapter, Slugs};
use crate::domain::compaction::guard::savings_pct;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::shape::Shape;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::commit::entry::{advance, entry_of, item_of, new_branch};
use crate::service::compaction::commit::report::{Measured, blank, observe};
use crate::service::compaction::commit::{json_text, write_head};
use crate::service::compaction::committing::{self, committing};
use crate::service::compaction::job::{Status, Trigger};
use crate::service::core::acknowledgement::Proof;
use crate::service::core::clock;
use crate::service::core::error::{FieldError, Result, ServiceError};
use crate::service::core::head::{Head, SessionState};
use crate::service::core::idempotency::{Outcome, seal};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::chapter_of;
use crate::service::path::view::{self, PathSlice, ReadMode, newest_from, state_of_path};
use crate::store::compactions::{self, Ending, NewCompaction};
use crate::store::entries::{self, NewEntry, StoredEntry};
use crate::store::{path, sessions};
use draft::{drafts, record};

pub use request::{ChapterRefused, ChapterWritten, ChaptersWritten, NewChapter};

/// After an empty list the agent is asked again when the context has grown by this.
const REST_GROWTH: f64 = 1.1;

impl Service {
    /// Closes tasks into chapters. What cannot be closed is refused by itself; an empty list closes nothing and lets the
    /// agent be until the context has grown.
    ///
    /// # Errors
    /// `NotFound`; `Invalid`: ranges overlap, or every chapter was refused. Nothing is written then.
    pub async fn write_chapters(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        asked: Vec<NewChapter>,
    ) -> Result<ChaptersWritten> {
        committing(self.write_asked(tenant, session_id, asked)).await
    }

    async fn write_asked(&self, tenant: Tenant, session_id: Uuid, asked: Vec<NewChapter>) -> Result<ChaptersWritten> {
        let (mut transaction, mut row, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        let written = if asked.is_empty() {
            let size = (head.snapshot().tokens as f64 * REST_GROWTH).ceil() as u64;
            head.state.chapters_rest = Some(size);
            let snapshot = head.state.write_to(&mut row.head, &head.settings)?;
            sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
            let leaf_id = head.row.leaf_id;
            ChaptersWritten { chapters: Vec::new(), refused: Vec::new(), compaction_id: None, leaf_id, snapshot }
        } else {
            let path = view::load_path(&mut transaction, tenant, head.leaf(), head.is_plain(), ReadMode::Heads).await?;
            self.close_chapters(&mut transaction, tenant, &mut head, path, &asked).await?
        };
        seal(&mut transaction, Outcome::Created, &written).await?;
        let proof = written.compaction_id.map(Proof::Compaction);
        self.inner.heads.commit(transaction, tenant, session_id, proof).await?;
        Ok(written)
    }

    async fn close_chapters(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        path: PathSlice,
        asked: &[NewChapter],
    ) -> Result<ChaptersWritten> {
        let folded = path.folded().into_owned();
        let slugs = self.slugs(connection, tenant, head, folded.record()).await?;
        let (drafts, refused) = drafts(&folded, head, asked, slugs)?;
        if drafts.is_empty() {
            return Err(ServiceError::Invalid(refused.iter().map(field_error).collect()));
        }
        let (before, now) = (head.snapshot(), clock::now());
        let removed: Vec<usize> = drafts.iter().flat_map(|draft| draft.hidden.iter().copied()).collect();
        let branches = new_branch(head, leaf_branch(head));
        let (mut entries, mut closed) = (Vec::with_capacity(drafts.len() + 1), Vec::with_capacity(drafts.len()));
        for draft in drafts {
            let (entry, chapter) = chapter_entry(head, draft.chapter, now);
            let state = head.state.clone();
            advance(head, state, &entry)?;
            entries.push(entry);
            closed.push(chapter);
        }
        let chapters = closed.iter().map(written).collect();
        let record = record(&folded, &removed, closed);
        let (mut entry, mut state) = self.settled(head, path, &entries, record, now);
        // Ready or not, what was prepared for the earlier view fits no more.
        self.drop_candidate(connection, tenant, &mut state, &head.settings).await?;
        let after = state.snapshot(&head.settings).tokens;
        let tokens_before = if after > before.tokens {
            // What a provider reported is of the context as it was: compared is by one measure.
            head.state.account.tokens_without(0, head.settings.estimator)
        } else {
            before.tokens
        };
        if let Some(record) = &mut entry.record {
            (record.tokens_before, record.tokens_after) = (tokens_before, after);
            entry.item = item_of(record);
        }
        state.chapters_rest = Some(after);
        let snapshot = advance(head, state, &entry)?;
        let (entry_id, removed) = (entry.head.id, removed.len());
        let ended = Closed { entry_id, before, tokens_before, snapshot: snapshot.clone(), removed };
        entries.push(entry);
        write_head(connection, tenant, head, &entries, &branches).await?;
        let compaction_id = Some(self.note_closed(connection, tenant, head, ended, now).await?);
        Ok(ChaptersWritten { chapters, refused, compaction_id, leaf_id: head.row.leaf_id, snapshot })
    }

    /// The slugs that are taken.
    async fn slugs(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        record: Option<&CompactionRecord>,
    ) -> Result<Slugs> {
        let mut depths: Vec<(i64, i64)> =
            record.iter().flat_map(|record| &record.chapters).map(|fold| (fold.depth, fold.depth)).collect();
        depths.sort_unstable();
        let segments = path::segments(connection, tenant.0, head.leaf(), head.is_plain()).await?;
        let stored = entries::whole(&mut *connection, tenant.0, &path::clip(&segments, &depths)).await?;
        let slugs = stored.iter().map(|stored| Ok(chapter_of(stored)?.slug)).collect::<Result<Vec<_>>>()?;
        Ok(Slugs::new(slugs))
    }

    /// The entry that says the new view, and the state behind it.
    fn settled(
        &self,
        head: &Head,
        mut path: PathSlice,
        chapters: &[NewEntry],
        record: CompactionRecord,
        now: DateTime<Utc>,
    ) -> (NewEntry, SessionState) {
        let entry = entry_of(head, record);
        for new in chapters.iter().chain([&entry]) {
            path.heads.push(new.head.clone());
            path.stored.push(Arc::new(StoredEntry::unsaved(new, head.session_id)));
        }
        let before = path.stored.len().saturating_sub(1);
        path.newest = entry.record.as_ref().map(|record| newest_from(&entry.head, record, &path.stored[..before]));
        let fixed = (head.state.account.system, head.state.account.tools);
        let mut state = state_of_path(&path, fixed, head.state.clone());
        state.account.take_place_of(&head.state.account, false);
        state.note_fill(state.snapshot(&head.settings).state, now);
        (entry, state)
    }

    /// The row that stands for the call among the session's compactions, and its metrics.
    async fn note_closed(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        closed: Closed,
        now: DateTime<Utc>,
    ) -> Result<Uuid> {
        let snapshots = [json_text(&closed.before)?, json_text(&closed.snapshot)?];
        let measured = Measured {
            entry_id: Some(closed.entry_id),
            before: closed.tokens_before,
            kept: head.state.messages.saturating_sub(closed.removed as u64),
            snapshot: closed.snapshot,
            reason: None,
            duration_ms: u64::try_from((clock::now() - now).num_milliseconds()).unwrap_or(0),
        };
        let mut result = blank(head.settings.strategy, measured);
        result.messages_removed = u32::try_from(closed.removed).unwrap_or(u32::MAX);
        let (strategy, text) = (head.settings.strategy.into_str(), json_text(&result)?);
        let new = NewCompaction {
            id: clock::new_id(),
            session_id: head.session_id,
            trigger: Trigger::Chapter.into_str(),
            strategy,
            request: json_text(&crate::service::compaction::CompactRequest::default())?,
            snapshot: String::new(),
            now,
        };
        let ending = Ending {
            status: Status::Succeeded.into_str(),
            strategy: None,
            error: None,
            result: Some(&text),
            snapshots: Some((&snapshots[0], &snapshots[1])),
            now: clock::now(),
        };
        compactions::insert_ended(&mut *connection, tenant.0, &new, &ending).await?;
        compactions::note_figures(connection, tenant.0, new.id, &result).await?;
        committing::tell(move || observe(&result, Trigger::Chapter, Status::Succeeded.into_str()));
        Ok(new.id)
    }
}

/// Outcome of closing chapters, for the compaction's row.
struct Closed {
    entry_id: Uuid,
    before: Snapshot,
    tokens_before: u64,
    snapshot: Snapshot,
    removed: usize,
}

/// The branch that the next entry goes on.
fn leaf_branch(head: &Head) -> i32 {
    if head.state.leaf_is_tip { head.row.leaf_branch } else { head.row.next_branch }
}

/// A chapter's entry behind the leaf. Its tokens enter the context through the view alone.
fn chapter_entry(head: &Head, mut chapter: Chapter, now: DateTime<Utc>) -> (NewEntry, Chapter) {
    let (seq, depth) = (head.row.next_seq, head.row.leaf_depth + 1);
    (chapter.fold.chapter, chapter.fold.depth) = (clock::entry_id(now, seq), depth);
    let entry = NewEntry {
        head: EntryMeta {
            id: chapter.fold.chapter,
            seq,
            depth,
            kind: EntryType::Chapter,
            role: None,
            tokens: u32::try_from(chapter.tokens_after).unwrap_or(u32::MAX),
            path_tokens: head.state.account.path_tokens,
            usage: None,
            shape: Shape::default(),
        },
        branch: leaf_branch(head),
        parent_id: head.row.leaf_id,
        path_result_tokens: head.state.account.path_result_tokens,
        source_format: Format::Native,
        source_id: None,
        record: None,
        item: chapter.item(),
        created_at: now,
    };
    (entry, chapter)
}

fn written(chapter: &Chapter) -> ChapterWritten {
    ChapterWritten {
        id: chapter.fold.chapter,
        name: chapter.name.clone(),
        slug: chapter.slug.clone(),
        path: format!("/chapters/{}/", chapter.slug),
        start: chapter.start,
        end: chapter.end,
        tokens_before: chapter.tokens_before,
        tokens_after: chapter.tokens_after,
        savings_pct: savings_pct(chapter.tokens_before, chapter.tokens_after),
    }
}

fn field_error(refused: &ChapterRefused) -> FieldError {
    FieldError { pointer: format!("/chapters/{}", refused.index), detail: refused.detail.to_owned() }
}
