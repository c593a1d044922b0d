//! What every operation may answer: a description of each status, and the codes of each refusal.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::operations::for_each;
use super::parts::part;

const SECRET: [&str; 1] = ["unauthorized"];
const NAMED: [&str; 1] = ["not_found"];
const CHECKED: [&str; 1] = ["validation_failed"];
const BODY: [&str; 8] = [
    "malformed_json",
    "invalid_utf8",
    "body_unreadable",
    "body_timeout",
    "payload_too_large",
    "unsupported_media_type",
    "validation_failed",
    "too_deep",
];
const KEYED: [&str; 6] = [
    "idempotency_in_progress",
    "idempotency_key_reused",
    "validation_failed",
    "payload_too_large",
    "body_unreadable",
    "body_timeout",
];
const STORED: [&str; 4] = ["internal_error", "unavailable", "read_only", "storage_full"];
/// A form that a page could send is refused where no key is needed.
const CHANGES: [&str; 2] = ["unsupported_media_type", "outcome_unknown"];
const BOUNDED: [&str; 6] =
    ["host_not_allowed", "origin_not_allowed", "timeout", "too_many_bytes", "too_many_connections", "shutting_down"];

/// Adds descriptions, codes and examples to the operations, and the idempotency header to those that take it.
pub fn describe(document: &mut Value) {
    let (operations, codes) = (part("operations"), part("codes"));
    for_each(document, |path, method, operation| {
        let own = operations.get(operation["operationId"].as_str().unwrap_or_default()).cloned().unwrap_or_default();
        for (status, said) in own["answers"].as_object().into_iter().flatten() {
            if let Some(answer) = operation["responses"].get_mut(status) {
                answer["description"] = said.clone();
            }
        }
        refusals(operation, &applying(path, method, operation, &own), &codes);
        if let (Some(examples), Some(body)) = (own.get("examples"), operation.get_mut("requestBody")) {
            body["content"]["application/json"]["examples"] = examples.clone();
        }
        if method == "post" || method == "put" {
            add_idempotency_key(operation);
        }
    });
}

/// The same for `POST /mcp`, of what refuses a call before the MCP library has it.
pub fn describe_mcp(document: &mut Value) {
    let body = ["unsupported_media_type", "payload_too_large", "body_unreadable", "body_timeout"];
    let before: [&[&str]; 4] = [&SECRET, &STORED, &body, &BOUNDED];
    let applying: Vec<String> = before.concat().into_iter().map(str::to_owned).collect();
    if let Some(operation) = document.pointer_mut("/paths/~1mcp/post") {
        refusals(operation, &applying, &part("codes"));
    }
}

/// The codes that an operation may answer with: those that come with its shape, and its own.
fn applying(path: &str, method: &str, operation: &Value, own: &Value) -> Vec<String> {
    let is_open = operation.get("security").is_some();
    let parameters = operation["parameters"].as_array();
    let has_query = parameters.into_iter().flatten().any(|one| one["in"] == "query" || one["in"] == "header");
    let takes_body = operation.get("requestBody").is_some();
    let takes_key = !is_open && (method == "post" || method == "put");
    let shapes: [(bool, &[&str]); 8] = [
        (!is_open, &SECRET),
        (path.contains('{'), &NAMED),
        (takes_body, &BODY),
        (has_query, &CHECKED),
        (takes_key, &KEYED),
        (path != "/healthz", &STORED),
        (method != "get", &CHANGES),
        (true, &BOUNDED),
    ];
    let own = own["codes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let shared = shapes.iter().filter(|(applies, _)| *applies).flat_map(|(_, codes)| codes.iter().copied());
    own.chain(shared).map(str::to_owned).collect()
}

fn refusals(operation: &mut Value, applying: &[String], codes: &Map<String, Value>) {
    let mut by_status: BTreeMap<u64, Vec<(&str, &str)>> = BTreeMap::new();
    for (code, about) in codes.iter().filter(|(code, _)| applying.contains(code)) {
        let status = about["status"].as_u64().unwrap_or_default();
        by_status.entry(status).or_default().push((code, about["description"].as_str().unwrap_or_default()));
    }
    for (status, list) in by_status {
        let said: Vec<String> = list.iter().map(|(code, about)| format!("`{code}`: {about}")).collect();
        let names: Vec<&str> = list.iter().map(|(code, _)| *code).collect();
        operation["responses"][status.to_string()] = problem(&said.join("\n\n"), &names);
    }
    operation["responses"]["default"] = problem("Not done: `code` says why.", &[]);
}

fn problem(description: &str, codes: &[&str]) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    let mut answer = json!({"description": description, "content": {"application/problem+json": {"schema": schema}}});
    if !codes.is_empty() {
        answer["x-codes"] = json!(codes);
    }
    answer
}

fn add_idempotency_key(operation: &mut Value) {
    let key = json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key with the same request is answered once and replayed from then on.",
        "required": false,
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    });
    match operation.get_mut("parameters").and_then(Value::as_array_mut) {
        Some(parameters) => parameters.push(key),
        None => operation["parameters"] = json!([key]),
    }
}
