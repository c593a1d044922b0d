//! OpenAI's compaction at its own path, and its handle wherever it comes back.

use contextd::domain::model::format::Format;
use contextd::llm::Upstreams;
use contextd::service::core::error::ServiceError;
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ingest::append::Append;
use contextd::service::stateless::{HandoverRequest, Stateless};
use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Answer, App};
use crate::drill_support::{all, by_hand, compact, context, messages};
use crate::drill_valid::{FORMATS, violations};
use crate::queue_support::tenant;
use crate::service_support::{Stage, chat, raw};

const PATH: &str = "/v1/responses/compact";

/// What the user says in the `n`th turn.
fn asked(n: usize) -> String {
    format!("Part {n}: please rename the {n}th helper and leave everything else as it is.")
}

/// A fact of the `n`th turn that the user does not say.
fn fact(n: usize) -> String {
    format!("crates/part_{n}/src/lib.rs")
}

/// Turns of a request, a call, its output and an answer each.
fn turns(range: std::ops::Range<usize>) -> Vec<Value> {
    let turn = |n: usize| {
        let output: String = (0..150).map(|word| format!("line{n}_{word} ")).collect();
        let arguments = json!({"path": fact(n), "old": "helper", "new": "aid"}).to_string();
        [
            json!({"role": "user", "content": asked(n)}),
            json!({"type": "function_call", "call_id": format!("call_{n}"), "name": "edit", "arguments": arguments}),
            json!({"type": "function_call_output", "call_id": format!("call_{n}"), "output": output}),
            json!({"type": "message", "id": format!("msg_a{n}"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": format!("Renamed it in {}.", fact(n)), "annotations": []}]}),
        ]
    };
    range.flat_map(turn).collect()
}

async fn handed_over(app: &App, input: &[Value]) -> Value {
    app.post(PATH, json!({"model": "gpt-5", "input": input})).await.expect(200)
}

fn output(compacted: &Value) -> &Vec<Value> {
    compacted["output"].as_array().unwrap()
}

/// The handle behind everything else.
fn handle(compacted: &Value) -> &str {
    let (last, before) = output(compacted).split_last().unwrap();
    assert_eq!(last["type"], "compaction", "{last}");
    assert!(before.iter().all(|item| item["type"] == "message"), "{before:?}");
    last["encrypted_content"].as_str().unwrap()
}

/// The texts of the messages before the handle.
fn said(compacted: &Value) -> Vec<&str> {
    let messages = output(compacted).iter().filter(|item| item["type"] == "message");
    messages.map(|item| item["content"][0]["text"].as_str().unwrap()).collect()
}

/// The text that any provider is shown in the place of the handle.
async fn opened(app: &App, compacted: &Value) -> String {
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_responses", compacted["output"].clone()).await;
    let shown = context(app, &session, "openai_chat").await;
    messages(&shown).last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_comes_back_in_openais_shapes() {
    let app = App::shared();
    let body = json!({
        "model": "gpt-5", "input": turns(0..8), "instructions": "be brief", "previous_response_id": null,
        "tools": [{"type": "function", "name": "edit", "parameters": {}}], "parallel_tool_calls": false,
        "reasoning": {"effort": "high"}, "prompt_cache_key": "x", "service_tier": "auto", "never_heard_of": [1, {}],
    });
    let compacted = app.post(PATH, body).await.expect(200);
    assert_eq!(compacted["object"], "response.compaction");
    assert!(compacted["id"].as_str().unwrap().starts_with("resp_"), "{compacted}");
    assert!(compacted["created_at"].as_i64().unwrap() > 1_700_000_000);
    assert!(handle(&compacted).starts_with("ctxd1."));
    assert_eq!(said(&compacted), (0..8).map(asked).collect::<Vec<_>>());
    for item in &output(&compacted)[..8] {
        assert_eq!((&item["role"], &item["status"]), (&json!("user"), &json!("completed")), "{item}");
        assert!(item["id"].as_str().unwrap().starts_with("msg_"), "{item}");
        assert_eq!(item["content"][0]["type"], "input_text", "{item}");
    }
    assert!(output(&compacted)[8]["id"].as_str().unwrap().starts_with("cmp_"));
    let usage = &compacted["usage"];
    let tokens = |name: &str| usage[name].as_u64().unwrap();
    assert!(tokens("input_tokens") > tokens("output_tokens") && tokens("output_tokens") > 0, "{usage}");
    assert_eq!(tokens("total_tokens"), tokens("input_tokens") + tokens("output_tokens"));
    assert_eq!(usage["input_tokens_details"], json!({"cached_tokens": 0, "cache_write_tokens": 0}));
    assert_eq!(usage["output_tokens_details"]["reasoning_tokens"], 0);
    assert!(handle(&compacted).len() < serde_json::to_string(&turns(0..8)).unwrap().len() / 2, "it is small");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_what_the_user_says() {
    let app = App::shared();
    let compacted = app.post(PATH, json!({"model": "gpt-5", "input": "hello \u{1f600}"})).await.expect(200);
    assert_eq!(said(&compacted), ["hello \u{1f600}"]);
    let again = handed_over(app, output(&compacted)).await;
    assert_eq!(output(&again)[0], output(&compacted)[0], "what is whole goes out as it came");
    assert!(handle(&again).starts_with("ctxd1."), "there is a handle where there was nothing to summarise");
    let session = app.session(json!({})).await;
    app.append(&session, "openai_responses", again["output"].clone()).await;
    assert_eq!(messages(&context(app, &session, "anthropic").await).len(), 1, "it shows nothing then");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused_with_its_pointer() {
    let app = App::shared();
    for (pointer, body) in [
        ("/previous_response_id", json!({"model": "gpt-5", "previous_response_id": "resp_1"})),
        ("/previous_response_id", json!({"model": "gpt-5", "previous_response_id": 7, "input": "x"})),
        ("/input", json!({"model": "gpt-5"})),
        ("/input", json!({"model": "gpt-5", "input": null})),
        ("/input", json!({"model": "gpt-5", "input": 7})),
        ("/input", json!({"model": "gpt-5", "input": {"role": "user"}})),
        ("/input", json!({"model": "gpt-5", "input": []})),
        ("/input/0", json!({"model": "gpt-5", "input": [7]})),
        (
            "/input/1/role",
            json!({"model": "gpt-5", "input": [{"role": "user", "content": "x"}, {"role": "king", "content": "x"}]}),
        ),
        ("/model", json!({"model": "x".repeat(600), "input": "x"})),
        ("/instructions", json!({"model": "gpt-5", "input": "x", "instructions": 7})),
    ] {
        let answer = app.post(PATH, body).await;
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{}", answer.text);
    }
    for name in ["", " ", &"x".repeat(513)] {
        let body = json!({"model": "gpt-5", "input": "x"}).to_string();
        let answer = app.send(Method::POST, PATH, &[("contextd-session", name)], body).await;
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], "/headers/contextd-session", "{}", answer.text);
    }
    let many = vec![json!({"role": "user", "content": "x"}); 20_001];
    app.post(PATH, json!({"model": "gpt-5", "input": many})).await.assert_problem(422, "too_many_items");
}

#[tokio::test(flavor = "multi_thread")]
async fn compactions_in_a_row_keep_what_the_user_said_and_what_was_done() {
    let app = App::shared();
    let mut input = Vec::new();
    for round in 0..4 {
        input.extend(turns(round * 6..round * 6 + 6));
        let compacted = handed_over(app, &input).await;
        let count = round * 6 + 6;
        assert_eq!(said(&compacted), (0..count).map(asked).collect::<Vec<_>>(), "round {round}");
        let summary = opened(app, &compacted).await;
        let lost: Vec<String> = (0..count).map(fact).filter(|fact| !summary.contains(fact)).collect();
        assert_eq!(lost, Vec::<String>::new(), "round {round}: {summary}");
        assert_eq!(summary.matches("<context-summary>").count(), 1, "round {round}: {summary}");
        input = output(&compacted).clone();
    }
    let again = handed_over(app, &input).await;
    assert_eq!(output(&again)[..24], input[..24], "nothing new changes nothing");
    assert_eq!(opened(app, &again).await, opened(app, &json!({"output": input})).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_said_long_ago_is_told_where_the_window_is_small() {
    let app = App::shared();
    let mut input = Vec::new();
    for round in 0..3 {
        input.extend(turns(round * 30..round * 30 + 30));
        let body = json!({"model": "gpt-4", "input": input});
        let compacted = app.post(PATH, body).await.expect(200);
        let (kept, summary) = (said(&compacted), opened(app, &compacted).await);
        let newest: Vec<String> = (round * 30 + 20..round * 30 + 30).map(asked).collect();
        assert_eq!(kept[kept.len() - 10..], newest, "round {round}");
        assert!(kept.len() < 80, "round {round}: {}", kept.len());
        let told = summary.split_whitespace().collect::<Vec<_>>().join(" ");
        let lost =
            (0..round * 30 + 30).map(asked).filter(|asked| !kept.contains(&asked.as_str()) && !told.contains(asked));
        let lost: Vec<String> = lost.collect();
        assert!(lost.is_empty() || told.contains("left out"), "round {round}: {lost:?} in {summary}");
        assert!(lost.len() * 4 <= round * 30, "round {round}: {lost:?} in {summary}");
        input = output(&compacted).clone();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_shown_to_any_provider_and_kept_as_it_came() {
    let app = App::shared();
    let compacted = handed_over(app, &turns(0..6)).await;
    let session = app.session(json!({"settings": by_hand()})).await;
    let items: Vec<Value> = output(&compacted).iter().cloned().chain(turns(6..8)).collect();
    let appended = app.append(&session, "openai_responses", json!(items)).await;
    assert_eq!(appended["entries"][6]["type"], "compaction");
    for format in FORMATS {
        let shown = context(app, &session, format).await;
        let text = shown["messages"].to_string();
        assert_eq!(text.matches("<context-summary>").count(), 1, "{format}: {text}");
        assert!(!text.contains("ctxd1.") && text.contains(&fact(3)) && text.contains(&asked(3)), "{format}: {text}");
        assert_eq!(shown["summary_entry_id"], appended["entries"][6]["id"]);
        assert_eq!(violations(format, messages(&shown), true), Vec::<String>::new(), "{format}");
        let linted = app.post("/v1/lint", json!({"format": format, "items": shown["messages"]})).await.expect(200);
        assert_eq!(linted["valid"], true, "{format}: {linted}");
        assert_eq!(shown["tokens"], appended["snapshot"]["tokens"], "{format}");
    }
    let entries = all(app, &format!("{session}/entries")).await;
    let stored: Vec<&Value> = entries.iter().map(|entry| &entry["item"]).collect();
    assert_eq!(stored, items.iter().collect::<Vec<_>>());
    assert!(entries[6]["message"].to_string().contains(&fact(3)), "{}", entries[6]);
    let exported = app.get(&format!("{session}/export?format=openai_responses")).await;
    let lines: Vec<Value> = exported.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, items);
    let chat = app.get(&format!("{session}/export?format=openai_chat")).await.text;
    assert!(chat.contains("<context-summary>") && !chat.contains("ctxd1."), "{chat}");
    let counted = app.post("/v1/count", json!({"format": "openai_responses", "items": [items[6]]})).await.expect(200);
    assert_eq!(counted["tokens"], appended["entries"][6]["tokens"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_from_a_handle() {
    let app = App::shared();
    let compacted = handed_over(app, &turns(0..6)).await;
    let session = app.session(json!({"settings": by_hand()})).await;
    let put = |items: Vec<Value>| json!({"format": "openai_responses", "items": items});
    let transcript = format!("{session}/transcript");
    let mut items = output(&compacted).clone();
    let first = app.put(&transcript, put(items.clone())).await.expect(200);
    assert_eq!((&first["appended"], &first["matched"]), (&json!(7), &json!(0)));
    items.extend(turns(6..20));
    let more = app.put(&transcript, put(items.clone())).await.expect(200);
    assert_eq!((&more["appended"], &more["matched"], &more["forked"]), (&json!(56), &json!(7), &json!(false)));
    for strategy in ["summarize", "llm_summarize"] {
        let done = compact(app, &session, json!({"strategy": strategy, "force": true})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let text = context(app, &session, "anthropic").await["messages"].to_string();
        let lost: Vec<usize> = (0..20).filter(|n| !text.contains(&fact(*n)) || !text.contains(&asked(*n))).collect();
        assert_eq!(lost, Vec::<usize>::new(), "{strategy}: {text}");
        app.append(&session, "openai_responses", json!(turns(20..26))).await;
    }
    // Summarised from the originals, of which those before the handle are elsewhere.
    let afresh = json!({"strategy": "summarize", "force": true, "settings": {"iterative": false}});
    assert_eq!(compact(app, &session, afresh).await["status"], "succeeded");
    let text = context(app, &session, "anthropic").await["messages"].to_string();
    assert!(text.contains(&fact(0)) && text.contains(&fact(5)), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_departs_from_what_is_stored_is_stored_anew() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let put = |items: &[Value]| json!({"format": "openai_responses", "items": items});
    let transcript = format!("{session}/transcript");
    app.put(&transcript, put(&turns(0..6))).await.expect(200);
    let mut items = output(&handed_over(app, &turns(0..6)).await).clone();
    let forked = app.put(&transcript, put(&items)).await.expect(200);
    assert_eq!((&forked["forked"], &forked["appended"]), (&json!(true), &json!(6)), "{forked}");
    items.remove(2);
    items.push(json!({"role": "user", "content": "go on"}));
    app.put(&transcript, put(&items)).await.expect(200);
    let shown = context(app, &session, "openai_responses").await;
    let text = shown["messages"].to_string();
    assert!(text.contains(&fact(0)) && text.contains("go on") && !text.contains(&asked(2)), "{text}");
    assert_eq!(text.matches("<context-summary>").count(), 1, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_session_a_handle_is_compacted_too() {
    let app = App::shared();
    let mut items = output(&handed_over(app, &turns(0..6)).await).clone();
    items.extend(turns(6..20));
    let body = json!({"format": "openai_responses", "items": items, "settings": by_hand(), "strategy": "summarize"});
    let done = app.post("/v1/compact", body).await.expect(200);
    let text = done["messages"].to_string();
    assert_eq!((text.matches("<context-summary>").count(), text.matches("ctxd1.").count()), (1, 0), "{text}");
    assert!((0..6).all(|n| text.contains(&fact(n))), "{text}");
    assert_eq!(done["result"]["previous_summary_reused"], true, "{}", done["result"]);
}

/// Every call that takes items, with these behind a message; and where it points to.
async fn posted(app: &App, session: &str, item: &Value) -> Vec<(String, Answer)> {
    let items = json!([{"role": "user", "content": "hi"}, item]);
    let body = json!({"format": "openai_responses", "items": items});
    let mut answers = Vec::new();
    for path in [format!("{session}/entries"), "/v1/compact".into(), "/v1/lint".into(), "/v1/count".into()] {
        answers.push(("/items/1/encrypted_content".to_owned(), app.post(&path, body.clone()).await));
    }
    answers.push(("/items/1/encrypted_content".into(), app.put(&format!("{session}/transcript"), body).await));
    let body = json!({"model": "gpt-5", "input": items});
    answers.push(("/input/1/encrypted_content".into(), app.post(PATH, body).await));
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_and_foreign_handles_are_refused_everywhere() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let compacted = handed_over(app, &turns(0..3)).await;
    let whole = handle(&compacted).to_owned();
    let other = App::fresh(&[]);
    let foreign = handle(&handed_over(&other, &turns(0..3)).await).to_owned();
    let middle = whole.len() / 2;
    let letter = if whole.as_bytes()[middle] == b'A' { "B" } else { "A" };
    let forged = format!("{}{letter}{}", &whole[..middle], &whole[middle + 1..]);
    let cut = whole[..middle].to_owned();
    let unknown = whole.replacen("ctxd1.1.", "ctxd1.99.", 1);
    let later = whole.replacen("ctxd1.", "ctxd7.", 1);
    for (what, text) in
        [("forged", forged), ("cut off", cut), ("foreign", foreign), ("unknown", unknown), ("later", later)]
    {
        let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": text});
        for (pointer, answer) in posted(app, &session, &item).await {
            answer.assert_problem(400, "handle_refused");
            assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{what}: {}", answer.text);
            let detail = answer.body["errors"][0]["detail"].as_str().unwrap();
            assert!(detail.len() > 20 && !detail.contains("ctxd"), "{what}: {detail}");
        }
    }
    assert_eq!(all(app, &format!("{session}/entries")).await.len(), 0, "nothing of it was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_of_openais_own_stays_what_it_is() {
    let app = App::shared();
    let theirs = json!({"type": "compaction", "id": "cmp_theirs", "encrypted_content": "gAAAAABpM0Yj"});
    let session = app.session(json!({"settings": by_hand()})).await;
    for (_, answer) in posted(app, &session, &theirs).await {
        assert!((200..300).contains(&answer.status), "{}", answer.text);
    }
    assert_eq!(context(app, &session, "openai_responses").await["messages"][1], theirs);
    let input: Vec<Value> =
        [json!({"role": "user", "content": "hi"}), theirs.clone()].into_iter().chain(turns(0..6)).collect();
    let compacted = handed_over(app, &input).await;
    assert_eq!(output(&compacted)[1], theirs, "{compacted}");
    let kinds: Vec<&str> = output(&compacted).iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "compaction").count(), 2, "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_sessions_with_one_name_the_older_keeps_the_conversation() {
    let app = App::shared();
    let name = "twins of the drop-in";
    let (older, younger) =
        (app.session(json!({"external_id": name})).await, app.session(json!({"external_id": name})).await);
    let body = json!({"model": "gpt-5", "input": turns(0..6)}).to_string();
    app.send(Method::POST, PATH, &[("contextd-session", name)], body).await.expect(200);
    assert!(!all(app, &format!("{older}/entries")).await.is_empty());
    assert_eq!(all(app, &format!("{younger}/entries")).await, [Value::Null; 0]);
    let read = app.get("/v1/sessions/by-external-id/twins%20of%20the%20drop-in").await.expect(200);
    assert_eq!(read["id"], younger.rsplit('/').next().unwrap(), "which is not what is read by it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_session_keeps_the_conversation_with_its_compactions() {
    let app = App::shared();
    let name = "thread of the drop-in";
    let call = async |input: &[Value]| {
        let body = json!({"model": "gpt-5", "input": input, "instructions": "be brief"}).to_string();
        app.send(Method::POST, PATH, &[("contextd-session", name)], body).await.expect(200)
    };
    let mut input = turns(0..6);
    let compacted = call(&input).await;
    let named = all(app, "/v1/sessions?external_id=thread%20of%20the%20drop-in").await;
    assert_eq!(named.len(), 1);
    assert_eq!((&named[0]["system"], &named[0]["model"]), (&json!("be brief"), &json!("gpt-5")));
    let session = format!("/v1/sessions/{}", named[0]["id"].as_str().unwrap());
    let items = async || all(app, &format!("{session}/entries")).await.into_iter().map(|entry| entry["item"].clone());
    let stored: Vec<Value> = items().await.collect();
    input.push(output(&compacted).last().unwrap().clone());
    assert_eq!(stored, input, "all that came, and the compaction");
    let next: Vec<Value> = output(&compacted).iter().cloned().chain(turns(6..9)).collect();
    let again = call(&next).await;
    assert_eq!(all(app, "/v1/sessions?external_id=thread%20of%20the%20drop-in").await.len(), 1);
    input.extend(turns(6..9));
    input.push(output(&again).last().unwrap().clone());
    assert_eq!(items().await.collect::<Vec<_>>(), input, "what came back was known again");
    let shown = context(app, &session, "anthropic").await;
    let text = shown["messages"].to_string();
    assert!((0..9).all(|n| text.contains(&fact(n)) && text.contains(&asked(n))), "{text}");
}

/// No message says what stands in a caller's notes, so a handle that comes behind them carries them on.
#[tokio::test(flavor = "multi_thread")]
async fn a_callers_notes_outlive_a_handle() {
    const NOTES: &str = "Port 8080 was agreed on with the operators.";
    let app = App::shared();
    let name = "notes before the drop-in";
    let session = app.session(json!({"external_id": name, "settings": by_hand()})).await;
    app.append(&session, "openai_responses", json!(turns(0..6))).await;
    assert_eq!(compact(app, &session, json!({"summary": NOTES})).await["status"], "succeeded");
    let input = turns(0..9);
    let body = json!({"model": "gpt-5", "input": input}).to_string();
    let compacted = app.send(Method::POST, PATH, &[("contextd-session", name)], body).await.expect(200);
    assert_eq!(opened(app, &compacted).await.matches(NOTES).count(), 1, "it seals them");
    let shown = async || context(app, &session, "openai_chat").await["messages"].to_string();
    assert_eq!(shown().await.matches(NOTES).count(), 1);
    app.append(&session, "openai_responses", json!(turns(9..20))).await;
    assert_eq!(compact(app, &session, json!({"strategy": "summarize"})).await["status"], "succeeded");
    assert_eq!(shown().await.matches(NOTES).count(), 1, "{}", shown().await);

    // From handle to handle, without a session.
    let mut input = output(&compacted).clone();
    for round in 0..3 {
        input.extend(turns(20 + 6 * round..26 + 6 * round));
        let compacted = handed_over(app, &input).await;
        let told = opened(app, &compacted).await;
        assert_eq!(told.matches(NOTES).count(), 1, "{round}: {told}");
        input = output(&compacted).clone();
    }

    // One that somebody sealed who did not know them.
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_responses", json!(turns(0..6))).await;
    assert_eq!(compact(app, &session, json!({"summary": NOTES})).await["status"], "succeeded");
    let foreign = output(&handed_over(app, &turns(0..6)).await).last().unwrap().clone();
    app.append(&session, "openai_responses", json!([foreign])).await;
    app.append(&session, "openai_responses", json!(turns(6..20))).await;
    assert_eq!(compact(app, &session, json!({"strategy": "summarize"})).await["status"], "succeeded");
    let told = context(app, &session, "openai_chat").await["messages"].to_string();
    assert_eq!(told.matches(NOTES).count(), 1, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn first_calls_at_once_make_one_session() {
    let app = App::shared();
    let body = json!({"model": "gpt-5", "input": turns(0..2)}).to_string();
    let headers = [("contextd-session", "at once")];
    let calls = (0..8).map(|_| app.send(Method::POST, PATH, &headers, body.clone()));
    for answer in futures::future::join_all(calls).await {
        answer.expect(200);
    }
    assert_eq!(all(app, "/v1/sessions?external_id=at%20once").await.len(), 1);
}

fn handover(items: Vec<Box<serde_json::value::RawValue>>) -> HandoverRequest {
    HandoverRequest { format: Format::OpenaiResponses, model: None, items, system: None, prompt: None, given: None }
}

#[tokio::test]
async fn a_newer_key_seals_and_older_ones_open_on_every_replica() {
    let stage = Stage::set(json!({})).await;
    let request = handover(raw(turns(0..3)));
    let upstreams = Upstreams::new(vec![], None).unwrap();
    let sealed = async |service: &Service| {
        Stateless::of(service).hand_over(stage.tenant, request.clone(), &upstreams).await.unwrap().handle
    };
    let first = sealed(&stage.service).await;
    let newer = "INSERT INTO sealing_keys (tenant_id, id, secret, created_at) VALUES ($1, 2, $2, now())";
    sqlx::query(newer).bind(stage.tenant.0).bind([7_u8; 32].as_slice()).execute(&stage.pool).await.unwrap();
    let replica = Service::new(stage.pool.clone(), Options::default());
    let second = sealed(&replica).await;
    assert!(first.starts_with("ctxd1.1.") && second.starts_with("ctxd1.2."), "{first} {second}");
    for service in [&stage.service, &replica] {
        for handle in [&first, &second] {
            let item = json!({"type": "compaction", "encrypted_content": handle});
            let append = Append { format: Format::OpenaiResponses, items: raw(vec![item]), ..chat(vec![]) };
            service.append(stage.tenant, stage.session, append).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_handle_opens_for_its_own_tenant_alone_and_nothing_is_stored() {
    let stage = Stage::set(json!({})).await;
    let entries = "SELECT count(*) FROM entries";
    let request = handover(raw(turns(0..6)));
    let stateless = Stateless::of(&stage.service);
    let upstreams = Upstreams::new(vec![], None).unwrap();
    let handed = stateless.hand_over(stage.tenant, request.clone(), &upstreams).await.unwrap();
    let stored: i64 = sqlx::query_scalar(entries).fetch_one(&stage.pool).await.unwrap();
    assert_eq!((handed.kept.len(), stored), (6, 0));
    let item = json!({"type": "compaction", "encrypted_content": handed.handle});
    let append =
        |item: &Value| Append { format: Format::OpenaiResponses, items: raw(vec![item.clone()]), ..chat(vec![]) };
    stage.try_append(append(&item)).await.unwrap();
    let other = Tenant(tenant(&stage.pool).await);
    let new = contextd::service::sessions::NewSession::default();
    let session = stage.service.create_session(other, new).await.unwrap().id;
    for attempt in 0..2 {
        let refused = stage.service.append(other, session, append(&item)).await.unwrap_err();
        let ServiceError::HandleRefused(errors) = refused else { panic!("{attempt}: {refused:?}") };
        assert_eq!(errors[0].pointer, "/items/0/encrypted_content");
        // Now the other tenant has a key of the same number.
        stateless.hand_over(other, request.clone(), &upstreams).await.unwrap();
    }
    let keys: i64 = sqlx::query_scalar("SELECT count(*) FROM sealing_keys").fetch_one(&stage.pool).await.unwrap();
    assert_eq!(keys, 2, "one for each tenant, however often it is used");
}
