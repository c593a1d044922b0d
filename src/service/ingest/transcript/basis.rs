//! Posted items as they were read, and the part of what is stored that they have to be compared with.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::background::{FreeingLoad, LargeValue};
use crate::domain::chapter::{Chapter, may_be_shown, starts_task};
use crate::domain::context::view::{NewestCompaction, ViewItem, plan_view};
use crate::domain::format;
use crate::domain::format::link::named_parent;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::framed::is_framed;
use crate::domain::model::handle;
use crate::domain::model::json;
use crate::domain::model::message::{Block, Message, Role};
use crate::domain::transcript::{
    EnclosedSummary, ExpectedEntry, Said, ShownBesides, Standing, TextKey, element_key, is_synthetic, text_key,
};
use crate::service::core::error::{FieldError, Result, ServiceError};
use crate::service::core::handles::OpenedHandles;
use crate::service::core::head::Head;
use crate::service::core::offload::{PART_BYTES, load, offload};
use crate::service::core::paths::PathCache;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::transcript::PutTranscript;
use crate::service::ingest::transcript::summary_place::{SummaryPart, SummaryPlace, enclosed};
use crate::service::path::entries::{chapter_of, message_of};
use crate::service::path::view::{self, PathSlice, ReadMode, ViewOrigin};
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Leaf, Segment};
use crate::store::tool_calls;

/// The posted items as they were understood, by place.
#[derive(Default)]
pub struct Posted {
    /// `None`: on another branch of a pi file than its last entry.
    pub said: Vec<Option<Said>>,
    /// Where each text that may be a summary stands first: a context has one summary, and whatever quotes it comes later.
    texts: HashMap<TextKey, usize>,
    /// Where a summary may stand first with other words around it: item, block and place.
    enclosed: HashMap<TextKey, (usize, usize, EnclosedSummary)>,
    /// A text in it looks like a summary of ours.
    pub may_hold_summary: bool,
    /// Places of sealed handles, which say what they seal.
    handles: HashSet<usize>,
}

/// The stored side: what stands before the summary that the posted transcript holds, and what it is to say after it.
pub struct StoredBasis {
    pub loaded: PathSlice,
    /// Places in `loaded`; all before the posted summary.
    pub before: Vec<usize>,
    /// Places in `loaded`, from the summary or the root on.
    pub after: Vec<usize>,
    /// The posted summary.
    pub summary: Option<SummaryPlace>,
    /// Other choices of `after`: the contexts of compactions that left messages out and put no summary in their place.
    pub others: Vec<Vec<usize>>,
    /// Other choices of `before` and `after`: the contexts of compactions whose summaries say the same.
    pub twins: Vec<(Vec<usize>, Vec<usize>)>,
    /// Only the view is loaded, not the whole path.
    pub is_view: bool,
    /// Chapters that a context may show, and whether they are of this path.
    chapters: Vec<(Chapter, bool)>,
    numbered: bool,
    /// Branch summaries of the session, and whether they are on this path.
    branch_summaries: HashMap<TextKey, bool>,
    /// Calls that the path does not hold, but the session does.
    calls_elsewhere: HashSet<String>,
    /// Running requests that contexts of this path show.
    pub running: BTreeSet<String>,
    /// Sizes of results as compactions of the path took them, by entry.
    sizes: HashMap<Uuid, HashMap<String, BTreeSet<u32>>>,
}

/// How many of those compactions are tried, the newest first.
const MOST_OTHERS: usize = 8;
/// How many calls are looked for on other branches.
const MOST_ELSEWHERE: usize = 32;

impl FreeingLoad for Posted {
    fn freeing_load(&self) -> usize {
        let parts = |said: &Said| match said {
            Said::Message(message) => 1 + message.content.len(),
            Said::Nothing(_) => 1,
        };
        PART_BYTES * self.said.iter().flatten().map(parts).sum::<usize>()
    }
}

impl Posted {
    pub async fn read(put: &Arc<PutTranscript>, opened: OpenedHandles) -> Result<LargeValue<Posted>> {
        let put = Arc::clone(put);
        offload(load(&put.items), move || Posted::of(&put, &opened).map(LargeValue::from)).await?
    }

