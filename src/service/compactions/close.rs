//! Closing chapters: a compaction whose summaries the agent wrote, carried out within its call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::commit::{json_text, write_head};
use super::entry::{advance, entry_of, item_of, new_branch};
use super::report::{Measured, blank, observe};
use super::{Status, Trigger, word};
use crate::domain::accounting::Snapshot;
use crate::domain::chapter::{Asked, Chapter, Closing, Fold, Refusal, Slugs, check, close};
use crate::domain::compaction::CompactionRecord;
use crate::domain::entry::{EntryHead, EntryType};
use crate::domain::format::Format;
use crate::domain::guard::savings_pct;
use crate::domain::prepare::verbatim;
use crate::domain::shape::Shape;
use crate::domain::tokens;
use crate::service::clock;
use crate::service::error::{FieldError, Result, ServiceError};
use crate::service::head::{Head, SessionState};
use crate::service::history::chapter_of;
use crate::service::idempotency::{Outcome, seal};
use crate::service::state::{Service, Tenant};
use crate::service::view::{self, Loaded, Read, newest_from, state_of_path};
use crate::store::compactions::{self, Ending, NewCompaction};
use crate::store::entries::{self, NewEntry, StoredEntry};
use crate::store::path;
use crate::store::sessions;

/// After an empty list the agent is asked again when the context has grown by this.
const REST_GROWTH: f64 = 1.1;

/// A chapter that the agent writes: task numbers of the index, inclusive.
#[derive(Debug, Clone)]
pub struct NewChapter {
    pub start: i64,
    pub end: i64,
    pub name: String,
    pub message: String,
}

/// What a chapters call did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChaptersWritten {
    pub chapters: Vec<ChapterWritten>,
    /// Chapters of the call that could not be written; the others were.
    pub refused: Vec<ChapterRefused>,
    /// Reverting it takes all chapters of the call back; null after an empty list.
    pub compaction_id: Option<Uuid>,
    pub leaf_id: Option<Uuid>,
    pub snapshot: Snapshot,
}

/// `tokens_before` is the estimate of what the chapter hides, `tokens_after` that of its own message.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChapterWritten {
    pub id: Uuid,
    pub name: String,
    pub slug: String,
    /// Its folder under `vfs`.
    pub path: String,
    pub start: u32,
    pub end: u32,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub savings_pct: f64,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChapterRefused {
    /// Place in the call, from 0.
    pub index: usize,
    pub start: i64,
    pub end: i64,
    pub name: String,
    pub reason: Refusal,
    pub detail: &'static str,
}

/// A chapter that will be written. Where its own entry will be is not known yet.
struct Draft {
    chapter: Chapter,
    /// Places of the path that it hides.
    hidden: Vec<usize>,
}

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
        let mut transaction = self.pool().begin().await?;
        let mut row =
            sessions::lock(&mut *transaction, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        let mut head = self.head_of(&row)?;
        let written = if asked.is_empty() {
            let size = (head.snapshot().tokens as f64 * REST_GROWTH).ceil() as u64;
            head.state.chapters_rest = Some(size);
            let snapshot = head.state.write_to(&mut row.head, &head.settings)?;
            sessions::update(&mut *transaction, tenant.0, &row, clock::now()).await?;
            let leaf_id = head.row.leaf_id;
            ChaptersWritten { chapters: Vec::new(), refused: Vec::new(), compaction_id: None, leaf_id, snapshot }
        } else {
            let path = view::load_path(&mut transaction, tenant, head.leaf(), head.is_plain(), Read::Heads).await?;
            self.close_chapters(&mut transaction, tenant, &mut head, path, &asked).await?
        };
        seal(&mut transaction, Outcome::Created, &written).await?;
        transaction.commit().await?;
        Ok(written)
    }

    async fn close_chapters(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        path: Loaded,
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
        mut path: Loaded,
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
            input_price: None,
        };
        let mut result = blank(head.settings.strategy, measured);
        result.messages_removed = u32::try_from(closed.removed).unwrap_or(u32::MAX);
        let (strategy, text) = (word(&head.settings.strategy)?, json_text(&result)?);
        let new = NewCompaction {
            id: clock::new_id(),
            session_id: head.session_id,
            trigger: Trigger::Chapter.as_str(),
            strategy,
            request: json_text(&super::CompactRequest::default())?,
            snapshot: String::new(),
            now,
        };
        let ending = Ending {
            status: Status::Succeeded.as_str(),
            strategy: None,
            error: None,
            result: Some(&text),
            snapshots: Some((&snapshots[0], &snapshots[1])),
            now: clock::now(),
        };
        compactions::insert_ended(connection, tenant.0, &new, &ending).await?;
        observe(&result, Trigger::Chapter, Status::Succeeded.as_str());
        Ok(new.id)
    }
}

/// What closing chapters did, for its row.
struct Closed {
    entry_id: Uuid,
    before: Snapshot,
    tokens_before: u64,
    snapshot: Snapshot,
    removed: usize,
}

