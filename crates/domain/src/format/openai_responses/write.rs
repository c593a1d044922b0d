//! Pieces of a context into Responses items.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::item_ids::{self, IdFault, ItemIds, WithoutId};
use super::links;
use super::sent::{ItemHeader, ItemRole, OutgoingItem, head, take_another};
use super::write_item::{self, OutputTypes, call_type, output_type};
use super::{MAX_ID, call_key};
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes};
use crate::format::refused;
use crate::format::violation_code::ViolationCode;
use crate::format::write::{ItemFault, Note, Piece};
use crate::model::format::Format;
use crate::model::json;
use crate::model::message::CallKind;

/// The items, in order, each as JSON text. Reasoning that has lost the item it led to is left out.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    write_with(pieces, ItemIds::Sendable, notes)
}

/// As [`write()`], with the ids of items as they are wanted.
pub fn write_with(pieces: &[Piece<'_>], ids: ItemIds, notes: &mut Vec<Note>) -> Vec<String> {
    let mut types = OutputTypes::new();
    let mut noted = Notes::new(notes);
    let mut sent: Vec<OutgoingItem> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        learn_calls(piece, &mut types);
        match piece {
            Piece::Verbatim { entry, item } => sent.push(OutgoingItem::new(Some(*entry), item.to_string())),
            Piece::Message { entry, message } => {
                noted.entry = *entry;
                let items = write_item::write(message, &types, &mut noted);
                sent.extend(items.iter().map(|item| OutgoingItem::new(*entry, item.to_string())));
            }
        }
    }
    let sent = match ids {
        ItemIds::Sendable => {
            let sent = links::settle(without_refused_ids(sent, &mut noted), &mut noted);
            drop_lone_reasoning(tell_apart(sent, &mut noted), &mut noted)
        }
        // Whoever knows the items by their ids is to find each of them.
        ItemIds::Given => sent,
    };
    join_updates(sent, &mut noted).into_iter().map(|item| item.text).collect()
}

/// The API refuses two changes of the configuration in a row: they go as one, in which the later one holds.
fn join_updates(sent: Vec<OutgoingItem>, notes: &mut Notes<'_>) -> Vec<OutgoingItem> {
    let mut kept: Vec<OutgoingItem> = Vec::with_capacity(sent.len());
    let mut note = |entry: Option<usize>| {
        notes.entry = entry;
        let fault = ItemFault::Refused(ViolationCode::ConfigurationUpdatesAdjacent);
        notes.add_fault(NoteCode::MessagesMerged, fault, "changes of the configuration in a row go as one");
    };
    // The place of the one that others went into, which has its note.
    let mut grown = None;
    for item in sent {
        let last = kept.len();
        match kept.last_mut().filter(|before| before.kind == ItemRole::Update && item.kind == ItemRole::Update) {
            Some(before) => {
                if grown.replace(last) != Some(last) {
                    note(before.entry);
                }
                note(item.entry);
                before.text = joined(&before.text, &item.text);
            }
            None => kept.push(item),
        }
    }
    kept
}

/// The fields of both; of those that both set, the later one's.
fn joined(before: &str, after: &str) -> String {
    let mut joined = json::parse_object(before);
    for (key, value) in json::parse_object(after) {
        match (joined.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(set)) => known.extend(set),
            (_, value) if key != "id" => drop(joined.insert(key, value)),
            _ => {}
        }
    }
    Value::Object(joined).to_string()
}

/// Leaves out the ids that the API refuses: a framework may have one of its own for all items, or keep more in it than an
/// id.
fn without_refused_ids(sent: Vec<OutgoingItem>, notes: &mut Notes<'_>) -> Vec<OutgoingItem> {
    let sendable = |mut item: OutgoingItem| {
        let Some(fault) = item.fault else { return Some(item) };
        let mut value = item.value();
        let kind = item.item_type.clone();
        let Some(fields) = value.as_object_mut() else { return Some(item) };
        let given = item.id.take().unwrap_or_default();
        notes.entry = item.entry;
        let mut note = |code, detail: String| match fault {
            IdFault::TooLong => notes.add_fault(code, ItemFault::Refused(ViolationCode::ItemIdTooLong), detail),
            IdFault::Foreign => notes.add(code, detail),
        };
        let detail = match fault {
            IdFault::TooLong => format!("an id of {} characters is longer than the API takes", given.len()),
            IdFault::Foreign => format!("{given:?} is no id of the provider's"),
        };
        match item_ids::take_off(&kind, fields) {
            WithoutId::Removed => note(NoteCode::ItemIdRemoved, detail),
            WithoutId::Changed => note(NoteCode::ItemIdChanged, detail),
            WithoutId::Dropped => {
                note(NoteCode::ThinkingDropped, "reasoning that the provider gave no id to".to_owned());
                return None;
            }
        }
        item.fault = None;
        item.id = value["id"].as_str().map(str::to_owned);
        item.text = value.to_string();
        Some(item)
    };
    sent.into_iter().filter_map(sendable).collect()
}

