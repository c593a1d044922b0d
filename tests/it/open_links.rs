//! What a provider has begun and not ended, under compactions of every kind: what comes for it later finds its beginning.

use serde_json::{Value, json};

use crate::app::App;
use crate::hook_support::{Receiver, Reply};

/// What has come of something when the context is compacted, and what comes later.
struct Halves {
    name: &'static str,
    format: &'static str,
    first: Vec<Value>,
    second: Vec<Value>,
}

fn halves() -> Vec<Halves> {
    let request =
        json!({"type": "mcp_approval_request", "id": "mcpr_4", "name": "f", "arguments": "{}", "server_label": "s"});
    let response = json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_4", "approve": true});
    let called = json!({"type": "mcp_call", "id": "mcp_4", "approval_request_id": "mcpr_4", "name": "f",
        "arguments": "{}", "server_label": "s", "output": "1"});
    let caller = json!({"type": "program", "caller_id": "p"});
    let program = json!({"type": "program", "id": "pr", "call_id": "p", "code": "f()", "fingerprint": "x"});
    let output = json!({"type": "program_output", "id": "po", "call_id": "p", "result": "2", "status": "completed"});
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}", "caller": caller});
    let result = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "1", "caller": caller});
    let half = |name, format, first: Vec<Value>, second: Vec<Value>| Halves { name, format, first, second };
    vec![
        half("request", "openai_responses", vec![request.clone()], vec![response.clone(), called.clone()]),
        half("request and response", "openai_responses", vec![request, response], vec![called]),
        half("program", "openai_responses", vec![program.clone()], vec![call("c1"), result("c1"), output.clone()]),
        half(
            "program and a call",
            "openai_responses",
            vec![program, call("c1"), result("c1")],
            vec![call("c2"), result("c2"), output],
        ),
    ]
}

fn words(text: &str) -> String {
    format!("{text} {}", "lorem ipsum dolor sit amet ".repeat(40))
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": words(text)})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": words(text)})
}

fn before() -> Vec<Value> {
    (0..6).flat_map(|at| [user(&format!("ask {at}")), assistant(&format!("say {at}"))]).collect()
}

fn settings() -> Value {
    json!({"enabled": false, "context_window": 6_000, "reserve_tokens": 500, "keep_recent_tokens": 100,
        "anchor_first_user": false, "upstream": "builtin"})
}

async fn context(session: &str, format: &str) -> Value {
    App::shared().get(&format!("{session}/context?format={format}")).await.expect(200)
}

/// Appends the second half and checks that all of it goes out, with all that it rests on.
async fn goes_on(session: &str, halves: &Halves, how: &str) {
    App::shared().append(session, halves.format, json!(halves.second)).await;
    App::shared().append(session, halves.format, json!([assistant("all of it")])).await;
    let handed = context(session, halves.format).await;
    let text = handed["messages"].to_string();
    let items = halves.first.iter().chain(&halves.second);
    for part in items.map(Value::to_string) {
        assert!(text.contains(&part), "{} {how}: {part} is missing in {text}", halves.name);
    }
    // Nothing is refused that was not refused before.
    let whole = [before(), halves.first.clone(), vec![user("meanwhile")], halves.second.clone()].concat();
    let lint = async |items: Value| {
        let body = json!({"format": halves.format, "items": items});
        App::shared().post("/v1/lint", body).await.expect(200)
    };
    if lint(json!(whole)).await["valid"] == true {
        let found = lint(handed["messages"].clone()).await;
        assert_eq!(found["valid"], true, "{} {how}: {found}", halves.name);
    }
}

async fn filled(halves: &Halves, settings: Value) -> (String, Vec<Value>) {
    let session = App::shared().session(json!({"settings": settings})).await;
    let items = [before(), halves.first.clone(), vec![user("meanwhile")]].concat();
    let appended = App::shared().append(&session, halves.format, json!(items)).await;
    let ids = appended["entries"].as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect();
    (session, ids)
}

#[tokio::test]
async fn no_compaction_parts_what_is_begun_from_what_comes_for_it() {
    for halves in halves() {
        for strategy in ["auto", "summarize", "truncate", "sliding", "smart"] {
            let (session, _) = filled(&halves, settings()).await;
            let asked = json!({"strategy": strategy, "wait": 60, "force": true});
            let done = App::shared().post(&format!("{session}/compact"), asked).await.expect(200);
            // Strategies that count leave what is small enough.
            let may_rest = matches!(strategy, "truncate" | "sliding" | "smart");
            assert!(done["status"] == "succeeded" || may_rest, "{} {strategy}: {done}", halves.name);
            goes_on(&session, &halves, strategy).await;
        }
    }
}

