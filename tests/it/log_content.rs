//! No line of the log holds content, whatever `log.filter` asks for.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::App;
use crate::drill_model_faults::instance_logging;
use crate::drill_support::*;
use crate::openapi::operations;
use crate::played_upstream::{Behaviour, PlayedUpstream};

/// Nothing of ours says this. What follows it tells where it was put.
const CANARY: &str = "zqcanaryqz";

/// Every text of a body becomes one that must not be logged; words of enums and ids stay what they are now and then.
fn poisoned(operation: &Value) -> Vec<Value> {
    let content = &operation["requestBody"]["content"]["application/json"];
    let mut bodies: Vec<Value> =
        content["examples"].as_object().into_iter().flatten().map(|(_, one)| one["value"].clone()).collect();
    bodies.push(content["example"].clone());
    bodies.push(json!({}));
    let poison = bodies.iter().filter(|body| body.is_object()).map(|body| with_canaries(body, "all", true));
    let poison: Vec<Value> = poison.collect();
    let plain = bodies
        .iter()
        .filter(|body| body.is_object())
        .map(|body| with_canaries(body, "prose", false))
        .collect::<Vec<_>>();
    poison.into_iter().chain(plain).collect()
}

/// With `every`, no text stays; else those that read as prose.
fn with_canaries(value: &Value, at: &str, every: bool) -> Value {
    match value {
        Value::String(text) if every || text.contains(' ') => json!(format!("{CANARY}-{at} {text}")),
        Value::Array(items) => items.iter().map(|item| with_canaries(item, at, every)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), with_canaries(value, name, every))).collect()
        }
        other => other.clone(),
    }
}

async fn drive_the_api(app: &App, session: &str) {
    let document = app.get("/openapi.json").await.expect(200);
    let mut count = 0;
    for (path, method, operation) in operations(&document) {
        if path == "/mcp" || path.ends_with("/events") {
            continue;
        }
        for (id, query) in
            [(id_of(session), ""), (CANARY, ""), (id_of(session), "?q=zqcanaryqz&title=zqcanaryqz&zqcanaryqz=1")]
        {
            // What is gone can't be asked any more.
            if method == Method::DELETE && id == id_of(session) {
                continue;
            }
            let parts: Vec<&str> = path.split('/').map(|part| if part.starts_with('{') { id } else { part }).collect();
            let address = format!("{}{query}", parts.join("/"));
            let bodies = if method == Method::GET { vec![json!({})] } else { poisoned(operation) };
            for body in bodies {
                let body = if method == Method::GET { String::new() } else { body.to_string() };
                count += 1;
                let key = format!("{CANARY}-{count}");
                let headers = [("contextd-session", CANARY), ("idempotency-key", key.as_str()), ("x-note", CANARY)];
                app.raw(method.clone(), &address, &headers, body).await;
            }
            for broken in [format!("{{\"{CANARY}\": "), format!("\"{CANARY}\""), format!("[{{\"{CANARY}\":1}}]")] {
                if method != Method::GET {
                    app.raw(method.clone(), &address, &[], broken).await;
                }
            }
        }
    }
}

async fn drive_mcp(app: &App, session: &str) {
    let accept = ("accept", "application/json, text/event-stream");
    let call = async |body: Value| {
        app.raw(Method::POST, "/mcp", &[accept, ("mcp-protocol-version", "2025-06-18")], body.to_string()).await;
    };
    let id = id_of(session);
    call(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": CANARY, "version": CANARY}}}))
    .await;
    let long = format!("{CANARY}{}", "x".repeat(100_000));
    for (method, params) in [
        ("tools/call", json!({"name": "search", "arguments": {"session_id": id, "query": CANARY}})),
        ("tools/call", json!({"name": CANARY, "arguments": {CANARY: CANARY}})),
        ("tools/call", json!({"name": long, "arguments": {}})),
        ("tools/call", json!({"name": "read_entry", "arguments": {"session_id": CANARY}})),
        ("resources/read", json!({"uri": format!("contextd://sessions/{id}/{CANARY}")})),
        ("resources/read", json!({"uri": long})),
        ("resources/read", json!({"uri": CANARY})),
        ("resources/list", json!({"cursor": CANARY})),
        (CANARY, json!({CANARY: CANARY})),
        ("prompts/get", json!({"name": CANARY})),
        ("logging/setLevel", json!({"level": CANARY})),
    ] {
        call(json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})).await;
        call(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }
    for broken in [format!("{{\"{CANARY}\""), format!("\"{CANARY}\""), "[]".to_owned()] {
        app.raw(Method::POST, "/mcp", &[accept], broken).await;
    }
    app.raw(Method::POST, "/mcp", &[("accept", CANARY)], "{}".to_owned()).await;
    app.raw(Method::POST, "/mcp", &[accept, ("mcp-protocol-version", CANARY)], "{}".to_owned()).await;
}

