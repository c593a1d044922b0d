//! Tools that a provider runs itself, under every strategy: their calls and results go out whole or not at all, and the
//! account is that of what goes out.

use serde_json::{Value, json};

use crate::app::App;

const STRATEGIES: [&str; 7] = ["auto", "mask", "prune", "truncate", "sliding", "smart", "summarize"];
const ROUNDS: usize = 6;

/// A tool that the provider runs: its format, and what it is called in a round.
struct OwnTool {
    format: &'static str,
    name: &'static str,
    items: fn(usize, &str) -> Vec<Value>,
}

fn answer(blocks: Value) -> Vec<Value> {
    vec![json!({"role": "assistant", "content": blocks})]
}

fn anthropic(call: &str, result: &str, name: &str, at: usize, content: Value) -> Vec<Value> {
    let prefix = if call == "mcp_tool_use" { "mcptoolu" } else { "srvtoolu" };
    let id = format!("{prefix}_{at}");
    let mut used = json!({"type": call, "id": id, "name": name, "input": {"n": at}});
    let mut given = json!({"type": result, "tool_use_id": id, "content": content});
    if call == "mcp_tool_use" {
        used["server_name"] = "s".into();
        given["is_error"] = false.into();
    }
    answer(json!([used, given]))
}

fn own_tools() -> Vec<OwnTool> {
    let tool = |format, name, items| OwnTool { format, name, items };
    vec![
        tool("openai_responses", "mcp_call", |at, text| {
            vec![json!({"type": "mcp_call", "id": format!("mcp_{at}"), "name": "f", "arguments": "{}",
                "server_label": "s", "output": text})]
        }),
        tool("openai_responses", "approved mcp_call", |at, text| {
            let request = format!("mcpr_{at}");
            vec![
                json!({"type": "mcp_approval_request", "id": request, "name": "f", "arguments": "{}",
                    "server_label": "s"}),
                json!({"type": "mcp_approval_response", "approval_request_id": request, "approve": true}),
                json!({"type": "mcp_call", "id": format!("mcp_{at}"), "approval_request_id": request, "name": "f",
                    "arguments": "{}", "server_label": "s", "output": text}),
            ]
        }),
        tool("openai_responses", "file_search_call", |at, text| {
            vec![json!({"type": "file_search_call", "id": format!("fs_{at}"), "status": "completed",
                "queries": ["q"], "results": [{"file_id": "f", "filename": "a", "score": 0.5, "text": text}]})]
        }),
        tool("openai_responses", "code_interpreter_call", |at, text| {
            vec![json!({"type": "code_interpreter_call", "id": format!("ci_{at}"), "status": "completed",
                "container_id": "c", "code": "f()", "outputs": [{"type": "logs", "logs": text}]})]
        }),
        tool("openai_responses", "program", |at, text| {
            let (program, call) = (format!("p_{at}"), format!("pc_{at}"));
            let caller = json!({"type": "program", "caller_id": program});
            vec![
                json!({"type": "program", "id": format!("pr_{at}"), "call_id": program, "code": "f()", "fingerprint": "x"}),
                json!({"type": "function_call", "call_id": call, "name": "f", "arguments": "{}", "caller": caller}),
                json!({"type": "function_call_output", "call_id": call, "output": text, "caller": caller}),
                json!({"type": "program_output", "id": format!("po_{at}"), "call_id": program, "result": "3",
                    "status": "completed"}),
            ]
        }),
        tool("anthropic", "mcp", |at, text| {
            anthropic("mcp_tool_use", "mcp_tool_result", "f", at, json!([{"type": "text", "text": text}]))
        }),
        tool("anthropic", "bash", |at, text| {
            let content = json!({"type": "bash_code_execution_result", "stdout": text, "stderr": "", "return_code": 0,
                "content": []});
            anthropic("server_tool_use", "bash_code_execution_tool_result", "bash_code_execution", at, content)
        }),
        tool("anthropic", "code_execution", |at, text| {
            let content = json!({"type": "code_execution_result", "stdout": text, "stderr": "", "return_code": 0,
                "content": []});
            anthropic("server_tool_use", "code_execution_tool_result", "code_execution", at, content)
        }),
        tool("anthropic", "web_fetch", |at, text| {
            let source = json!({"type": "text", "media_type": "text/plain", "data": text});
            let content = json!({"type": "web_fetch_result", "url": "https://a.example", "retrieved_at": null,
                "content": {"type": "document", "source": source}});
            anthropic("server_tool_use", "web_fetch_tool_result", "web_fetch", at, content)
        }),
        tool("gemini", "code", |_, text| {
            vec![json!({"role": "model", "parts": [
                {"executableCode": {"language": "PYTHON", "code": "f()"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": text}}]})]
        }),
        tool("gemini", "toolCall", |at, text| {
            let id = format!("t{at}");
            vec![json!({"role": "model", "parts": [
                {"toolCall": {"id": id, "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
                {"toolResponse": {"id": id, "toolType": "GOOGLE_SEARCH_WEB", "response": {"text": text}}}]})]
        }),
        tool("native", "server", |at, text| {
            let id = format!("s{at}");
            answer(json!([
                {"type": "tool_call", "kind": "server", "id": id, "name": "search", "arguments": {"q": "q"}},
                {"type": "tool_result", "kind": "server", "tool_call_id": id, "is_error": false,
                    "content": [{"type": "text", "text": text}]}]))
        }),
    ]
}

fn said(format: &str, role: &str, text: &str) -> Value {
    match format {
        "gemini" => json!({"role": if role == "user" { "user" } else { "model" }, "parts": [{"text": text}]}),
        "openai_responses" => json!({"type": "message", "role": role, "content": text}),
        _ => json!({"role": role, "content": text}),
    }
}

/// A call of the agent's own and its result, so that there is something to shorten.
fn agents_call(format: &str, at: usize, text: &str) -> Vec<Value> {
    let id = format!("toolu_{at}");
    match format {
        "gemini" => vec![
            json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": "g", "args": {}}, "thoughtSignature": "c2ln"}]}),
            json!({"role": "user", "parts": [{"functionResponse": {"id": id, "name": "g", "response": {"output": text}}}]}),
        ],
        "openai_responses" => vec![
            json!({"type": "function_call", "call_id": id, "name": "g", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": id, "output": text}),
        ],
        "anthropic" => vec![
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "g", "input": {}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
        ],
        _ => vec![
            json!({"role": "assistant", "content": [{"type": "tool_call", "id": id, "name": "g", "arguments": {}}]}),
            json!({"role": "tool", "content": [{"type": "tool_result", "tool_call_id": id, "content": [{"type": "text", "text": text}]}]}),
        ],
    }
}

/// A session in which the tool is run again and again, beside calls of the agent's.
fn conversation(tool: &OwnTool, words: usize) -> Vec<Value> {
    let mut items = Vec::new();
    for at in 0..ROUNDS {
        let text = format!("{at}: {}", "lorem ipsum dolor sit amet ".repeat(words));
        items.push(said(tool.format, "user", &format!("Look into number {at}.")));
        items.extend((tool.items)(at, &text));
        items.push(said(tool.format, "assistant", "It is as it should be."));
        items.push(said(tool.format, "user", "And the other one?"));
        items.extend(agents_call(tool.format, at, &text));
        items.push(said(tool.format, "assistant", "That as well."));
    }
    items.push(said(tool.format, "user", "Go on."));
    items
}

/// What is wrong with the context that the session hands out.
async fn faults(session: &str, tool: &OwnTool, given: &[Value]) -> Vec<String> {
    let format = tool.format;
    let handed = App::shared().get(&format!("{session}/context?format={format}")).await.expect(200);
    let body = json!({"format": format, "system": null, "items": handed["messages"]});
    let counted = App::shared().post("/v1/count", body.clone()).await.expect(200)["tokens"].as_u64().unwrap();
    let told = handed["tokens"].as_u64().unwrap();
    let mut faults = Vec::new();
    if told.abs_diff(counted) > (counted / 20).max(16) {
        faults.push(format!("told {told}, counted {counted}"));
    }
    let own = ["executableCode", "codeExecutionResult", "toolResponse", "_tool_result\"", "_call\"", "\"server\""];
    for message in handed["messages"].as_array().unwrap() {
        if own.iter().any(|word| message.to_string().contains(word)) && !given.contains(message) {
            faults.push(format!("not as it was given: {message}"));
        }
    }
    if format != "native" {
        let lint = App::shared().post("/v1/lint", json!({"format": format, "items": handed["messages"]})).await;
        let lint = lint.expect(200);
        if lint["valid"] != true {
            faults.push(lint["violations"].to_string());
        }
    }
    faults
}

async fn played(tool: &OwnTool, strategy: &str, settings: &Value, words: usize) -> Vec<String> {
    let session = App::shared().session(json!({"settings": settings})).await;
    let items = conversation(tool, words);
    for some in items.chunks(7) {
        App::shared().append(&session, tool.format, json!(some)).await;
    }
    let asked = json!({"strategy": strategy, "wait": 60, "force": true});
    App::shared().post(&format!("{session}/compact"), asked).await.expect(200);
    let place = format!("{} {} {strategy} {settings}", tool.format, tool.name);
    faults(&session, tool, &items).await.into_iter().map(|fault| format!("{place}: {fault}")).collect()
}

#[tokio::test]
async fn what_a_provider_runs_itself_goes_out_whole_or_not_at_all() {
    let small = json!({"enabled": false, "context_window": 8_000, "reserve_tokens": 700, "keep_recent_tokens": 200,
        "keep_recent_results": 1, "upstream": "builtin"});
    let large = json!({"enabled": false, "context_window": 60_000, "reserve_tokens": 700, "keep_recent_tokens": 200,
        "keep_recent_results": 1, "upstream": "builtin"});
    let mut found = Vec::new();
    for tool in own_tools() {
        for strategy in STRATEGIES {
            for settings in [&small, &large] {
                found.extend(played(&tool, strategy, settings, 120).await);
            }
        }
    }
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}

#[tokio::test]
async fn a_context_of_such_results_alone_is_compacted_before_it_overfills_the_window() {
    for tool in own_tools() {
        let settings = json!({"context_window": 12_000, "reserve_tokens": 700, "upstream": "builtin"});
        let session = App::shared().session(json!({"settings": settings})).await;
        App::shared().append(&session, tool.format, json!([said(tool.format, "user", "Begin.")])).await;
        let mut given = Vec::new();
        for at in 0..30 {
            let text = format!("{at} {}", "lorem ipsum dolor sit amet ".repeat(120));
            let mut items = (tool.items)(at, &text);
            items.push(said(tool.format, "assistant", "k"));
            App::shared().append(&session, tool.format, json!(items)).await;
            given.extend(items);
        }
        let found = faults(&session, &tool, &given).await;
        assert!(found.is_empty(), "{}: {found:?}", tool.name);
        let handed = App::shared().get(&format!("{session}/context?format={}", tool.format)).await.expect(200);
        assert!(handed["tokens"].as_u64().unwrap() <= 12_000, "{}: {}", tool.name, handed["tokens"]);
    }
}
