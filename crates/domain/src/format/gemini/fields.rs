//! The fields of parts, under either of their names.

use serde_json::Value;

use crate::format::keys::Object;

/// The kinds of data of a part, as REST and as Python name them. A part has one.
pub const KINDS: [[&str; 2]; 9] = [
    ["text", "text"],
    ["functionCall", "function_call"],
    ["functionResponse", "function_response"],
    ["inlineData", "inline_data"],
    ["fileData", "file_data"],
    ["executableCode", "executable_code"],
    ["codeExecutionResult", "code_execution_result"],
    ["toolCall", "tool_call"],
    ["toolResponse", "tool_response"],
];

/// The names of a signature, as REST and as Python name it.
pub const SIGNATURES: [&str; 2] = ["thoughtSignature", "thought_signature"];

/// The kinds of data that a part has, each with the name that it goes under.
pub fn kinds(part: &Object) -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.iter().filter_map(|[rest, python]| Some((*rest, held(part, [rest, python])?)))
}

/// Returns the one of two names that an object holds with a value.
pub fn held(object: &Object, names: [&'static str; 2]) -> Option<&'static str> {
    names.into_iter().find(|name| object.get(*name).is_some_and(|value| !value.is_null()))
}

pub fn is_signed(part: &Object) -> bool {
    held(part, SIGNATURES).is_some_and(|name| part[name].as_str().is_some_and(|text| !text.is_empty()))
}

/// Returns true if a part shows thinking, or is nothing but a signature.
pub fn is_thought(part: &Object) -> bool {
    match kinds(part).next() {
        Some(("text", _)) => part.get("thought") == Some(&Value::Bool(true)),
        Some(_) => false,
        None => held(part, SIGNATURES).is_some(),
    }
}

/// Returns true if a content of the API holds a call.
pub fn has_call(content: &Value) -> bool {
    holds(content, "functionCall")
}

/// Returns true if a content of the API holds a result.
pub fn has_result(content: &Value) -> bool {
    holds(content, "functionResponse")
}

/// The objects among a content's parts.
pub fn parts(content: &Value) -> impl Iterator<Item = &Object> {
    content.get("parts").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn holds(content: &Value, kind: &str) -> bool {
    parts(content).any(|part| kinds(part).any(|(known, _)| known == kind))
}