#[tokio::test]
async fn no_callers_cut_does_either() {
    for halves in halves() {
        let (session, ids) = filled(&halves, settings()).await;
        let body = json!({"first_kept_entry_id": ids.last(), "summary": "All was asked and said.", "wait": 60});
        let refused = App::shared().post(&format!("{session}/compact"), body).await;
        refused.assert_problem(422, "validation_failed");
        let detail = refused.body["errors"][0]["detail"].as_str().unwrap().to_owned();
        let nearest = ids[12].as_str().unwrap();
        assert!(
            detail.ends_with(&format!("the nearest entry that would do is {nearest}")),
            "{}: {detail}",
            halves.name
        );
        let body = json!({"first_kept_entry_id": nearest, "summary": "All was asked and said.", "wait": 60});
        let done = App::shared().post(&format!("{session}/compact"), body).await.expect(200);
        assert_eq!(done["status"], "succeeded", "{done}");
        goes_on(&session, &halves, "a caller's cut").await;
    }
}

#[tokio::test]
async fn no_compaction_that_comes_by_itself_does_either() {
    for halves in halves() {
        let settings = json!({"context_window": 4_000, "reserve_tokens": 500, "keep_recent_tokens": 100,
            "anchor_first_user": false, "upstream": "builtin"});
        let (session, _) = filled(&halves, settings).await;
        for at in 0..2 {
            App::shared().append(&session, halves.format, json!([assistant(&format!("well {at}")), user("and")])).await;
            context(&session, halves.format).await;
        }
        let compactions = App::shared().get(&format!("{session}/compactions")).await.expect(200);
        assert!(!compactions["items"].as_array().unwrap().is_empty(), "{compactions}");
        goes_on(&session, &halves, "by itself").await;
    }
}

#[tokio::test]
async fn no_compaction_of_a_posted_transcript_does_either() {
    for halves in halves() {
        let settings = json!({"context_window": 4_000, "reserve_tokens": 500, "keep_recent_tokens": 100,
            "anchor_first_user": false, "upstream": "builtin"});
        let session = App::shared().session(json!({"settings": settings})).await;
        let path = format!("{session}/transcript");
        let mut items = [before(), halves.first.clone(), vec![user("meanwhile")]].concat();
        let put = async |items: &[Value]| {
            let body = json!({"format": halves.format, "items": items, "return_context": halves.format});
            App::shared().put(&path, body).await.expect(200)
        };
        put(&items).await;
        items.extend(halves.second.iter().cloned());
        items.push(assistant("done"));
        // The client has trimmed its front.
        put(&items[8..]).await;
        goes_on(&session, &Halves { second: vec![], ..halves }, "a trimmed transcript").await;
    }
}

#[tokio::test]
async fn a_hooks_cut_obeys_the_same_rules() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[hooks]\nallow_private_networks = true\n").unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]);
    let receiver = Receiver::start(Reply::Json(json!({}))).await;
    receiver.register(&app, &["before_compact"], json!({})).await;
    for halves in halves() {
        let session = app.session(json!({"settings": settings()})).await;
        let items = [before(), halves.first.clone(), vec![user("meanwhile")]].concat();
        let appended = app.append(&session, halves.format, json!(items)).await;
        let last = appended["entries"].as_array().unwrap().last().unwrap()["id"].clone();
        receiver.play(move |_, _| {
            Reply::Json(json!({"compaction": {"summary": "All was asked.", "first_kept_entry_id": last}}))
        });
        let done = app.post(&format!("{session}/compact"), json!({"wait": 60})).await.expect(200);
        let report = &done["result"]["hooks"][0];
        assert_ne!(report["outcome"], "replaced", "{}: {report}", halves.name);
        assert!(report["detail"].as_str().unwrap().contains("would part"), "{}: {report}", halves.name);
        let handed = app.get(&format!("{session}/context?format={}", halves.format)).await.expect(200);
        assert!(!handed["messages"].to_string().contains("All was asked."), "{}", halves.name);
    }
}

#[tokio::test]
async fn what_the_user_has_left_behind_forbids_no_compaction() {
    for halves in halves() {
        let session = App::shared().session(json!({"settings": settings()})).await;
        let mut items = [vec![user("begin")], halves.first.clone()].concat();
        items.extend((0..10).flat_map(|at| [user(&format!("ask {at}")), assistant(&format!("say {at}"))]));
        App::shared().append(&session, halves.format, json!(items)).await;
        let done = App::shared().post(&format!("{session}/compact"), json!({"wait": 60})).await.expect(200);
        assert_eq!(done["status"], "succeeded", "{}: {done}", halves.name);
        let handed = context(&session, halves.format).await;
        assert!(handed["tokens"].as_u64().unwrap() < 3_000, "{}: {}", halves.name, handed["tokens"]);
    }
}