    fn of(put: &PutTranscript, opened: &OpenedHandles) -> Result<Posted> {
        let (mut errors, mut handles) = (Vec::new(), HashSet::new());
        let mut said = Vec::with_capacity(put.items.len());
        for (n, raw) in put.items.iter().enumerate() {
            match format::accept(put.format, raw.get()) {
                Ok(item) => said.push(Some(match opened.record(raw.get()) {
                    Some(record) => {
                        handles.insert(n);
                        handle::told(record).map_or_else(|| Said::Nothing(raw.get().to_owned()), Said::Message)
                    }
                    None => match item.message.filter(|_| item.kind.holds_message()) {
                        Some(message) => Said::Message(message),
                        None => Said::Nothing(raw.get().to_owned()),
                    },
                })),
                Err(error) => {
                    errors.push(FieldError { pointer: format!("/items/{n}{}", error.pointer), detail: error.detail });
                }
            }
        }
        if !errors.is_empty() {
            return Err(ServiceError::Invalid(errors));
        }
        if put.format == Format::Pi {
            leave_other_branches(put, &mut said);
        }
        let mut posted =
            Posted { said, texts: HashMap::new(), enclosed: HashMap::new(), may_hold_summary: false, handles };
        for (place, said) in posted.said.iter().enumerate() {
            let Some(text) = text(said) else { continue };
            posted.texts.entry(text_key(&text)).or_insert(place);
            posted.may_hold_summary |= is_framed(&text);
            for (block, found) in said.iter().flat_map(enclosed) {
                posted.enclosed.entry(found.key).or_insert((place, block, found));
                posted.may_hold_summary = true;
            }
        }
        Ok(posted)
    }

    /// Returns where this summary is posted.
    fn place_of(&self, summary: &str) -> Option<SummaryPlace> {
        if let Some(item) = self.texts.get(&text_key(summary)) {
            return Some(SummaryPlace { item: *item, part: None });
        }
        let (item, block, found) = *self.enclosed.get(&element_key(summary)?)?;
        let Some(Said::Message(message)) = self.said.get(item)? else { return None };
        let Some(Block::Text { text, .. }) = message.content.get(block) else { return None };
        let start = found.start(text, summary)?;
        Some(SummaryPlace { item, part: Some(SummaryPart { block, start, end: found.end }) })
    }

    /// Returns true if the item at this place is a sealed handle.
    pub fn is_handle(&self, place: usize) -> bool {
        self.handles.contains(&place)
    }

    /// Returns true if nothing before this place says what is said there.
    pub fn is_first(&self, place: usize) -> bool {
        self.key(place).is_none_or(|key| self.texts.get(&key) == Some(&place))
    }

    fn key(&self, place: usize) -> Option<TextKey> {
        self.said.get(place).and_then(text).map(|text| text_key(&text))
    }

    /// Returns true if something in it looks like a chapter of ours.
    pub fn may_hold_chapter(&self) -> bool {
        self.said.iter().flatten().any(|said| match said {
            Said::Message(message) if message.role != Role::Assistant => {
                message.content.iter().any(|block| matches!(block, Block::Text { text, .. } if may_be_shown(text)))
            }
            _ => false,
        })
    }

    /// The calls for which it has results that may be made up.
    fn synthetic(&self) -> impl Iterator<Item = &str> {
        let messages = self.said.iter().flatten().filter_map(|said| match said {
            Said::Message(message) => Some(message),
            Said::Nothing(_) => None,
        });
        messages.flat_map(Message::tool_results).filter(|one| is_synthetic(one)).map(|one| one.tool_call_id.as_str())
    }
}

/// The words of a message that may be a summary: the agent itself may say the same, but never speaks it.
fn text(said: &Option<Said>) -> Option<String> {
    match said {
        Some(Said::Message(message)) if message.role != Role::Assistant => Some(message.plain_text()),
        _ => None,
    }
}

