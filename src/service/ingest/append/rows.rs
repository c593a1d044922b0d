//! From read items to rows: where each entry goes and what the head is afterwards.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::background::{FreeingLoad, LargeValue};
use crate::domain::chapter::starts_task;
use crate::domain::context::view::ViewItem;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::early_results::EarlyResults;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::handle;
use crate::domain::model::item::Item;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::open_calls::OpenCalls;
use crate::domain::model::shape::Shape;
use crate::domain::record::{ending, given};
use crate::domain::settings::Settings;
use crate::domain::tokens;
use crate::domain::tokens::report::{Disbelief, Reported, Verdict};
use crate::service::core::clock;
use crate::service::core::error::{FieldError, Result, ServiceError};
use crate::service::core::head::{Head, SessionState};
use crate::service::core::offload::in_place;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::append::items::{self, Parent, ReadItem};
use crate::service::ingest::append::{Append, Warning, WarningCode};
use crate::service::path::view::{self, ReadMode};
use crate::store::entries::{self, EntryPlace, NewBranch, NewEntry};
use crate::store::path::{self, Leaf};
use crate::store::sessions::HeadRow;

/// Rows to write and the head as it is afterwards.
pub struct PlannedRows {
    pub entries: LargeValue<Vec<NewEntry>>,
    pub branches: Vec<NewBranch>,
    pub row: HeadRow,
    pub state: SessionState,
    /// Where each of the entries stood among the posted items.
    pub places: Vec<usize>,
    pub warnings: Vec<Warning>,
    pub labels: Vec<NewLabel>,
    pub now: DateTime<Utc>,
}

/// A label that an appended item gives to another entry, or takes from it.
pub struct NewLabel {
    pub session_id: Uuid,
    pub seq: i64,
    pub label: Option<String>,
}

/// A place to append behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AppendPosition {
    session_id: Uuid,
    branch: i32,
    depth: i64,
    id: Option<Uuid>,
    path_tokens: i64,
    path_result_tokens: i64,
}

impl From<EntryPlace> for AppendPosition {
    fn from(place: EntryPlace) -> AppendPosition {
        AppendPosition {
            session_id: place.session_id,
            branch: place.branch,
            depth: place.depth,
            id: Some(place.id),
            path_tokens: place.path_tokens,
            path_result_tokens: place.path_result_tokens,
        }
    }
}

pub struct Planner<'a> {
    head: &'a Head,
    append: &'a Append,
    settings: &'a Settings,
    planned: PlannedRows,
    /// Tips of the branches touched so far: a child of any other entry opens a branch.
    tips: HashMap<i32, i64>,
    /// Where the items planned so far sit, by source id.
    here: HashMap<String, AppendPosition>,
    /// The entry that the first item goes under where it names no other.
    origin: Option<Uuid>,
    /// Branches of what stands beside the conversation.
    asides: HashSet<i32>,
    /// An item went under another entry than the one before it: the calls open there are not known here.
    strayed: bool,
    /// A compaction came with the items: the view behind it is not known here.
    rebased: bool,
    /// Results that no open call asked for: the item, its `seq`, and the id.
    orphans: Vec<(usize, i64, String)>,
    /// Entries before the first item that are shown beside a handle; looked for only where there is one.
    beside: Vec<Uuid>,
    /// The notes that a caller or a hook gave before a handle.
    given: Option<String>,
}

