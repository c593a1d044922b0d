//! Loading a path, or only the part of it that the model sees.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::background::{FreeingLoad, LargeValue};
use crate::domain::chapter::{FoldedView, Slot, TaskSpan, arrange, spans, starts_task};
use crate::domain::context::view::{NewestCompaction, ViewItem, plan_view};
use crate::domain::model::compaction::{CompactionRecord, ElidedPart, Elision};
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::fold::{Fold, ShownFold};
use crate::domain::model::message::Role;
use crate::domain::tokens::accounting::{Account, UsageMark};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::{Head, Newest, SessionState};
use crate::service::core::tenant::Tenant;
use crate::store::entries::{self, EntryPlace, StoredEntry};
use crate::store::large::in_place;
use crate::store::path::{self, Leaf, Segment};

/// A stretch of a path in path order, and the newest compaction on it.
#[derive(Debug, Clone)]
pub struct PathSlice {
    pub stored: LargeValue<Vec<Arc<StoredEntry>>>,
    pub heads: LargeValue<Vec<EntryMeta>>,
    pub newest: Option<Newest>,
    /// Places of the chapters of a folded path.
    chapters: HashMap<Uuid, usize>,
}

/// Mode of a reading: heads alone, or the items too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    Heads,
    Items,
}

/// A leaf to look from: where it is and, where that is known, the newest compaction above it.
#[derive(Debug, Clone)]
pub struct ViewOrigin {
    pub leaf: Leaf,
    pub plain: bool,
    pub newest: Option<Newest>,
}

impl ViewOrigin {
    /// The session's leaf.
    pub fn of(head: &Head) -> ViewOrigin {
        ViewOrigin { leaf: head.leaf(), plain: head.is_plain(), newest: head.state.newest.clone() }
    }
}

impl PathSlice {
    pub fn new(stored: Vec<Arc<StoredEntry>>, newest: Option<Newest>) -> PathSlice {
        let copied = || stored.iter().map(|stored| stored.entry.head.clone()).collect::<Vec<_>>();
        let heads = in_place(stored.freeing_load(), copied).into();
        PathSlice { stored: stored.into(), heads, newest, chapters: HashMap::new() }
    }

    /// The path with its chapters in the place of what they hide: what a view is planned on. The head of a chapter that
    /// is shown has a role, and the depth of the first entry that it hides.
    pub fn fold(self) -> PathSlice {
        match self.folds() {
            [] => self,
            folds => {
                let slots = arrange(&self.heads, folds);
                let mut folded = PathSlice::new(Vec::new(), None);
                for slot in slots {
                    let (Slot::Entry(index) | Slot::Chapter { entry: index, .. }) = slot;
                    let (Some(stored), Some(head)) = (self.stored.get(index), self.heads.get(index)) else { continue };
                    let mut head = head.clone();
                    if let Slot::Chapter { fold, .. } = slot
                        && let Some(shown) = folds.get(fold)
                    {
                        head.role = Some(Role::Custom);
                        head.depth = shown.fold.place;
                        head.path_tokens = shown.path_tokens_before;
                        folded.chapters.insert(head.id, folded.heads.len());
                    }
                    let place = folds.partition_point(|shown| shown.fold.to < head.depth);
                    let begun = |shown: &ShownFold| shown.fold.place < head.depth && shown.fold.spans(head.depth);
                    head.shape.in_chapter = folds.get(place).is_some_and(begun);
                    folded.stored.push(Arc::clone(stored));
                    folded.heads.push(head);
                }
                PathSlice { newest: self.newest, ..folded }
            }
        }
    }

