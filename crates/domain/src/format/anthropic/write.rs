//! Pieces of a context into Messages API messages.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::sent::{Sent, role_of};
use super::write_block::{self, BlockContext};
use super::{OPENING, links, marks, pictures, server, systems};
use crate::format::keys::Object;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes, own};
use crate::format::refused::is_anthropic_thinking as is_thought;
use crate::format::write::{ItemFault, Note, Piece};
use crate::model::format::Format;
use crate::model::json as domain_json;
use crate::model::message::{Message, Role};

/// The messages, in order, each as JSON text. Adjacent tool messages are joined into one user message.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    write_within(pieces, pictures::MOST, notes)
}

/// [`write()`] for a request that may have so many pictures.
pub fn write_within(pieces: &[Piece<'_>], most_pictures: usize, notes: &mut Vec<Note>) -> Vec<String> {
    let sendable = server::sendable(pieces);
    let mut notes = Notes::new(notes);
    let mut sent: Vec<OutgoingMessage<'_>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Verbatim { entry, item } => sent.push(OutgoingMessage::Verbatim { entry: *entry, item }),
            Piece::Message { entry, message } => {
                notes.entry = *entry;
                write_message(message, &sendable, &mut sent, &mut notes);
            }
        }
    }
    drop_last_thoughts(&mut sent, &mut notes);
    let sent = sent.into_iter().map(|message| Sent { entry: message.entry(), text: message.into_text() }).collect();
    let mut sent = systems::place(sent, &mut notes);
    links::take_off(&mut sent, &mut notes);
    trim_prefill(&mut sent, &mut notes);
    if !systems::begins_with_user(&sent) {
        notes.entry = None;
        notes.add(NoteCode::UserMessageInserted, "the first message has to be the user's");
        let opening = json!({"role": "user", "content": [{"type": "text", "text": OPENING}]});
        sent.insert(0, Sent { entry: None, text: opening.to_string() });
    }
    marks::bound(&mut sent, marks::Beside::default(), &mut notes);
    pictures::bound(&mut sent, most_pictures, &mut notes);
    sent.into_iter().map(|message| message.text).collect()
}

/// The messages of one message, whatever stands around it.
pub fn spoken(entry: Option<usize>, message: &Message, notes: &mut Vec<Note>) -> Vec<Value> {
    let pieces = [Piece::Message { entry, message: message.clone() }];
    let sendable = server::sendable(&pieces);
    let mut notes = Notes::new(notes);
    notes.entry = entry;
    let mut sent = Vec::new();
    write_message(message, &sendable, &mut sent, &mut notes);
    let texts = sent.into_iter().map(OutgoingMessage::into_text);
    texts.filter_map(|text| domain_json::parse_lenient(&text).ok()).collect()
}

/// The API refuses a turn of the assistant whose last block is thinking, as an interrupted answer leaves it.
fn drop_last_thoughts(sent: &mut Vec<OutgoingMessage<'_>>, notes: &mut Notes<'_>) {
    let mut next: Option<usize> = None;
    let mut emptied = HashSet::new();
    for at in (0..sent.len()).rev() {
        let thought = sent[at].content_ending_in_thought();
        if let Some(mut content) = thought.filter(|_| !next.is_some_and(|next| sent[next].is_from("assistant"))) {
            notes.entry = sent[at].entry();
            notes.add_fault(
                NoteCode::ThinkingDropped,
                ItemFault::EndsWithThinking,
                "an answer can't end with thinking",
            );
            while content.last().is_some_and(is_thought) {
                content.pop();
            }
            if content.is_empty() {
                emptied.insert(at);
                continue;
            }
            let entry = sent[at].entry();
            sent[at] = OutgoingMessage::Built(Built { entry, ..Built::new("assistant", content) });
        }
        next = Some(at);
    }
    let mut at = 0..;
    sent.retain(|_| at.next().is_none_or(|at| !emptied.contains(&at)));
}

/// A context that ends with the assistant is gone on with from there, and the API refuses one that ends in white space.
fn trim_prefill(sent: &mut [Sent], notes: &mut Notes<'_>) {
    let Some(last) = sent.last_mut().filter(|last| last.role() == "assistant") else { return };
    let mut message = last.value();
    let trimmed = match message.get_mut("content") {
        Some(Value::Array(blocks)) => blocks.last_mut().is_some_and(trim_end),
        Some(text @ Value::String(_)) => trim_text(text),
        _ => false,
    };
    if trimmed {
        last.text = message.to_string();
        notes.entry = last.entry;
        notes.add(NoteCode::TrailingSpaceTrimmed, "a context that ends with the assistant can't end in white space");
    }
}

fn trim_end(block: &mut Value) -> bool {
    let is_text = block["type"] == "text";
    block.get_mut("text").filter(|_| is_text).is_some_and(trim_text)
}

fn trim_text(text: &mut Value) -> bool {
    let kept = text.as_str().map(|text| (text.trim_end().to_owned(), text.len()));
    let Some((kept, _)) = kept.filter(|(kept, length)| kept.len() < *length) else { return false };
    *text = kept.into();
    true
}