impl<'a> Planner<'a> {
    pub fn new(head: &'a Head, append: &'a Append, items: &[ReadItem]) -> Planner<'a> {
        let mut tips = HashMap::new();
        if head.state.leaf_is_tip {
            tips.insert(head.row.leaf_branch, head.row.leaf_depth);
        }
        let mut state = head.state.clone();
        // What comes in another call is another answer.
        state.account.answer_begins(state.account.path_tokens);
        Planner {
            head,
            append,
            settings: &head.settings,
            planned: PlannedRows {
                entries: Vec::with_capacity(items.len()).into(),
                branches: Vec::new(),
                row: head.row.clone(),
                state,
                places: Vec::with_capacity(items.len()),
                warnings: Vec::new(),
                labels: Vec::new(),
                now: clock::now(),
            },
            tips,
            here: HashMap::new(),
            origin: head.row.leaf_id,
            asides: HashSet::new(),
            strayed: false,
            rebased: false,
            orphans: Vec::new(),
            beside: Vec::new(),
            given: None,
        }
    }

    /// Plans items that follow the leaf one by one; `None` where they need the general case.
    pub fn linear(self, items: &[ReadItem]) -> Option<PlannedRows> {
        let at_leaf = self.append.parent_id.is_none_or(|parent| Some(parent) == self.head.row.leaf_id);
        let plain = |item: &ReadItem| {
            let stands_alone = !matches!(item.item.kind, EntryType::Compaction | EntryType::Label);
            item.parent == Parent::Previous && stands_alone
        };
        if !at_leaf || !self.head.state.leaf_is_tip || !items.iter().all(plain) {
            return None;
        }
        Some(self.chain(items))
    }

    /// Plans items one behind the other from the leaf on, whatever parents they name.
    pub fn chain(mut self, items: &[ReadItem]) -> PlannedRows {
        let mut cursor = self.leaf();
        for item in items {
            cursor = self.push(item, cursor);
        }
        self.settle(cursor);
        self.planned
    }

    /// Plans items with parents of their own. The state is left to be worked out from the path.
    pub async fn tree(
        mut self,
        connection: &mut PgConnection,
        tenant: Tenant,
        items: &[ReadItem],
    ) -> Result<PlannedRows> {
        let known = self.known_sources(connection, tenant, items).await?;
        let mut cursor = self.start(connection, tenant).await?;
        if cursor.id != self.origin {
            self.origin = cursor.id;
            self.planned.state.open_calls = open_calls(connection, tenant, cursor).await?;
        }
        if items.iter().any(ReadItem::is_handle) && cursor.id.is_some() {
            (self.beside, self.given) = shown_beside(connection, tenant, cursor).await?;
        }
        let (mut file_root, mut aside): (Option<AppendPosition>, Option<AppendPosition>) = (None, None);
        for item in items {
            let parent = match &item.parent {
                Parent::Previous => cursor,
                Parent::Root if item.is_header => self.root(),
                Parent::Root => file_root.unwrap_or(self.root()),
                Parent::Source(id) => match self.here.get(id).or_else(|| known.get(id)).copied() {
                    Some(place) => place,
                    None => {
                        self.planned.warnings.push(self.lost_parent_warning(item, id));
                        // What a subagent said is no part of the conversation.
                        if item.is_aside { aside.or(file_root).unwrap_or(self.root()) } else { cursor }
                    }
                },
            };
            self.note_tip(connection, tenant, parent).await?;
            let load = items::load(self.append, std::slice::from_ref(item));
            let placed = in_place(load, || self.push(item, parent)).await?;
            if item.is_aside {
                aside = Some(placed);
                continue;
            }
            cursor = placed;
            if item.is_header {
                file_root = Some(cursor);
            }
            self.note_label(item, &known);
        }
        // Nothing to append moves nothing, wherever it was to go.
        self.settle(if items.is_empty() { self.leaf() } else { cursor });
        Ok(self.planned)
    }

    /// The field of an item that holds its id.
    fn id_field(&self) -> &'static str {
        if self.append.format == Format::ClaudeCode { "uuid" } else { "id" }
    }

    /// Its readers take such an entry for a root. The conversation before it would be gone from every context.
    fn lost_parent_warning(&self, item: &ReadItem, id: &str) -> Warning {
        let why = match item.source_id.as_deref() == Some(id) {
            true => "an entry can't be its own parent".to_owned(),
            false => format!("no entry that may be its parent came with the id {id:?}"),
        };
        let field = match (self.append.format, &item.item.source_parent) {
            (Format::ClaudeCode, Some(Some(_))) => "parentUuid",
            (Format::ClaudeCode, _) => "logicalParentUuid",
            _ => "parentId",
        };
        Warning {
            code: WarningCode::UnknownParent,
            pointer: format!("/items/{}/{field}", item.place),
            detail: format!("{why}; it is taken to follow the line before it"),
        }
    }

    fn note_label(&mut self, item: &ReadItem, known: &HashMap<String, AppendPosition>) {
        let Some((target, label)) = &item.label else { return };
        let place = self.here.get(target).or_else(|| known.get(target));
        if let Some((place, id)) = place.and_then(|place| Some((place, place.id?))) {
            let (session_id, seq) = (place.session_id, clock::seq_of(id));
            self.planned.labels.push(NewLabel { session_id, seq, label: label.clone() });
        }
    }

    /// Places of stored entries that these items name; a source id that is stored already is refused.
    async fn known_sources(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        items: &[ReadItem],
    ) -> Result<HashMap<String, AppendPosition>> {
        let mut wanted: Vec<String> = items.iter().filter_map(|item| item.source_id.clone()).collect();
        wanted.extend(items.iter().filter_map(|item| match &item.parent {
            Parent::Source(id) => Some(id.clone()),
            _ => None,
        }));
        wanted.extend(items.iter().filter_map(|item| item.label.as_ref()).map(|(target, _)| target.clone()));
        let linked = items.iter().any(|item| item.parent != Parent::Previous);
        if !linked || wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let sessions = path::sessions(connection, tenant.0, self.head.session_id).await?;
        let rows = entries::places_by_source(&mut *connection, tenant.0, &sessions, &wanted).await?;
        let shared = path::shared_history(connection, tenant.0, self.head.session_id).await?;
        let mut known = HashMap::new();
        for (source_id, place) in rows {
            let own = place.session_id == self.head.session_id;
            if !own && !path::holds(&shared, place.session_id, place.branch, place.depth) {
                continue;
            }
            known.entry(source_id).or_insert(place.into());
        }
        let twice = |item: &ReadItem| {
            let id = item.source_id.as_ref().filter(|id| known.contains_key(*id))?;
            let detail = format!("an entry with the id {id:?} is stored already");
            Some(FieldError { pointer: format!("/items/{}/{}", item.place, self.id_field()), detail })
        };
        let errors: Vec<FieldError> = items.iter().filter_map(twice).collect();
        if errors.is_empty() { Ok(known) } else { Err(ServiceError::Invalid(errors)) }
    }

    fn leaf(&self) -> AppendPosition {
        let row = &self.head.row;
        AppendPosition {
            session_id: self.head.session_id,
            branch: row.leaf_branch,
            depth: row.leaf_depth,
            id: row.leaf_id,
            path_tokens: self.head.state.account.path_tokens,
            path_result_tokens: self.head.state.account.path_result_tokens,
        }
    }

    fn root(&self) -> AppendPosition {
        AppendPosition {
            session_id: self.head.session_id,
            branch: 0,
            depth: -1,
            id: None,
            path_tokens: 0,
            path_result_tokens: 0,
        }
    }

    async fn start(&self, connection: &mut PgConnection, tenant: Tenant) -> Result<AppendPosition> {
        let Some(parent) = self.append.parent_id.filter(|parent| Some(*parent) != self.head.row.leaf_id) else {
            return Ok(self.leaf());
        };
        let place =
            view::place(connection, tenant, self.head.session_id, parent).await.map_err(|error| match error {
                ServiceError::NotFound(_) => {
                    ServiceError::invalid("/parent_id", "no entry of this session has this id")
                }
                other => other,
            })?;
        Ok(place.into())
    }

    /// Learns how far the parent's branch reaches, unless this append has touched it already.
    async fn note_tip(&mut self, connection: &mut PgConnection, tenant: Tenant, parent: AppendPosition) -> Result<()> {
        if parent.session_id == self.head.session_id && !self.tips.contains_key(&parent.branch) {
            let tip = entries::tip_depth(connection, tenant.0, parent.session_id, parent.branch).await?;
            // A fork's branch 0 starts behind shared history, never at the root.
            let no_root = tip < 0 && self.head.is_fork && parent.branch == 0;
            self.tips.insert(parent.branch, if no_root { i64::MAX } else { tip });
        }
        Ok(())
    }

    /// Adds one entry behind `parent`, on a new branch unless the parent is the tip of its own.
    fn push(&mut self, item: &ReadItem, parent: AppendPosition) -> AppendPosition {
        let own = parent.session_id == self.head.session_id;
        let fits = item.is_aside == self.asides.contains(&parent.branch);
        let branch = if own && fits && self.tips.get(&parent.branch) == Some(&parent.depth) {
            parent.branch
        } else {
            self.open_branch(parent)
        };
        if item.is_aside {
            self.asides.insert(branch);
        }
        let seq = self.planned.row.next_seq;
        self.planned.row.next_seq += 1;
        self.planned.row.entry_count += 1;
        let entry = self.entry(item, parent, branch, seq);
        if item.item.kind == EntryType::Message && item.item.message.is_none() {
            self.planned.warnings.push(not_shown_warning(item.place));
        }
        if speaks(item) {
            self.planned.state.overflow = None;
        }
        let cursor = AppendPosition {
            session_id: self.head.session_id,
            branch,
            depth: entry.head.depth,
            id: Some(entry.head.id),
            path_tokens: entry.head.path_tokens,
            path_result_tokens: entry.path_result_tokens,
        };
        self.tips.insert(branch, cursor.depth);
        if let Some(source_id) = &item.source_id {
            self.here.insert(source_id.clone(), cursor);
        }
        self.planned.entries.push(entry);
        self.planned.places.push(item.place);
        cursor
    }

    fn open_branch(&mut self, parent: AppendPosition) -> i32 {
        let branch = self.planned.row.next_branch;
        self.planned.row.next_branch += 1;
        self.planned.branches.push(NewBranch {
            branch,
            parent_session: parent.session_id,
            parent_branch: parent.branch,
            fork_depth: parent.depth,
        });
        branch
    }

    fn entry(&mut self, item: &ReadItem, parent: AppendPosition, branch: i32, seq: i64) -> NewEntry {
        if self.planned.entries.last().map_or(self.origin, |last| Some(last.head.id)) != parent.id {
            self.strayed = true;
            self.planned.state.open_calls = OpenCalls::default();
            self.planned.state.early_results = EarlyResults::default();
        }
        let mut shape = Shape::of(&item.item, seq, &self.planned.state.open_calls, &item.counted.results);
        note_ends(&mut shape, &item.item, &self.planned.state.open_calls);
        let role = item.item.message.as_ref().filter(|_| item.item.kind.holds_message()).map(|message| message.role);
        let added = item.counted.total;
        let results: i64 = item.counted.results.iter().map(|tokens| i64::from(*tokens)).sum();
        let id = clock::entry_id(self.planned.now, seq);
        let record = self.record(item, id);
        let head = EntryMeta {
            id,
            seq,
            depth: parent.depth + 1,
            kind: item.item.kind,
            role,
            // A handle's are its summary's.
            tokens: record.as_ref().filter(|record| record.by_handle).map_or(added, |record| record.summary_tokens),
            path_tokens: parent.path_tokens + i64::from(added),
            usage: None,
            shape,
        };
        let mut entry = NewEntry {
            branch,
            parent_id: parent.id,
            path_result_tokens: parent.path_result_tokens + results,
            source_format: self.append.format,
            source_id: item.source_id.clone(),
            record,
            item: self.append.items.get(item.place).map(|raw| raw.get().to_owned()).unwrap_or_default(),
            created_at: self.planned.now,
            head,
        };
        let orphans = self.account(&entry);
        if !self.strayed {
            let results = orphans.into_iter().filter_map(|place| entry.head.shape.results.get(place));
            self.orphans.extend(results.map(|result| (item.place, seq, result.call_id.clone())));
        }
        if let Some(reported) = item.usage {
            entry.head.usage = self.believed(item.place, item, reported).and_then(|tokens| u32::try_from(tokens).ok());
        }
        self.rebased |= item.item.kind == EntryType::Compaction;
        entry
    }

    /// The record of the entry `id`, with the ids of entries in the place of what the item names. A handle keeps nothing
    /// before it but what is shown beside it.
    fn record(&self, item: &ReadItem, id: Uuid) -> Option<CompactionRecord> {
        let mut record = item.record.clone()?;
        if record.by_handle {
            let here = self.planned.entries.iter().map(|entry| &entry.head).filter(|head| handle::stays(head));
            record.anchors = self.beside.iter().copied().chain(here.map(|head| head.id)).collect();
            record.first_kept_entry_id = id.to_string();
            record.given = record.given.or_else(|| self.given.clone());
            return Some(record);
        }
        if let Some(first_kept) = self.here.get(&record.first_kept_entry_id).and_then(|cursor| cursor.id) {
            record.first_kept_entry_id = first_kept.to_string();
        }
        let summary = record.summary.as_deref().unwrap_or_default();
        record.summary_tokens = tokens::count_text(self.settings.estimator, summary);
        Some(record)
    }

    /// Takes an entry into the state. Returns the places of its results that answer no open call.
    fn account(&mut self, entry: &NewEntry) -> Vec<usize> {
        let state = &mut self.planned.state;
        state.account.path_tokens = entry.head.path_tokens;
        state.account.path_result_tokens = entry.path_result_tokens;
        state.messages += u64::from(entry.head.is_visible());
        state.turns += u64::from(starts_task(&entry.head));
        state.note_speaker(&entry.head);
        state.note_calls(&entry.head)
    }

    /// The size of the context that stands in for what a provider reported of it. `None`: it measured an earlier view, or
    /// is not believed. Where the view is not known here, it is judged when the state is worked out.
    fn believed(&mut self, n: usize, item: &ReadItem, reported: Reported) -> Option<u64> {
        if self.strayed || self.rebased || item.is_aside {
            return Some(reported.total());
        }
        match self.planned.state.account.report(reported, self.settings) {
            Verdict::Believed(size) => Some(size),
            Verdict::Earlier => None,
            Verdict::Rejected(why) => {
                self.planned.warnings.push(not_believed_warning(n, item, reported, why));
                None
            }
        }
    }

    /// Warns of the results that answer no call, neither before nor behind them.
    fn warn_of_orphans(&mut self) {
        let orphans = std::mem::take(&mut self.orphans);
        if orphans.is_empty() {
            return;
        }
        let called = self
            .planned
            .entries
            .iter()
            .flat_map(|entry| entry.head.shape.calls.iter().map(|call| (call.id.as_str(), entry.head.seq)));
        let called: HashMap<&str, i64> = called.collect();
        let is_orphan = |(_, seq, id): &&(usize, i64, String)| called.get(id.as_str()).is_none_or(|call| call < seq);
        let warnings: Vec<Warning> =
            orphans.iter().filter(is_orphan).map(|(n, _, id)| orphan_warning(*n, id)).collect();
        self.planned.warnings.extend(warnings);
    }

    /// Makes the last place the leaf.
    fn settle(&mut self, leaf: AppendPosition) {
        self.warn_of_orphans();
        let own = leaf.session_id == self.head.session_id;
        let row = &mut self.planned.row;
        if own {
            (row.leaf_branch, row.leaf_depth, row.leaf_id) = (leaf.branch, leaf.depth, leaf.id);
        }
        // What stands aside moves no leaf.
        self.planned.state.leaf_is_tip |= self.planned.entries.iter().rev().any(|entry| Some(entry.head.id) == leaf.id);
        let no_answer = !self.planned.entries.iter().any(|entry| entry.head.role == Some(Role::Assistant));
        if self.append.usage.is_some() && no_answer {
            self.planned.warnings.push(Warning {
                code: WarningCode::UsageIgnored,
                pointer: "/usage".to_owned(),
                detail: "usage belongs to an answer, and none of the items is one".to_owned(),
            });
        }
    }
}