/// The chapters of a call that can be written, in path order, and those that cannot.
fn drafts(
    folded: &Loaded,
    head: &Head,
    asked: &[NewChapter],
    mut slugs: Slugs,
) -> Result<(Vec<Draft>, Vec<ChapterRefused>)> {
    let tasks = folded.tasks(&head.state);
    let ranges: Vec<Asked> = asked.iter().map(|asked| Asked { start: asked.start, end: asked.end }).collect();
    let answers = check(&ranges, &tasks, &folded.heads).map_err(|overlap| {
        let detail = format!("shares a task with /chapters/{}; nothing was closed", overlap.0);
        ServiceError::invalid(format!("/chapters/{}", overlap.1), detail)
    })?;
    let sizes = Sizes::of(folded);
    let keep = verbatim(&folded.heads, folded.compaction(), &head.settings);
    let mut closings: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.and_then(|range| close(&tasks, range, &folded.heads, &keep, folded.folds())))
        .zip(asked.iter().enumerate())
        .collect();
    // Of two that would have the same slug, the earlier one on the path has it bare.
    closings.sort_by_key(|(closing, _)| closing.as_ref().map_or(i64::MAX, |closing| closing.from));
    let (mut drafts, mut refused) = (Vec::new(), Vec::new());
    for (closing, (index, asked)) in closings {
        match closing.and_then(|closing| draft(closing, asked, &mut slugs, &sizes, head)) {
            Ok(draft) => drafts.push(draft),
            Err(reason) => refused.push(ChapterRefused {
                index,
                start: asked.start,
                end: asked.end,
                name: asked.name.clone(),
                reason,
                detail: reason.detail(),
            }),
        }
    }
    refused.sort_by_key(|refused| refused.index);
    Ok((drafts, refused))
}

fn draft(
    closing: Closing,
    asked: &NewChapter,
    slugs: &mut Slugs,
    sizes: &Sizes<'_>,
    head: &Head,
) -> std::result::Result<Draft, Refusal> {
    let tokens_before = closing.hidden.iter().map(|index| sizes.of_entry(*index)).sum();
    let number = |number: i64| u32::try_from(number).unwrap_or(0);
    let Closing { hidden, from, to, place, verbatim, chapters } = closing;
    let fold = Fold { chapter: Uuid::nil(), depth: 0, from, to, place, verbatim };
    let mut chapter = Chapter {
        name: asked.name.clone(),
        message: asked.message.clone(),
        slug: slugs.take(&asked.name),
        start: number(asked.start),
        end: number(asked.end),
        tokens_before,
        tokens_after: 0,
        fold,
        chapters,
    };
    chapter.tokens_after = u64::from(tokens::count_message(head.settings.estimator, &chapter.shown()).total);
    if chapter.tokens_after > tokens_before { Err(Refusal::WouldGrow) } else { Ok(Draft { chapter, hidden }) }
}

/// How large the entries of a view are, as they are shown.
struct Sizes<'a> {
    heads: &'a [EntryHead],
    freed: HashMap<Uuid, i64>,
}

impl Sizes<'_> {
    fn of(folded: &Loaded) -> Sizes<'_> {
        let mut freed: HashMap<Uuid, i64> = HashMap::new();
        for elision in folded.record().iter().flat_map(|record| &record.elisions) {
            *freed.entry(elision.entry_id).or_default() += elision.freed();
        }
        Sizes { heads: &folded.heads, freed }
    }

    fn of_entry(&self, index: usize) -> u64 {
        let Some(head) = self.heads.get(index) else { return 0 };
        let freed = self.freed.get(&head.id).copied().unwrap_or(0);
        u64::try_from(i64::from(head.tokens) - freed).unwrap_or(0)
    }
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
        head: EntryHead {
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

/// The view with these chapters closed: all else is as the newest compaction says.
fn record(folded: &Loaded, removed: &[usize], closed: Vec<Chapter>) -> CompactionRecord {
    let mut record = folded.record().cloned().unwrap_or_default();
    let gone: HashSet<Uuid> = removed.iter().filter_map(|index| folded.heads.get(*index)).map(|head| head.id).collect();
    record.elisions.retain(|elision| !gone.contains(&elision.entry_id));
    record.chapters.retain(|fold| !gone.contains(&fold.chapter));
    record.chapters.extend(closed.into_iter().map(|chapter| chapter.fold));
    record.chapters.sort_by_key(|fold| fold.from);
    record.first_kept_entry_id = first_kept(folded, &record.chapters);
    (record.reverts, record.closes, record.strategy) = (None, true, None);
    record
}

/// What the view's tail begins with; a chapter, where one has taken the place of that.
fn first_kept(folded: &Loaded, chapters: &[Fold]) -> String {
    let tail = match &folded.newest {
        Some(newest) => newest.first_kept_depth.unwrap_or(newest.depth + 1),
        None => 0,
    };
    let first = folded.heads.iter().find(|head| head.depth >= tail);
    let chapter = first.and_then(|first| chapters.iter().find(|fold| fold.hides(first.depth)));
    chapter.map(|fold| fold.chapter).or(first.map(|first| first.id)).map(|id| id.to_string()).unwrap_or_default()
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
