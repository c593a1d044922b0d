//! Making a context fit that must be handed out now: what is kept of it is shortened too, where a summary of the rest
//! is not enough or there is no rest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use super::part::{Force, KeptResult, LEAST_SUMMARY, SMALLEST, least_record, target};
use crate::domain::compaction::result::Reason;
use crate::domain::context::elision::{self, freed};
use crate::domain::context::view::ViewItem;
use crate::domain::context::whole::WholeTraffic;
use crate::domain::model::compaction::{ElidedPart, Elision};
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::message::ToolResult;
use crate::domain::model::strategy::Strategy;
use crate::service::compaction::force_fit::cuts::{cut_answer, cut_down, cut_words};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::compaction::read::{ProposedElisions, elision_outline};
use crate::service::compaction::work::CompactionWork;
use crate::service::core::error::Result;
use crate::service::path::entries::message_of;
use crate::store::entries::StoredEntry;
use crate::store::path::{Segment, join};

/// A marker has at least so many tokens.
const LEAST_MARKER: u32 = 20;

/// The results of a context that are cut down, on their way past.
pub(crate) struct KeptTruncation {
    planned: Arc<PlannedCompaction>,
    /// By place on the path.
    wanted: HashMap<usize, Vec<KeptResult>>,
    cut: Vec<Elision>,
    force: Force,
}

/// Entries that a context shows, and the elisions that are in force there.
struct Present<'a> {
    kept: Vec<usize>,
    elisions: &'a [Elision],
    /// Tokens of the summary message.
    summary: u64,
}

impl KeptTruncation {
    /// Finds the results and arguments that have to be cut down besides. `None`: there are none, or none can be.
    pub(crate) fn of(
        planned: &Arc<PlannedCompaction>,
        work: &std::result::Result<CompactionWork, Reason>,
        force: Force,
    ) -> Option<KeptTruncation> {
        let heads = &planned.loaded.heads;
        let wanted = match work {
            Ok(work) => {
                let outline = &work.outline;
                let anchors: HashSet<Uuid> = outline.anchors.iter().map(|anchor| anchor.id).collect();
                let is_kept = |head: &EntryMeta| head.depth >= outline.first_kept.depth || anchors.contains(&head.id);
                let kept = heads.iter().enumerate().filter(|(_, head)| head.is_visible() && is_kept(head));
                let kept: Vec<usize> = kept.map(|(index, _)| index).collect();
                let record = match force {
                    Force::Ends => LEAST_SUMMARY + least_record(&planned.settings, work),
                    Force::Markers | Force::Words => 0,
                };
                let summary = work.allowance().likely().max(record);
                to_cut(planned, &Present { kept, elisions: &outline.elisions, summary }, force)
            }
            Err(Reason::NothingToCompact | Reason::NoValidCutPoint | Reason::AlreadyCompacted) => {
                let shown: Vec<usize> = planned.loaded.view().iter().filter_map(entry_index).collect();
                let summary = planned.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
                to_cut(planned, &Present { kept: shown, elisions: planned.loaded.elisions(), summary }, force)
            }
            Err(_) => HashMap::new(),
        };
        (!wanted.is_empty()).then(|| KeptTruncation { planned: planned.clone(), wanted, cut: Vec::new(), force })
    }

    /// Where the items are that have to be read.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let mut places: Vec<usize> = self.wanted.keys().copied().collect();
        places.sort_unstable();
        join(places.into_iter().map(|index| self.planned.loaded.segment(index)))
    }

    /// Takes in the next entry, in path order.
    pub(crate) fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let place = self.planned.loaded.place_of(stored);
        let Some(wanted) = place.and_then(|index| self.wanted.get(&index)) else { return Ok(()) };
        let Some(message) = message_of(stored)? else { return Ok(()) };
        for shown in wanted {
            match shown.part {
                ElidedPart::Arguments => {
                    self.cut.extend(cut_answer(&self.planned, stored.entry.head.id, &message, shown));
                    continue;
                }
                ElidedPart::Words => {
                    self.cut.extend(cut_words(&self.planned, stored.entry.head.id, &message, shown));
                    continue;
                }
                ElidedPart::Result => {}
            }
            let is_it = |result: &&ToolResult| result.tool_call_id == shown.call_id;
            if let Some(result) = message.tool_results().find(is_it) {
                self.cut.extend(cut_down(&self.planned, stored.entry.head.id, result, shown, self.force));
            }
        }
        Ok(())
    }

    /// The work with what was cut.
    pub(crate) fn finish(
        self,
        work: std::result::Result<CompactionWork, Reason>,
    ) -> std::result::Result<CompactionWork, Reason> {
        let count = u32::try_from(self.cut.len()).unwrap_or(u32::MAX);
        if let Ok(mut work) = work {
            let outline = &mut work.outline;
            outline.pruned = outline.pruned.saturating_add(count);
            outline.elisions = elision::merge(&outline.elisions, &self.cut);
            return Ok(work);
        }
        let previous = self.planned.loaded.elisions();
        let merged = elision::merge(previous, &self.cut);
        let freed = freed(&merged).saturating_sub(freed(previous));
        let elided =
            ProposedElisions { merged, pruned: count, masked_results: 0, masks: Vec::new(), freed, mask_freed: freed };
        let work = elision_outline(&self.planned, elided)?;
        Ok(CompactionWork { strategy: Strategy::Truncate, ..work })
    }
}