/// A user's message or an answer that ended well: what a failed model call is told apart from the one before by.
fn speaks(item: &ReadItem) -> bool {
    let role = item.item.message.as_ref().filter(|_| item.item.kind.holds_message()).map(|message| message.role);
    let spoilt = item.item.stop.is_some_and(|stop| stop.spoils_usage());
    match role {
        Some(Role::User) => true,
        Some(Role::Assistant) => !spoilt,
        _ => false,
    }
}

/// The calls that wait for a result at a place.
async fn open_calls(connection: &mut PgConnection, tenant: Tenant, at: AppendPosition) -> Result<OpenCalls> {
    let leaf = Leaf { session_id: at.session_id, branch: at.branch, depth: at.depth };
    let path = view::load_path(connection, tenant, leaf, false, ReadMode::Heads).await?;
    let apply_all = || {
        let mut open = OpenCalls::default();
        for head in path.heads.iter() {
            open.apply(head.seq, &head.shape);
        }
        open
    };
    in_place(path.heads.freeing_load(), apply_all).await
}

/// The entries of a place's view that a handle behind them is shown beside, and the notes that were given before it: whoever
/// sealed the handle may not have known them.
async fn shown_beside(
    connection: &mut PgConnection,
    tenant: Tenant,
    at: AppendPosition,
) -> Result<(Vec<Uuid>, Option<String>)> {
    let leaf = Leaf { session_id: at.session_id, branch: at.branch, depth: at.depth };
    let path = view::load_path(connection, tenant, leaf, false, ReadMode::Heads).await?.fold();
    let shown = path.view().into_iter().filter_map(|item| match item {
        ViewItem::Entry { index, .. } => path.heads.get(index),
        ViewItem::Summary { .. } => None,
    });
    Ok((shown.filter(|head| handle::stays(head)).map(|head| head.id).collect(), path.record().and_then(given::notes)))
}

