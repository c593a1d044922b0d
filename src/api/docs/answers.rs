//! Answers of every operation: a description of each status, and the codes of each refusal.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use strum::VariantArray as _;

use super::codes::meaning;
use super::operations::for_each;
use super::parts::part;
use crate::api::problem_code::ProblemCode::{self, *};

const SECRET: [ProblemCode; 3] = [Unauthorized, InsufficientScope, RateLimited];
const NAMED: [ProblemCode; 1] = [NotFound];
const CHECKED: [ProblemCode; 1] = [ValidationFailed];
const BODY: [ProblemCode; 8] = [
    MalformedJson,
    InvalidUtf8,
    BodyUnreadable,
    BodyTimeout,
    PayloadTooLarge,
    UnsupportedMediaType,
    ValidationFailed,
    TooDeep,
];
const KEYED: [ProblemCode; 6] =
    [IdempotencyInProgress, IdempotencyKeyReused, ValidationFailed, PayloadTooLarge, BodyUnreadable, BodyTimeout];
const STORED: [ProblemCode; 4] = [InternalError, Unavailable, ReadOnly, StorageFull];
const MCP_BODY: [ProblemCode; 9] = [
    NotAcceptable,
    UnsupportedMediaType,
    PayloadTooLarge,
    BodyUnreadable,
    BodyTimeout,
    MalformedJson,
    InvalidUtf8,
    ValidationFailed,
    McpVersionUnknown,
];
/// A form that a page could send is refused where no key is needed.
const CHANGES: [ProblemCode; 2] = [UnsupportedMediaType, OutcomeUnknown];
const BOUNDED: [ProblemCode; 6] =
    [HostNotAllowed, OriginNotAllowed, Timeout, TooManyBytes, TooManyConnections, ShuttingDown];

/// Adds descriptions, codes and examples to the operations, and the idempotency header to those that take it.
pub fn describe(document: &mut Value) {
    let operations = part("operations");
    for_each(document, |path, method, operation| {
        let own = operations.get(operation["operationId"].as_str().unwrap_or_default()).cloned().unwrap_or_default();
        for (status, said) in own["answers"].as_object().into_iter().flatten() {
            if let Some(answer) = operation["responses"].get_mut(status) {
                answer["description"] = said.clone();
            }
        }
        let applying = applying(path, method, operation, &own);
        refusals(operation, &applying);
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
    let before: [&[ProblemCode]; 4] = [&SECRET, &STORED, &MCP_BODY, &BOUNDED];
    let applying = before.concat();
    if let Some(operation) = document.pointer_mut("/paths/~1mcp/post") {
        refusals(operation, &applying);
    }
}

/// The codes that an operation may answer with: those that come with its shape, and its own.
fn applying(path: &str, method: &str, operation: &Value, own: &Value) -> Vec<ProblemCode> {
    let is_open = operation.get("security").is_some();
    let parameters = operation["parameters"].as_array();
    let has_query = parameters.into_iter().flatten().any(|one| one["in"] == "query" || one["in"] == "header");
    let takes_body = operation.get("requestBody").is_some();
    let takes_key = !is_open && (method == "post" || method == "put");
    let shapes: [(bool, &[ProblemCode]); 8] = [
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
    let own = own.filter_map(|word| word.parse().ok());
    let shared = shapes.iter().filter(|(applies, _)| *applies).flat_map(|(_, codes)| codes.iter().copied());
    own.chain(shared).collect()
}

fn refusals(operation: &mut Value, applying: &[ProblemCode]) {
    let mut by_status: BTreeMap<u16, Vec<ProblemCode>> = BTreeMap::new();
    for code in ProblemCode::VARIANTS.iter().filter(|code| applying.contains(code)) {
        by_status.entry(code.status().as_u16()).or_default().push(*code);
    }
    for (status, codes) in by_status {
        let said: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.into_str(), meaning(*code))).collect();
        operation["responses"][status.to_string()] = problem(&said.join("\n\n"), &codes);
    }
    operation["responses"]["default"] = problem("Not done: `code` says why.", &[]);
}

fn problem(description: &str, codes: &[ProblemCode]) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_name_known_codes() {
        for (operation, own) in part("operations") {
            for word in own["codes"].as_array().into_iter().flatten() {
                let known = word.as_str().is_some_and(|word| word.parse::<ProblemCode>().is_ok());
                assert!(known, "openapi/parts/operations.json, {operation}: {word}");
            }
        }
    }
}
