//! The shape of an entry: what planning and pairing need to know of a message without reading it.
//!
//! It is computed once, when the entry arrives, and stored beside the raw item, so that a view over
//! 100,000 entries is planned from small columns and only what is sent out is ever parsed.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::call_end::CallEnd;
use super::links::Links;
use super::message::{Block, CallKind, Message, Role, ToolResult};
use super::program_replies::{digest, signs_of};
use super::user_text::{is_by_harness, name_of};
use crate::model::chapter_task::asks_for_chapters;
use crate::model::item::Item;
use crate::model::open_calls::{OpenCall, OpenCalls, UnclaimedCalls};

/// Calls and results of one entry, in order. The default is a message without tool traffic.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shape {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ResultRef>,
    /// The raw item can't be sent back as it is even in its own format (empty content, response-only
    /// fields, ids to be made up): rendering parses and repairs it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub needs_repair: bool,
    /// The message has something besides tool results (user text in the same message, say).
    #[serde(default, skip_serializing_if = "is_false")]
    pub mixed: bool,
    /// Reasoning that its provider ties to what follows: the rest of the answer may not go out without it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub leads: bool,
    /// A provider's own compaction, which stands for all before it and which nobody else can read.
    #[serde(default, skip_serializing_if = "is_false")]
    pub checkpoint: bool,
    /// A user's message that hands the agent the chapter task: part of the task at hand, not one of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub chapter_task: bool,
    /// A user's message without a word of the user's: a harness's preamble, an echo of a command, a tool's output,
    /// another agent's words. Not set on entries that were stored before it was told by block: they count as the user's.
    #[serde(default, rename = "by_harness_alone", skip_serializing_if = "is_false")]
    pub by_harness: bool,
    /// What was told of an entry stored before: the first of its blocks is a harness's.
    #[serde(default, rename = "by_harness", skip_serializing)]
    pub begins_by_harness: bool,
    /// A text of the agent's or in a user's role that holds a block of code: an agent without tools acts by one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub holds_block: bool,
    /// Of a message in a user's role: the form in which a program may have written it.
    #[serde(default, skip_serializing_if = "super::json::is_default")]
    pub reply_form: u32,
    /// The name that a user's message came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// Of a system message: what kind it is, told by how it begins. The newest of a kind takes the place of the others.
    #[serde(default, skip_serializing_if = "super::json::is_default")]
    pub opening: u32,
    /// Ids by which it is tied to others, besides its calls and results.
    #[serde(default, skip_serializing_if = "super::json::is_default")]
    pub links: Links,
    /// In a folded path: stays verbatim behind the chapter that it belongs to, so that no cut may part the two. Never
    /// stored.
    #[serde(skip)]
    pub in_chapter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRef {
    /// The id used for pairing: the source's, or `call_<seq>` where the source has none.
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "is_function")]
    pub kind: ShapeKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRef {
    pub call_id: String,
    /// Tokens of this result alone, as counted on arrival.
    pub tokens: u32,
    /// Of an entry stored before ends were told, the error flag alone says it.
    #[serde(default, alias = "is_error", skip_serializing_if = "super::json::is_default")]
    pub end: CallEnd,
    #[serde(default, skip_serializing_if = "is_function")]
    pub kind: ShapeKind,
}

/// [`CallKind`] as far as pairing cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeKind {
    /// Paired across messages: the result must follow the call's message.
    #[default]
    Function,
    /// Paired inside the provider's own turn; never repaired by us.
    Server,
}

impl From<CallKind> for ShapeKind {
    fn from(kind: CallKind) -> ShapeKind {
        match kind {
            CallKind::Function | CallKind::Custom => ShapeKind::Function,
            CallKind::Server => ShapeKind::Server,
        }
    }
}

impl OpenCalls {
    /// The places of an entry's results that answer calls which no context shows.
    pub fn covered_by(&self, shape: &Shape) -> Vec<usize> {
        let results = shape.results.iter().enumerate().filter(|(_, result)| result.kind == ShapeKind::Function);
        results.filter(|(_, result)| self.is_covered(&result.call_id)).map(|(place, _)| place).collect()
    }

