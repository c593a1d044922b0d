//! Putting the pieces in order: each group of calls, its results behind it, then what else the results' entries say.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::examined::{HALF_CHARACTER, mended, needs_repair, repair};
use super::halves;
use super::matching::{MatchOutcome, Matching, ResultPlace};
use super::source::StoredSource;
use super::step::ViewStep;
use super::synthetic;
use crate::context::elision;
use crate::format::note_code::NoteCode;
use crate::format::write::{ItemFault, Note, Piece};
use crate::model::abandoned::is_abandoned;
use crate::model::format::Format;
use crate::model::json;
use crate::model::message::{Block, CallKind, Message, Role, ToolResult};
use crate::model::shape::{ShapeKind, apply_shape, is_generated_id};

/// An entry that was read, its results taken apart from the rest.
struct Opened {
    rest: Message,
    /// By slot of the shape; `None` for a provider's own and for one that was taken.
    results: Vec<Option<ToolResult>>,
}

pub struct Emitter<'v, 'a, F, S> {
    steps: &'v [ViewStep<'v>],
    matching: Matching,
    sources: &'v F,
    summary_text: &'v S,
    target: Format,
    notes: &'v mut Vec<Note>,
    pieces: Vec<Piece<'a>>,
    opened: HashMap<usize, Opened>,
    /// Steps of results that went out whole, right behind their calls.
    sent: Vec<bool>,
    /// Steps whose stored item is of the target's format and can't go out as it came.
    to_repair: Vec<bool>,
}

/// How the results of a group of calls go out.
struct Answers {
    /// Steps that go out whole, in their order.
    whole: Vec<usize>,
    /// Calls answered one by one: their result is elsewhere, shares an entry with something else, or is missing.
    single: Vec<usize>,
    /// The result steps that directly follow the group.
    block: Range<usize>,
}

