//! The MCP server over real HTTP, spoken to in plain JSON-RPC.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use contextd::api::{self, AppState};
use contextd::llm::Upstreams;
use contextd::service::Services;
use contextd::service::core::state::Options;
use contextd::service::core::tenant::Tenant;
use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Answer, App};
use crate::service_support::{Stage, user};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// An agent with a session of its own.
struct Agent<'a> {
    app: &'a App,
    session: String,
}

async fn post(app: &App, headers: &[(&str, &str)], body: Value) -> Answer {
    app.send(Method::POST, "/mcp", &[&[ACCEPT], headers].concat(), body.to_string()).await
}

pub async fn request(app: &App, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = post(app, &[("mcp-protocol-version", "2025-06-18")], body).await.expect(200);
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer}");
    answer
}

impl Agent<'_> {
    fn id(&self) -> &str {
        self.session.rsplit('/').next().unwrap()
    }

    async fn call(&self, tool: &str, mut arguments: Value) -> Value {
        arguments["session_id"] = json!(self.id());
        request(self.app, "tools/call", json!({"name": tool, "arguments": arguments})).await["result"].clone()
    }

    /// The structured answer of a tool, which its text repeats.
    async fn ask(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{tool}");
        text
    }

    async fn read(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    async fn refusal(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// Three turns, the first two finished; the tool read the file that `needle` is in.
async fn agent(app: &App) -> Agent<'_> {
    let session = app.session(json!({})).await;
    let work = "This took a while and many steps, which are told here at length. ".repeat(20);
    let items = json!([
        {"role": "user", "content": "Build the parser"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "read", "arguments": "{\"path\":\"src/parser.rs\"}"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": format!("needle {work}é")},
        {"role": "assistant", "content": work},
        {"role": "user", "content": "Now the printer"},
        {"role": "assistant", "content": format!("printed {work}")},
        {"role": "user", "content": "And what now?"},
    ]);
    app.append(&session, "openai_chat", items).await;
    Agent { app, session }
}

#[tokio::test]
async fn a_client_is_greeted_and_told_of_every_tool() {
    let app = App::shared();
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = request(app, "initialize", hello).await["result"].clone();
    assert_eq!((&hello["serverInfo"]["name"], &hello["protocolVersion"]), (&json!("contextd"), &json!("2025-06-18")));
    assert!(hello["capabilities"]["tools"].is_object() && hello["capabilities"]["resources"].is_object(), "{hello}");
    let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(app, &[], body).await.status, 202);
    let tools = request(app, "tools/list", json!({})).await["result"]["tools"].clone();
    let tools = tools.as_array().unwrap();
    let names: HashSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in [
        "get_snapshot",
        "search",
        "read_entry",
        "list_tool_calls",
        "read_tool_result",
        "list_files",
        "list_tasks",
        "write_chapters",
        "list_chapters",
        "list_chapter_files",
        "read_chapter_file",
    ] {
        assert!(names.contains(name), "{name}");
    }
    assert_eq!(names.len(), tools.len());
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert!(schema["required"].as_array().unwrap().contains(&json!("session_id")), "{tool}");
        assert!(schema["properties"]["session_id"].is_object() && !tool["description"].as_str().unwrap().is_empty());
    }
    let nothing = app.send(Method::GET, "/mcp", &[ACCEPT], "").await;
    assert_eq!(nothing.status, 405);
}

#[tokio::test]
async fn an_agent_finds_and_reads_back_what_was_said() {
    let app = App::shared();
    let agent = agent(app).await;
    let snapshot = agent.ask("get_snapshot", json!({})).await;
    assert!(snapshot["tokens"].as_u64().unwrap() > 100, "{snapshot}");
    let found = agent.ask("search", json!({"query": "needle", "limit": 5})).await;
    assert!(found["items"][0]["snippet"].as_str().unwrap().starts_with("call_1 <mark>needle</mark>"), "{found}");
    let entry = agent.read("read_entry", json!({"entry_id": found["items"][0]["entry_id"]})).await;
    assert!(entry.contains("needle This took"), "{entry}");
    let whole = agent.read("read_tool_result", json!({"tool_call_id": "call_1"})).await;
    assert!(whole.starts_with("needle ") && whole.ends_with('é'));
    let page = agent.call("read_tool_result", json!({"tool_call_id": "call_1", "offset": 2, "limit": 4})).await;
    assert_eq!(page["content"][0]["text"], "edle");
    assert!(page["content"][1]["text"].as_str().unwrap().contains("offset 6"), "{page}");
    let (mut read, mut offset) = (String::new(), 0);
    while offset < whole.chars().count() {
        let part =
            agent.read("read_tool_result", json!({"tool_call_id": "call_1", "offset": offset, "limit": 333})).await;
        offset += part.chars().count();
        read.push_str(&part);
    }
    assert_eq!(read, whole);
    let calls = agent.ask("list_tool_calls", json!({})).await;
    assert_eq!(calls["items"][0]["arguments"]["path"], "src/parser.rs");
    assert_eq!(agent.ask("list_files", json!({})).await["read_files"], json!(["src/parser.rs"]));
}