async fn drive_pages(app: &App, session: &str) {
    let id = id_of(session);
    for path in [
        format!("/ui/search?q={CANARY}"),
        format!("/ui/sessions?title={CANARY}&metadata={CANARY}"),
        format!("/ui/sessions/{id}"),
        format!("/ui/sessions/{CANARY}"),
        format!("/ui/{CANARY}?{CANARY}"),
        format!("/{CANARY}?{CANARY}={CANARY}"),
        format!("/v1/{CANARY}"),
        format!("/docs/{CANARY}"),
    ] {
        app.raw(Method::GET, &path, &[("referer", CANARY), ("user-agent", CANARY)], String::new()).await;
    }
    for method in [CANARY.to_owned(), format!("{CANARY}{}", "x".repeat(5_000))] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        for path in ["/healthz", "/v1/sessions", "/nowhere", "/openai/v1/models"] {
            app.raw(method.clone(), path, &[], String::new()).await;
        }
    }
    let report = json!({"csp-report": {"violated-directive": CANARY, "blocked-uri": CANARY, "document-uri": CANARY}});
    app.raw(Method::POST, "/ui/csp-report", &[("content-type", "application/csp-report")], report.to_string()).await;
    app.raw(
        Method::POST,
        "/ui/login",
        &[("content-type", "application/x-www-form-urlencoded")],
        format!("key={CANARY}"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_holds_content_at_any_level() {
    let good =
        PlayedUpstream::start(Behaviour::Good(format!("## Goal\n- {CANARY}-answer rename src/module_1.rs"))).await;
    let bad = PlayedUpstream::start(Behaviour::Sequence(
        vec![
            Behaviour::StatusBody(500, format!("{{\"error\": {{\"message\": \"{CANARY}-error\"}}}}")),
            Behaviour::EchoError(400),
            Behaviour::EchoPrompt,
            Behaviour::Malformed,
        ],
        Box::new(Behaviour::Drop),
    ))
    .await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let lines = "kind = \"openai\"\nmodel = \"played\"\nretry_base_ms = 1\nmax_retries = 1";
    let url = crate::pg::url().await;
    let envs = [("CONTEXTD_LOG", "trace"), ("DATABASE_URL", url.as_str())];
    let (app, _file) = instance_logging(&[("good", &good, lines), ("bad", &bad, lines)], &envs, log.reopen().unwrap());
    let pool = PgPool::connect(&url).await.unwrap();
    let mut session = String::new();
    for upstream in ["good", "bad", "good"] {
        session =
            app.session(json!({"settings": asking(upstream, "fallback"), "title": format!("{CANARY}-title")})).await;
        let mut items = turns(0..20, 120);
        items.insert(0, json!({"role": "user", "content": format!("{CANARY}-said rename everything")}));
        let call = json!({"id": format!("{CANARY}-call"), "type": "function", "function": {"name": "read", "arguments": format!("{{\"path\":\"{CANARY}-path\"}}")}});
        items.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        app.append(&session, "openai_chat", json!(items)).await;
        compact(&app, &session, json!({"strategy": "llm_summarize", "focus_topic": format!("{CANARY}-topic")})).await;
    }
    drive_the_api(&app, &session).await;
    drive_mcp(&app, &session).await;
    drive_pages(&app, &session).await;
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM entries").fetch_one(&pool).await.unwrap();
    assert!(rows > 60, "something was done");
    drop(app);
    let text = std::fs::read_to_string(log.path()).unwrap();
    assert!(text.lines().count() > 200, "the log was read: {text}");
    let told: Vec<&str> = text.lines().filter(|line| line.to_lowercase().contains(CANARY)).take(5).collect();
    assert!(told.is_empty(), "{told:#?}");
}
