//! Pieces of a context into contents.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::content::OutgoingContent;
use super::write_part::{self, CallNames};
use super::{fields, links, sign};
use crate::format::anthropic::OPENING;
use crate::format::keys::Object;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes, own};
use crate::format::write::{Note, Piece};
use crate::model::format::Format;
use crate::model::message::{Block, Message, Role};

/// The contents, in order, each as JSON text.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    let mut notes = Notes::new(notes);
    let mut names = CallNames::default();
    let mut sent: Vec<OutgoingContent<'_>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let content = match piece {
            Piece::Verbatim { entry, item } => {
                let content = OutgoingContent::stored(*entry, item);
                if content.may_hold("unction") {
                    names.tools.note_item(item);
                }
                Some(content)
            }
            Piece::Message { entry, message } => {
                notes.entry = *entry;
                write_message(message, &mut names, &mut notes)
            }
        };
        if let Some(content) = content {
            push(content, &mut sent, &mut notes);
        }
    }
    let before = sent.len();
    links::drop_alone(&mut sent, &mut notes);
    if sent.len() < before {
        // What stood between two contents of the model is gone.
        let left = std::mem::take(&mut sent);
        left.into_iter().for_each(|content| push(content, &mut sent, &mut notes));
    }
    sign::running_turn(&mut sent, &mut notes);
    if sent.first().is_some_and(|first| first.is_model) {
        notes.entry = None;
        notes.add(NoteCode::UserMessageInserted, "the first content has to be the user's");
        let opening = json!({"role": "user", "parts": [{"text": OPENING}]});
        sent.insert(0, OutgoingContent::built(None, false, opening));
    }
    sent.into_iter().map(OutgoingContent::into_text).collect()
}

/// The content of one message, whatever stands around it.
pub fn spoken(message: &Message, notes: &mut Vec<Note>) -> Option<Value> {
    write_message(message, &mut CallNames::default(), &mut Notes::new(notes)).map(|content| content.value())
}

/// Adds a content. The API refuses calls behind a content of the model: all of the answer becomes one.
fn push<'a>(mut content: OutgoingContent<'a>, sent: &mut Vec<OutgoingContent<'a>>, notes: &mut Notes<'_>) {
    let follows = content.is_model && sent.last().is_some_and(|last| last.is_model);
    if follows && content.may_hold("unction") && fields::has_call(&content.value()) {
        let from = sent.iter().rposition(|before| !before.is_model).map_or(0, |place| place + 1);
        let mut answer = sent.split_off(from).into_iter();
        if let Some(mut first) = answer.next() {
            notes.entry = content.entry;
            notes.add(NoteCode::MessagesMerged, "calls go in one content with the answer before them");
            // An answer of many contents grows by one at a time: it is not copied for each.
            let mut joined = first.take_value();
            answer.chain([content]).for_each(|mut next| join(&mut joined, next.take_value()));
            first.rewrite(joined);
            content = first;
        }
    }
    sent.push(content);
}

fn join(first: &mut Value, mut next: Value) {
    let parts = first.get_mut("parts").and_then(Value::as_array_mut);
    if let (Some(parts), Some(more)) = (parts, next.get_mut("parts").and_then(Value::as_array_mut)) {
        parts.append(more);
    }
}

fn write_message<'a>(
    message: &Message,
    names: &mut CallNames<'_>,
    notes: &mut Notes<'_>,
) -> Option<OutgoingContent<'a>> {
    let is_model = message.role == Role::Assistant;
    names.tools.note_message(message);
    let is_system = matches!(message.role, Role::System | Role::Developer);
    let told = if is_system { outgoing::told_to_user(message, notes) } else { Cow::Borrowed(&message.content[..]) };
    let mut empty = 0;
    let parts: Vec<Value> =
        told.iter().filter_map(|block| write_part::write(block, names, &mut empty, notes)).collect();
    if parts.is_empty() {
        notes.add(NoteCode::EmptyMessageDropped, "nothing in this message can be sent");
        return None;
    }
    if empty > 0 {
        notes.add(NoteCode::EmptyTextDropped, format!("{empty} text parts without text"));
    }
    let mut around = match own(message.opaque.as_ref(), Format::Gemini) {
        Some(Value::Object(around)) => around.clone(),
        _ => Object::from_iter([("role".to_owned(), Value::Null)]),
    };
    if is_model || around.contains_key("role") {
        around.insert("role".to_owned(), if is_model { "model" } else { "user" }.into());
    }
    around.insert("parts".to_owned(), parts.into());
    let mut content = Value::Object(around);
    if is_foreign_call(message) && sign::mark_first_call(&mut content) {
        notes.add(NoteCode::SignaturePlaceholder, "another model made the call");
    }
    Some(OutgoingContent::built(notes.entry, is_model, content))
}

/// Returns true if the first call of a message came from elsewhere.
fn is_foreign_call(message: &Message) -> bool {
    let is_call = |block: &&Block| matches!(block, Block::ToolCall(call) if write_part::is_function(call));
    matches!(message.content.iter().find(is_call),
        Some(Block::ToolCall(call)) if own(call.opaque.as_ref(), Format::Gemini).is_none())
}
