//! How calls ended, as `GET tool-calls` tells it: by the protocol alone.

use serde_json::{Value, json};

use crate::app::App;

/// The status of each call of a session, by id.
async fn ends(format: &str, items: Value) -> Vec<(String, String)> {
    let app = App::shared();
    let session = app.session(json!({})).await;
    app.append(&session, format, items).await;
    let listed = app.get(&format!("{session}/tool-calls?limit=200")).await.expect(200);
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    let mut found = Vec::new();
    for row in listed["items"].as_array().unwrap() {
        let one = app.get(&format!("{session}/tool-calls/{}", text(row, "tool_call_id"))).await.expect(200);
        assert_eq!((&one["status"], &one["kind"]), (&row["status"], &row["kind"]));
        found.push((text(row, "tool_call_id"), text(row, "status")));
    }
    found
}

/// Calls of a tool with these results, as OpenAI's chat has them.
fn chat(tool: &str, results: &[&str]) -> Value {
    let mut items = vec![json!({"role": "user", "content": "go"})];
    for (at, text) in results.iter().enumerate() {
        let id = format!("c{at}");
        let function = json!({"name": tool, "arguments": "{}"});
        items.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}));
        items.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
    }
    json!(items)
}

async fn all_end(tool: &str, results: &[&str], end: &str) {
    for ((id, status), text) in ends("openai_chat", chat(tool, results)).await.iter().zip(results) {
        assert_eq!(status, end, "{tool} {id}: {text}");
    }
}

#[tokio::test]
async fn what_is_quoted_claims_nothing() {
    let words = [
        "Delivery failed: mailbox full",
        r#"{"status":"declined"}"#,
        "Killed",
        "Fehler: Guthaben reicht nicht aus",
        "[Operation Cancelled] Reason: User did not allow tool call",
        "支付未成功。",
        "Exit code: 0\nOutput:\nexit code 1",
    ];
    all_end("act", &words, "returned").await;
    all_end("read_file", &[r#"{"success": false}"#, "HTTP/1.1 503 Service Unavailable"], "returned").await;
}

#[tokio::test]
async fn what_the_protocol_says_is_told() {
    let failed = [r#"{"success":"false"}"#, "HTTP/1.1 503 Service Unavailable", "Exit code 2\nx", r#"{"error":"no"}"#];
    all_end("act", &failed, "failed").await;
    let anthropic = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "act", "input": {}},
            {"type": "tool_use", "id": "b", "name": "act", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": true},
            {"type": "tool_result", "tool_use_id": "b", "content": "x"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "act", "input": {}}]},
    ]);
    let owned = |ends: [(&str, &str); 3]| ends.map(|(id, end)| (id.to_owned(), end.to_owned())).to_vec();
    assert_eq!(ends("anthropic", anthropic).await, owned([("a", "failed"), ("b", "returned"), ("c", "open")]));
}

#[tokio::test]
async fn a_shells_exit_code_beside_its_text_counts() {
    let call = |id: &str| json!({"type": "shell_call", "call_id": id, "status": "completed", "action": {"commands": ["make"]}});
    let output = |id: &str, code: i64| {
        let outcome = json!({"type": "exit", "exit_code": code});
        json!({"type": "shell_call_output", "call_id": id, "output": [{"stdout": "x", "stderr": "", "outcome": outcome}]})
    };
    let items = json!([{"role": "user", "content": "go"}, call("a"), output("a", 2), call("b"), output("b", 0)]);
    let found = ends("openai_responses", items).await;
    let found: Vec<&str> = found.iter().map(|(_, end)| end.as_str()).collect();
    assert_eq!(found, ["failed", "returned"]);
}

/// What waits for approval is one call, whatever becomes of it.
#[tokio::test]
async fn who_refuses_to_approve_a_call_refuses_it() {
    let asked = |id: &str| json!({"type": "mcp_approval_request", "id": id, "name": "drop", "arguments": "{\"table\":\"t\"}", "server_label": "s"});
    let answered = |id: &str, approve: bool| json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": approve, "reason": "the copy only"});
    let ran = |id: &str, error: Value| {
        json!({"type": "mcp_call", "id": format!("mcp_{id}"), "approval_request_id": id, "name": "drop",
            "arguments": "{\"table\":\"t\"}", "server_label": "s", "output": "gone", "error": error})
    };
    let items = json!([{"role": "user", "content": "go"},
        asked("mcpr_1"), answered("mcpr_1", false),
        asked("mcpr_2"), answered("mcpr_2", true), ran("mcpr_2", Value::Null),
        asked("mcpr_3"), answered("mcpr_3", true), ran("mcpr_3", json!("no such table")),
        asked("mcpr_4"), answered("mcpr_4", true),
        asked("mcpr_5")]);
    let app = App::shared();
    let session = app.session(json!({})).await;
    app.append(&session, "openai_responses", items.clone()).await;
    let listed = app.get(&format!("{session}/tool-calls")).await.expect(200);
    let found = listed["items"].as_array().unwrap().iter();
    let found: Vec<_> =
        found.map(|row| (row["tool_call_id"].as_str().unwrap(), row["status"].as_str().unwrap())).collect();
    let wanted =
        [("mcpr_1", "refused"), ("mcpr_2", "returned"), ("mcpr_3", "failed"), ("mcpr_4", "open"), ("mcpr_5", "open")];
    assert_eq!(found, wanted);
    assert_eq!(listed["items"][0]["arguments"], json!({"table": "t"}));
    let refused = app.get(&format!("{session}/tool-calls/mcpr_1")).await.expect(200);
    assert_eq!(refused["result_text"], "the copy only");
    let context = app.get(&format!("{session}/context?format=openai_responses")).await.expect(200);
    assert_eq!(context["messages"], items, "the provider gets its items as they came");
}

#[tokio::test]
async fn a_harness_says_what_was_not_let_run() {
    let line = |uuid: &str, parent: Value, kind: &str, content: Value| {
        json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "version": "2.1.80", "cwd": "/w",
            "timestamp": "2026-11-20T00:00:00.000Z", "message": {"role": kind, "content": content}})
    };
    let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "rm -r x"}}]);
    let words = "The user doesn't want to proceed with this tool use.";
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": words, "is_error": true}]);
    let mut denied = line("u2", json!("a1"), "user", result);
    let items = |denied: &Value| {
        json!([
            line("u1", Value::Null, "user", json!("go")),
            line("a1", json!("u1"), "assistant", call.clone()),
            denied
        ])
    };
    assert_eq!(ends("claude_code", items(&denied)).await, [("toolu_1".to_owned(), "failed".to_owned())]);
    denied["toolDenialKind"] = json!("user-rejected");
    assert_eq!(ends("claude_code", items(&denied)).await, [("toolu_1".to_owned(), "refused".to_owned())]);
}

#[tokio::test]
async fn a_providers_own_tool_is_told_by_its_kind() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let items = json!([{"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}]}]);
    app.append(&session, "anthropic", items).await;
    let listed = app.get(&format!("{session}/tool-calls")).await.expect(200);
    assert_eq!((&listed["items"][0]["kind"], &listed["items"][0]["status"]), (&json!("server"), &json!("open")));
}