/// A file without ids is one path; else the parents of its last entry are.
fn leave_other_branches(put: &PutTranscript, said: &mut [Option<Said>]) {
    let items: Vec<Value> = put.items.iter().map(|raw| json::parse_lenient(raw.get()).unwrap_or_default()).collect();
    let id = |item: &Value| item.get("id").and_then(Value::as_str).map(str::to_owned);
    let is_header = |item: &Value| item.get("type").is_some_and(|kind| kind == "session");
    if items.iter().any(|item| !is_header(item) && (id(item).is_none() || item.get("parentId").is_none())) {
        return;
    }
    let mut wanted = items.last().and_then(id);
    let known: HashSet<String> = items.iter().filter_map(id).collect();
    for (item, said) in items.iter().zip(said.iter_mut()).rev() {
        if is_header(item) {
            continue;
        }
        if wanted.is_some() && id(item) == wanted {
            wanted = item.get("parentId").and_then(named_parent);
            // What was put in has a parent that is not there: the entry before it is meant.
            if wanted.as_ref().is_some_and(|parent| !known.contains(parent)) {
                return;
            }
        } else {
            *said = None;
        }
    }
}

/// Reads what the posted transcript is compared with: the view, where it holds that view's summary, else the path.
pub(super) async fn basis(
    paths: &PathCache,
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
) -> Result<StoredBasis> {
    let basis = basis_of(paths, &mut *connection, tenant, head, posted).await?;
    completed(connection, tenant, head, posted, basis).await
}

/// As [`basis`], on the whole path.
pub(super) async fn whole_basis(
    paths: &PathCache,
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
) -> Result<StoredBasis> {
    let (loaded, _) = whole_path(paths, &mut *connection, tenant, head).await?;
    let basis = on_path(&mut *connection, tenant, head, posted, loaded).await?;
    completed(connection, tenant, head, posted, basis).await
}

/// The whole path, whatever summary the posted transcript seems to hold.
pub(super) async fn raw_basis(
    paths: &PathCache,
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
) -> Result<StoredBasis> {
    let (loaded, _) = whole_path(paths, &mut *connection, tenant, head).await?;
    completed(connection, tenant, head, posted, raw(loaded)).await
}

async fn whole_path(
    paths: &PathCache,
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
) -> Result<(PathSlice, Vec<Segment>)> {
    let segments = path::segments(&mut *connection, tenant.0, head.leaf(), head.is_plain()).await?;
    let stored = paths.load(connection, tenant, head.settings.estimator, &segments).await?;
    let newest = view::newest_of(&stored);
    Ok((PathSlice::new(stored, newest), segments))
}

async fn basis_of(
    paths: &PathCache,
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
) -> Result<StoredBasis> {
    let from = ViewOrigin::of(head);
    // What a chapter hides is on the path alone.
    let whole = posted.may_hold_chapter() || from.newest.as_ref().is_some_and(|newest| !newest.folds.is_empty());
    if posted.may_hold_summary && from.newest.is_some() && !whole {
        let loaded = view::load_view(connection, tenant, &from, ReadMode::Items).await?;
        if let Some(basis) = StoredBasis::of_newest(loaded, posted) {
            return Ok(basis);
        }
    }
    let (loaded, segments) = whole_path(paths, connection, tenant, head).await?;
    let mut basis = on_path(connection, tenant, head, posted, loaded).await?;
    if posted.may_hold_chapter() {
        basis.chapters = chapters_of(connection, tenant, head, &segments).await?;
    }
    Ok(basis)
}

/// The basis on a whole path.
async fn on_path(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
    loaded: PathSlice,
) -> Result<StoredBasis> {
    let records: Vec<&CompactionRecord> = loaded.stored.iter().filter_map(|stored| stored.record.as_deref()).collect();
    if let Some((record, place)) = held(records.iter().rev().copied(), posted) {
        let says_it = |other: &&CompactionRecord| other.summary == record.summary && *other != record;
        let twins = records.iter().rev().copied().filter(says_it).take(MOST_OTHERS);
        let twins = twins.map(|twin| shown_by(&loaded, twin)).collect();
        let basis = StoredBasis::with(record.clone(), place, loaded);
        return Ok(StoredBasis { twins, ..basis });
    }
    if !posted.may_hold_summary {
        return Ok(raw(loaded));
    }
    // The leaf may have left the branch that was compacted.
    let ours = entries::ours(&mut *connection, tenant.0, head.session_id).await?;
    let records: Vec<&CompactionRecord> = ours.iter().rev().filter_map(|stored| stored.record.as_deref()).collect();
    let is_here = |record: &&CompactionRecord| first_kept(&loaded, record).is_some();
    if let Some((record, place)) = held(records.iter().copied().filter(is_here), posted) {
        return Ok(StoredBasis::with(record.clone(), place, loaded));
    }
    // A handle may be stored anew, here too.
    if let Some((_, place)) = held(records.into_iter(), posted).filter(|(_, place)| !posted.is_handle(place.item)) {
        let detail = "is a summary of what this session's history does not hold; post the raw transcript";
        return Err(ServiceError::invalid(format!("/items/{}", place.item), detail));
    }
    // Any other text that looks like one was said by somebody.
    let branch_summaries = branch_summaries(&ours, &loaded)?;
    Ok(StoredBasis { branch_summaries, ..raw(loaded) })
}

