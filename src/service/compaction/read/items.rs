//! Reading of a compaction's items: what it needs of a message is taken as it passes, and nothing is kept twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::compaction::mask::BRIEF_ROOMS;
use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::prune::{Largest, PruneCall, PruneItem, Pruner};
use crate::domain::context::elision::occurrences;
use crate::domain::context::view::ViewItem;
use crate::domain::context::whole::WholeTraffic;
use crate::domain::context::{elision, pairing};
use crate::domain::hook::answer::Shortened;
use crate::domain::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::domain::model::message::{Block, Message, Role};
use crate::domain::model::user_text::{self, UserText, UserTextClassifier, attributed};
use crate::domain::record::RecordSource;
use crate::domain::record::brief::brief_result;
use crate::domain::record::lighten::strip;
use crate::domain::redaction::Redaction;
use crate::domain::summary::files::FileTable;
use crate::service::compaction::plan::{PlannedCompaction, RunningPlace};
use crate::service::compaction::read::long_anchors::{cut_anchor, long_anchors};
use crate::service::compaction::read::prune_candidates::{PruneCandidate, PruneCandidates};
use crate::service::compaction::records::Records;
use crate::service::core::error::Result;
use crate::service::path::entries::message_of;
use crate::store::entries::StoredEntry;
use crate::store::path::{self, Segment, join};

/// Smaller results are hardly larger than what stands in their place.
const BRIEF_FROM: u32 = 60;

/// What was read for a compaction.
pub(crate) struct ReadItems {
    pub reading: ViewReading,
    /// For a model that is to summarise them afresh.
    pub originals: Option<ReplacedOriginals>,
    pub source: Option<RecordSource>,
    /// Of the system prompt.
    pub background: Option<Arc<str>>,
}

/// The entries of a view, on their way past.
pub(crate) struct ViewReading {
    planned: Arc<PlannedCompaction>,
    /// Places of the view's tool results and of the calls before its tail, with what of them is shown shorter already.
    /// Only where pruning is asked for.
    traffic: HashMap<usize, Vec<(ElidedPart, String)>>,
    /// Results that stay as they are, or that no context shows: place and slot.
    fixed: HashSet<(usize, usize)>,
    /// Places of anchors that a summariser reads.
    told: HashSet<usize>,
    /// Places of the running request, and what was asked there, with the last entry of it.
    running_at: Vec<usize>,
    pub(super) running: Option<(Uuid, String)>,
    /// Places of anchors that are too long, and how they are shown.
    long_anchors: HashSet<usize>,
    cut_anchors: Vec<Elision>,
    /// Tool names by call.
    names: HashMap<String, String>,
    pruner: Pruner,
    redaction: Redaction,
    /// What results say in brief, by entry and call, where masking may take them.
    brief: HashMap<(Uuid, String), Vec<String>>,
    tells_briefly: bool,
    /// The whole path, where chapters are to be summarised.
    path: Vec<Segment>,
    offers: Option<PruneCandidates>,
    pub(super) records: Records,
    /// Messages for a summariser, results cut already.
    pub(super) history: Vec<Kept>,
    pub(super) turn_prefix: Vec<Kept>,
    /// What hooks have shortened, once everything was read.
    pub(super) replaced: Vec<Elision>,
}

/// A message that is to be summarised, and its entry.
pub(super) struct Kept {
    entry_id: Uuid,
    pub message: Message,
}

impl Kept {
    /// What a harness says in a message and what the user says beside it, each by itself.
    fn parts(entry_id: Uuid, message: Message) -> impl Iterator<Item = Kept> {
        user_text::parts(message).into_iter().map(move |message| Kept { entry_id, message })
    }
}

