//! System messages among the others: where the API takes one, and what becomes of one that stands elsewhere.
//!
//! As of November 2026 it has to follow the user, or an answer that ends with the result of a tool of the provider's own,
//! and to precede an answer or end the context; two are never neighbours. One without words that changes the
//! configuration (`output_config`) may stand anywhere.

use std::collections::VecDeque;

use serde_json::Value;

use super::sent::{Sent, blocks_of};
use crate::format::note_code::NoteCode;
use crate::format::outgoing::Notes;
use crate::format::refused::{anthropic_told_to_user, is_system_directive};
use crate::format::violation_code::ViolationCode;
use crate::format::write::{ItemFault, Note};

/// Puts neighbouring system messages into one. Those at a place where none is taken go on to the next one that does, if they
/// hold what the user can't say; the user passes on the others.
pub fn place(sent: Vec<Sent>, notes: &mut Notes<'_>) -> Vec<Sent> {
    if !sent.iter().any(|message| message.text.contains("\"system\"")) {
        return sent;
    }
    let mut waiting: VecDeque<Placed> = sent.into_iter().map(Placed::of).collect();
    let mut placed: Vec<Placed> = Vec::with_capacity(waiting.len());
    // Those that have not found their place yet.
    let mut run: Vec<Placed> = Vec::new();
    // Nothing may come behind a call that the provider is still at work on.
    let is_open = waiting.back().is_some_and(|last| last.kind == Kind::Assistant && ends_in_server_call(&last.sent));
    while let Some(message) = waiting.pop_front() {
        match message.kind {
            Kind::System => run.push(message),
            _ => placed.push(message),
        }
        if run.is_empty() || waiting.front().is_some_and(|next| next.kind == Kind::System) {
            continue;
        }
        let arrived = run.last().is_some_and(|last| !last.is_moved);
        let before = placed.iter().rev().find(|before| before.kind != Kind::Directive);
        let next = waiting.iter().find(|next| next.kind != Kind::Directive);
        let may_follow = before.is_some_and(|before| matches!(before.kind, Kind::User | Kind::EndsInServerResult));
        let may_precede = next.is_none_or(|next| matches!(next.kind, Kind::Assistant | Kind::EndsInServerResult));
        let is_first = before.is_none();
        // What has no words can't be passed on; the opening comes before it.
        let wordless = is_first && !run.iter().any(Placed::speaks);
        if (may_follow || wordless) && may_precede && run.iter().all(Placed::instructs) {
            placed.push(join(std::mem::take(&mut run), notes));
            continue;
        }
        if !arrived && !waiting.is_empty() {
            continue;
        }
        let takes_one = |next: &Placed| matches!(next.kind, Kind::User | Kind::EndsInServerResult);
        let is_taken_later = !waiting.is_empty() && (!is_open || waiting.iter().any(takes_one));
        let goes_on = |message: &Placed| is_taken_later && message.instructs() && message.is_directive();
        let (later, now): (Vec<Placed>, Vec<Placed>) = std::mem::take(&mut run).into_iter().partition(goes_on);
        placed.extend(now.into_iter().filter_map(|message| pass_on(message, is_first, notes)));
        run = later.into_iter().map(|message| moved_on(message, notes)).collect();
    }
    placed.into_iter().map(|message| message.sent).collect()
}

/// Returns true if the user speaks first, or nobody does.
pub fn begins_with_user(sent: &[Sent]) -> bool {
    let speaks = |message: &&Sent| message.role() != "system" || !is_system_directive(&message.value());
    sent.iter().find(speaks).is_none_or(|first| first.role() == "user")
}

/// Has the user pass on every system message, for a model that takes none among the others. What only changes the
/// configuration is left out.
pub fn pass_on_all(messages: Vec<String>, notes: &mut Vec<Note>) -> Vec<String> {
    if !messages.iter().any(|message| message.contains("\"system\"")) {
        return messages;
    }
    let mut notes = Notes::new(notes);
    let sent = |text: String| Placed::of(Sent { entry: None, text });
    let told = |message: Placed| match message.kind {
        Kind::System | Kind::Directive => pass_on(message, false, &mut notes),
        _ => Some(message),
    };
    messages.into_iter().map(sent).filter_map(told).map(|message| message.sent.text).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    User,
    Assistant,
    /// An answer whose last block is the result of a tool that the provider ran.
    EndsInServerResult,
    System,
    /// A system message that only changes the configuration.
    Directive,
}

struct Placed {
    kind: Kind,
    sent: Sent,
    /// It does not stand where it was said.
    is_moved: bool,
}