    /// Takes in the entry `seq`. Returns the places of its results that answer no open call.
    pub fn apply(&mut self, seq: i64, shape: &Shape) -> Vec<usize> {
        let calls = || shape.calls.iter().filter(|call| call.kind == ShapeKind::Function);
        // Where the entry has no results, its oldest calls beyond the limit would be opened to be forgotten at once.
        let beyond = if shape.results.is_empty() { calls().count().saturating_sub(OpenCalls::LIMIT) } else { 0 };
        for call in calls().skip(beyond) {
            self.open(OpenCall::new(&call.id, &call.name, seq));
        }
        let results = shape.results.iter().enumerate().filter(|(_, result)| result.kind == ShapeKind::Function);
        let orphans = results.filter(|(_, result)| !self.close(&result.call_id)).map(|(place, _)| place).collect();
        self.forget_oldest();
        orphans
    }
}

/// The id given to the `nth` (0-based) call without one in the entry `seq`.
fn generated_id(seq: i64, nth: usize) -> String {
    match nth {
        0 => format!("call_{seq}"),
        _ => format!("call_{seq}_{nth}"),
    }
}

/// Returns true if the id may be one that [`Shape::of`] made up for a call of the entry `seq`.
pub fn is_generated_id(id: &str, seq: i64) -> bool {
    let first = generated_id(seq, 0);
    id.strip_prefix(first.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Puts the ids that pairing uses back on a freshly read message.
pub fn apply_shape(message: &mut Message, shape: &Shape) {
    let (mut calls, mut results) = (shape.calls.iter(), shape.results.iter());
    for block in &mut message.content {
        match block {
            Block::ToolCall(call) => {
                if let Some(known) = calls.next() {
                    call.id.clone_from(&known.id);
                }
            }
            Block::ToolResult(result) => {
                if let Some(known) = results.next() {
                    result.tool_call_id.clone_from(&known.call_id);
                }
            }
            _ => {}
        }
    }
}

impl Shape {
    /// The shape of an item that arrives as entry `seq` while `open` calls wait. `result_tokens` are those of its
    /// results, in order.
    pub fn of(item: &Item, seq: i64, open: &OpenCalls, result_tokens: &[u32]) -> Shape {
        let mut shape = Shape { needs_repair: item.needs_repair, ..Shape::default() };
        let Some(message) = &item.message else {
            return shape;
        };
        let mut unnamed = 0;
        let given: HashSet<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
        for call in message.tool_calls() {
            let mut id = call.id.clone();
            while id.is_empty() || (call.id.is_empty() && given.contains(id.as_str())) {
                id = generated_id(seq, unnamed);
                unnamed += 1;
            }
            shape.calls.push(CallRef { id, name: call.name.clone(), kind: call.kind.into() });
        }
        let unnamed = message.tool_results().filter(|result| is_unnamed(result)).count();
        // A result without an id answers no call that another one names.
        let named: HashSet<&str> = message.tool_results().map(|result| result.tool_call_id.as_str()).collect();
        let mut unclaimed = (unnamed > 0).then(|| UnclaimedCalls::of(open, unnamed, &named));
        for (place, result) in message.tool_results().enumerate() {
            let tokens = result_tokens.get(place).copied().unwrap_or(0);
            let call_id = shape.answered(result, unclaimed.as_mut());
            let end = if result.is_error { CallEnd::Failed } else { CallEnd::Returned };
            shape.results.push(ResultRef { call_id, tokens, end, kind: result.kind.into() });
        }
        shape.leads =
            matches!(&message.content[..], [Block::Thinking { opaque: Some(opaque), .. }] if opaque.ties_next());
        shape.checkpoint =
            message.content.iter().any(|block| matches!(block, Block::Raw(opaque) if opaque.is_compaction()));
        shape.chapter_task = message.role == Role::User
            && matches!(message.content.first(), Some(Block::Text { text, .. }) if asks_for_chapters(text));
        shape.by_harness = is_by_harness(message);
        if matches!(message.role, Role::User | Role::Assistant) && shape.calls.is_empty() && shape.results.is_empty() {
            (shape.holds_block, shape.reply_form) = signs_of(message);
        }
        shape.speaker = message.name().filter(|_| message.role == Role::User).map(name_of);
        shape.links = Links::of(message);
        if matches!(message.role, Role::System | Role::Developer) {
            shape.opening = standing_for(message);
        }
        shape.mixed = !shape.results.is_empty() && shape.results.len() < message.content.len();
        shape
    }

    /// The id of the call that the result answers. A result without an id whose call has one of its own can't go
    /// out as it came.
    fn answered(&mut self, result: &ToolResult, unclaimed: Option<&mut UnclaimedCalls<'_>>) -> String {
        let Some(unclaimed) = unclaimed.filter(|_| is_unnamed(result)) else { return result.tool_call_id.clone() };
        let Some(call) = unclaimed.take(result.name.as_deref()) else { return String::new() };
        self.needs_repair |= !is_generated_id(&call.id, call.seq);
        call.id.clone()
    }

    pub fn is_trivial(&self) -> bool {
        *self == Shape::default()
    }
}

/// Says no id of its call, which is found by place and name.
fn is_unnamed(result: &ToolResult) -> bool {
    result.tool_call_id.is_empty() && result.kind != CallKind::Server
}

/// Of what kind a system message is: by how it begins, and by the tools and the fields that it changes.
fn standing_for(message: &Message) -> u32 {
    let tools = changed_tools(message);
    let fields = message.opaque.as_ref().and_then(|opaque| opaque.value.get("output_config")?.as_object());
    match (configured(message), tools.is_empty() && fields.is_none_or(|fields| fields.is_empty())) {
        (Some(configured), _) => opening(&configured),
        (None, true) => opening(&message.plain_text()),
        (None, false) => {
            let fields = fields.into_iter().flatten().map(|(key, _)| key.as_str());
            let begins = opening(&message.plain_text()).to_string();
            let all: Vec<&str> = tools.iter().map(String::as_str).chain(fields).chain([begins.as_str()]).collect();
            digest(&all.join("\n"))
        }
    }
}

/// The tools that a message adds or takes away, in order.
fn changed_tools(message: &Message) -> Vec<String> {
    let changed = message.content.iter().filter_map(|block| match block {
        Block::Raw(opaque) if matches!(opaque.value["type"].as_str(), Some("tool_addition" | "tool_removal")) => {
            let named = |pointer| opaque.value.pointer(pointer).and_then(serde_json::Value::as_str).map(str::to_owned);
            Some(named("/tool/name").or_else(|| named("/name")).unwrap_or_else(|| opaque.value.to_string()))
        }
        _ => None,
    });
    let mut changed: Vec<String> = changed.collect();
    changed.sort_unstable();
    changed
}

/// The name and the fields of a change of the configuration: the newest for the same fields holds.
fn configured(message: &Message) -> Option<String> {
    let raw = match (message.content.as_slice(), &message.opaque) {
        ([Block::Raw(opaque)], _) if opaque.value["type"] == "configuration_update" => &opaque.value,
        ([], Some(opaque)) => opaque.value.get("output_config")?,
        _ => return None,
    };
    let fields = raw.as_object()?.iter().filter(|(key, _)| !matches!(key.as_str(), "id" | "type"));
    let mut named: Vec<&str> = fields.map(|(key, _)| key.as_str()).collect();
    named.sort_unstable();
    Some(format!("<configuration-{}>", named.join("-")))
}

/// A digest of the element that a text begins with, or of its first words: what a harness says again and again differs
/// in what follows.
fn opening(text: &str) -> u32 {
    const WORDS: usize = 3;
    let line = text.trim_start().lines().next().unwrap_or_default();
    let element = line.strip_prefix('<').and_then(|rest| rest.split(['>', ' ', '/']).next());
    let said = match element {
        Some(name) => format!("<{name}"),
        None => {
            let word = |word: &str| word.chars().take(32).filter(|c| c.is_alphabetic()).collect::<String>();
            line.split_whitespace().map(word).filter(|word| !word.is_empty()).take(WORDS).collect::<Vec<_>>().join(" ")
        }
    };
    digest(&said.to_lowercase())
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_function(kind: &ShapeKind) -> bool {
    *kind == ShapeKind::Function
}

#[cfg(test)]
mod tests;
