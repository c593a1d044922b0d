//! Faults in one content that the Gemini API refuses.

use serde_json::{Value, json};

use super::report::Report;
use super::violation_code::ViolationCode;
use crate::domain::format::is_foreign;
use crate::domain::model::format::Format;

/// Reports what is wrong with a content, and puts right what the writer of contexts would let pass.
pub fn mend(value: &mut Value, report: &mut Report) -> bool {
    match value.get("role").and_then(Value::as_str) {
        None | Some("user" | "model") => {}
        Some("system" | "developer") => system(value, report),
        Some(other) => {
            report.add(ViolationCode::UnknownRole, format!("{other:?} is neither user nor model"));
            if other == "assistant" {
                value["role"] = "model".into();
            }
        }
    }
    match value.get_mut("parts") {
        None | Some(Value::Null) => {
            report.add(ViolationCode::EmptyContent, "parts are missing");
            if let Some(fields) = value.as_object_mut() {
                let said = fields.shift_remove("content").and_then(|content| Some(content.as_str()?.to_owned()));
                let parts = said.map(|text| json!({"text": text})).into_iter().collect();
                fields.insert("parts".to_owned(), Value::Array(parts));
            }
        }
        Some(Value::Array(parts)) if parts.is_empty() => report.add(ViolationCode::EmptyContent, "no parts"),
        Some(Value::Array(parts)) => parts.iter_mut().for_each(|part| check_part(part, report)),
        Some(_) => {}
    }
    true
}

/// The system prompt travels beside the contents; its words are passed on by the user.
fn system(value: &mut Value, report: &mut Report) {
    report.add(ViolationCode::SystemInMessages, "the system instruction travels beside the contents");
    let parts = value.get("parts").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    let text = texts.join("\n");
    let said = if text.trim().is_empty() { text } else { format!("<system_message>\n{text}\n</system_message>") };
    *value = json!({"role": "user", "parts": [{"text": said}]});
}

fn check_part(part: &mut Value, report: &mut Report) {
    let Some(fields) = part.as_object() else { return };
    let data = |names: [&str; 2]| names.iter().find_map(|name| fields.get(*name)?.as_object());
    if let Some(result) = data(["functionResponse", "function_response"]) {
        if !result.get("name").is_some_and(Value::is_string) {
            report.add(ViolationCode::InvalidToolName, "a result without the name of its function");
        }
        if result.get("response").is_some_and(Value::is_string) {
            report.add(ViolationCode::InvalidOutput, "a response is an object");
        }
    }
    if fields.values().all(Value::is_null) {
        report.add(ViolationCode::InvalidBlock, "a part without data");
    }
    if fields.contains_key("type") || is_foreign(Format::Gemini, part) {
        report.add(ViolationCode::UnknownBlock, "parts have no type");
        let said = part.get("text").and_then(Value::as_str).map_or_else(|| part.to_string(), str::to_owned);
        *part = json!({"text": said});
    }
}
