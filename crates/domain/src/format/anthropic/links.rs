//! Calls that code of the provider's own made name it (`caller`): the API refuses one whose code is not there. Without the
//! name it is a call like any other.

use std::collections::HashSet;

use serde_json::Value;

use super::sent::Sent;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::Notes;
use crate::format::violation_code::ViolationCode;
use crate::format::write::ItemFault;

/// Takes the names off for which no server call stands before them, as where the code was stopped and its call went.
pub fn take_off(sent: &mut [Sent], notes: &mut Notes<'_>) {
    const NAME: &str = "\"tool_id\"";
    if !sent.iter().any(|message| message.text.contains(NAME)) {
        return;
    }
    let may_matter = |message: &&mut Sent| message.text.contains("_tool_use\"") || message.text.contains(NAME);
    let mut opened: HashSet<String> = HashSet::new();
    for message in sent.iter_mut().filter(may_matter) {
        let mut value = message.value();
        let mut lost = None;
        for block in value.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            let named = block.pointer("/caller/tool_id").and_then(Value::as_str);
            if let Some(id) = named.filter(|id| !opened.contains(*id)) {
                lost = Some(format!("no code {id} stands before what names it as its caller"));
                if let Some(fields) = block.as_object_mut() {
                    fields.shift_remove("caller");
                }
            }
            if block.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_tool_use")) {
                opened.extend(block.get("id").and_then(Value::as_str).map(str::to_owned));
            }
        }
        if let Some(detail) = lost {
            message.text = value.to_string();
            notes.entry = message.entry;
            notes.add_fault(NoteCode::MissingLink, ItemFault::Refused(ViolationCode::MissingLink), detail);
        }
    }
}