impl ViewReading {
    pub(crate) fn new(planned: Arc<PlannedCompaction>) -> ViewReading {
        let (mut traffic, mut names) = (HashMap::new(), HashMap::new());
        let mut fixed = HashSet::new();
        if planned.prunes() {
            let heads = &planned.loaded.heads;
            let view = planned.loaded.view();
            fixed = pairing::unanswered(&view, heads);
            let whole = WholeTraffic::of(heads);
            for item in view {
                let ViewItem::Entry { index, elisions } = item else { continue };
                let shape = &heads[index].shape;
                let slots = shape.results.iter().enumerate().filter(|(_, result)| whole.has_result(result));
                fixed.extend(slots.map(|(slot, _)| (index, slot)));
                let stays = planned.in_tail(index) || shape.calls.iter().all(|call| whole.has_call(call));
                if !stays || shape.results.iter().any(|result| !whole.has_result(result)) {
                    let elided = elisions.into_iter().map(|elision| (elision.part, elision.tool_call_id));
                    traffic.insert(index, elided.collect());
                }
            }
            let calls = heads.iter().flat_map(|head| &head.shape.calls);
            names.extend(calls.map(|call| (call.id.clone(), call.name.clone())));
        }
        ViewReading {
            traffic,
            fixed,
            told: planned.told_anchors(),
            running_at: match planned.running() {
                Some(RunningPlace::At(row)) => row,
                _ => Vec::new(),
            },
            running: None,
            long_anchors: long_anchors(&planned),
            cut_anchors: Vec::new(),
            names,
            pruner: Pruner::new(&planned.settings),
            redaction: Redaction::of(&planned.settings.redact),
            brief: HashMap::new(),
            tells_briefly: planned.spares_results(),
            path: Vec::new(),
            offers: None,
            records: Records::on(&planned.loaded),
            history: Vec::new(),
            turn_prefix: Vec::new(),
            replaced: Vec::new(),
            planned,
        }
    }

    /// Returns true if chapters are among what is summarised: then the path is needed to find what they hide.
    pub(crate) fn replaces_chapters(&self) -> bool {
        let replaced =
            |plan: &Plan| plan.history.iter().chain(&plan.turn_prefix).any(|index| self.hidden(*index).is_some());
        !self.planned.loaded.folds().is_empty() && self.planned.replaces().is_some_and(replaced)
    }

    pub(crate) fn on(self, path: Vec<Segment>) -> ViewReading {
        ViewReading { path, ..self }
    }

    /// Returns the ranges of depths that the chapter at this place hides. `None`: there is no chapter.
    fn hidden(&self, index: usize) -> Option<Vec<(i64, i64)>> {
        self.planned.loaded.fold_at(index).map(|shown| shown.fold.hidden())
    }

    /// Keeps the results that may be shortened, for hooks.
    pub(crate) fn offering(mut self) -> ViewReading {
        self.offers = Some(PruneCandidates::default());
        self
    }

    /// The results that a hook may shorten.
    pub(crate) fn offered(&self) -> &[PruneCandidate] {
        self.offers.as_ref().map(PruneCandidates::list).unwrap_or_default()
    }

    /// Takes over what a hook made of offered results: all of it or nothing. Gives how many.
    ///
    /// # Errors
    /// Fault of the answer, in words.
    pub(crate) fn shorten(&mut self, shortened: &[Shortened]) -> std::result::Result<usize, String> {
        let estimator = self.planned.settings.estimator;
        self.offers.as_mut().map_or(Ok(0), |offers| offers.shorten(shortened, estimator))
    }