#[tokio::test]
async fn an_agent_closes_chapters_and_reads_their_files_as_tools_and_as_resources() {
    let app = App::shared();
    let agent = agent(app).await;
    let tasks = agent.ask("list_tasks", json!({})).await;
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 3, "{tasks}");
    let chapters = json!([{"start": 1, "end": 1, "name": "Die Prüfung: parser", "message": "The parser is built."}]);
    let written = agent.ask("write_chapters", json!({"chapters": chapters})).await;
    let folder = written["chapters"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(agent.ask("list_chapters", json!({})).await["items"][0]["name"], "Die Prüfung: parser");
    let files = agent.ask("list_chapter_files", json!({"path": folder})).await;
    let names: Vec<&str> =
        files["entries"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["summary.md", "events"]);
    let file = format!("{}/summary.md", folder.trim_end_matches('/'));
    let summary = agent.read("read_chapter_file", json!({"path": file})).await;
    assert!(summary.contains("The parser is built."), "{summary}");
    assert_eq!(agent.ask("search", json!({"query": "needle"})).await["items"].as_array().unwrap().len(), 1);

    let listed = request(app, "resources/list", json!({})).await["result"]["resources"].clone();
    let own = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["uri"].as_str().unwrap().contains(agent.id()))
        .unwrap()
        .clone();
    assert!(own["uri"].as_str().unwrap().is_ascii(), "{own}");
    let read = request(app, "resources/read", json!({"uri": own["uri"]})).await["result"]["contents"][0].clone();
    assert_eq!((&read["text"], &read["mimeType"]), (&json!(summary), &json!("text/markdown")));
    let events = format!("contextd://sessions/{}/{}/events", agent.id(), folder.trim_matches('/'));
    let events = request(app, "resources/read", json!({"uri": events})).await["result"]["contents"][0].clone();
    assert!(events["text"].as_str().unwrap().contains(".md"), "{events}");
    let templates = request(app, "resources/templates/list", json!({})).await["result"]["resourceTemplates"].clone();
    assert!(templates[0]["uriTemplate"].as_str().unwrap().starts_with("contextd://sessions/{session_id}/chapters/"));
    for uri in [
        "contextd://sessions/x/chapters/a",
        "contextd://other",
        "",
        &format!("contextd://sessions/{}/chapters/%zz", agent.id()),
        &format!("contextd://sessions/{}/chapters/../..", agent.id()),
    ] {
        let answer = request(app, "resources/read", json!({"uri": uri})).await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("no such resource"), "{uri}: {answer}");
    }
}

