//! The smallest things that a transcript says, whoever wrote it down.

use serde_json::{Value, json};

use super::own::lines;
use super::{Said, own};
use crate::domain::format::outgoing;
use crate::domain::message::{Block, CallKind, Media, Message, Opaque, Role, ToolCall, ToolResult};

/// Longest id that a provider takes; longer ones come back shortened.
const MAX_IDS: [usize; 2] = [64, 256];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    System,
    User,
    Assistant,
}

#[derive(Debug, Clone)]
pub enum Atom<'a> {
    /// One line of text. Blocks that a format joins are still the same lines.
    Line(Speaker, &'a str),
    Call(&'a ToolCall),
    Result(&'a ToolResult),
    /// What formats leave out or say otherwise (thinking, media, opaque blocks, metadata): it may be missing on either
    /// side. Only what stands at the end of a transcript has to be told from what is stored.
    Weak(String),
}

/// An atom and the block of its message that it is from.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    pub block: usize,
    pub atom: Atom<'a>,
}

pub fn atoms(said: &Said) -> Vec<Placed<'_>> {
    let message = match said {
        Said::Message(message) => message,
        Said::Nothing(item) => return vec![Placed { block: 0, atom: Atom::Weak(item.clone()) }],
    };
    let mut found = Vec::new();
    for (block, content) in message.content.iter().enumerate() {
        of_block(message, content, &mut |atom| found.push(Placed { block, atom }));
    }
    if found.is_empty() {
        found.push(Placed { block: 0, atom: Atom::Weak(format!("nothing said by {}", message.role.as_str())) });
    }
    found
}

fn of_block<'a>(message: &'a Message, block: &'a Block, add: &mut impl FnMut(Atom<'a>)) {
    match block {
        Block::Text { text, .. } => {
            let (speaker, text) = spoken(message.role, text);
            if is_told_server_tool(text) {
                return add(Atom::Weak(text.trim().to_owned()));
            }
            lines(text).for_each(|line| add(Atom::Line(speaker, line)));
        }
        Block::Thinking { text, opaque } => {
            let text = text.trim();
            let encrypted = || opaque.as_ref().map(|opaque| opaque.value.to_string()).unwrap_or_default();
            add(Atom::Weak(if text.is_empty() { encrypted() } else { text.to_owned() }));
        }
        Block::Image { source } | Block::Document { source } => add(Atom::Weak(medium(source))),
        Block::ToolCall(call) if call.kind == CallKind::Server => {
            add(Atom::Weak(unsaid("call", &call.id, call.opaque.as_ref())))
        }
        Block::ToolCall(call) => add(Atom::Call(call)),
        Block::ToolResult(result) if result.kind == CallKind::Server => {
            add(Atom::Weak(unsaid("result", &result.tool_call_id, result.opaque.as_ref())));
        }
        Block::ToolResult(result) => add(Atom::Result(result)),
        Block::Raw(opaque) => add(Atom::Weak(opaque.value.to_string())),
    }
}

/// Who says a text; a system message that the user passes on is the system's.
fn spoken(role: Role, text: &str) -> (Speaker, &str) {
    let passed_on = text.strip_prefix("<system_message>\n").and_then(|rest| rest.strip_suffix("\n</system_message>"));
    match role {
        Role::System | Role::Developer => (Speaker::System, text),
        Role::Assistant => (Speaker::Assistant, text),
        _ => passed_on.map_or((Speaker::User, text), |inner| (Speaker::System, inner)),
    }
}

/// The words that stand for a tool of another provider's.
fn is_told_server_tool(text: &str) -> bool {
    text.starts_with("<server_tool_") || (text.starts_with('[') && text.contains(" was run by the provider with "))
}

/// What a provider's own tool did, by its id where it has one.
fn unsaid(what: &str, id: &str, opaque: Option<&Opaque>) -> String {
    let whole = || opaque.map(|opaque| opaque.value.to_string()).unwrap_or_default();
    if id.is_empty() { format!("{what} {}", whole()) } else { format!("{what} {id}") }
}

fn medium(source: &Media) -> String {
    let bytes = source.data.as_ref().or(source.url.as_ref()).or(source.text.as_ref()).or(source.file_id.as_ref());
    let bytes = bytes.map(|bytes| blake3::hash(bytes.as_bytes()).to_hex().to_string());
    bytes.unwrap_or_else(|| "medium".to_owned())
}

/// Whether a posted call is the stored one. Ids count; one that a provider would not take comes back as we sent it.
pub fn is_call(posted: &ToolCall, stored: &ToolCall) -> bool {
    is_name(&posted.name, &stored.name)
        && is_id(&posted.id, &stored.id)
        && same_arguments(&posted.arguments, &stored.arguments)
}

fn is_id(posted: &str, stored: &str) -> bool {
    // One that came without an id has the one that it was given here.
    posted.is_empty()
        || posted == stored
        || MAX_IDS.iter().any(|max| outgoing::word(stored, *max) == posted)
        // The second call of an id in one context.
        || posted.strip_prefix(stored).and_then(|rest| rest.strip_prefix('_')).is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(posted: &str, stored: &str) -> bool {
    posted == stored || [64, 128].iter().any(|max| outgoing::word(stored, *max) == posted)
}

fn same_arguments(posted: &Value, stored: &Value) -> bool {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    posted == stored
        || (empty(posted) && empty(stored))
        || (posted.is_object() && *posted == json!({ "input": stored }))
        || (stored.is_object() && *stored == json!({ "input": posted }))
}

/// Whether a posted result says what the stored one does, or stands for it.
pub fn is_result(posted: &ToolResult, stored: &ToolResult) -> bool {
    own::stands_for_another(posted) || own::same_text(&posted.plain_text(), &stored.plain_text())
}