fn entry_index(item: &ViewItem) -> Option<usize> {
    match item {
        ViewItem::Entry { index, .. } => Some(*index),
        ViewItem::Summary { .. } => None,
    }
}

/// Chooses what to cut so that what is present comes down to the target: results and the arguments of calls, then the words
/// of answers, each only as far as needed. Where ends are kept, all that are longer keep as much of them. Where the answers'
/// words alone are too many, they give way first: no result need go for them. What the user says stays.
fn to_cut(planned: &PlannedCompaction, present: &Present<'_>, force: Force) -> HashMap<usize, Vec<KeptResult>> {
    let heads = &planned.loaded.heads;
    let Present { kept, elisions, summary } = present;
    let ids: HashSet<Uuid> = kept.iter().filter_map(|index| heads.get(*index)).map(|head| head.id).collect();
    let whole: u64 = kept.iter().filter_map(|index| heads.get(*index)).map(|head| u64::from(head.tokens)).sum();
    let elided: Vec<Elision> = elisions.iter().filter(|elision| ids.contains(&elision.entry_id)).cloned().collect();
    let account = &planned.state.account;
    let fixed = u64::from(account.system) + u64::from(account.tools);
    let target = account.estimate_of(target(account, &planned.settings), planned.settings.estimator);
    let mut over = (fixed + summary + whole.saturating_sub(freed(&elided))).saturating_sub(target);
    let smallest = SMALLEST[force as usize];
    let mut wanted: HashMap<usize, Vec<KeptResult>> = HashMap::new();
    let mut traffic = shown_results(planned, kept, elisions);
    let calls = shown_calls(planned, kept, elisions);
    let words = shown_words(planned, kept, elisions, &calls);
    traffic.extend(calls);
    let least = |shown: &[(usize, KeptResult)]| -> u64 {
        shown.iter().map(|(_, one)| u64::from(one.loose().saturating_sub(smallest))).sum()
    };
    // In less, a marker would say more than the ends of a result. A marker takes the place of all of it.
    let least_cut = if force == Force::Ends { 2 * u64::from(smallest) } else { u64::from(LEAST_MARKER.min(smallest)) };
    let ordered = if least(&traffic) < over { [words, traffic] } else { [traffic, words] };
    for all in ordered {
        for (index, cap, mut shown) in capped(all, over, smallest) {
            let loose = u64::from(shown.loose());
            let has_room = force == Force::Ends && loose <= cap;
            if over == 0 || loose <= least_cut || has_room {
                continue;
            }
            let part = match force {
                Force::Words => 0,
                Force::Markers => loose.saturating_sub(over),
                Force::Ends => loose.saturating_sub(over).max(cap),
            };
            let goal = if loose <= 2 * u64::from(smallest) { least_cut } else { part.max(u64::from(smallest)) };
            over = over.saturating_sub(loose.saturating_sub(goal));
            shown.goal = u64::from(shown.whole) + goal;
            wanted.entry(index).or_default().push(shown);
        }
    }
    wanted
}

/// The same, each with what all of them may have so that together they are `over` less, but at least `smallest`.
fn capped(shown: Vec<(usize, KeptResult)>, over: u64, smallest: u32) -> impl Iterator<Item = (usize, u64, KeptResult)> {
    let freed = |cap: u64| -> u64 { shown.iter().map(|(_, one)| u64::from(one.loose()).saturating_sub(cap)).sum() };
    let longest = shown.iter().map(|(_, one)| u64::from(one.loose())).max().unwrap_or_default();
    let (mut low, mut high) = (u64::from(smallest), longest.max(u64::from(smallest)) + 1);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if freed(middle) >= over { low = middle } else { high = middle }
    }
    shown.into_iter().map(move |(index, one)| (index, low, one))
}

/// Tools and entries whose results and arguments may not be shortened.
struct Spared<'a> {
    names: HashMap<&'a str, &'a str>,
    excluded: HashSet<&'a str>,
    pinned: HashSet<Uuid>,
    whole: WholeTraffic<'a>,
}