#[tokio::test]
async fn what_a_tool_can_not_do_is_told_to_the_model() {
    let app = App::shared();
    let agent = agent(app).await;
    for (tool, arguments, told) in [
        ("search", json!({"query": ""}), "/query/q: must name at least one word"),
        ("search", json!({"query": 1}), "expected a string"),
        ("search", json!({"query": "a", "limit": 0}), "limit must be from 1 to 200"),
        ("search", json!({"query": "a", "cursor": "x"}), "cursor"),
        ("search", json!({"query": "a", "other": 1}), "unknown field `other`"),
        ("read_tool_result", json!({"tool_call_id": "nope"}), "tool call not found"),
        ("read_tool_result", json!({}), "missing field `tool_call_id`"),
        ("read_entry", json!({"entry_id": agent.id()}), "entry not found"),
        ("read_chapter_file", json!({"path": "/chapters/../../etc/passwd"}), "file not found"),
        ("read_chapter_file", json!({"path": "/"}), "list_chapter_files"),
        (
            "write_chapters",
            json!({"chapters": [{"start": 1, "end": 1, "name": "", "message": "x"}]}),
            "/chapters/0/name: must not be empty",
        ),
        ("write_chapters", json!({}), "missing field `chapters`"),
        ("write_chapters", json!({"chapters": [{"start": 9, "end": 9, "name": "x", "message": "x"}]}), "/chapters/0"),
    ] {
        let refusal = agent.refusal(tool, arguments).await;
        assert!(refusal.contains(told), "{tool}: {refusal}");
    }
    let nobody = json!({"name": "get_snapshot", "arguments": {"session_id": uuid::Uuid::from_u128(7)}});
    let answer = request(app, "tools/call", nobody).await;
    assert_eq!(answer["result"]["content"][0]["text"], "not_found: session not found");
    let answer = request(app, "tools/call", json!({"name": "no_such_tool"})).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("no_such_tool"), "{answer}");
    let answer = request(app, "tools/call", json!({"name": "get_snapshot"})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[tokio::test]
async fn the_newest_protocol_needs_no_greeting() {
    let app = App::shared();
    let agent = agent(app).await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "get_snapshot", "arguments": {"session_id": agent.id()}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "get_snapshot")];
    let answer = post(app, &headers, body).await.expect(200);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[tokio::test]
async fn hosts_of_others_and_bodies_over_the_limit_are_refused() {
    let app = App::fresh(&[("CONTEXTD_MAX_BODY_BYTES", "4096")]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(post(&app, &[("host", "evil.example")], body.clone()).await.status, 403);
    assert_eq!(post(&app, &[], body).await.status, 200);
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x".repeat(5_000)}});
    assert_eq!(post(&app, &[], large).await.status, 413);
    for body in ["", "{", "[]", "{\"jsonrpc\":\"2.0\"}"] {
        let answer = app.send(Method::POST, "/mcp", &[ACCEPT], body).await;
        assert!((400..500).contains(&answer.status), "{body:?}: {}", answer.status);
    }
}

/// Over a router that wants keys, behind any host name.
async fn ask_with_key(state: &AppState, key: Option<&str>, session: uuid::Uuid) -> (u16, Value) {
    use axum::http::Request;
    use tower::ServiceExt;
    let params = json!({"name": "search", "arguments": {"session_id": session, "query": "okapi"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut request = Request::post("/mcp")
        .header("host", "context.example.com")
        .header("content-type", "application/json")
        .header(ACCEPT.0, ACCEPT.1);
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let response =
        api::router(state.clone()).oneshot(request.body(axum::body::Body::from(body)).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_key_opens_the_sessions_of_its_tenant_and_no_others() {
    let stage = Stage::set(json!({})).await;
    let services = Arc::new(Services::new(stage.pool.clone(), Options::default()));
    let own = services.keys.create("own", "k").await.unwrap();
    let tenant = Tenant(services.keys.tenant_named("own").await.unwrap());
    let foreign = services.keys.create("foreign", "k").await.unwrap();
    let session = stage.service.create_session(tenant, Default::default()).await.unwrap().id;
    let stage = Stage { tenant, session, ..stage };
    stage.append(vec![user("an okapi")]).await;
    let state = AppState {
        services,
        dev: false,
        dev_tenant: None,
        summariser: Arc::new(Upstreams::new(Vec::new(), None).unwrap()),
        bounds: Arc::new(api::Bounds::new(Duration::from_secs(60), Duration::from_secs(60), 1 << 28, 1 << 27)),
        catalogue: Arc::new(Vec::new()),
        ready: Default::default(),
        max_body: 1 << 20,
        metrics: api::install_metrics().unwrap(),
        metrics_key: None,
    };
    let (status, answer) = ask_with_key(&state, Some(&own), session).await;
    assert_eq!(
        (status, answer["result"]["structuredContent"]["items"].as_array().unwrap().len()),
        (200, 1),
        "{answer}"
    );
    let (status, answer) = ask_with_key(&state, Some(&foreign), session).await;
    assert_eq!((status, &answer["result"]["content"][0]["text"]), (200, &json!("not_found: session not found")));
    for key in [None, Some("cdx_wrong")] {
        let (status, answer) = ask_with_key(&state, key, session).await;
        assert_eq!((status, &answer["code"]), (401, &json!("unauthorized")));
    }
}