    /// As [`PathSlice::fold`], where the path itself is needed too.
    pub fn folded(&self) -> Cow<'_, PathSlice> {
        if self.folds().is_empty() { Cow::Borrowed(self) } else { Cow::Owned(self.clone().fold()) }
    }

    pub fn folds(&self) -> &[ShownFold] {
        self.newest.as_ref().map(|newest| newest.folds.as_slice()).unwrap_or_default()
    }

    /// The fold of the chapter that stands at this place of a folded path.
    pub fn fold_at(&self, index: usize) -> Option<&ShownFold> {
        let head = self.heads.get(index).filter(|head| head.kind == EntryType::Chapter)?;
        let fold = self.folds().binary_search_by_key(&head.depth, |shown| shown.fold.place).ok()?;
        self.folds().get(fold)
    }

    /// The bytes of the items that were read.
    pub fn bytes(&self) -> usize {
        self.stored.iter().map(|stored| stored.entry.item.len()).sum()
    }

    /// The work that reading them makes.
    pub fn load(&self) -> usize {
        self.bytes() + self.heads.freeing_load()
    }

    /// The place of a stored entry in a folded path.
    pub fn place_of(&self, stored: &StoredEntry) -> Option<usize> {
        let head = &stored.entry.head;
        match head.kind {
            EntryType::Chapter => self.chapters.get(&head.id).copied(),
            _ => self.at_depth(head.depth),
        }
    }

    /// The place of the entry at this depth.
    pub fn at_depth(&self, depth: i64) -> Option<usize> {
        self.heads.binary_search_by_key(&depth, |head| head.depth).ok()
    }

    /// Where a single entry is stored.
    pub fn segment(&self, index: usize) -> Segment {
        let stored = &self.stored[index];
        let depth = stored.entry.head.depth;
        Segment { session_id: stored.session_id, branch: stored.branch, from: depth, to: depth }
    }

    pub fn compaction(&self) -> Option<NewestCompaction<'_>> {
        let newest = self.newest.as_ref()?;
        let index = self.at_depth(newest.depth)?;
        let record = self.stored[index].record.as_deref()?;
        let first_kept = newest.first_kept_depth.and_then(|depth| self.at_depth(depth));
        Some(NewestCompaction { index, record, first_kept })
    }

    pub fn record(&self) -> Option<&CompactionRecord> {
        self.compaction().map(|compaction| compaction.record)
    }

    /// The elisions in force.
    pub fn elisions(&self) -> &[Elision] {
        self.record().map(|record| record.elisions.as_slice()).unwrap_or_default()
    }

    /// The numbered tasks of a folded path. `state` is that of its leaf.
    pub fn tasks(&self, state: &SessionState) -> Vec<TaskSpan> {
        let compaction = self.compaction();
        let shown = FoldedView {
            heads: &self.heads,
            from: compaction.map_or(0, |compaction| compaction.first_kept.unwrap_or(compaction.index + 1)),
            is_cut: self.newest.as_ref().is_some_and(|newest| newest.first_kept_depth != Some(0)),
            folds: self.folds(),
        };
        let open = state.waiting_calls().map(|call| call.seq).collect();
        spans(shown, &open, state.answered)
    }

    pub fn view(&self) -> Vec<ViewItem> {
        plan_view(&self.heads, self.compaction())
    }

    /// The view with the entries between its messages that say nothing to a model, for a format that carries them.
    pub fn view_with_metadata(&self) -> Vec<ViewItem> {
        let mut items: Vec<ViewItem> = Vec::new();
        let is_ours = |kind| matches!(kind, EntryType::Compaction | EntryType::Chapter);
        let is_metadata = |head: &EntryMeta| !head.is_visible() && !is_ours(head.kind);
        let mut next = 0;
        let tail = self.newest.as_ref().map_or(i64::MIN, |newest| newest.first_kept_depth.unwrap_or(newest.depth));
        let between = |range: std::ops::Range<usize>| {
            range
                .filter(|index| self.heads[*index].depth >= tail && is_metadata(&self.heads[*index]))
                .map(|index| ViewItem::Entry { index, elisions: Vec::new() })
                .collect::<Vec<_>>()
        };
        for item in self.view() {
            if let ViewItem::Entry { index, .. } = &item {
                items.extend(between(next..*index));
                next = index + 1;
            }
            items.push(item);
        }
        items.extend(between(next..self.heads.len()));
        items
    }
}

/// Where to look from: the session's leaf, whose state is at hand, or another entry, whose state is worked out.
pub(crate) async fn view_origin(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    leaf_id: Option<Uuid>,
) -> Result<(ViewOrigin, SessionState)> {
    let Some(id) = leaf_id.filter(|id| Some(*id) != head.row.leaf_id) else {
        return Ok((ViewOrigin::of(head), head.state.clone()));
    };
    let place = place(connection, tenant, head.session_id, id).await?;
    let leaf = Leaf { session_id: place.session_id, branch: place.branch, depth: place.depth };
    let loaded = load_path(connection, tenant, leaf, false, ReadMode::Heads).await?;
    let fixed = (head.state.account.system, head.state.account.tools);
    let state = state_of_path(&loaded, fixed, head.state.clone());
    Ok((ViewOrigin { leaf, plain: false, newest: loaded.newest }, state))
}

