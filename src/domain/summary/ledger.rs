//! The tool ledger: every call that compactions replaced, rendered by code, so that no side effect is repeated
//! because a model forgot it.
//!
//! It is cumulative: each compaction extends the ledger of the one before. Detail is bounded, counts are exact.

use std::collections::{HashMap, HashSet};

use crate::domain::model::ledger::{Ledger, LedgerLine, Total};
use crate::domain::model::message::{Message, ToolCall, ToolResult};
use crate::domain::record::effect;
use crate::domain::record::ending::{self, CallEnd};
use crate::domain::summary::outcome;
use crate::domain::summary::text::{clip, one_line};

mod arguments;
mod render;
mod told;

use arguments::NAME_CHARS;
pub use arguments::{TOLD_CHARS, describe, described};
pub use told::{PURPOSE, ToldCalls, failed_step, file_work, without_count};

/// Calls kept one by one; older ones are counted by name.
const MAX_LINES: usize = 300;
/// Names that are counted one by one; the rest of a hostile or generated set shares [`OTHER`].
const MAX_NAMES: usize = 200;
const OTHER: &str = "(other tools)";
const TARGET_CHARS: usize = 160;
const OUTCOME_CHARS: usize = 80;

/// A call and its result, as a compaction finds them.
#[derive(Debug, Clone, Copy)]
pub struct LedgerCall<'a> {
    pub call: &'a ToolCall,
    pub result: Option<&'a ToolResult>,
}

/// The calls of a span in order, each with the next result of its id.
pub fn calls(messages: &[Message]) -> Vec<LedgerCall<'_>> {
    let mut paired = Paired::default();
    for message in messages {
        let made = |call| LedgerCall { call, result: None };
        paired.add(message, made, |_, result| result, |made, result| made.result = Some(result));
    }
    paired.made
}

/// The calls of a span that is read piece by piece, kept as lines alone.
#[derive(Debug, Default)]
pub struct Recorder(Paired<LedgerLine, Answered>);

impl Recorder {
    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        self.0.add(message, line, Answered::of, LedgerLine::answer);
    }
}

/// Records kept of calls, which of the calls wait for their results, and results that came before their calls.
#[derive(Debug)]
struct Paired<T, A> {
    made: Vec<T>,
    open: HashMap<String, usize>,
    /// Every id that a call had.
    called: HashSet<String>,
    early: HashMap<String, A>,
}

impl<T, A> Default for Paired<T, A> {
    fn default() -> Self {
        Paired { made: Vec::new(), open: HashMap::new(), called: HashSet::new(), early: HashMap::new() }
    }
}

impl<T, A> Paired<T, A> {
    fn add<'m>(
        &mut self,
        message: &'m Message,
        make: impl Fn(&'m ToolCall) -> T,
        read: impl Fn(Option<&T>, &'m ToolResult) -> A,
        answer: impl Fn(&mut T, A),
    ) {
        self.close(message, &read, &answer);
        for call in message.tool_calls() {
            self.open.insert(call.id.clone(), self.made.len());
            self.called.insert(call.id.clone());
            let mut made = make(call);
            // One behind it will take its place.
            self.early.remove(&call.id).into_iter().for_each(|early| answer(&mut made, early));
            self.made.push(made);
        }
        // A provider's own tools are answered inside the same message.
        self.close(message, &read, &answer);
    }

    fn close<'m>(
        &mut self,
        message: &'m Message,
        read: &impl Fn(Option<&T>, &'m ToolResult) -> A,
        answer: &impl Fn(&mut T, A),
    ) {
        for result in message.tool_results() {
            let id = &result.tool_call_id;
            if let Some(made) = self.open.remove(id).and_then(|at| self.made.get_mut(at)) {
                let told = read(Some(made), result);
                answer(made, told);
            } else if !self.called.contains(id) {
                self.early.entry(id.clone()).or_insert_with(|| read(None, result));
            }
        }
    }
}

/// What a line keeps of a result.
#[derive(Debug)]
struct Answered {
    outcome: CallEnd,
    says: String,
    is_short: bool,
    size: u64,
}

impl Answered {
    /// `line`: that of the call that is answered, where it came before the result.
    fn of(line: Option<&LedgerLine>, result: &ToolResult) -> Answered {
        let text = result.plain_text();
        let tool = line.map(|line| line.name.as_str()).or(result.name.as_deref());
        let outcome = ending::end_of(tool.unwrap_or_default(), result);
        let is_short = text.lines().take(4).count() < 4;
        // A long result of a call that only reads is kept by its size alone.
        let tells = line.is_none_or(|line| !line.read_only) || outcome.went_wrong() || is_short;
        let says = if tells { outcome::telling(&text, OUTCOME_CHARS) } else { String::new() };
        Answered { outcome, says, is_short, size: text.len() as u64 }
    }
}

impl Ledger {
    pub fn is_empty(&self) -> bool {
        self.totals.is_empty() && self.lines.is_empty()
    }