impl<'a> Spared<'a> {
    fn of(planned: &'a PlannedCompaction) -> Spared<'a> {
        let calls = planned.loaded.heads.iter().flat_map(|head| &head.shape.calls);
        Spared {
            names: calls.map(|call| (call.id.as_str(), call.name.as_str())).collect(),
            excluded: planned.settings.exclude_tools.iter().map(String::as_str).collect(),
            pinned: planned.settings.pinned_entry_ids.iter().copied().collect(),
            whole: WholeTraffic::of(&planned.loaded.heads),
        }
    }

    fn is_excluded(&self, call_id: &str) -> bool {
        self.names.get(call_id).is_some_and(|name| self.excluded.contains(name))
    }
}

/// The results that may be shortened, largest first.
fn shown_results(planned: &PlannedCompaction, kept: &[usize], present: &[Elision]) -> Vec<(usize, KeptResult)> {
    let heads = &planned.loaded.heads;
    let spared = Spared::of(planned);
    let of_result = present.iter().filter(|elision| elision.part == ElidedPart::Result);
    let elided: HashMap<(Uuid, &str), &Elision> =
        of_result.map(|elision| ((elision.entry_id, elision.tool_call_id.as_str()), elision)).collect();
    let mut results = Vec::new();
    for index in kept {
        let Some(head) = heads.get(*index).filter(|head| !spared.pinned.contains(&head.id)) else { continue };
        let ids = elision::occurrences(head.shape.results.iter().map(|result| result.call_id.as_str()));
        for result in head.shape.results.iter().filter(|result| !spared.whole.has_result(result)) {
            let call_id = result.call_id.as_str();
            // An elision could not tell two results of one id apart.
            if spared.is_excluded(call_id) || ids.get(call_id).is_some_and(|count| *count > 1) {
                continue;
            }
            let tokens = elided.get(&(head.id, call_id)).map_or(result.tokens, |elision| elision.tokens_after);
            let part = ElidedPart::Result;
            results.push((
                *index,
                KeptResult { part, call_id: call_id.to_owned(), original: result.tokens, tokens, whole: 0, goal: 0 },
            ));
        }
    }
    results.sort_by_key(|(_, shown)| std::cmp::Reverse(shown.loose()));
    results
}

/// Answers with calls whose arguments and words may be shortened, largest first. Their size is known together.
fn shown_calls(planned: &PlannedCompaction, kept: &[usize], present: &[Elision]) -> Vec<(usize, KeptResult)> {
    let heads = &planned.loaded.heads;
    let spared = Spared::of(planned);
    let mut elided: HashMap<Uuid, i64> = HashMap::new();
    for elision in present.iter().filter(|elision| elision.part == ElidedPart::Arguments) {
        *elided.entry(elision.entry_id).or_default() += elision.freed();
    }
    let mut answers = Vec::new();
    for index in kept {
        let Some(head) = heads.get(*index).filter(|head| !spared.pinned.contains(&head.id)) else { continue };
        if head.shape.calls.iter().any(|call| !spared.whole.has_call(call) && !spared.is_excluded(&call.id)) {
            let freed = elided.get(&head.id).copied().unwrap_or(0);
            let tokens = u32::try_from(i64::from(head.tokens) - freed).unwrap_or(0);
            let (part, call_id) = (ElidedPart::Arguments, String::new());
            let whole = spared.whole.result_tokens(head);
            answers.push((*index, KeptResult { part, call_id, original: head.tokens, tokens, whole, goal: 0 }));
        }
    }
    answers.sort_by_key(|(_, shown)| std::cmp::Reverse(shown.loose()));
    answers
}

/// Answers without such calls, and messages in the user's role without a word of the user's, whose words may be shortened,
/// largest first.
fn shown_words(
    planned: &PlannedCompaction,
    kept: &[usize],
    present: &[Elision],
    calls: &[(usize, KeptResult)],
) -> Vec<(usize, KeptResult)> {
    let spared = Spared::of(planned);
    let calls: HashSet<usize> = calls.iter().map(|(index, _)| *index).collect();
    let mut freed: HashMap<Uuid, i64> = HashMap::new();
    for elision in present {
        *freed.entry(elision.entry_id).or_default() += elision.freed();
    }
    let mut answers = Vec::new();
    for index in kept {
        let Some(head) = planned.loaded.heads.get(*index).filter(|head| may_lose_words(head)) else { continue };
        if head.kind == EntryType::Message && !spared.pinned.contains(&head.id) && !calls.contains(index) {
            let tokens = i64::from(head.tokens) - freed.get(&head.id).copied().unwrap_or(0);
            let tokens = u32::try_from(tokens).unwrap_or(0);
            let (part, call_id) = (ElidedPart::Words, String::new());
            let whole = spared.whole.result_tokens(head);
            answers.push((*index, KeptResult { part, call_id, original: head.tokens, tokens, whole, goal: 0 }));
        }
    }
    answers.sort_by_key(|(_, shown)| std::cmp::Reverse(shown.loose()));
    answers
}

/// Returns true if the words of a message may be shown by head and tail: the agent said them, or nobody who asks.
pub(super) fn may_lose_words(head: &EntryMeta) -> bool {
    head.is_answer() || (head.shape.by_harness && head.shape.results.is_empty())
}
