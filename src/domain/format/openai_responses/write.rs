//! Pieces of a context into Responses items.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::MAX_ID;
use super::item_ids::{self, IdFault, ItemIds, WithoutId, id_fault};
use super::write_item::{self, OutputTypes, call_type, output_type};
use crate::domain::format::note_code::NoteCode;
use crate::domain::format::outgoing::{self, Notes};
use crate::domain::format::refused;
use crate::domain::format::violation_code::ViolationCode;
use crate::domain::format::write::{ItemFault, Note, Piece};
use crate::domain::model::format::Format;
use crate::domain::model::json;
use crate::domain::model::message::CallKind;

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
            Piece::Verbatim { entry, item } => {
                let head = head(item);
                let (kind, text) = (ItemRole::of(&head), item.to_string());
                let item_type = head.kind.as_deref().unwrap_or("message");
                let fault = head.id.as_deref().and_then(|id| id_fault(item_type, id));
                let id = head.id.map(Cow::into_owned);
                sent.push(OutgoingItem { entry: Some(*entry), id, fault, kind, text });
            }
            Piece::Message { entry, message } => {
                noted.entry = *entry;
                for item in write_item::write(message, &types, &mut noted) {
                    let id = item["id"].as_str().map(str::to_owned);
                    let item_type = item["type"].as_str().unwrap_or("message");
                    let fault = id.as_deref().and_then(|id| id_fault(item_type, id));
                    let (kind, text) = (ItemRole::of_value(&item), item.to_string());
                    sent.push(OutgoingItem { entry: *entry, id, fault, kind, text });
                }
            }
        }
    }
    let sent = match ids {
        ItemIds::Sendable => without_refused_ids(sent, &mut noted),
        ItemIds::Given => sent,
    };
    let sent = tell_apart(sent, &mut noted);
    let sent = drop_lone_reasoning(sent, &mut noted);
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
        let mut value = json::parse_lenient(&item.text).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or("message").to_owned();
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
        let value = json::parse_lenient(&item.text).unwrap_or_default();
        let kind = value["type"].as_str().unwrap_or("message").to_owned();
        let is_answered = value.get("call_id").is_some_and(Value::is_string);
        let detail = format!("an earlier item has the id {id:?} too");
        notes.entry = item.entry;
        match (kind.as_str(), value) {
            // This one names its call by it.
            ("local_shell_call_output", _) => kept.push(item),
            ("local_shell_call" | "computer_call", Value::Object(mut fields)) if is_answered => {
                notes.add(NoteCode::ItemIdChanged, detail);
                let nth = tried.entry(id.clone()).or_insert(1);
                let others = std::iter::repeat_with(|| {
                    *nth += 1;
                    outgoing::word(&format!("{id}_{nth}"), MAX_ID).into_owned()
                });
                let other = others.take(seen.len() + 1).find(|other| seen.insert(other.clone()));
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

struct OutgoingItem {
    entry: Option<usize>,
    /// The item's own id.
    id: Option<String>,
    /// Why the API refuses the id.
    fault: Option<IdFault>,
    kind: ItemRole,
    text: String,
}

/// Role of an item for the reasoning before it.
#[derive(Clone, Copy, PartialEq)]
enum ItemRole {
    Reasoning,
    /// The model's own: what reasoning leads to.
    Output,
    /// A compaction: what stands before it and behind it may belong together.
    Compaction,
    /// A change of the configuration.
    Update,
    Input,
}

#[derive(Deserialize, Default)]
struct ItemHeader<'h> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'h, str>>,
    #[serde(borrow)]
    id: Option<Cow<'h, str>>,
    #[serde(borrow)]
    role: Option<Cow<'h, str>>,
    #[serde(borrow)]
    call_id: Option<Cow<'h, str>>,
}

fn head(item: &str) -> ItemHeader<'_> {
    serde_json::from_str(item).unwrap_or_default()
}

impl ItemRole {
    fn of(head: &ItemHeader<'_>) -> ItemRole {
        ItemRole::classify(head.kind.as_deref(), head.role.as_deref())
    }

    fn of_value(item: &Value) -> ItemRole {
        ItemRole::classify(item["type"].as_str(), item["role"].as_str())
    }

    fn classify(kind: Option<&str>, role: Option<&str>) -> ItemRole {
        match (kind, role) {
            (Some("reasoning"), _) => ItemRole::Reasoning,
            (Some("compaction" | "compaction_summary"), _) => ItemRole::Compaction,
            (Some("configuration_update"), _) => ItemRole::Update,
            (_, Some(role)) if role != "assistant" => ItemRole::Input,
            (Some("mcp_approval_response"), _) => ItemRole::Input,
            (Some(kind), _) if kind.ends_with("_output") => ItemRole::Input,
            _ => ItemRole::Output,
        }
    }
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