enum OutgoingMessage<'a> {
    Verbatim { entry: usize, item: &'a str },
    Built(Built),
}

struct Built {
    entry: Option<usize>,
    role: &'static str,
    content: Vec<Value>,
    /// What stands beside the content.
    fields: Object,
    /// Written as a plain string where the content is one text block.
    as_string: bool,
    /// Made of tool messages alone, so that the next one may join.
    results_only: bool,
}

impl Built {
    fn new(role: &'static str, content: Vec<Value>) -> Built {
        Built { entry: None, role, content, fields: Object::new(), as_string: false, results_only: false }
    }
}

impl OutgoingMessage<'_> {
    fn is_from(&self, role: &str) -> bool {
        match self {
            OutgoingMessage::Built(built) => built.role == role,
            OutgoingMessage::Verbatim { item, .. } => role_of(item) == role,
        }
    }

    fn entry(&self) -> Option<usize> {
        match self {
            OutgoingMessage::Built(built) => built.entry,
            OutgoingMessage::Verbatim { entry, .. } => Some(*entry),
        }
    }

    /// The blocks of an assistant's message whose last one is thinking.
    fn content_ending_in_thought(&self) -> Option<Vec<Value>> {
        let content = match self {
            OutgoingMessage::Built(built)
                if built.role == "assistant" && built.content.last().is_some_and(is_thought) =>
            {
                built.content.clone()
            }
            OutgoingMessage::Verbatim { item, .. } if item.contains("thinking") && self.is_from("assistant") => {
                domain_json::parse_lenient(item).ok()?.get("content")?.as_array()?.clone()
            }
            _ => return None,
        };
        content.last().is_some_and(is_thought).then_some(content)
    }

    fn into_text(self) -> String {
        match self {
            OutgoingMessage::Verbatim { item, .. } => item.to_owned(),
            OutgoingMessage::Built(Built { role, content, fields, as_string, .. }) => {
                let text = write_block::string_form(&content).filter(|_| as_string);
                let content = text.map_or(Value::Array(content), Value::String);
                let mut message = json!({"role": role, "content": content});
                if let Some(message) = message.as_object_mut() {
                    message.extend(fields);
                }
                message.to_string()
            }
        }
    }
}

fn write_message<'p>(
    message: &Message,
    sendable: &'p HashSet<Cow<'p, str>>,
    sent: &mut Vec<OutgoingMessage<'_>>,
    notes: &mut Notes<'_>,
) {
    let around = own(message.opaque.as_ref(), Format::Anthropic).and_then(Value::as_object);
    let role = role_name(message.role, around.is_some());
    let kept = if role == "system" { &SYSTEM_FIELDS[..] } else { &[] };
    note_removed_fields(around, kept, notes);
    let place = BlockContext { assistant: role == "assistant", is_own: around.is_some(), sendable };
    let mut empty = 0;
    let mut content: Vec<Value> = Vec::with_capacity(message.content.len());
    let is_system = matches!(message.role, Role::System | Role::Developer);
    let told = match is_system && role != "system" {
        true => outgoing::told_to_user(message, notes),
        false => Cow::Borrowed(&message.content[..]),
    };
    for block in told.iter() {
        content.extend(write_block::write(block, place, &mut empty, notes));
    }
    if content.is_empty() {
        notes.add(NoteCode::EmptyMessageDropped, "nothing in this message can be sent");
        return;
    }
    if empty > 0 {
        notes.add(NoteCode::EmptyTextDropped, format!("{empty} text blocks without text"));
    }
    let is_tool = message.role == Role::Tool;
    if let Some(OutgoingMessage::Built(last)) = sent.last_mut().filter(|_| is_tool)
        && last.results_only
    {
        last.content.append(&mut content);
        return;
    }
    content.sort_by_key(|block| role == "user" && block["type"] != "tool_result");
    let as_string = around.is_some_and(|around| around.get("content").is_some());
    let fields = kept.iter().filter_map(|key| Some(((*key).to_owned(), around?.get(*key)?.clone()))).collect();
    sent.push(OutgoingMessage::Built(Built {
        entry: notes.entry,
        fields,
        as_string,
        results_only: is_tool,
        ..Built::new(role, content)
    }));
}

/// System messages stand among the others only where they came from this API.
fn role_name(role: Role, is_own: bool) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer if is_own => "system",
        _ => "user",
    }
}

/// What a system message among the others may hold beside its content.
const SYSTEM_FIELDS: [&str; 2] = ["output_config", "clear_at"];

fn note_removed_fields(around: Option<&Object>, kept: &[&str], notes: &mut Notes<'_>) {
    let input = ["role", "content"];
    let keys = around.into_iter().flat_map(Object::keys).map(String::as_str);
    let removed: Vec<&str> = keys.filter(|key| !input.contains(key) && !kept.contains(key)).collect();
    if !removed.is_empty() {
        notes.add(NoteCode::ResponseFieldsRemoved, removed.join(", "));
    }
}