impl Placed {
    fn of(sent: Sent) -> Placed {
        let kind = match sent.role().as_str() {
            "system" if is_system_directive(&sent.value()) => Kind::Directive,
            "system" => Kind::System,
            "assistant" if sent.text.contains("_tool_result") && ends_in_server_result(&sent.value()) => {
                Kind::EndsInServerResult
            }
            "assistant" => Kind::Assistant,
            _ => Kind::User,
        };
        Placed { kind, sent, is_moved: false }
    }

    fn speaks(&self) -> bool {
        let said = anthropic_told_to_user(&self.sent.value());
        said.get("content").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    }

    /// Returns true if the message holds what the user can't pass on: tools, or a change of the configuration.
    fn is_directive(&self) -> bool {
        let value = self.sent.value();
        let configures = value.get("output_config").is_some_and(|config| !config.is_null());
        configures || blocks_of(&value).iter().any(|block| block.get("type").is_some_and(|kind| kind != "text"))
    }

    /// Returns true if the message holds nothing but what a system message may hold.
    fn instructs(&self) -> bool {
        let kind = |block: &Value| block.get("type").and_then(Value::as_str).map(str::to_owned);
        let may = |block: &Value| matches!(kind(block).as_deref(), Some("text" | "tool_addition" | "tool_removal"));
        match self.sent.value().get("content") {
            Some(Value::Array(blocks)) => !blocks.is_empty() && blocks.iter().all(may),
            Some(Value::String(text)) => !text.trim().is_empty(),
            _ => false,
        }
    }
}

fn ends_in_server_call(message: &Sent) -> bool {
    message.text.contains("server_tool_use") && last_kind(&message.value()).as_deref() == Some("server_tool_use")
}

fn ends_in_server_result(message: &Value) -> bool {
    last_kind(message).is_some_and(|kind| kind.ends_with("_tool_result"))
}

/// The type of a message's last block.
fn last_kind(message: &Value) -> Option<String> {
    let last = message.get("content")?.as_array()?.last()?;
    Some(last.get("type")?.as_str()?.to_owned())
}

/// A run of system messages as one. Each of them has a note: none goes as it came, the first neither.
fn join(mut run: Vec<Placed>, notes: &mut Notes<'_>) -> Placed {
    if run.len() > 1 {
        for message in &run {
            notes.entry = message.sent.entry;
            let fault = ItemFault::Refused(ViolationCode::SystemMisplaced);
            notes.add_fault(NoteCode::MessagesMerged, fault, "system messages in a row go as one");
        }
    }
    let mut first = run.remove(0);
    if run.is_empty() {
        return first;
    }
    let mut joined = first.sent.value();
    let mut blocks = blocks_of(&joined);
    for next in run.iter().map(|next| next.sent.value()) {
        blocks.extend(blocks_of(&next));
        // The newest change of a field holds.
        for (field, value) in next.get("output_config").and_then(Value::as_object).into_iter().flatten() {
            joined["output_config"][field] = value.clone();
        }
    }
    joined["content"] = Value::Array(blocks);
    first.sent.text = joined.to_string();
    first
}

/// The message on its way to where it is taken.
fn moved_on(message: Placed, notes: &mut Notes<'_>) -> Placed {
    if !message.is_moved {
        notes.entry = message.sent.entry;
        let fault = ItemFault::Refused(ViolationCode::SystemMisplaced);
        notes.add_fault(NoteCode::ItemRepaired, fault, "a system message goes to the next place where one is taken");
    }
    Placed { is_moved: true, ..message }
}

/// The message as the user's. `None`: there is nothing that the user could say.
fn pass_on(message: Placed, is_first: bool, notes: &mut Notes<'_>) -> Option<Placed> {
    let entry = message.sent.entry;
    notes.entry = entry;
    let (code, detail) = match is_first {
        true => (ViolationCode::SystemInMessages, "a system message at the beginning is passed on by the user"),
        false => (ViolationCode::SystemMisplaced, "a system message where none is taken is passed on by the user"),
    };
    notes.add_fault(NoteCode::SystemAsUser, ItemFault::Refused(code), detail);
    let told = anthropic_told_to_user(&message.sent.value());
    if told.get("content").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty()) {
        notes.add(NoteCode::EmptyMessageDropped, "nothing in this message can be sent");
        return None;
    }
    Some(Placed { kind: Kind::User, sent: Sent { entry, text: told.to_string() }, is_moved: message.is_moved })
}