/// The texts of the branch summaries that contexts of this session show.
fn branch_summaries(ours: &[StoredEntry], loaded: &PathSlice) -> Result<HashMap<TextKey, bool>> {
    let on_path: HashSet<Uuid> = loaded.heads.iter().map(|head| head.id).collect();
    let mut texts = HashMap::new();
    for stored in ours.iter().filter(|stored| stored.entry.head.kind == EntryType::BranchSummary) {
        if let Some(message) = message_of(stored)? {
            let is_here = texts.entry(text_key(&message.plain_text())).or_insert(false);
            *is_here |= on_path.contains(&stored.entry.head.id);
        }
    }
    Ok(texts)
}

/// The basis with what of the session it holds beside its path.
async fn completed(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
    basis: StoredBasis,
) -> Result<StoredBasis> {
    let calls_elsewhere = calls_elsewhere(connection, tenant, head, posted, &basis).await?;
    Ok(StoredBasis { numbered: head.settings.chaptering_trigger.is_some(), calls_elsewhere, ..basis })
}

/// Calls of made-up results that are on other branches: a context outlives its branch.
async fn calls_elsewhere(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
    basis: &StoredBasis,
) -> Result<HashSet<String>> {
    let mut wanted: BTreeSet<&str> = posted.synthetic().collect();
    if wanted.is_empty() {
        return Ok(HashSet::new());
    }
    for known in basis.loaded.heads.iter() {
        known.shape.calls.iter().for_each(|call| {
            wanted.remove(call.id.as_str());
        });
    }
    let mut found = HashSet::new();
    for id in wanted.into_iter().take(MOST_ELSEWHERE) {
        let places = tool_calls::occurrences(&mut *connection, tenant.0, &[head.session_id], id).await?;
        if places.iter().any(|(.., is_result)| !is_result) {
            found.insert(id.to_owned());
        }
    }
    Ok(found)
}

/// The whole history, and the contexts of it without a summary.
fn raw(loaded: PathSlice) -> StoredBasis {
    let ours = |at: &usize| matches!(loaded.heads[*at].kind, EntryType::Compaction | EntryType::Chapter);
    let after = (0..loaded.stored.len()).filter(|at| !ours(at)).collect();
    let cuts = loaded.stored.iter().rev().filter_map(|stored| stored.record.as_deref());
    let cuts = cuts.filter(|record| record.summary.is_none()).filter_map(|record| cut(&loaded, record));
    let others = cuts.take(MOST_OTHERS).collect();
    StoredBasis { others, ..StoredBasis::new(loaded, Vec::new(), after, None) }
}

/// The chapters that a context of this session may show, with what they hide on this path: those of other branches too,
/// since a context outlives its branch. What such a one hides counts only where both paths share it.
async fn chapters_of(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    path: &[Segment],
) -> Result<Vec<(Chapter, bool)>> {
    let own = entries::ours(&mut *connection, tenant.0, head.session_id).await?;
    let shared: Vec<Segment> = path.iter().filter(|segment| segment.session_id != head.session_id).copied().collect();
    let shared = entries::heads(&mut *connection, tenant.0, &shared).await?;
    let is_chapter = |stored: &&StoredEntry| stored.entry.head.kind == EntryType::Chapter;
    let wanted: Vec<Segment> = own.iter().chain(&shared).filter(is_chapter).map(place_of).collect();
    let mut chapters = Vec::new();
    for stored in entries::whole(&mut *connection, tenant.0, &wanted).await? {
        let chapter = chapter_of(&stored)?;
        let place = place_of(&stored);
        let leaf = Leaf { session_id: place.session_id, branch: place.branch, depth: place.to };
        let is_here = path::holds(path, place.session_id, place.branch, place.to) || {
            let its = path::segments(connection, tenant.0, leaf, false).await?;
            let last = its.iter().find(|segment| (segment.from..=segment.to).contains(&chapter.fold.to));
            last.is_some_and(|last| path::holds(path, last.session_id, last.branch, chapter.fold.to))
        };
        chapters.push((chapter, is_here));
    }
    Ok(chapters)
}

