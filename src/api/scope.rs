//! What each operation needs of a key: the one place that says so. A test holds it to the operations of the OpenAPI document.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::http::Method;

use crate::service::core::access::Scope;

/// Scope, method and path of every operation that needs a key.
const OPERATIONS: &[(Scope, &str, &str)] = &[
    // Handing out a context is reading, although what does not fit is compacted on the way.
    (Scope::Read, "POST", "/mcp"),
    (Scope::Read, "GET", "/v1/compactions"),
    (Scope::Read, "GET", "/v1/compactions/{cid}"),
    (Scope::Read, "GET", "/v1/compactions/{cid}/diff"),
    (Scope::Read, "GET", "/v1/compactions/{cid}/evidence"),
    (Scope::Read, "GET", "/v1/compactions/{cid}/refused"),
    (Scope::Read, "POST", "/v1/count"),
    (Scope::Read, "GET", "/v1/events"),
    (Scope::Read, "GET", "/v1/hooks"),
    (Scope::Read, "GET", "/v1/hooks/{hid}"),
    (Scope::Read, "GET", "/v1/hooks/{hid}/deliveries"),
    (Scope::Read, "POST", "/v1/lint"),
    (Scope::Read, "GET", "/v1/models"),
    (Scope::Read, "GET", "/v1/search"),
    (Scope::Read, "GET", "/v1/sessions"),
    (Scope::Read, "GET", "/v1/sessions/by-external-id/{external_id}"),
    (Scope::Read, "GET", "/v1/sessions/{sid}"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/chapter-task"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/chapters"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/compactions"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/composition"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/context"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/entries"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/entries/{eid}"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/events"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/export"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/files"),
    (Scope::Read, "POST", "/v1/sessions/{sid}/prepare"),
    (Scope::Read, "POST", "/v1/sessions/{sid}/rebuild"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/search"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/snapshot"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/tasks"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/timeline"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/tool-calls"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/tool-calls/{tool_call_id}"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/tree"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/vfs/"),
    (Scope::Read, "GET", "/v1/sessions/{sid}/vfs/{path}"),
    (Scope::Read, "GET", "/v1/settings/schema"),
    (Scope::Read, "GET", "/v1/stats"),
    (Scope::Read, "GET", "/v1/upstreams"),
    // What may ask a model that is paid for changes something too, though it stores nothing.
    (Scope::Write, "POST", "/v1/compact"),
    (Scope::Write, "POST", "/v1/compactions/purge"),
    (Scope::Write, "POST", "/v1/compactions/{cid}/cancel"),
    (Scope::Write, "POST", "/v1/compactions/{cid}/retry"),
    (Scope::Write, "POST", "/v1/compactions/{cid}/revert"),
    (Scope::Write, "POST", "/v1/hooks"),
    (Scope::Write, "DELETE", "/v1/hooks/{hid}"),
    (Scope::Write, "PATCH", "/v1/hooks/{hid}"),
    (Scope::Write, "POST", "/v1/hooks/{hid}/deliveries/{did}/redeliver"),
    (Scope::Write, "POST", "/v1/responses/compact"),
    (Scope::Write, "POST", "/v1/sessions"),
    (Scope::Write, "POST", "/v1/sessions/erase"),
    (Scope::Write, "DELETE", "/v1/sessions/{sid}"),
    (Scope::Write, "PATCH", "/v1/sessions/{sid}"),
    (Scope::Write, "POST", "/v1/sessions/{sid}/anti-thrash/reset"),
    (Scope::Write, "POST", "/v1/sessions/{sid}/chapters"),
    (Scope::Write, "POST", "/v1/sessions/{sid}/compact"),
    (Scope::Write, "POST", "/v1/sessions/{sid}/entries"),
    (Scope::Write, "PUT", "/v1/sessions/{sid}/entries/{eid}/label"),
    (Scope::Write, "POST", "/v1/sessions/{sid}/fork"),
    (Scope::Write, "POST", "/v1/sessions/{sid}/navigate"),
    (Scope::Write, "PUT", "/v1/sessions/{sid}/transcript"),
    (Scope::Admin, "GET", "/v1/keys"),
    (Scope::Admin, "POST", "/v1/keys"),
    (Scope::Admin, "DELETE", "/v1/keys/{kid}"),
    (Scope::Admin, "GET", "/v1/keys/{kid}"),
    (Scope::Admin, "POST", "/v1/keys/{kid}/rotate"),
];

static BY_OPERATION: LazyLock<HashMap<(&str, &str), Scope>> =
    LazyLock::new(|| OPERATIONS.iter().map(|(scope, method, path)| ((*method, *path), *scope)).collect());

/// The scope that an operation needs; `path` is its template. What is no operation is answered with 405 to those who may
/// change what is there, and at `/mcp` to whoever may use it: clients of MCP try a GET, and take 405 for an answer.
pub fn needed(method: &Method, path: &str) -> Scope {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    // The router writes a parameter that takes the rest of the path with a star, the document does not.
    let path = path.replace("{*", "{");
    let other = || match path.as_str() {
        "/mcp" => Scope::Read,
        path if path.starts_with("/v1/keys") => Scope::Admin,
        _ => Scope::Write,
    };
    BY_OPERATION.get(&(method, path.as_str())).copied().unwrap_or_else(other)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::openapi;

    #[test]
    fn every_operation_has_its_scope_and_the_document_says_so() {
        let document = openapi();
        let mut keyed = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for method in ["get", "post", "put", "patch", "delete"] {
                let Some(operation) = item.get(method) else { continue };
                if operation["security"].as_array().is_some_and(Vec::is_empty) {
                    continue;
                }
                let method: Method = method.to_uppercase().parse().unwrap();
                let scope: &str = needed(&method, path).into();
                assert_eq!(operation["security"][0]["bearer"][0], scope, "{method} {path}");
                keyed.insert((method.to_string(), path.clone()));
            }
        }
        let mapped: BTreeSet<_> =
            OPERATIONS.iter().map(|(_, method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
        assert_eq!(mapped.len(), OPERATIONS.len(), "none is there twice");
        assert_eq!(mapped, keyed);
    }

    #[test]
    fn paths_are_those_of_the_router_and_what_is_unknown_needs_most() {
        assert_eq!(needed(&Method::GET, "/v1/sessions/{sid}/vfs/{*path}"), Scope::Read);
        assert_eq!(needed(&Method::HEAD, "/v1/sessions"), Scope::Read);
        assert_eq!(needed(&Method::PUT, "/v1/sessions"), Scope::Write);
        assert_eq!(needed(&Method::HEAD, "/v1/keys"), Scope::Admin);
        assert_eq!(needed(&Method::PATCH, "/v1/keys/{kid}"), Scope::Admin);
        assert_eq!(needed(&Method::GET, "/mcp"), Scope::Read);
    }
}