    /// Where the entries are that have something to say here.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let mut wanted: Vec<usize> = self.traffic.keys().chain(&self.told).copied().collect();
        if let Some(plan) = self.planned.replaces() {
            wanted.extend(plan.history.iter().chain(&plan.turn_prefix));
        }
        wanted.extend(self.running_at.iter().chain(&self.long_anchors));
        wanted.sort_unstable();
        wanted.dedup();
        let hidden = |index: usize| path::clip(&self.path, &self.hidden(index).unwrap_or_default());
        join(wanted.into_iter().flat_map(|index| {
            let mut segments = hidden(index);
            segments.push(self.planned.loaded.segment(index));
            segments
        }))
    }

    /// Takes in the next entry, in path order.
    pub(crate) fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let planned = self.planned.clone();
        let index = planned.loaded.place_of(stored);
        if index.is_none() && !stored.entry.head.is_visible() {
            return Ok(());
        }
        let Some(message) = message_of(stored)? else { return Ok(()) };
        let mut message = attributed(message, &planned.settings.agents);
        let Some(index) = index else {
            self.redaction.redact_message(&mut message, None);
            // Behind a chapter: what is worth telling, the agent has told; what was done must not be forgotten.
            self.records.done(&message, FileTable::new(&planned.settings.file_tools));
            return Ok(());
        };
        if self.running_at.contains(&index)
            && let Some(said) = asked(&message)
        {
            let before = self.running.take().map(|(_, before)| format!("{before}\n\n")).unwrap_or_default();
            self.running = Some((stored.entry.head.id, before + &said));
        }
        if self.long_anchors.contains(&index) {
            self.cut_anchors.extend(cut_anchor(&planned, stored.entry.head.id, &message));
        }
        let cut = self.prune(index, &message);
        // Kept messages and the running request stay as they were said; records and summarisers get no secret.
        self.redaction.redact_message(&mut message, None);
        self.tell_briefly(index, &message);
        let Some(plan) = planned.replaces() else { return Ok(()) };
        if self.told.contains(&index) {
            strip(&mut message);
            self.history.extend(Kept::parts(stored.entry.head.id, message));
            return Ok(());
        }
        let in_history = plan.history.binary_search(&index).is_ok();
        if !in_history && plan.turn_prefix.binary_search(&index).is_err() {
            return Ok(());
        }
        self.records.add(stored, &message, FileTable::new(&planned.settings.file_tools));
        if planned.asks() && !(in_history && planned.afresh()) {
            elision::apply(&mut message, &cut);
            if !cut.is_empty() {
                // What stands in place of a result may quote it.
                self.redaction.redact_message(&mut message, None);
            }
            strip(&mut message);
            let kept = Kept::parts(stored.entry.head.id, message);
            if in_history { self.history.extend(kept) } else { self.turn_prefix.extend(kept) }
        }
        Ok(())
    }

    /// The cuts of the message's results and arguments, as far as they are known before the rest is read.
    fn prune(&mut self, index: usize, message: &Message) -> Vec<Elision> {
        let Some(elided) = self.traffic.get(&index) else { return Vec::new() };
        let Some(head) = self.planned.loaded.heads.get(index) else { return Vec::new() };
        let in_tail = self.planned.in_tail(index);
        let elided: HashSet<(ElidedPart, &str)> = elided.iter().map(|one| (one.0, one.1.as_str())).collect();
        let already = |part, id: &str| elided.contains(&(part, id));
        let mut cut = Vec::new();
        let ids = occurrences(message.tool_results().map(|result| result.tool_call_id.as_str()));
        for (slot, (result, known)) in message.tool_results().zip(&head.shape.results).enumerate() {
            let is_text = result.content.iter().all(|block| matches!(block, Block::Text { .. }));
            if !is_text || self.fixed.contains(&(index, slot)) {
                continue;
            }
            let text = result.plain_text();
            let item = PruneItem {
                entry_id: head.id,
                call_id: &result.tool_call_id,
                name: self.names.get(&result.tool_call_id).map(String::as_str).unwrap_or_default(),
                text: &text,
                tokens: known.tokens,
                already_elided: already(ElidedPart::Result, &known.call_id),
                in_tail,
                ambiguous: ids.get(result.tool_call_id.as_str()).is_some_and(|count| *count > 1),
            };
            if let Some(offers) = self.offers.as_mut().filter(|_| self.pruner.may_shorten(&item)) {
                offers.add(&PruneItem { text: &self.redaction.redact(&text, None), ..item });
            }
            cut.extend(self.pruner.add(&item));
        }
        let ids = occurrences(message.tool_calls().map(|call| call.id.as_str()));
        for call in message.tool_calls() {
            cut.extend(self.pruner.add_call(&PruneCall {
                entry_id: head.id,
                call,
                already_elided: already(ElidedPart::Arguments, &call.id),
                in_tail,
                ambiguous: ids.get(call.id.as_str()).is_some_and(|count| *count > 1),
            }));
        }
        cut
    }

    /// Notes what the results of a redacted message say in brief, but for those that are shown shorter already.
    fn tell_briefly(&mut self, index: usize, message: &Message) {
        let (Some(elided), Some(head)) = (self.traffic.get(&index), self.planned.loaded.heads.get(index)) else {
            return;
        };
        if !self.tells_briefly {
            return;
        }
        let elided: HashSet<(ElidedPart, &str)> = elided.iter().map(|one| (one.0, one.1.as_str())).collect();
        for (result, known) in message.tool_results().zip(&head.shape.results) {
            let is_text = result.content.iter().all(|block| matches!(block, Block::Text { .. }));
            let is_elided = elided.contains(&(ElidedPart::Result, known.call_id.as_str()));
            if is_text && known.tokens > BRIEF_FROM && !is_elided {
                let name = self.names.get(&result.tool_call_id).map(String::as_str).unwrap_or_default();
                let told = brief_result(name, &result.plain_text(), known.end, &BRIEF_ROOMS);
                if !told.is_empty() {
                    self.brief.insert((head.id, known.call_id.clone()), told);
                }
            }
        }
    }

    /// The largest result that pruning cuts.
    pub(super) fn largest(&mut self) -> Option<Largest> {
        self.pruner.take_largest()
    }

    /// How anchors that are too long are shown, once everything was read.
    pub(super) fn take_cut_anchors(&mut self) -> Vec<Elision> {
        std::mem::take(&mut self.cut_anchors)
    }

    /// What results say in brief, once everything was read.
    pub(super) fn take_brief(&mut self) -> HashMap<(Uuid, String), Vec<String>> {
        std::mem::take(&mut self.brief)
    }

    /// All elisions of pruning, once everything was read.
    pub(super) fn pruned(&mut self) -> Vec<Elision> {
        let pruned = std::mem::replace(&mut self.pruner, Pruner::new(&self.planned.settings)).plan();
        point_to_copies(self.history.iter_mut().chain(&mut self.turn_prefix), &pruned);
        let replaced = self.offers.take().map(PruneCandidates::elisions).unwrap_or_default();
        if replaced.is_empty() {
            return pruned;
        }
        show_replaced(self.history.iter_mut().chain(&mut self.turn_prefix), &replaced);
        let merged = elision::merge(&pruned, &replaced);
        self.replaced = replaced;
        merged
    }
}

