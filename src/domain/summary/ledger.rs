//! The tool ledger: every call that compactions replaced, rendered by code, so that no side effect is repeated
//! because a model forgot it.
//!
//! It is cumulative: each compaction extends the ledger of the one before. Detail is bounded, counts are exact.

use std::collections::HashMap;

use serde_json::Value;

use crate::domain::model::ledger::{CallOutcome, Ledger, LedgerLine, Total};
use crate::domain::model::message::{Message, ToolCall, ToolResult};
use crate::domain::summary::text::{brief, clip, first_line, one_line};

mod effect;
mod render;

/// Calls kept one by one; older ones are counted by name.
const MAX_LINES: usize = 300;
/// Names that are counted one by one; the rest of a hostile or generated set shares [`OTHER`].
const MAX_NAMES: usize = 200;
const OTHER: &str = "(other tools)";
const NAME_CHARS: usize = 64;
const TARGET_CHARS: usize = 160;
const TARGET_CHARS_READ_ONLY: usize = 80;
const REST_CHARS: usize = 80;
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
        paired.add(message, |call| LedgerCall { call, result: None }, |made, result| made.result = Some(result));
    }
    paired.made
}

/// The calls of a span that is read piece by piece, kept as lines alone.
#[derive(Debug, Default)]
pub struct Recorder(Paired<LedgerLine>);

impl Recorder {
    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        self.0.add(message, line, LedgerLine::answer);
    }
}

/// Records kept of calls, and which of the calls wait for their results.
#[derive(Debug)]
struct Paired<T> {
    made: Vec<T>,
    open: HashMap<String, usize>,
}

impl<T> Default for Paired<T> {
    fn default() -> Self {
        Paired { made: Vec::new(), open: HashMap::new() }
    }
}

impl<T> Paired<T> {
    fn add<'m>(
        &mut self,
        message: &'m Message,
        make: impl Fn(&'m ToolCall) -> T,
        answer: impl Fn(&mut T, &'m ToolResult),
    ) {
        self.close(message, &answer);
        for call in message.tool_calls() {
            self.open.insert(call.id.clone(), self.made.len());
            self.made.push(make(call));
        }
        // A provider's own tools are answered inside the same message.
        self.close(message, &answer);
    }

    fn close<'m>(&mut self, message: &'m Message, answer: &impl Fn(&mut T, &'m ToolResult)) {
        for result in message.tool_results() {
            if let Some(made) = self.open.remove(&result.tool_call_id).and_then(|at| self.made.get_mut(at)) {
                answer(made, result);
            }
        }
    }
}

impl Ledger {
    pub fn is_empty(&self) -> bool {
        self.totals.is_empty() && self.lines.is_empty()
    }

    /// Adds the calls of a newly replaced span, oldest first.
    pub fn extend(&mut self, span: Recorder) {
        self.lines.extend(span.0.made);
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
        let known = places.contains_key(&line.name) || self.totals.len() < MAX_NAMES;
        let name = if known { line.name } else { OTHER.to_owned() };
        let place = *places.entry(name.clone()).or_insert(self.totals.len());
        if place == self.totals.len() {
            self.totals.push(Total { name, calls: 0, errors: 0 });
        }
        if let Some(total) = self.totals.get_mut(place) {
            total.calls += 1;
            total.errors += u64::from(line.outcome == CallOutcome::Error);
        }
    }
}

impl LedgerLine {
    fn answer(&mut self, result: &ToolResult) {
        self.outcome = if result.is_error { CallOutcome::Error } else { CallOutcome::Ok };
        self.says = brief(first_line(&result.plain_text()), OUTCOME_CHARS);
    }
}

/// The line of a call that has no result yet.
fn line(call: &ToolCall) -> LedgerLine {
    let read_only = effect::is_read_only(&call.name, &call.arguments);
    let width = if read_only { TARGET_CHARS_READ_ONLY } else { TARGET_CHARS };
    let (target, rest) = arguments(&call.arguments, width);
    LedgerLine {
        name: clip(&one_line(&call.name), NAME_CHARS),
        target,
        rest,
        outcome: CallOutcome::NoResult,
        says: String::new(),
        read_only,
    }
}

/// The target and the other arguments, `key=value` each. Arguments that are no object are the target as they are.
fn arguments(arguments: &Value, width: usize) -> (String, String) {
    let Value::Object(fields) = arguments else {
        return match arguments {
            Value::Null => Default::default(),
            other => (value(other, width), String::new()),
        };
    };
    let target = effect::target_key(fields);
    let shown = |key: &str, width| fields.get(key).map(|field| format!("{}={}", clip(key, 40), value(field, width)));
    let mut rest = String::new();
    for key in fields.keys().filter(|key| Some(key.as_str()) != target) {
        if rest.len() > REST_CHARS {
            break;
        }
        let separator = if rest.is_empty() { "" } else { ", " };
        rest.push_str(separator);
        rest.push_str(&shown(key, 40).unwrap_or_default());
    }
    (target.and_then(|key| shown(key, width)).unwrap_or_default(), clip(&rest, REST_CHARS))
}

fn value(value: &Value, width: usize) -> String {
    match value {
        Value::String(text) => brief(text, width),
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        other => brief(&other.to_string(), width),
    }
}

/// `name path=src/a.rs`: a call in a few words, for summaries.
pub fn describe(call: &ToolCall, width: usize) -> String {
    let (target, _) = arguments(&call.arguments, width);
    let target = target.split_once('=').map_or(target.as_str(), |(_, value)| value);
    if target.is_empty() { clip(&call.name, NAME_CHARS) } else { format!("{}: {target}", clip(&call.name, NAME_CHARS)) }
}

/// Returns true if a call is recognised as one that changes nothing. Any other counts as a side effect.
pub fn is_read_only(call: &ToolCall) -> bool {
    effect::is_read_only(&call.name, &call.arguments)
}

#[cfg(test)]
mod tests;