/// Notes how the calls ended that the item's results answer.
fn note_ends(shape: &mut Shape, item: &Item, open: &OpenCalls) {
    let results = item.message.iter().flat_map(Message::tool_results);
    for (result, known) in results.zip(&mut shape.results) {
        let tool = open.name_of(&known.call_id).or(result.name.as_deref());
        known.end = ending::end_of(tool.unwrap_or_default(), result);
    }
}

/// pi has roles of extensions, which it sends to no model.
fn not_shown_warning(n: usize) -> Warning {
    Warning {
        code: WarningCode::NotShown,
        pointer: format!("/items/{n}/message/role"),
        detail: "no model is shown a message of this role; it is stored and never sent out".to_owned(),
    }
}

fn not_believed_warning(n: usize, item: &ReadItem, reported: Reported, why: Disbelief) -> Warning {
    let pointer = if item.usage_is_given { "/usage".to_owned() } else { format!("/items/{n}") };
    let detail = format!("{} tokens were reported; {why}", reported.total());
    Warning { code: WarningCode::UsageNotBelieved, pointer, detail }
}

fn orphan_warning(n: usize, id: &str) -> Warning {
    Warning {
        code: WarningCode::OrphanToolResult,
        pointer: format!("/items/{n}"),
        detail: format!(
            "no open call on the path has the id {id:?}; the result is stored, waits for its call, and is never sent out alone"
        ),
    }
}