fn place_of(stored: &StoredEntry) -> Segment {
    let depth = stored.entry.head.depth;
    Segment { session_id: stored.session_id, branch: stored.branch, from: depth, to: depth }
}

/// The first of these compactions whose summary is posted, and where. Any may be the one that the client's context was
/// built with.
fn held<'r>(
    mut records: impl Iterator<Item = &'r CompactionRecord>,
    posted: &Posted,
) -> Option<(&'r CompactionRecord, SummaryPlace)> {
    records.find_map(|record| {
        let summary = record.summary.as_deref().filter(|summary| !summary.trim().is_empty())?;
        Some((record, posted.place_of(summary)?))
    })
}

/// Where the entry is that a compaction keeps first; for a chapter, where that is shown.
fn first_kept(loaded: &PathSlice, record: &CompactionRecord) -> Option<usize> {
    let id = Uuid::parse_str(&record.first_kept_entry_id).ok();
    if let Some(fold) = record.chapters.iter().find(|fold| Some(fold.chapter) == id) {
        return loaded.at_depth(fold.place);
    }
    let is_first = |head: &EntryMeta| Some(head.id) == id;
    loaded.heads.iter().position(is_first)
}

/// Lists the entries that a context built with this compaction shows, whatever came since; `None`: all.
fn cut(loaded: &PathSlice, record: &CompactionRecord) -> Option<Vec<usize>> {
    let first_kept = first_kept(loaded, record).filter(|first| *first > 0)?;
    let newest = NewestCompaction { index: loaded.heads.len(), record, first_kept: Some(first_kept) };
    let (before, after) = halves(&plan_view(&loaded.heads, Some(newest)));
    Some(before.into_iter().chain(after).collect())
}

impl StoredBasis {
    fn new(loaded: PathSlice, before: Vec<usize>, after: Vec<usize>, summary: Option<SummaryPlace>) -> StoredBasis {
        let mut sizes: HashMap<Uuid, HashMap<String, BTreeSet<u32>>> = HashMap::new();
        let records = || loaded.stored.iter().filter_map(|stored| stored.record.as_deref());
        let running = records().filter_map(|record| Some(record.running.as_ref()?.text.clone())).collect();
        for elision in records().flat_map(|record| &record.elisions) {
            let of_entry = sizes.entry(elision.entry_id).or_default();
            of_entry.entry(elision.tool_call_id.clone()).or_default().insert(elision.tokens_before);
        }
        StoredBasis {
            loaded,
            before,
            after,
            summary,
            others: Vec::new(),
            twins: Vec::new(),
            is_view: false,
            chapters: Vec::new(),
            numbered: false,
            branch_summaries: HashMap::new(),
            calls_elsewhere: HashSet::new(),
            running,
            sizes,
        }
    }

    fn of_newest(loaded: PathSlice, posted: &Posted) -> Option<StoredBasis> {
        let (_, place) = held(loaded.record().into_iter(), posted)?;
        let (before, after) = halves(&loaded.view());
        Some(StoredBasis { is_view: true, ..StoredBasis::new(loaded, before, after, Some(place)) })
    }

    fn with(record: CompactionRecord, place: SummaryPlace, loaded: PathSlice) -> StoredBasis {
        let (before, after) = shown_by(&loaded, &record);
        let mut basis = StoredBasis::new(loaded, before, after, Some(place));
        basis.running.extend(record.running.map(|running| running.text));
        basis
    }

    /// Reads what the stored entry says.
    pub fn step(&self, at: usize) -> Result<ExpectedEntry> {
        let head = &self.loaded.heads[at];
        Ok(ExpectedEntry { said: self.said(at)?, is_task: starts_task(head), sizes: self.sizes_at(at) })
    }