/// The API refuses two items of one id. The later one goes without it where it can, under another where it needs one and
/// is answered by its `call_id` (invariant 2: no result may lose its call), else not at all.
fn tell_apart(sent: Vec<OutgoingItem>, notes: &mut Notes<'_>) -> Vec<OutgoingItem> {
    let mut seen: HashSet<String> = HashSet::new();
    // How far the search for another id has come, by id.
    let mut tried: HashMap<String, usize> = HashMap::new();
    let mut kept = Vec::with_capacity(sent.len());
    for mut item in sent {
        // Those are left here as they were given.
        let Some(id) = item.id.take().filter(|id| !id.is_empty() && item.fault.is_none() && !seen.insert(id.clone()))
        else {
            kept.push(item);
            continue;
        };
        let value = item.value();
        let kind = item.item_type.clone();
        let is_answered = value.get("call_id").is_some_and(Value::is_string);
        let detail = format!("an earlier item has the id {id:?} too");
        notes.entry = item.entry;
        match (kind.as_str(), value) {
            (kind, _) if call_key(kind) == "id" => kept.push(item),
            ("local_shell_call" | "computer_call", Value::Object(mut fields)) if is_answered => {
                notes.add(NoteCode::ItemIdChanged, detail);
                let form = |other: String| outgoing::word(&other, MAX_ID).into_owned();
                let other = take_another(&id, &mut seen, &mut tried, form);
                fields.insert("id".to_owned(), other.into());
                item.text = Value::Object(fields).to_string();
                kept.push(item);
            }
            (kind, Value::Object(mut fields)) if is_answered || kind == "message" => {
                notes.add(NoteCode::ItemIdRemoved, detail);
                fields.retain(|key, _| key != "id");
                item.text = refused::mended(Format::OpenaiResponses, Value::Object(fields)).to_string();
                kept.push(item);
            }
            _ => notes.add(NoteCode::DuplicateItemDropped, detail),
        }
    }
    kept
}

/// The API refuses reasoning that is not followed by what it led to.
fn drop_lone_reasoning(sent: Vec<OutgoingItem>, notes: &mut Notes<'_>) -> Vec<OutgoingItem> {
    let mut next = ItemRole::Input;
    let mut kept: Vec<OutgoingItem> = Vec::with_capacity(sent.len());
    let mut dropped: Vec<Option<usize>> = Vec::new();
    for item in sent.into_iter().rev() {
        if item.kind == ItemRole::Reasoning && matches!(next, ItemRole::Input | ItemRole::Update) {
            dropped.push(item.entry);
            continue;
        }
        if item.kind != ItemRole::Compaction {
            next = item.kind;
        }
        kept.push(item);
    }
    for entry in dropped.into_iter().rev() {
        notes.entry = entry;
        notes.add(NoteCode::ReasoningUnpaired, "reasoning without the item that it led to");
    }
    kept.reverse();
    kept
}

/// Takes down how the calls of a piece are to be answered. A later call under the same id replaces the earlier one.
fn learn_calls(piece: &Piece<'_>, types: &mut OutputTypes) {
    match piece {
        Piece::Verbatim { item, .. } => {
            if let ItemHeader { kind: Some(kind), call_id: Some(id), .. } = head(item) {
                types.extend(output_type(&kind).map(|output| (id.into_owned(), output)));
            }
        }
        Piece::Message { message, .. } => {
            let calls = message.tool_calls().filter(|call| call.kind != CallKind::Server);
            types.extend(calls.filter_map(|call| Some((call.id.clone(), output_type(call_type(call))?))));
        }
    }
}