impl<'v, 'a, F, S> Emitter<'v, 'a, F, S>
where
    F: Fn(usize) -> StoredSource<'a>,
    S: Fn(usize) -> String,
{
    pub fn new(
        steps: &'v [ViewStep<'v>],
        matching: Matching,
        sources: &'v F,
        summary_text: &'v S,
        target: Format,
        notes: &'v mut Vec<Note>,
    ) -> Self {
        let (pieces, sent) = (Vec::with_capacity(steps.len()), vec![false; steps.len()]);
        let mut alone = if target == Format::Anthropic { halves::alone(steps) } else { vec![false; steps.len()] };
        for (step, alone) in steps.iter().zip(&mut alone).filter(|(step, _)| !step.is_summary) {
            let source = sources(step.index);
            *alone = source.format == target && *alone || needs_repair(step, source, target);
        }
        let (opened, to_repair) = (HashMap::new(), alone);
        Emitter { steps, matching, sources, summary_text, target, notes, pieces, opened, sent, to_repair }
    }

    pub fn run(mut self) -> Vec<Piece<'a>> {
        self.report_dropped();
        let mut at = 0;
        while at < self.steps.len() && !is_abandoned() {
            let step = &self.steps[at];
            if step.is_assistant() {
                at = self.assistant_run(at);
                continue;
            }
            if step.is_summary {
                let message = Message::text(step.role, (self.summary_text)(step.index));
                self.pieces.push(Piece::Message { entry: None, message });
            } else if !step.has_results() {
                self.entry(at, false);
            } else if !self.sent[at] && step.shape.mixed {
                self.rest(at);
            }
            at += 1;
        }
        self.pieces
    }

    fn report_dropped(&mut self) {
        for (at, step) in self.steps.iter().enumerate() {
            for (outcome, result) in self.matching.outcomes_of(at).iter().zip(&step.shape.results) {
                let (code, why) = match outcome {
                    MatchOutcome::Orphan => (NoteCode::OrphanResultDropped, "no call before it"),
                    MatchOutcome::Duplicate => (NoteCode::DuplicateResultDropped, "its call is already answered"),
                    MatchOutcome::Answers(_) | MatchOutcome::Server => continue,
                };
                let detail = format!("result of {:?} left out: {why}", result.call_id);
                self.notes.push(Note::new(code, Some(step.index), detail));
            }
        }
    }

    /// Sends out consecutive assistant steps with their results; returns the step after them.
    fn assistant_run(&mut self, start: usize) -> usize {
        let end = self.next_step(start, |step| !step.is_assistant());
        let block = end..self.next_step(end, |step| !step.answers());
        let mut at = start;
        while at < end {
            let calls = self.matching.calls_of(&(at..at + 1));
            let waits = calls.into_iter().any(|call| {
                let answer = self.matching.calls[call].answer;
                answer.is_some_and(|place| block.contains(&place.step))
            });
            // Its results stand behind the whole run, so the run belongs together up to its end.
            let group = if waits { at..end } else { at..at + 1 };
            at = group.end;
            let behind = if at == end { block.clone() } else { at..at };
            self.group(group, behind);
        }
        end
    }

    fn next_step(&self, from: usize, found: impl Fn(&ViewStep<'_>) -> bool) -> usize {
        self.steps[from..].iter().position(found).map_or(self.steps.len(), |offset| from + offset)
    }

    fn group(&mut self, group: Range<usize>, block: Range<usize>) {
        let answers = self.plan(&group, block);
        // A call without an id of its own is paired by position and name: as stored, or not at all.
        let unnamed = self.matching.calls_of(&group).any(|call| self.has_generated_id(call));
        let mut members = group.clone().chain(answers.whole.iter().copied());
        let whole = answers.single.is_empty() && members.all(|step| self.goes_verbatim(step));
        // Anthropic joins neighbouring messages of one side itself: what came so from there goes back so.
        let apart = self.target == Format::OpenaiResponses || (self.target == Format::Anthropic && whole);
        let merge = group.len() > 1 && !apart;
        let as_stored = !merge && whole;
        let read = unnamed && !as_stored;
        if merge {
            self.merge(group);
        } else {
            group.for_each(|step| self.entry(step, read));
        }
        self.answer(answers, read);
    }

    fn plan(&self, group: &Range<usize>, block: Range<usize>) -> Answers {
        let calls = self.matching.calls_of(group);
        let mut open: HashSet<usize> = calls.clone().collect();
        let mut whole = Vec::new();
        for step in block.clone() {
            let outcomes = self.matching.outcomes_of(step);
            let ours = |outcome: &MatchOutcome| match outcome {
                MatchOutcome::Answers(call) => calls.contains(call),
                MatchOutcome::Server => true,
                _ => false,
            };
            let answered = outcomes.iter().filter(|outcome| matches!(outcome, MatchOutcome::Answers(_))).count();
            // What else the entry says may not come between the results.
            let last = answered == open.len();
            if outcomes.iter().all(ours) && (last || !self.steps[step].shape.mixed) {
                whole.push(step);
                for outcome in outcomes {
                    if let MatchOutcome::Answers(call) = outcome {
                        open.remove(call);
                    }
                }
            }
        }
        let one_message = self.joins_results();
        if one_message && whole.len() + usize::from(!open.is_empty()) > 1 {
            whole.clear();
            open = calls.clone().collect();
        }
        let single = calls.filter(|call| open.contains(call)).collect();
        Answers { whole, single, block }
    }

    fn answer(&mut self, answers: Answers, read: bool) {
        for step in answers.whole {
            self.sent[step] = true;
            self.entry(step, read);
        }
        let mut steps = answers.single.iter().map(|call| self.matching.calls[*call].answer.map(|place| place.step));
        let first = steps.next();
        let joined = steps.any(|step| Some(step) != first);
        let mut previous = None;
        for call in answers.single {
            let Some(place) = self.matching.calls[call].answer else {
                self.synthetic(call);
                continue;
            };
            if previous != Some(place.step) {
                self.note_rearranged(place.step, &answers.block, joined);
            }
            previous = Some(place.step);
            match self.take_result(place) {
                Some(result) => self.push_result(Some(self.steps[place.step].index), result),
                None => self.synthetic(call),
            }
        }
    }

    /// All results of a message's calls must be in one message.
    fn joins_results(&self) -> bool {
        matches!(self.target, Format::Anthropic | Format::Gemini)
    }

    fn note_rearranged(&mut self, at: usize, block: &Range<usize>, joined: bool) {
        let step = &self.steps[at];
        let same_format = (self.sources)(step.index).format == self.target;
        if !block.contains(&at) || (same_format && step.shape.mixed) {
            self.note(NoteCode::ResultMoved, at, "the result is put right behind its call");
        } else if same_format && joined && self.joins_results() {
            self.note(NoteCode::MessagesMerged, at, "results of one batch go in one message");
        }
    }

    fn synthetic(&mut self, call: usize) {
        let call = &self.matching.calls[call];
        let Some(known) = self.steps[call.step].shape.calls.get(call.slot) else { return };
        let id = call.new_id.clone().unwrap_or_else(|| known.id.clone());
        let result = synthetic::result(id, known.name.clone());
        let detail = format!("the call {:?} has no result; one that says so is put in", known.id);
        self.notes.push(Note::new(NoteCode::SyntheticResult, Some(self.steps[call.step].index), detail));
        self.push_result(None, result);
    }

    /// Adds a result to the batch: to the message before it where that is of the same entry, or where all results
    /// must be in one.
    fn push_result(&mut self, entry: Option<usize>, result: ToolResult) {
        if let Some(Piece::Message { entry: last, message }) = self.pieces.last_mut()
            && message.role == Role::Tool
            && (*last == entry || matches!(self.target, Format::Anthropic | Format::Gemini))
        {
            message.content.push(Block::ToolResult(result));
            *last = last.or(entry);
            return;
        }
        let message = Message { role: Role::Tool, content: vec![Block::ToolResult(result)], stop: None, opaque: None };
        self.pieces.push(Piece::Message { entry, message });
    }

    /// Sends out one entry: as stored where that can be, else read.
    fn entry(&mut self, at: usize, read: bool) {
        let step = &self.steps[at];
        if !read && self.goes_verbatim(at) {
            let item = json::mend_surrogates((self.sources)(step.index).item);
            if let Cow::Owned(_) = &item {
                self.note(NoteCode::HalfCharacterReplaced, at, HALF_CHARACTER);
            }
            self.pieces.push(Piece::Verbatim { entry: step.index, item });
            return;
        }
        if read && self.goes_verbatim(at) {
            self.note(
                NoteCode::ItemRepaired,
                at,
                "paired by position as it came, and written anew with the messages around it",
            );
        }
        if self.sent[at] {
            for slot in 0..step.shape.results.len() {
                let outcome = self.matching.outcomes_of(at)[slot];
                match (self.take_result(ResultPlace { step: at, slot }), outcome) {
                    (Some(result), _) => self.push_result(Some(step.index), result),
                    (None, MatchOutcome::Answers(call)) => self.synthetic(call),
                    (None, _) => {}
                }
            }
            if !step.shape.mixed {
                return;
            }
        }
        self.rest(at);
    }

    /// Sends out what an entry says besides its results.
    fn rest(&mut self, at: usize) {
        let message = self.take_rest(at);
        self.pieces.push(Piece::Message { entry: Some(self.steps[at].index), message });
    }

    /// Sends out several assistant steps as one message.
    fn merge(&mut self, group: Range<usize>) {
        let first = group.start;
        let mut merged = self.take_rest(first);
        for at in group.clone().skip(1) {
            let next = self.take_rest(at);
            merged.content.extend(next.content);
            merged.stop = next.stop;
        }
        for at in group {
            // Responses items are parts of a message to begin with.
            if (self.sources)(self.steps[at].index).format != Format::OpenaiResponses {
                self.note(NoteCode::MessagesMerged, at, "parallel calls go in one message");
            }
        }
        self.pieces.push(Piece::Message { entry: Some(self.steps[first].index), message: merged });
    }

    fn goes_verbatim(&self, at: usize) -> bool {
        let step = &self.steps[at];
        (self.sources)(step.index).format == self.target
            && !self.to_repair[at]
            && step.elisions.is_empty()
            && !self.matching.renames(at)
            && !(step.is_assistant() && step.has_results())
    }

    fn has_generated_id(&self, call: usize) -> bool {
        let call = &self.matching.calls[call];
        let step = &self.steps[call.step];
        step.shape.calls.get(call.slot).is_some_and(|known| is_generated_id(&known.id, step.seq))
    }

    fn take_result(&mut self, place: ResultPlace) -> Option<ToolResult> {
        self.open(place.step).results.get_mut(place.slot)?.take()
    }

    fn take_rest(&mut self, at: usize) -> Message {
        let rest = &mut self.open(at).rest;
        let role = rest.role;
        std::mem::replace(rest, Message { role, content: Vec::new(), stop: None, opaque: None })
    }

    fn open(&mut self, at: usize) -> &mut Opened {
        let opened = match self.opened.remove(&at) {
            Some(opened) => opened,
            None => self.read(at),
        };
        self.opened.entry(at).or_insert(opened)
    }

    fn read(&mut self, at: usize) -> Opened {
        let step = &self.steps[at];
        let source = (self.sources)(step.index);
        if self.matching.renames(at) {
            let detail = "an earlier call of the context has the same id";
            self.notes.push(Note::new(NoteCode::CallIdRenamed, Some(step.index), detail).of(ItemFault::IdTaken));
        }
        let (message, faults) = mended(source, self.target);
        let Some(mut message) = message else {
            self.note(NoteCode::ItemUnreadable, at, "the stored item can't be read any more");
            return self.take_apart(at, synthetic::stand_in(step.role, step.shape));
        };
        if json::lone_surrogates(source.item) > 0 {
            self.note(NoteCode::HalfCharacterReplaced, at, HALF_CHARACTER);
        }
        if self.to_repair[at] {
            self.note(NoteCode::ItemRepaired, at, &repair(&faults));
        }
        apply_shape(&mut message, step.shape);
        elision::apply(&mut message, step.elisions);
        self.take_apart(at, message)
    }

    fn take_apart(&self, at: usize, message: Message) -> Opened {
        let outcomes = self.matching.outcomes_of(at);
        let mut calls = self.matching.calls[self.matching.calls_of(&(at..at + 1))].iter();
        let mut opened = Opened { rest: Message { content: Vec::new(), ..message }, results: Vec::new() };
        for block in message.content {
            match block {
                Block::ToolResult(mut result) if result.kind != CallKind::Server => {
                    let outcome = outcomes.get(opened.results.len());
                    if let Some(id) = outcome.and_then(|outcome| self.matching.new_id_of(*outcome)) {
                        id.clone_into(&mut result.tool_call_id);
                    }
                    opened.results.push(Some(result));
                }
                Block::ToolResult(result) => {
                    opened.results.push(None);
                    opened.rest.content.push(Block::ToolResult(result));
                }
                Block::ToolCall(mut call) => {
                    if ShapeKind::from(call.kind) == ShapeKind::Function
                        && let Some(id) = calls.next().and_then(|known| known.new_id.as_deref())
                    {
                        id.clone_into(&mut call.id);
                    }
                    opened.rest.content.push(Block::ToolCall(call));
                }
                other => opened.rest.content.push(other),
            }
        }
        if opened.rest.role == Role::Tool && !opened.rest.content.is_empty() {
            opened.rest.role = Role::User;
        }
        opened
    }

    fn note(&mut self, code: NoteCode, at: usize, detail: &str) {
        self.notes.push(Note::new(code, Some(self.steps[at].index), detail));
    }
}
