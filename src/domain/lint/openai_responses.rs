//! Faults in one item that the Responses API refuses.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::report::Report;
use super::violation_code::ViolationCode;
use crate::domain::format::is_foreign;
use crate::domain::model::format::Format;
use crate::domain::model::json;

/// The ids that items had so far.
#[derive(Default)]
pub struct ItemIds(HashSet<String>);

/// Reports what is wrong with an item, and puts right what the writer of contexts would let pass. False: the item
/// has to go.
pub fn mend(value: &mut Value, ids: &mut ItemIds, report: &mut Report) -> bool {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
    // The output of a local shell call names its call by `id`.
    let own_id = value.get("id").and_then(Value::as_str).filter(|_| kind != "local_shell_call_output");
    if let Some(id) = own_id.filter(|id| !id.is_empty())
        && !ids.0.insert(id.to_owned())
    {
        report.add(ViolationCode::DuplicateItemId, format!("an earlier item has the id {id:?} too"));
        if !has_optional_id(&kind) {
            return false;
        }
        if let Some(fields) = value.as_object_mut() {
            fields.remove("id");
        }
    }
    match kind.as_str() {
        "message" => check_message(value, report),
        "function_call" => check_call(value, report),
        "function_call_output" | "custom_tool_call_output" => check_output(value, report),
        _ => {}
    }
    true
}

/// Returns true if an item of this type may go without the id that the provider gave it.
fn has_optional_id(kind: &str) -> bool {
    matches!(
        kind,
        "message" | "function_call" | "custom_tool_call" | "function_call_output" | "custom_tool_call_output"
    )
}

fn check_message(value: &mut Value, report: &mut Report) {
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !["system", "developer", "user", "assistant"].contains(&role.as_str()) {
        report.add(ViolationCode::UnknownRole, format!("{role:?} is no role of this API"));
    }
    match value.get_mut("content") {
        None => {
            report.add(ViolationCode::EmptyContent, "content is missing");
            if let Some(fields) = value.as_object_mut() {
                fields.insert("content".to_owned(), json!([]));
            }
        }
        Some(Value::Null) => report.add(ViolationCode::EmptyContent, "content is missing"),
        Some(Value::String(text)) if text.is_empty() => report.add(ViolationCode::EmptyContent, "content is empty"),
        Some(Value::Array(parts)) => {
            let before = parts.len();
            parts.iter_mut().for_each(|part| check_part(part, role == "assistant", report));
            parts.retain(|part| !is_empty_text(part));
            if parts.len() < before {
                report.add(ViolationCode::EmptyText, "a part without text");
            }
            if parts.is_empty() {
                report.add(ViolationCode::EmptyContent, "content is empty");
            }
        }
        Some(_) => {}
    }
}

fn is_empty_text(part: &Value) -> bool {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    kind.ends_with("text") && part.get("text").is_some_and(|text| *text == "")
}

fn check_part(part: &mut Value, assistant: bool, report: &mut Report) {
    let Some(kind) = part.get("type").and_then(Value::as_str).map(str::to_owned) else {
        return report.add(ViolationCode::InvalidBlock, "a part is an object with a type");
    };
    let wanted = if assistant { "output_text" } else { "input_text" };
    match kind.as_str() {
        "text" | "input_text" | "output_text" if kind != wanted => {
            report.add(ViolationCode::BlockNotAllowed, format!("{kind} where {wanted} is due"));
            if let Some(fields) = part.as_object_mut() {
                fields.insert("type".to_owned(), wanted.into());
            }
        }
        "input_image" if part.get("image_url").or(part.get("file_id")).is_none_or(Value::is_null) => {
            report.add(ViolationCode::InvalidMedia, "an image without its URL");
            *part = json!({"type": wanted, "text": "[image not shown]"});
        }
        _ if is_foreign(Format::OpenaiResponses, part) => {
            report.add(ViolationCode::UnknownBlock, format!("{kind:?} is no part of this API"));
            let said = part.get("text").or(part.get("thinking")).and_then(Value::as_str);
            let said = said.map_or_else(|| part.to_string(), str::to_owned);
            *part = json!({"type": wanted, "text": said});
        }
        _ => {}
    }
}

fn check_call(value: &mut Value, report: &mut Report) {
    let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
    let names_itself = value.get("call_id").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
    let Some(fields) = value.as_object_mut() else { return };
    if !names_itself {
        report.add(ViolationCode::InvalidCallId, "a call without a call_id");
        if let Some(id) = id {
            fields.insert("call_id".to_owned(), id.into());
        }
    }
    match fields.get("arguments") {
        Some(Value::String(text)) if json::parse_lenient(text).is_ok() => {}
        Some(Value::String(_)) => report.add(ViolationCode::InvalidArguments, "the arguments are no JSON"),
        other => {
            report.add(ViolationCode::InvalidArguments, "the arguments are no string");
            let text = other.filter(|value| !value.is_null()).map_or_else(|| "{}".to_owned(), Value::to_string);
            fields.insert("arguments".to_owned(), text.into());
        }
    }
}

fn check_output(value: &mut Value, report: &mut Report) {
    let Some(fields) = value.as_object_mut() else { return };
    match fields.get("output") {
        Some(Value::String(_) | Value::Array(_)) => {}
        Some(Value::Object(_)) => {
            report.add(ViolationCode::InvalidOutput, "the output is neither a string nor a list of parts")
        }
        other => {
            report.add(ViolationCode::InvalidOutput, "the output is neither a string nor a list of parts");
            let text = other.filter(|value| !value.is_null()).map_or_else(String::new, Value::to_string);
            fields.insert("output".to_owned(), text.into());
        }
    }
}
