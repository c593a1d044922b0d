//! Compactions that clients ask their provider for, done in its place; the client's next request goes on from them.

use reqwest::Method;
use serde_json::{Value, json};

use super::provider::{Reply, Seen};
use super::{Got, MESSAGES, RESPONSES, Stage, body};
use crate::drill_support::all;
use crate::drill_valid::violations;
use crate::pg_proxy::{Mode, Proxy};
use crate::transcript::agent::turn;

pub const ANSWER: [(&str, &str); 2] =
    [("CONTEXTD_PROXY_OPENAI_COMPACTION", "answer"), ("CONTEXTD_PROXY_ANTHROPIC_COMPACTION", "answer")];
const BETAS: &str = "compact-2026-01-12,other-2026-01-01";

fn history(format: &str, turns: usize) -> Vec<Value> {
    (0..turns).flat_map(|n| turn(format, n)).collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The data of a stream's events.
fn events(got: &Got) -> Vec<Value> {
    assert_eq!(got.header("content-type"), Some("text/event-stream"));
    let text = String::from_utf8(got.body.clone()).unwrap();
    text.lines().filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data: ")?).unwrap())).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

async fn ask(stage: &Stage, session: &str, body: &Value) -> Got {
    let headers = [("contextd-session", session), ("anthropic-beta", BETAS)];
    let path = if body["input"].is_null() { MESSAGES } else { RESPONSES };
    stage.send(Method::POST, path, &headers, body.to_string()).await
}

/// A played answer to a message, whole or as a stream, as the request wants it.
fn message(seen: &Seen) -> Reply {
    let usage = json!({"input_tokens": 50, "output_tokens": 5});
    let whole = |content: Value, stop: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": usage})
    };
    if seen.json()["stream"] != true {
        return Reply::json(200, &whole(json!([{"type": "text", "text": "Done."}]), json!("end_turn")));
    }
    let events = [
        json!({"type": "message_start", "message": whole(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    let pieces: Vec<String> =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    Reply::of(200, "text/event-stream", &pieces.iter().map(String::as_str).collect::<Vec<_>>())
}

fn edited(messages: &[Value], edits: &Value) -> Value {
    let mut body = body(MESSAGES, messages);
    body["context_management"] = json!({"edits": edits});
    body
}

/// The blocks of a message, from a whole answer or from a stream.
fn blocks(got: &Got) -> (Vec<Value>, Value) {
    if got.header("content-type") == Some("application/json") {
        return (got.json()["content"].as_array().unwrap().clone(), got.json());
    }
    let (mut blocks, mut end): (Vec<Value>, Value) = (Vec::new(), Value::Null);
    for event in events(got) {
        let place = event["index"].as_u64().unwrap_or(0) as usize;
        match (event["type"].as_str().unwrap(), event["delta"]["type"].as_str()) {
            ("content_block_start", _) => {
                assert_eq!(place, blocks.len());
                blocks.push(event["content_block"].clone());
            }
            (_, Some("compaction_delta")) => blocks[place]["content"] = event["delta"]["content"].clone(),
            (_, Some("text_delta")) => blocks[place]["text"] = event["delta"]["text"].clone(),
            ("message_delta", _) => {
                end = event.clone();
                end["stop_reason"] = event["delta"]["stop_reason"].clone();
            }
            _ => {}
        }
    }
    (blocks, end)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_is_answered_with_one_item() {
    let stage = Stage::set("", &ANSWER).await;
    for streams in [false, true] {
        let (name, mut input) = (format!("trigger {streams}").replace(' ', "-"), history("openai_responses", 6));
        input.push(json!({"type": "compaction_trigger"}));
        let mut asked = body(RESPONSES, &input);
        asked["stream"] = streams.into();
        let got = ask(&stage, &name, &asked).await;
        assert_eq!((got.status, stage.provider.take().len()), (200, 0), "{}", String::from_utf8_lossy(&got.body));
        let session = got.session();
        let response = if streams {
            let events = events(&got);
            let due = ["created", "in_progress", "output_item.added", "output_item.done", "completed"];
            assert_eq!(kinds(&events), due.map(|kind| format!("response.{kind}")));
            assert!(events.iter().enumerate().all(|(number, event)| event["sequence_number"] == number));
            assert_eq!(events[3]["item"], events[4]["response"]["output"][0]);
            events[4]["response"].clone()
        } else {
            got.json()
        };
        assert_eq!((&response["object"], &response["status"]), (&json!("response"), &json!("completed")));
        let output = response["output"].as_array().unwrap();
        assert_eq!((output.len(), &output[0]["type"]), (1, &json!("compaction")));
        assert!(response["usage"]["total_tokens"].as_u64().unwrap() > 0);
        let kept: Vec<Value> =
            all(&stage.app, &format!("{session}/entries")).await.iter().map(|entry| entry["item"].clone()).collect();
        assert_eq!((kept.len(), kept.last()), (input.len(), output.last()), "all that was said, and the compaction");

        // Clients go on with what the user said and the item.
        let handle = output[0]["encrypted_content"].as_str().unwrap();
        let mut next: Vec<Value> = input.iter().filter(|item| item["role"] == "user").cloned().collect();
        next.extend([output[0].clone(), user("And now?")]);
        for name in [name.as_str(), "another-conversation", "no name"] {
            let got = ask(&stage, name, &body(RESPONSES, &next)).await;
            let seen = stage.provider.take_one();
            let sent: Vec<Value> = seen.json()["input"].as_array().unwrap().clone();
            assert_eq!(got.header("contextd-bypass"), None, "{name}");
            assert!(!seen.text().contains(handle), "the provider can't open it");
            assert_eq!(violations("openai_responses", &sent, true), Vec::<String>::new());
            for n in 0..6 {
                assert!(seen.text().contains(&format!("src/module_{n}.rs")), "{name}: {n}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_does_not_open_is_refused() {
    let stage = Stage::set("", &ANSWER).await;
    let item = |handle: &str| json!({"type": "compaction", "encrypted_content": handle});
    let system = json!({"type": "message", "role": "developer", "content": "Be brief."});
    for forged in ["ctxd1.1.AAAA", "ctxd1.77.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "ctxd9", "ctxd1.1."] {
        for trigger in [None, Some(json!({"type": "compaction_trigger"}))] {
            let mut input = vec![system.clone(), user("hello"), item(forged), user("go on")];
            input.extend(trigger);
            for name in ["forged", "no name"] {
                let got = ask(&stage, name, &body(RESPONSES, &input)).await;
                assert_eq!((got.status, stage.provider.take().len()), (400, 0), "{forged} {name}");
                let error = &got.json()["error"];
                assert_eq!(
                    (&error["code"], &error["param"]),
                    (&json!("handle_refused"), &json!("/input/2/encrypted_content"))
                );
                assert!(error["message"].as_str().unwrap().starts_with("contextd: A sealed handle"), "{error}");
            }
        }
    }
    // What another service has sealed is that service's.
    let others = [user("hello"), item("gAAAAAB"), user("go on")];
    let got = ask(&stage, "others", &body(RESPONSES, &others)).await;
    assert_eq!((got.status, stage.provider.take_one().json()["input"].clone()), (200, json!(others)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_is_answered_with_one_block() {
    let stage = Stage::set("", &ANSWER).await;
    for streams in [false, true] {
        let mut asked = body(MESSAGES, &history("anthropic", 6));
        asked["compaction"] = json!({"type": "summarize"});
        asked["stream"] = streams.into();
        let got = ask(&stage, &format!("summary-{streams}"), &asked).await;
        assert_eq!((got.status, stage.provider.take().len()), (200, 0), "{}", String::from_utf8_lossy(&got.body));
        got.session();
        let (blocks, end) = blocks(&got);
        assert_eq!(
            (blocks.len(), &blocks[0]["type"], &end["stop_reason"]),
            (1, &json!("compaction"), &json!("compaction"))
        );
        let summary = blocks[0]["content"].as_str().unwrap();
        assert!((0..6).all(|n| summary.contains(&format!("src/module_{n}.rs"))), "{summary}");
        assert_eq!(end["usage"]["iterations"][0]["type"], "compaction");
        assert!(end["usage"]["iterations"][0]["input_tokens"].as_u64().unwrap() > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_that_is_due_comes_before_the_answer() {
    let stage = Stage::set("", &ANSWER).await;
    stage.provider.play(message);
    let compact = |pauses: bool| {
        json!([{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 500},
            "pause_after_compaction": pauses}])
    };
    for (pauses, streams, drops) in
        [(false, false, false), (false, true, true), (true, false, true), (true, true, false)]
    {
        let name = format!("compact-{pauses}-{streams}");
        let mut said = history("anthropic", 6);
        said.push(user("What is next?"));
        let mut asked = edited(&said, &compact(pauses));
        asked["stream"] = streams.into();
        let got = ask(&stage, &name, &asked).await;
        assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.body));
        let session = got.session();
        let (answer, end) = blocks(&got);
        assert_eq!(answer[0]["type"], "compaction", "{answer:?}");
        let summary = answer[0]["content"].as_str().unwrap().to_owned();
        assert!((0..6).all(|n| summary.contains(&format!("src/module_{n}.rs"))), "{summary}");
        // Nothing stands below what is handed over.
        assert!(summary.contains("User: What is next?") && !summary.contains("stands below"), "{summary}");
        let kinds: Vec<&Value> =
            end["usage"]["iterations"].as_array().unwrap().iter().map(|iteration| &iteration["type"]).collect();
        let seen = stage.provider.take();
        if pauses {
            assert_eq!((seen.len(), answer.len(), &end["stop_reason"]), (0, 1, &json!("compaction")));
            assert_eq!(kinds, ["compaction"]);
        } else {
            assert_eq!((answer[1]["text"].as_str(), &end["stop_reason"]), (Some("Done."), &json!("end_turn")));
            assert_eq!(kinds, ["compaction", "message"]);
            assert_eq!(end["context_management"], json!({"applied_edits": []}));
            let sent = seen[0].json();
            assert_eq!((seen.len(), &sent["context_management"]), (1, &Value::Null));
            assert_eq!(seen[0].header("anthropic-beta"), Some("other-2026-01-01"));
            let due = json!([{"role": "user", "content": [{"type": "text", "text": summary}]}, said.last().unwrap()]);
            assert_eq!((&sent["messages"], &sent["max_tokens"]), (&due, &asked["max_tokens"]));
        }

        // With the block in it, the conversation goes on; what stands before it may be left out.
        let mut next = if drops { Vec::new() } else { said.clone() };
        next.push(json!({"role": "assistant", "content": answer}));
        next.push(user("Go on."));
        let got = ask(&stage, &name, &edited(&next, &json!([{"type": "compact_20260112"}]))).await;
        assert_eq!((got.status, got.session()), (200, session), "{name}");
        let seen = stage.provider.take_one();
        let sent = seen.json()["messages"].as_array().unwrap().clone();
        assert_eq!(sent[0]["content"][0]["text"].as_str(), Some(summary.as_str()), "{name}: {sent:?}");
        assert_eq!((sent.len(), sent.last()), (if pauses { 2 } else { 3 }, next.last()), "{sent:?}");
        assert!(!seen.text().contains("\"compaction\""));
    }
    let sessions = all(&stage.app, "/v1/sessions").await;
    assert_eq!(sessions.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_was_handed_over_before_is_summed_up_from_its_messages() {
    let stage = Stage::set("", &ANSWER).await;
    stage.provider.play(message);
    let spoken = "The parser keeps its tables in src/tables.rs, and ticket ABC-7 asks for smaller ones. ".repeat(40);
    let said = [user("Keep ABC-7 in mind."), json!({"role": "assistant", "content": spoken})];
    let handed = body(RESPONSES, &[&said[..], &[json!({"type": "compaction_trigger"})]].concat());
    assert_eq!(ask(&stage, "both", &handed).await.status, 200);
    let compact = json!([{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50},
        "pause_after_compaction": true}]);
    let asked = edited(&[&said[..], &[user("What next?")]].concat(), &compact);
    for round in 0..2 {
        let (answer, _) = blocks(&ask(&stage, "both", &asked).await);
        let summary = answer[0]["content"].as_str().unwrap();
        let told = ["u1 User: Keep ABC-7 in mind.", "Agent: The parser keeps its tables", "u2 User: What next?"];
        assert!(told.iter().all(|part| summary.contains(part)), "round {round}: {summary}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_tool_results_are_cleared_where_that_is_asked_for() {
    let stage = Stage::set("", &ANSWER).await;
    stage.provider.play(message);
    let mut said = history("anthropic", 5);
    said.push(user("What is next?"));
    let clear = |trigger: u64| {
        json!([{"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": trigger},
            "keep": {"type": "tool_uses", "value": 2}, "clear_tool_inputs": true}])
    };
    for (trigger, streams, cleared) in [(500, false, 3), (500, true, 3), (1_000_000, false, 0)] {
        let mut asked = edited(&said, &clear(trigger));
        asked["stream"] = streams.into();
        let got = ask(&stage, "clear", &asked).await;
        got.session();
        let (answer, end) = blocks(&got);
        let seen = stage.provider.take_one();
        assert_eq!((got.status, answer[0]["text"].as_str()), (200, Some("Done.")));
        let applied = end["context_management"]["applied_edits"].as_array().unwrap();
        assert_eq!(applied.iter().map(|edit| edit["cleared_tool_uses"].as_u64().unwrap()).sum::<u64>(), cleared);
        assert!(applied.iter().all(|edit| edit["cleared_input_tokens"].as_u64().unwrap() > 0));
        assert_eq!(seen.text().matches("[tool_result elided; call_id=").count() as u64, cleared);
        assert_eq!(seen.text().matches(r#""input":{}"#).count() as u64, cleared);
        assert_eq!(seen.json()["context_management"], Value::Null);
        let sent = seen.json()["messages"].as_array().unwrap().clone();
        assert_eq!(violations("anthropic", &sent, true), Vec::<String>::new());
        assert_eq!(sent[said.len() - 4..], said[said.len() - 4..], "the newest stay");
    }
    let sessions = all(&stage.app, "/v1/sessions").await;
    let kept = stage.kept(&format!("/v1/sessions/{}", sessions[0]["id"].as_str().unwrap())).await;
    assert_eq!(kept, said, "the whole of it is stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_goes_on_as_it_came() {
    let database = Proxy::start().await;
    let envs = [("CONTEXTD_PROXY_TIMEOUT_MS", "1500"), ANSWER[0], ANSWER[1]];
    let stage = Stage::over(&database, &envs).await;
    let unknown = edited(&[user("hello")], &json!([{"type": "compact_20990101"}]));
    let mut other = body(MESSAGES, &[user("hello")]);
    other["compaction"] = json!({"type": "new"});
    for asked in [&unknown, &other] {
        let got = ask(&stage, "unknown", asked).await;
        assert_eq!((got.status, got.header("contextd-bypass")), (200, Some("provider_compaction")));
        let seen = stage.provider.take_one();
        assert_eq!((seen.text(), seen.header("anthropic-beta")), (asked.to_string().as_str(), Some(BETAS)));
    }
    let metrics = stage.app.get("/metrics").await.text;
    let line = r#"contextd_proxy_requests_total{route="messages",outcome="provider_compaction"} 2"#;
    assert!(metrics.contains(line), "{metrics}");
    // A handle is sealed with a key that is in the database.
    database.set(Mode::Cut);
    let asked = body(RESPONSES, &[user("hello"), json!({"type": "compaction_trigger"})]);
    let got = ask(&stage, "away", &asked).await;
    assert_eq!((got.status, stage.provider.take_one().text()), (200, asked.to_string().as_str()));
    let reason = got.header("contextd-bypass").expect("it is not answered");
    assert!(["timeout", "unavailable", "internal"].contains(&reason), "{reason}");
}
