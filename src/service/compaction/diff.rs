//! What a compaction changed: the context that it found and the one that it left.

use std::collections::HashMap;

use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::context::diff::{Change, ChangeCounts, Diff, ShownEntry, shown};
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::fold::{Fold, ShownFold};
use crate::service::compaction::status::show;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::head::Newest;
use crate::service::core::offload::aside;
use crate::service::core::page::PageRequest;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::view::{PathSlice, ReadMode, ViewOrigin, load_view, place};
use crate::store::compactions;
use crate::store::entries::{self, EntryPlace, StoredEntry};
use crate::store::path::{self, Leaf, Segment};

/// The context before a compaction and after it, part by part: `before` and `changes` have `limit` messages each, and
/// `after` has what goes with them.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompactionDiff {
    pub compaction_id: Uuid,
    pub session_id: Uuid,
    /// The compaction's entry; in `after`, its summary.
    pub entry_id: Uuid,
    /// The contexts as they were measured when the compaction was committed.
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Of all parts together.
    pub messages_before: u64,
    pub messages_after: u64,
    pub counts: ChangeCounts,
    pub before: Vec<ShownEntry>,
    pub after: Vec<ShownEntry>,
    /// One for each message of `before`, in its order.
    pub changes: Vec<Change>,
    pub next_cursor: Option<String>,
}