    /// Adds the calls of a newly replaced span, oldest first.
    pub fn extend(&mut self, span: Recorder) {
        self.lines.extend(span.0.made);
        self.lines = joined(std::mem::take(&mut self.lines));
        let excess = self.lines.len().saturating_sub(MAX_LINES);
        self.fold(excess);
    }

    /// Counts the `excess` oldest lines by name, those that changed nothing first.
    fn fold(&mut self, excess: usize) {
        if excess == 0 {
            return;
        }
        let harmless = self.lines.iter().filter(|line| line.read_only).count().min(excess);
        let (mut harmless, mut others) = (harmless, excess - harmless);
        let mut places: HashMap<String, usize> =
            self.totals.iter().enumerate().map(|(at, total)| (total.name.clone(), at)).collect();
        for line in std::mem::take(&mut self.lines) {
            let left = if line.read_only { &mut harmless } else { &mut others };
            if *left > 0 {
                *left -= 1;
                self.count(line, &mut places);
            } else {
                self.lines.push(line);
            }
        }
    }

    fn count(&mut self, line: LedgerLine, places: &mut HashMap<String, usize>) {
        let (calls, errors) = (line.calls, line.errors());
        let known = places.contains_key(&line.name) || self.totals.len() < MAX_NAMES;
        let name = if known { line.name } else { OTHER.to_owned() };
        let place = *places.entry(name.clone()).or_insert(self.totals.len());
        if place == self.totals.len() {
            self.totals.push(Total { name, calls: 0, errors: 0 });
        }
        if let Some(total) = self.totals.get_mut(place) {
            total.calls += calls;
            total.errors += errors;
        }
    }
}

/// The lines with calls that say the same told once, where the last of them was made.
fn joined(lines: Vec<LedgerLine>) -> Vec<LedgerLine> {
    let mut places: HashMap<(String, String, String), usize> = HashMap::new();
    let mut joined: Vec<Option<LedgerLine>> = Vec::with_capacity(lines.len());
    for line in lines {
        let earlier = places.insert(line.key(), joined.len()).and_then(|at| joined.get_mut(at)?.take());
        joined.push(Some(match earlier {
            Some(earlier) => line.after(&earlier),
            None => line,
        }));
    }
    joined.into_iter().flatten().collect()
}

impl LedgerLine {
    /// What calls share that say the same. How much of a file was read makes no difference.
    fn key(&self) -> (String, String, String) {
        let rest = if self.read_only && !self.target.is_empty() { String::new() } else { self.rest.clone() };
        (self.name.clone(), self.target.clone(), rest)
    }

    fn after(self, earlier: &LedgerLine) -> LedgerLine {
        let failed_before = self.failed_before + earlier.errors();
        LedgerLine { calls: self.calls + earlier.calls, failed_before, ..self }
    }

    fn answer(&mut self, result: Answered) {
        // The first line of a file says nothing of it.
        let tells = !self.read_only || result.outcome.went_wrong() || result.is_short;
        self.says = if tells { result.says } else { String::new() };
        (self.outcome, self.size) = (result.outcome, result.size);
    }
}

/// The line of a call that has no result yet.
fn line(call: &ToolCall) -> LedgerLine {
    let (target, rest) = arguments::shown(call, TARGET_CHARS);
    LedgerLine {
        name: clip(&one_line(&call.name), NAME_CHARS),
        target,
        rest,
        outcome: CallEnd::Open,
        says: String::new(),
        read_only: is_read_only(call),
        calls: 1,
        failed_before: 0,
        size: 0,
    }
}

/// Returns true if a call is recognised as one that changes nothing. Any other counts as a side effect.
pub fn is_read_only(call: &ToolCall) -> bool {
    effect::is_read_only(&call.name, &call.arguments)
}

/// Returns true for the tools that run commands; `$` is a command typed without a tool.
pub fn is_shell(name: &str) -> bool {
    effect::is_shell(name)
}

/// Returns true if a line or a summary's item tells of what reaches beyond the work itself, or can't be undone: a push, a
/// message sent, a booking.
pub fn is_lasting(name: &str, target: &str) -> bool {
    effect::is_lasting(name, target)
}

#[cfg(test)]
mod tests;
