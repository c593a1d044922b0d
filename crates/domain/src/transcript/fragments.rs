//! The smallest things that a transcript says, whoever wrote it down.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::chapters::{Quoted, ShownBesides};
use super::lines::lines;
use super::media::medium;
use super::{Said, own, retold};
use crate::model::json;
use crate::model::message::{Block, CallKind, Message, Opaque, Role, ToolCall, ToolResult};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    System,
    User,
    Assistant,
}

#[derive(Debug, Clone)]
pub enum Fragment<'a> {
    /// One line of text. Blocks that a format joins are still the same lines.
    Line(Speaker, Cow<'a, str>),
    Call(&'a ToolCall),
    Result(&'a ToolResult),
    /// Digest of what formats leave out or say otherwise (thinking, media, opaque blocks, metadata): it may be missing
    /// on either side. Only one at the end of a transcript has to be told from what is stored.
    Weak(Digest),
    /// A chapter in the place of what it closed; only in what is posted.
    Chapter(Quoted<'a>),
}

pub type Digest = [u8; 32];

/// An fragment and the block of its message that it is from.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    pub block: usize,
    pub fragment: Fragment<'a>,
    /// It need not be said: it is one way of several to say the block.
    pub optional: bool,
}

/// Reads the fragments of a posted item.
pub fn fragments<'a>(said: &'a Said, shown: &'a ShownBesides) -> Vec<Placed<'a>> {
    all(said, |_| Vec::new(), shown)
}

/// Reads the fragments of a stored item, with the words that formats may have for its blocks.
pub fn stored_fragments<'a>(said: &'a Said, nothing: &'a ShownBesides) -> Vec<Placed<'a>> {
    let mut found = all(said, retold::texts, nothing);
    if let (Said::Message(message), true) = (said, found.iter().all(|placed| placed.optional)) {
        // Formats without a place for any of it may have an empty message: in place of all else.
        let fragment = Fragment::Weak(nothing_said(message.role));
        found.push(Placed { block: message.content.len(), fragment, optional: true });
    }
    found
}

fn all<'a>(said: &'a Said, retold: fn(&Block) -> Vec<String>, shown: &'a ShownBesides) -> Vec<Placed<'a>> {
    let message = match said {
        Said::Message(message) => message,
        Said::Nothing(item) => {
            let known = json::parse_lenient(item).map_or_else(|_| weak(item), |value| weak(&canonical(&value)));
            return vec![Placed { block: 0, fragment: known, optional: true }];
        }
    };
    let mut found = Vec::new();
    let mut chapters = shown.chapter_blocks(message).peekable();
    for (block, content) in message.content.iter().enumerate() {
        if let Some((_, quoted)) = chapters.next_if(|(place, _)| *place == block) {
            found.push(Placed { block, fragment: Fragment::Chapter(quoted), optional: false });
            continue;
        }
        let retold = retold(content);
        for text in &retold {
            let (speaker, _) = spoken(message.role, "");
            let words = lines(text).map(|line| Fragment::Line(speaker, Cow::Owned(line.to_owned())));
            found.extend(words.map(|fragment| Placed { block, fragment, optional: true }));
        }
        of_block(message, content, &mut |fragment| {
            let optional = matches!(fragment, Fragment::Weak(_)) || !retold.is_empty();
            found.push(Placed { block, fragment, optional });
        });
    }
    if found.is_empty() {
        let fragment = Fragment::Weak(nothing_said(message.role));
        found.push(Placed { block: 0, fragment, optional: true });
    }
    found
}

fn of_block<'a>(message: &'a Message, block: &'a Block, add: &mut impl FnMut(Fragment<'a>)) {
    match block {
        Block::Text { text, .. } => {
            let (speaker, text) = spoken(message.role, text);
            lines(text).for_each(|line| add(Fragment::Line(speaker, Cow::Borrowed(line))));
        }
        Block::Thinking { text, opaque } => {
            let text = text.trim();
            let encrypted = || opaque.as_ref().map(|opaque| canonical(&opaque.value)).unwrap_or_default();
            add(if text.is_empty() { weak(&encrypted()) } else { weak(text) });
        }
        Block::Image { source } | Block::Document { source } => add(weak(&medium(source))),
        Block::ToolCall(call) if call.kind == CallKind::Server => {
            add(weak(&unsaid("call", &call.id, call.opaque.as_ref())))
        }
        Block::ToolCall(call) => add(Fragment::Call(call)),
        Block::ToolResult(result) if result.kind == CallKind::Server => {
            add(weak(&unsaid("result", &result.tool_call_id, result.opaque.as_ref())));
        }
        Block::ToolResult(result) => add(Fragment::Result(result)),
        Block::Raw(opaque) => add(weak(&canonical(&opaque.value))),
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

/// Names a call or result of a provider's own tool: by its id where it has one, else by its JSON.
fn unsaid(what: &str, id: &str, opaque: Option<&Opaque>) -> String {
    // An item that came without an id has one that was made up here.
    let nameless = |opaque: &&Opaque| {
        let fields = ["id", "call_id", "tool_use_id", "approval_request_id"].map(|key| opaque.value[key].as_str());
        id.is_empty() || !fields.contains(&Some(id))
    };
    match opaque.filter(nameless) {
        Some(opaque) => format!("{what} {}", canonical(&opaque.value)),
        None => format!("{what} {id}"),
    }
}

fn weak(text: &str) -> Fragment<'static> {
    Fragment::Weak(*blake3::hash(text.as_bytes()).as_bytes())
}

/// Of a message in which nothing stands.
pub fn nothing_said(role: Role) -> Digest {
    let speaker = match spoken(role, "").0 {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
    };
    *blake3::hash(format!("nothing said by {speaker}").as_bytes()).as_bytes()
}

/// The value with the keys of its objects in order: clients write them in any.
fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            Value::Object(fields) => {
                let fields: BTreeMap<&String, Value> = fields.iter().map(|(key, value)| (key, sorted(value))).collect();
                Value::Object(fields.into_iter().map(|(key, value)| (key.clone(), value)).collect())
            }
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

/// Returns true if a posted result says what the stored one does, or stands for it.
pub fn is_result(posted: &ToolResult, stored: &ToolResult, sizes: &[u32]) -> bool {
    own::same_result(posted, stored) || own::stands_for(posted, stored, sizes)
}