/// The view of a view_origin: anchors, the kept tail, the compaction and everything after it; nothing else is read.
pub async fn load_view(
    connection: &mut PgConnection,
    tenant: Tenant,
    from: &ViewOrigin,
    read: ReadMode,
) -> Result<PathSlice> {
    let segments = visible_segments(connection, tenant, from).await?;
    let stored = load(connection, tenant, &segments, read).await?;
    Ok(PathSlice::new(stored, from.newest.clone()).fold())
}

/// Where the entries of that view are.
pub async fn visible_segments(
    connection: &mut PgConnection,
    tenant: Tenant,
    from: &ViewOrigin,
) -> Result<Vec<Segment>> {
    let path = path::segments(connection, tenant.0, from.leaf, from.plain).await?;
    Ok(match &from.newest {
        None => path,
        Some(newest) => path::clip(&path, &visible_depths(newest, from.leaf.depth)),
    })
}

/// The whole path of a leaf, not folded.
pub async fn load_path(
    connection: &mut PgConnection,
    tenant: Tenant,
    leaf: Leaf,
    plain: bool,
    read: ReadMode,
) -> Result<PathSlice> {
    let segments = path::segments(connection, tenant.0, leaf, plain).await?;
    let stored = load(connection, tenant, &segments, read).await?;
    let newest = newest_of(&stored);
    Ok(PathSlice::new(stored, newest))
}

async fn load(
    connection: &mut PgConnection,
    tenant: Tenant,
    segments: &[Segment],
    read: ReadMode,
) -> Result<Vec<Arc<StoredEntry>>> {
    let stored = match read {
        ReadMode::Heads => entries::heads(connection, tenant.0, segments).await?,
        ReadMode::Items => entries::whole(connection, tenant.0, segments).await?,
    };
    Ok(stored.into_iter().map(Arc::new).collect())
}

fn visible_depths(newest: &Newest, leaf_depth: i64) -> Vec<(i64, i64)> {
    let tail = newest.first_kept_depth.unwrap_or(newest.depth);
    let mut depths: Vec<(i64, i64)> =
        newest.anchor_depths.iter().filter(|depth| **depth < tail).map(|depth| (*depth, *depth)).collect();
    let mut from = tail;
    for shown in &newest.folds {
        depths.push((shown.fold.depth, shown.fold.depth));
        for (first, last) in shown.fold.hidden().into_iter().filter(|(_, last)| *last >= tail) {
            depths.push((from, first - 1));
            from = last + 1;
        }
    }
    depths.push((from, leaf_depth));
    disjoint(depths)
}