/// What a user asks in a message, with a word for what is no text.
fn asked(message: &Message) -> Option<String> {
    let mut said = match UserTextClassifier::default().classify(message) {
        UserText::Said(text) => vec![text],
        _ => Vec::new(),
    };
    said.extend(message.content.iter().filter_map(|block| match block {
        Block::Image { .. } => Some("[image]".to_owned()),
        Block::Document { .. } => Some("[document]".to_owned()),
        _ => None,
    }));
    (!said.is_empty()).then(|| said.join("\n"))
}

/// Of a result that a later one repeats, only that is known at the end.
fn point_to_copies<'k>(kept: impl Iterator<Item = &'k mut Kept>, pruned: &[Elision]) {
    // As in a message: the last elision of a call is the one that counts.
    let results = pruned.iter().filter(|elision| elision.part == ElidedPart::Result);
    let last: HashMap<(Uuid, &str), &Elision> =
        results.map(|elision| ((elision.entry_id, elision.tool_call_id.as_str()), elision)).collect();
    let mut copies: HashMap<Uuid, Vec<Elision>> = HashMap::new();
    for elision in last.into_values().filter(|elision| elision.kind == ElisionKind::Duplicate) {
        copies.entry(elision.entry_id).or_default().push(elision.clone());
    }
    for Kept { entry_id, message } in kept {
        if let Some(copies) = copies.get(entry_id) {
            elision::apply(message, copies);
        }
    }
}

fn show_replaced<'k>(kept: impl Iterator<Item = &'k mut Kept>, replaced: &[Elision]) {
    let mut by_entry: HashMap<Uuid, Vec<Elision>> = HashMap::new();
    for elision in replaced {
        by_entry.entry(elision.entry_id).or_default().push(elision.clone());
    }
    for Kept { entry_id, message } in kept {
        if let Some(elisions) = by_entry.get(entry_id) {
            elision::apply(message, elisions);
        }
    }
}

/// Everything before the cut from the root on, anchors aside: what is summarised where no summary is updated.
pub(crate) struct ReplacedOriginals {
    end: i64,
    anchors: HashSet<Uuid>,
    agents: Vec<String>,
    redaction: Redaction,
    pub(super) messages: Vec<Message>,
}

impl ReplacedOriginals {
    /// `None`: they are not asked for.
    pub(crate) fn of(planned: &PlannedCompaction) -> Option<ReplacedOriginals> {
        let plan = planned.replaces().filter(|_| planned.asks() && planned.afresh())?;
        let heads = &planned.loaded.heads;
        let end = plan.turn_prefix.first().copied().unwrap_or(plan.first_kept);
        Some(ReplacedOriginals {
            end: heads.get(end).map_or(i64::MAX, |head| head.depth),
            anchors: plan.anchors.iter().filter_map(|index| heads.get(*index)).map(|head| head.id).collect(),
            agents: planned.settings.agents.clone(),
            redaction: Redaction::of(&planned.settings.redact),
            messages: Vec::new(),
        })
    }

    /// Where they are on the whole path.
    pub(crate) fn segments(&self, path: &[Segment]) -> Vec<Segment> {
        path::clip(path, &[(0, self.end.saturating_sub(1))])
    }

    /// Takes in the next entry, in path order.
    pub(crate) fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let head = &stored.entry.head;
        if let Some(record) = stored.handle() {
            // The originals are not here.
            let told = record.summary_body.as_ref().or(record.summary.as_ref());
            let told = told.map(|told| self.redaction.redact(told, None));
            self.messages.extend(told.map(|told| Message::text(Role::CompactionSummary, told)));
        }
        if head.is_visible()
            && !self.anchors.contains(&head.id)
            && let Some(message) = message_of(stored)?
        {
            let mut message = attributed(message, &self.agents);
            self.redaction.redact_message(&mut message, None);
            strip(&mut message);
            self.messages.extend(user_text::parts(message));
        }
        Ok(())
    }
}