    /// Lists the sizes that contexts gave for the results in this entry, by call.
    pub fn sizes_at(&self, at: usize) -> HashMap<String, Vec<u32>> {
        let head = &self.loaded.heads[at];
        let mut sizes: HashMap<String, Vec<u32>> = HashMap::new();
        for result in &head.shape.results {
            sizes.entry(result.call_id.clone()).or_default().push(result.tokens);
        }
        for (call, elided) in self.sizes.get(&head.id).into_iter().flatten() {
            if let Some(sizes) = sizes.get_mut(call) {
                sizes.extend(elided);
            }
        }
        sizes
    }

    /// Returns true if the session holds a call of this id on another branch.
    pub fn calls_elsewhere(&self, id: &str) -> bool {
        self.calls_elsewhere.contains(id)
    }

    /// Returns true if an item that nothing on the path says is the summary of another branch.
    pub fn is_branch_summary(&self, posted: &Posted, place: usize, departs: bool) -> bool {
        if self.branch_summaries.is_empty() || !posted.is_first(place) {
            return false;
        }
        let known = posted.key(place).and_then(|key| self.branch_summaries.get(&key));
        known.is_some_and(|is_here| departs || !is_here)
    }

    fn said(&self, at: usize) -> Result<Said> {
        let stored = &self.loaded.stored[at];
        let message = if stored.entry.head.is_visible() { message_of(stored)? } else { None };
        Ok(message.map_or_else(|| Said::Nothing(stored.entry.item.clone()), Said::Message))
    }

    /// Collects what else contexts show, chapters and task numbers; chapters stand for steps of `after`.
    pub fn shown(&self, after: &[usize]) -> ShownBesides {
        let from = |depth: i64| after.partition_point(|at| self.loaded.heads[*at].depth < depth);
        let standing = |(chapter, is_here): &(Chapter, bool)| {
            let hidden = if *is_here { chapter.fold.hidden() } else { Vec::new() };
            let ranges = hidden.into_iter().map(|(first, last)| from(first)..from(last + 1));
            Standing { texts: chapter.texts(), hides: ranges.filter(|range| !range.is_empty()).collect() }
        };
        ShownBesides::new(self.chapters.iter().map(standing).collect(), self.numbered)
    }
}

/// What a context built with this compaction shows before and behind its summary, whatever came since.
fn shown_by(loaded: &PathSlice, record: &CompactionRecord) -> (Vec<usize>, Vec<usize>) {
    let by_source =
        |at: &usize| loaded.stored[*at].entry.source_id.as_deref() == Some(record.first_kept_entry_id.as_str());
    let places = 0..loaded.heads.len();
    let first_kept = first_kept(loaded, record).or_else(|| places.clone().rev().find(by_source));
    let own = loaded.stored.iter().rposition(|stored| stored.record.as_deref() == Some(record));
    let index = if first_kept.is_some() { loaded.heads.len() } else { own.unwrap_or(loaded.heads.len()) };
    halves(&plan_view(&loaded.heads, Some(NewestCompaction { index, record, first_kept })))
}

/// Returns true if another compaction of the session says what the posted summary says.
pub(super) async fn has_twins(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    posted: &Posted,
) -> Result<bool> {
    let newest = entries::newest_compactions(connection, tenant.0, head.session_id, MOST_OTHERS as i64).await?;
    let records = newest.iter().filter_map(|stored| stored.record.as_deref());
    let held = records.filter(|record| held(std::iter::once(*record), posted).is_some());
    Ok(held.count() > 1)
}

/// The entries before and behind the summary.
fn halves(view: &[ViewItem]) -> (Vec<usize>, Vec<usize>) {
    let at = view.iter().position(|item| matches!(item, ViewItem::Summary { .. })).unwrap_or(0);
    let indexes = |part: &[ViewItem]| {
        let index = |item: &ViewItem| match item {
            ViewItem::Entry { index, .. } => Some(*index),
            ViewItem::Summary { .. } => None,
        };
        part.iter().filter_map(index).collect()
    };
    (indexes(&view[..at]), indexes(&view[at..]))
}
