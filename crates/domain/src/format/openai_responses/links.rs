//! Items that name one another by an id, besides functions and their outputs, which are paired before: what a program calls
//! names it (`caller`), its output answers it, an approval answers its request, and an approved call names that. The API
//! refuses what names something that does not stand before it, a second answer, and a `call_id` that another call has. They
//! are told by where the ids stand, so that kinds which come later are known as well.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::sent::{OutgoingItem, take_another};
use super::tools::AgentTool;
use super::write_item::output_type;
use super::{MAX_ID, call_key};
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes};
use crate::format::violation_code::ViolationCode;
use crate::format::write::ItemFault;
use crate::model::approval;

/// Leaves what is answered and named as the API takes it.
pub fn settle(sent: Vec<OutgoingItem>, notes: &mut Notes<'_>) -> Vec<OutgoingItem> {
    let mut links = Links::default();
    let settled = |item: OutgoingItem| {
        notes.entry = item.entry;
        links.take(item, notes)
    };
    sent.into_iter().filter_map(settled).collect()
}

#[derive(Default)]
struct Links {
    /// The calls so far, by what answers them and by the id that they came with.
    opened: HashMap<(String, String), Opened>,
    /// The ids that calls so far go under.
    taken: HashSet<String>,
    /// How many ids were tried in the place of one.
    tried: HashMap<String, usize>,
    /// The requests for approval, and whether one is answered.
    requests: HashMap<String, bool>,
}

struct Opened {
    /// The id that it goes under, where that is another than its own.
    sent: Option<String>,
    is_answered: bool,
}

impl Links {
    /// `None`: the item is left out.
    fn take(&mut self, item: OutgoingItem, notes: &mut Notes<'_>) -> Option<OutgoingItem> {
        if item.item_type == approval::REQUEST {
            if let Some(id) = &item.id {
                self.requests.entry(id.clone()).or_default();
            }
            return Some(item);
        }
        let item = self.approved(item, notes)?;
        let item = self.called(item, notes);
        let call_id = if call_key(&item.item_type) == "id" { &item.id } else { &item.call_id };
        match call_id.clone().filter(|id| !id.is_empty()) {
            Some(id) if item.item_type.ends_with("_output") => self.answer(item, &id, notes),
            Some(id) => Some(self.open(item, id, notes)),
            None => Some(item),
        }
    }

    /// What names a request for approval.
    fn approved(&mut self, mut item: OutgoingItem, notes: &mut Notes<'_>) -> Option<OutgoingItem> {
        if !item.text.contains(approval::REQUEST_ID) {
            return Some(item);
        }
        let mut value = item.value();
        let named = value.get(approval::REQUEST_ID).and_then(Value::as_str).filter(|id| !id.is_empty());
        let Some(request) = named.map(str::to_owned) else { return Some(item) };
        let is_answer = item.item_type == approval::RESPONSE;
        let is_second = |is_answered: &mut bool| is_answer && std::mem::replace(is_answered, true);
        match self.requests.get_mut(&request).map(is_second) {
            Some(true) => {
                notes.add(NoteCode::DuplicateResultDropped, format!("{request} is already answered"));
                None
            }
            Some(false) => Some(item),
            None if is_answer => {
                missing(notes, format!("no request {request} stands before its answer"));
                None
            }
            None => {
                missing(notes, format!("no request {request} stands before the call that names it"));
                remove(&mut value, approval::REQUEST_ID);
                item.text = value.to_string();
                Some(item)
            }
        }
    }

    /// What was called by another item.
    fn called(&self, mut item: OutgoingItem, notes: &mut Notes<'_>) -> OutgoingItem {
        if !item.text.contains("\"caller\"") {
            return item;
        }
        let mut value = item.value();
        let field = |key: &str| value.get("caller")?.get(key)?.as_str().filter(|text| !text.is_empty());
        let (Some(kind), Some(id)) = (field("type"), field("caller_id").map(str::to_owned)) else { return item };
        match self.opened.get(&answered_by(kind, &id)) {
            Some(Opened { sent: None, .. }) => return item,
            Some(Opened { sent: Some(other), .. }) => {
                value["caller"]["caller_id"] = other.as_str().into();
                renamed(notes, &id, other);
            }
            None => {
                missing(notes, format!("no {kind} {id} stands before what names it as its caller"));
                remove(&mut value, "caller");
            }
        }
        item.text = value.to_string();
        item
    }

    fn answer(&mut self, mut item: OutgoingItem, id: &str, notes: &mut Notes<'_>) -> Option<OutgoingItem> {
        let by_server = item.text.contains("\"server\"") && item.value()["execution"] == "server";
        let is_paired = is_paired(&item.item_type) && !by_server;
        let key = (family(&item.item_type), id.to_owned());
        match self.opened.get_mut(&key) {
            Some(opened) => {
                if std::mem::replace(&mut opened.is_answered, true) && !is_paired {
                    notes.add(NoteCode::DuplicateResultDropped, format!("{id} is already answered"));
                    return None;
                }
                if let Some(other) = &opened.sent {
                    renamed(notes, id, other);
                    set_call_id(&mut item, other.clone());
                }
            }
            None if is_paired || self.taken.contains(id) => {}
            None => {
                missing(notes, format!("nothing that {} answers stands before it", item.item_type));
                return None;
            }
        }
        Some(item)
    }

    fn open(&mut self, mut item: OutgoingItem, id: String, notes: &mut Notes<'_>) -> OutgoingItem {
        let mut sent = None;
        if !self.taken.insert(id.clone()) {
            let form = |other: String| match other.len() <= MAX_ID {
                true => other,
                false => outgoing::word(&other, MAX_ID).into_owned(),
            };
            sent = take_another(&id, &mut self.taken, &mut self.tried, form);
        }
        if let Some(other) = &sent {
            renamed(notes, &id, other);
            set_call_id(&mut item, other.clone());
        }
        self.opened.insert(answered_by(&item.item_type, &id), Opened { sent, is_answered: false });
        item
    }
}

/// The key of a call of this type.
fn answered_by(kind: &str, id: &str) -> (String, String) {
    let output = output_type(kind).map_or_else(|| format!("{kind}_output"), str::to_owned);
    (family(&output), id.to_owned())
}

/// Outputs that are paired with their calls before answer any of those.
fn family(output: &str) -> String {
    if is_paired(output) { String::new() } else { output.to_owned() }
}

fn is_paired(output: &str) -> bool {
    matches!(output, "function_call_output" | "custom_tool_call_output") || AgentTool::by_output(output).is_some()
}

fn set_call_id(item: &mut OutgoingItem, id: String) {
    let mut value = item.value();
    let key = call_key(&item.item_type);
    let place = if key == "id" { &mut item.id } else { &mut item.call_id };
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), id.as_str().into());
        item.text = value.to_string();
        *place = Some(id);
    }
}

fn remove(value: &mut Value, key: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove(key);
    }
}

fn missing(notes: &mut Notes<'_>, detail: String) {
    notes.add_fault(NoteCode::MissingLink, ItemFault::Refused(ViolationCode::MissingLink), detail);
}

fn renamed(notes: &mut Notes<'_>, id: &str, other: &str) {
    let detail = format!("another call of the context has the id {id}: it goes as {other}");
    notes.add_fault(NoteCode::CallIdRenamed, ItemFault::IdTaken, detail);
}
