//! Ids that two items of a Responses transcript have.

use std::collections::HashSet;

use serde_json::Value;

use super::report::Report;
use crate::format::openai_responses;
use crate::format::violation_code::ViolationCode;

/// The ids that items had so far.
#[derive(Default)]
pub struct ItemIds(HashSet<String>);

impl ItemIds {
    /// Takes the item's id off where an earlier one has it. False: the item can't be without one, and has to go.
    pub fn tell_apart(&mut self, item: &mut Value, report: &mut Report) -> bool {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
        let own_id = item.get("id").and_then(Value::as_str).filter(|_| openai_responses::call_key(&kind) != "id");
        // One that the provider does not take at all is left out where the item is written.
        let own_id = own_id.filter(|id| !id.is_empty() && openai_responses::is_own_id(&kind, id));
        let Some(id) = own_id else { return true };
        if self.0.insert(id.to_owned()) {
            return true;
        }
        report.add(ViolationCode::DuplicateItemId, format!("an earlier item has the id {id:?} too"));
        if !has_optional_id(&kind) {
            return false;
        }
        if let Some(fields) = item.as_object_mut() {
            fields.remove("id");
        }
        true
    }
}

/// Returns true if an item of this type may go without the id that the provider gave it.
fn has_optional_id(kind: &str) -> bool {
    matches!(
        kind,
        "message" | "function_call" | "custom_tool_call" | "function_call_output" | "custom_tool_call_output"
    )
}