impl Queries {
    /// What a compaction changed. No item is read.
    ///
    /// # Errors
    /// `NotFound`; `Conflict`: it has not changed a context.
    pub async fn compaction_diff(&self, tenant: Tenant, id: Uuid, page: PageRequest) -> Result<CompactionDiff> {
        let from = page.cursor_number()?.unwrap_or(0);
        let row = compactions::get(&self.pool, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        let compaction = show(row)?;
        let landed = compaction.result.as_ref().and_then(|result| Some((result, result.entry_id?)));
        let Some((result, entry_id)) = landed else {
            let detail = "only a compaction that succeeded has changed a context".to_owned();
            return Err(ServiceError::Conflict { code: ConflictCode::NothingChanged, detail });
        };
        let session_id = compaction.session_id;
        let head = self.heads.read(&self.pool, tenant, session_id).await?;
        let mut reader = self.long_reads.reader(tenant, head.row.entry_count).await?;
        let views = both_views(reader.on()?, tenant, session_id, entry_id).await?;
        let (from, length) = (usize::try_from(from).unwrap_or(0), usize::try_from(page.limit).unwrap_or(1));
        let (tokens_before, tokens_after) = (result.tokens_before, result.tokens_after);
        let compare = move || {
            let diff = views.diff();
            let (part, next) = diff.part(from, length);
            CompactionDiff {
                compaction_id: id,
                session_id,
                entry_id,
                tokens_before,
                tokens_after,
                messages_before: diff.before.len() as u64,
                messages_after: diff.after.len() as u64,
                counts: diff.counts(),
                before: part.before,
                after: part.after,
                changes: part.changes,
                next_cursor: next.map(|next| next.to_string()),
            }
        };
        let diff = aside(compare).await?;
        reader.done();
        Ok(diff)
    }
}

/// The context before a compaction and the one after it.
struct Views {
    before: PathSlice,
    after: PathSlice,
    anchors: Vec<Uuid>,
}

impl Views {
    fn diff(&self) -> Diff {
        let Views { before, after, anchors } = self;
        Diff::of(shown(&before.heads, &before.view()), shown(&after.heads, &after.view()), anchors)
    }
}

async fn both_views(connection: &mut PgConnection, tenant: Tenant, session_id: Uuid, entry_id: Uuid) -> Result<Views> {
    let at = place(connection, tenant, session_id, entry_id).await?;
    let leaf = Leaf { session_id: at.session_id, branch: at.branch, depth: at.depth };
    let path = path::segments(connection, tenant.0, leaf, false).await?;
    let compaction = compaction_at(connection, tenant, &path, at.depth).await?;
    let anchors = compaction.record.as_ref().map(|record| record.anchors.clone()).unwrap_or_default();
    let earlier = match entries::compaction_before(&mut *connection, tenant.0, &path, at.depth).await? {
        Some(depth) => Some(compaction_at(connection, tenant, &path, depth).await?),
        None => None,
    };
    let after = view_of(connection, tenant, leaf, Some(compaction)).await?;
    let before = view_of(connection, tenant, Leaf { depth: at.depth - 1, ..leaf }, earlier).await?;
    Ok(Views { before, after, anchors })
}

async fn compaction_at(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    depth: i64,
) -> Result<StoredEntry> {
    let found = entries::heads(connection, tenant.0, &path::clip(path, &[(depth, depth)])).await?;
    found.into_iter().next().ok_or(ServiceError::NotFound("entry"))
}

/// The view at a leaf under a compaction on its path.
async fn view_of(
    connection: &mut PgConnection,
    tenant: Tenant,
    leaf: Leaf,
    compaction: Option<StoredEntry>,
) -> Result<PathSlice> {
    let newest = match compaction {
        Some(stored) => newest_at(connection, tenant, leaf, &stored).await?,
        None => None,
    };
    load_view(connection, tenant, &ViewOrigin { leaf, plain: false, newest }, ReadMode::Heads).await
}

/// Where a compaction's view lies, looked up by the ids in its record alone.
async fn newest_at(
    connection: &mut PgConnection,
    tenant: Tenant,
    leaf: Leaf,
    stored: &StoredEntry,
) -> Result<Option<Newest>> {
    let Some(record) = stored.record.as_deref() else { return Ok(None) };
    let head = &stored.entry.head;
    let path = path::segments(connection, tenant.0, Leaf { depth: head.depth, ..leaf }, false).await?;
    let depths = depths_of(connection, tenant, leaf.session_id, &path, record).await?;
    let kept = record.first_kept_entry_id.as_str();
    let chapter = record.chapters.iter().find(|fold| fold.chapter.to_string() == kept).map(|fold| fold.place);
    let first_kept_depth = chapter.or_else(|| depths.get(kept).copied()).filter(|depth| *depth < head.depth);
    let anchor_depths = record.anchors.iter().filter_map(|id| depths.get(id.to_string().as_str()).copied());
    let tail = first_kept_depth.unwrap_or(head.depth);
    let folds = record.chapters.iter().filter(|fold| fold.place >= tail || record.anchors.contains(&fold.chapter));
    Ok(Some(Newest {
        id: head.id,
        depth: head.depth,
        first_kept_depth,
        anchor_depths: anchor_depths.collect(),
        is_revert: record.reverts.is_some(),
        folds: folds.cloned().map(unmeasured).collect(),
    }))
}

/// The depths on a path of the entries that a record names, by id or source id.
async fn depths_of(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    path: &[Segment],
    record: &CompactionRecord,
) -> Result<HashMap<String, i64>> {
    let sessions = path::sessions(&mut *connection, tenant.0, session_id).await?;
    let kept = Uuid::parse_str(&record.first_kept_entry_id).ok();
    let ids = record.anchors.iter().copied().chain(kept).map(|id| (clock::seq_of(id), id));
    let ids: Vec<(i64, Uuid)> = ids.collect();
    let on_path = |place: &EntryPlace| path::holds(path, place.session_id, place.branch, place.depth);
    let found = entries::places(&mut *connection, tenant.0, &sessions, &ids).await?;
    let found = found.into_iter().filter(on_path).map(|place| (place.id.to_string(), place.depth));
    let mut depths: HashMap<String, i64> = found.collect();
    if !depths.contains_key(&record.first_kept_entry_id) && !record.first_kept_entry_id.is_empty() {
        let source = [record.first_kept_entry_id.clone()];
        let places = entries::places_by_source(&mut *connection, tenant.0, &sessions, &source).await?;
        // As a rebuild does: the newest on the path.
        let deepest = places.into_iter().filter(|(_, place)| on_path(place)).map(|(_, place)| place.depth).max();
        depths.extend(deepest.map(|depth| (record.first_kept_entry_id.clone(), depth)));
    }
    Ok(depths)
}

/// A fold as far as it says what is shown.
fn unmeasured(fold: Fold) -> ShownFold {
    ShownFold {
        fold,
        tokens: 0,
        hidden_tokens: 0,
        hidden_result_tokens: 0,
        path_tokens_before: 0,
        path_result_tokens_before: 0,
    }
}