/// The same depths as ascending ranges that do not touch.
fn disjoint(mut ranges: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    ranges.retain(|(from, to)| from <= to);
    ranges.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut() {
            Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// The newest compaction among loaded entries of a whole path.
pub fn newest_of(stored: &[Arc<StoredEntry>]) -> Option<Newest> {
    let index = stored.iter().rposition(|stored| stored.entry.head.kind == EntryType::Compaction)?;
    let compaction = &stored[index];
    let record = compaction.record.as_deref()?;
    Some(newest_from(&compaction.entry.head, record, &stored[..index]))
}

/// Where a compaction's view lies, given the entries before it.
pub fn newest_from(head: &EntryMeta, record: &CompactionRecord, before: &[Arc<StoredEntry>]) -> Newest {
    let id = Uuid::parse_str(&record.first_kept_entry_id).ok();
    let is_first_kept = |stored: &&Arc<StoredEntry>| {
        Some(stored.entry.head.id) == id
            || stored.entry.source_id.as_deref() == Some(record.first_kept_entry_id.as_str())
    };
    let chapter = record.chapters.iter().find(|fold| Some(fold.chapter) == id).map(|fold| fold.place);
    let first_kept_depth =
        chapter.or_else(|| before.iter().rev().find(is_first_kept).map(|stored| stored.entry.head.depth));
    let anchors: HashSet<Uuid> = record.anchors.iter().copied().collect();
    let anchor_depths = before
        .iter()
        .filter(|stored| anchors.contains(&stored.entry.head.id))
        .map(|stored| stored.entry.head.depth)
        .collect();
    let tail = first_kept_depth.unwrap_or(head.depth);
    let shown = record.chapters.iter().filter(|fold| fold.place >= tail || anchors.contains(&fold.chapter));
    let folds = shown.filter_map(|fold| measured(fold, before)).collect();
    let is_revert = record.reverts.is_some() || record.closes;
    Newest { id: head.id, depth: head.depth, first_kept_depth, anchor_depths, is_revert, folds }
}

/// A fold with its sizes. `before` is the whole path.
fn measured(fold: &Fold, before: &[Arc<StoredEntry>]) -> Option<ShownFold> {
    let from = |depth: i64| before.partition_point(|stored| stored.entry.head.depth < depth);
    let chapter = before.get(from(fold.depth)).filter(|stored| stored.entry.head.id == fold.chapter)?;
    let (first, end) = (from(fold.place), from(fold.to + 1));
    let total = |index: usize| {
        let last = index.checked_sub(1).and_then(|index| before.get(index));
        last.map_or((0, 0), |stored| (stored.entry.head.path_tokens, stored.path_result_tokens))
    };
    let hidden = before.get(first..end)?.iter().map(|stored| &stored.entry.head);
    let hidden = size_of(hidden.filter(|head| head.is_visible() && fold.hides(head.depth)), &[]);
    let (path_tokens_before, path_result_tokens_before) = total(first);
    Some(ShownFold {
        fold: fold.clone(),
        tokens: chapter.entry.head.tokens,
        hidden_tokens: hidden.messages + hidden.tool_results,
        hidden_result_tokens: hidden.tool_results,
        path_tokens_before,
        path_result_tokens_before,
    })
}

/// Where an entry of this session's tree (shared history included) sits. What the session that it was forked from
/// holds besides is no part of it.
pub async fn place(connection: &mut PgConnection, tenant: Tenant, session_id: Uuid, id: Uuid) -> Result<EntryPlace> {
    let sessions = path::sessions(connection, tenant.0, session_id).await?;
    let place = entries::place(&mut *connection, tenant.0, &sessions, crate::service::core::clock::seq_of(id), id)
        .await?
        .ok_or(ServiceError::NotFound("entry"))?;
    if place.session_id != session_id {
        let shared = path::shared_history(connection, tenant.0, session_id).await?;
        if !path::holds(&shared, place.session_id, place.branch, place.depth) {
            return Err(ServiceError::NotFound("entry"));
        }
    }
    Ok(place)
}

/// The state of a leaf, worked out from its whole path. For moves of the leaf and imports; appends keep it running.
pub fn state_of_path(loaded: &PathSlice, fixed: (u32, u32), guard: SessionState) -> SessionState {
    in_place(loaded.heads.freeing_load(), || worked_out(loaded, fixed, guard))
}

fn worked_out(loaded: &PathSlice, fixed: (u32, u32), guard: SessionState) -> SessionState {
    let mut state = SessionState {
        leaf_is_tip: guard.leaf_is_tip,
        guard: guard.guard,
        recounting: guard.recounting,
        rest: guard.rest,
        awaits_turn_end: guard.awaits_turn_end,
        ahead: guard.ahead,
        red_since: guard.red_since,
        overflow: guard.overflow,
        chapters_rest: guard.chapters_rest,
        model_since: guard.model_since,
        refused_window: guard.refused_window.clone(),
        ..SessionState::default()
    };
    state.account = guard.account.elsewhere(fixed);
    if guard.newest.as_ref().map(|newest| newest.id) == loaded.newest.as_ref().map(|newest| newest.id) {
        (state.account.sent, state.account.unshown) = (guard.account.sent, guard.account.unshown);
    }
    let folded = loaded.folded();
    for stored in loaded.stored.iter() {
        let head = &stored.entry.head;
        state.account.path_tokens = head.path_tokens;
        state.account.path_result_tokens = stored.path_result_tokens;
        state.messages += u64::from(head.is_visible());
        state.turns += u64::from(starts_task(head));
        state.note_speaker(head);
        state.note_calls(head);
        let is_newest = loaded.newest.as_ref().is_some_and(|newest| newest.id == head.id);
        if let (true, Some(record)) = (is_newest, &stored.record) {
            let size = view_size(&folded, record);
            // What was learnt of the session is known already.
            state.account.usage = None;
            state.account.rebase(i64::from(record.summary_tokens), size.messages, size.tool_results);
            if !state.early_results.is_empty() || !state.open_calls.is_empty() {
                let shown = shown_seqs(&folded);
                state.keep_unpaired(|seq| shown.contains(&seq), &record.elisions);
            }
            if record.reverts.is_some() {
                state.account.usage = usage_before(&loaded.stored, record, &state.account);
            }
        } else if let Some(usage) = head.usage.filter(|_| head.path_tokens > guard.account.disbelieved_to) {
            state.account.place_mark(i64::from(usage));
        }
    }
    state.newest = loaded.newest.clone();
    state.account.usage_rejected = guard.account.usage_rejected;
    state
}

/// The entries that a folded path's view shows.
fn shown_seqs(folded: &PathSlice) -> HashSet<i64> {
    let shown = folded.view().into_iter().filter_map(|item| match item {
        ViewItem::Entry { index, .. } => folded.heads.get(index).map(|head| head.seq),
        ViewItem::Summary { .. } => None,
    });
    shown.collect()
}

/// The usage that was trusted in the view which a revert brings back. What was reported between the compaction and its
/// revert was of the compacted context.
fn usage_before(path: &[Arc<StoredEntry>], revert: &CompactionRecord, account: &Account) -> Option<UsageMark> {
    let mut before = path;
    let mut reverted = revert.reverts;
    while let Some(id) = reverted {
        let place = before.iter().rposition(|stored| stored.entry.head.id == id)?;
        before = before.get(..place)?;
        let newest = before
            .iter()
            .rposition(|stored| stored.entry.head.usage.is_some() || stored.entry.head.kind == EntryType::Compaction)?;
        let stored = before.get(newest)?;
        let is_believed =
            stored.entry.head.kind != EntryType::Compaction && stored.entry.head.path_tokens > account.disbelieved_to;
        if let Some(usage) = stored.entry.head.usage.filter(|_| is_believed) {
            let count = account.counted(&account.base, stored.entry.head.path_tokens) - account.fixed();
            return Some(UsageMark::whole(i64::from(usage), count));
        }
        reverted = stored.record.as_ref().and_then(|record| record.reverts);
    }
    None
}

/// Tokens of a view before its compaction, the summary aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewSize {
    pub messages: i64,
    pub tool_results: i64,
}

pub(crate) fn view_size(loaded: &PathSlice, record: &CompactionRecord) -> ViewSize {
    let Some(compaction) = loaded.compaction() else { return ViewSize::default() };
    let kept = compaction.first_kept.map_or(compaction.index, |first| first)..compaction.index;
    let anchors: HashSet<Uuid> = record.anchors.iter().copied().collect();
    let shown = loaded.heads[..compaction.index]
        .iter()
        .enumerate()
        // An older compaction between kept entries has tokens of its own and shows nothing.
        .filter(|(index, head)| head.is_visible() && (kept.contains(index) || anchors.contains(&head.id)))
        .map(|(_, head)| head);
    size_of(shown, &record.elisions)
}

/// Tokens of these entries with these elisions.
pub fn size_of<'a>(shown: impl Iterator<Item = &'a EntryMeta>, elisions: &[Elision]) -> ViewSize {
    let mut freed: HashMap<(Uuid, ElidedPart), i64> = HashMap::new();
    for elision in elisions {
        *freed.entry((elision.entry_id, elision.part)).or_default() += elision.freed();
    }
    let freed = |head: &EntryMeta, part| freed.get(&(head.id, part)).copied().unwrap_or(0);
    let mut size = ViewSize::default();
    for head in shown {
        let results: i64 = head.shape.results.iter().map(|result| i64::from(result.tokens)).sum();
        let spoken = freed(head, ElidedPart::Arguments) + freed(head, ElidedPart::Words);
        size.messages += i64::from(head.tokens) - results - spoken;
        size.tool_results += results - freed(head, ElidedPart::Result);
    }
    size
}
