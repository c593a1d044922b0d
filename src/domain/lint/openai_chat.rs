//! Faults in one message that Chat Completions refuses.

use serde_json::{Value, json};

use super::report::Report;
use super::violation_code::ViolationCode;
use crate::domain::format::is_foreign;
use crate::domain::model::format::Format;

/// Reports what is wrong with a message, and puts right what the writer of contexts would let pass.
pub fn mend(value: &mut Value, report: &mut Report) -> bool {
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !["system", "developer", "user", "assistant", "tool", "function"].contains(&role.as_str()) {
        report.add(ViolationCode::UnknownRole, format!("{role:?} is no role of this API"));
    }
    if value.get("tool_calls").is_some_and(|calls| calls.as_array().is_some_and(Vec::is_empty)) {
        report.add(ViolationCode::EmptyToolCalls, "tool_calls is an empty list");
    }
    if role != "assistant" && value.get("tool_calls").is_some_and(|calls| !calls.is_null()) {
        report.add(ViolationCode::CallNotAllowed, format!("a {role} message can't call tools"));
        if let Some(fields) = value.as_object_mut() {
            fields.remove("tool_calls");
        }
    }
    for call in value.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        check_call(call, report);
    }
    let names_no_call = |key: &str| value.get(key).and_then(Value::as_str).is_none_or(str::is_empty);
    if (role == "tool" && names_no_call("tool_call_id")) || (role == "function" && names_no_call("name")) {
        report.add(ViolationCode::InvalidCallId, "the result does not say which call it answers");
    }
    check_content(value, &role, report);
    true
}

fn check_call(call: &Value, report: &mut Report) {
    if call.get("id").and_then(Value::as_str).is_none_or(str::is_empty) {
        report.add(ViolationCode::InvalidCallId, "a call without an id");
    }
    let kind = call.get("type").and_then(Value::as_str).unwrap_or("function");
    let Some(function) = call.get("function").filter(|_| kind == "function") else { return };
    if function.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
        report.add(ViolationCode::InvalidToolName, "a call without the name of its tool");
    }
    match function.get("arguments") {
        Some(Value::String(text)) if crate::domain::model::json::parse_lenient(text).is_ok() => {}
        Some(Value::String(_)) => report.add(ViolationCode::InvalidArguments, "the arguments are no JSON"),
        _ => report.add(ViolationCode::InvalidArguments, "the arguments are no string"),
    }
}

fn check_content(value: &mut Value, role: &str, report: &mut Report) {
    let filled = |key: &str| {
        value.get(key).is_some_and(|field| match field {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            _ => true,
        })
    };
    let acts = role == "assistant" && ["tool_calls", "function_call", "audio", "refusal"].iter().any(|key| filled(key));
    let is_result = matches!(role, "tool" | "function");
    let thinks = role == "assistant" && filled_thinking(value);
    match value.get_mut("content") {
        None | Some(Value::Null) if !acts => report.add(ViolationCode::EmptyContent, "content is missing"),
        // An answer of nothing but the thinking that compatible servers give stands as it is.
        Some(Value::String(text)) if text.is_empty() && !acts && !is_result && !thinks => {
            report.add(ViolationCode::EmptyContent, "content is empty");
        }
        Some(Value::Array(parts)) if parts.is_empty() => {
            report.add(ViolationCode::EmptyContent, "content is an empty list")
        }
        Some(Value::Array(parts)) => parts.iter_mut().for_each(|part| check_part(part, report)),
        _ => {}
    }
}

fn filled_thinking(value: &Value) -> bool {
    ["reasoning_content", "reasoning", "reasoning_details"]
        .iter()
        .any(|key| value.get(*key).is_some_and(|field| !field.is_null() && *field != "" && *field != json!([])))
}

fn check_part(part: &mut Value, report: &mut Report) {
    let Some(kind) = part.get("type").and_then(Value::as_str).map(str::to_owned) else {
        return report.add(ViolationCode::InvalidBlock, "a part is an object with a type");
    };
    match kind.as_str() {
        "text" if part.get("text").is_some_and(|text| *text == "") => {
            report.add(ViolationCode::EmptyText, "an empty text")
        }
        _ if is_foreign(Format::OpenaiChat, part) => {
            report.add(ViolationCode::UnknownBlock, format!("{kind:?} is no part of this API"));
            let said = part.get("text").or(part.get("thinking")).and_then(Value::as_str);
            let said = said.map_or_else(|| part.to_string(), str::to_owned);
            *part = json!({"type": "text", "text": said});
        }
        "image_url" => {
            let url = part.get("image_url").and_then(|inner| inner.get("url").or(Some(inner))).and_then(Value::as_str);
            if url.is_none_or(str::is_empty) {
                report.add(ViolationCode::InvalidMedia, "an image without its URL");
            }
        }
        _ => {}
    }
}
