//! Items under the name of another format: refused with their place and the name that fits, or taken for what they say.
//! Whatever is accepted, every context that comes of it passes the service's own lint.

mod conversions;
mod seeds;

use serde_json::{Value, json};

use crate::app::App;
use crate::corpus::recordings;
use crate::drill_support::*;
pub use seeds::Dice;
use seeds::{mutated, seeds};

const NAMES: [&str; 6] = ["native", "openai_chat", "openai_responses", "anthropic", "gemini", "pi"];

/// Posts one item to a new session; the status, the pointers and the first detail.
async fn refusal(app: &App, format: &str, item: &Value) -> (u16, String, String) {
    let session = app.session(json!({})).await;
    let answer = app.post(&format!("{session}/entries"), json!({"format": format, "items": [item]})).await;
    let first = &answer.body["errors"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (answer.status, text(&first["pointer"]), text(&first["detail"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_another_format_is_refused_where_it_shows() {
    let app = App::shared();
    let tool_use = json!({"type": "tool_use", "id": "a", "name": "read", "input": {"path": "a"}});
    let tool_result = json!({"type": "tool_result", "tool_use_id": "a", "content": "x"});
    let calls = json!([{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]);
    let chat_calls = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let pi_call = json!({"type": "toolCall", "id": "a", "name": "read", "arguments": {}});
    let pi = |message: Value| json!({"type": "message", "id": "1", "parentId": null, "message": message});
    let anthropic =
        |role: &str, block: &Value| json!({"role": role, "content": [{"type": "text", "text": "a"}, block]});
    let cases: Vec<(&str, Value, &str, &str)> = vec![
        ("openai_chat", anthropic("assistant", &tool_use), "/items/0/content/1", "anthropic"),
        ("openai_chat", anthropic("user", &tool_result), "/items/0/content/1", "anthropic"),
        ("openai_chat", json!({"role": "usr", "content": "hi"}), "/items/0/role", ""),
        ("openai_chat", json!({"role": "toolResult", "toolCallId": "a", "content": []}), "/items/0/role", "pi"),
        (
            "openai_chat",
            json!({"role": "user", "content": [{"type": "input_text", "text": "a"}]}),
            "/items/0/content/0",
            "openai_responses",
        ),
        (
            "openai_chat",
            json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}),
            "/items/0/role",
            "openai_responses",
        ),
        ("openai_chat", pi(json!({"role": "user", "content": "a"})), "/items/0/role", "pi"),
        ("openai_chat", json!({"role": "user", "content": "a", "tool_calls": calls}), "/items/0/tool_calls", ""),
        ("anthropic", chat_calls.clone(), "/items/0/tool_calls", "openai_chat"),
        ("anthropic", json!({"role": "tool", "tool_call_id": "a", "content": "x"}), "/items/0/role", "openai_chat"),
        ("anthropic", json!({"role": "usr", "content": "x"}), "/items/0/role", ""),
        (
            "anthropic",
            anthropic("user", &json!({"type": "image_url", "image_url": {"url": "https://a.example/b.png"}})),
            "/items/0/content/1",
            "openai_chat",
        ),
        ("anthropic", anthropic("assistant", &pi_call), "/items/0/content/1", "pi"),
        (
            "anthropic",
            json!({"type": "user", "uuid": "1", "parentUuid": null, "message": {"role": "user", "content": "a"}}),
            "/items/0/role",
            "a line of a Claude Code file",
        ),
        ("openai_responses", chat_calls.clone(), "/items/0/tool_calls", "openai_chat"),
        ("openai_responses", anthropic("assistant", &tool_use), "/items/0/content/1", "anthropic"),
        (
            "openai_responses",
            json!({"role": "tool", "tool_call_id": "a", "content": "x"}),
            "/items/0/role",
            "openai_chat",
        ),
        (
            "openai_responses",
            json!({"type": "compaction", "id": "1", "parentId": "2", "timestamp": "t", "summary": "s", "firstKeptEntryId": "3", "tokensBefore": 5}),
            "/items/0/type",
            "pi",
        ),
        (
            "openai_responses",
            json!({"type": "response_item", "payload": {"type": "message"}}),
            "/items/0/type",
            "a line of a Codex file",
        ),
        ("native", chat_calls.clone(), "/items/0/tool_calls", "openai_chat"),
        ("native", anthropic("user", &tool_result), "/items/0/content/1", "anthropic"),
        ("native", anthropic("assistant", &tool_use), "/items/0/content/1", "anthropic"),
        ("native", anthropic("assistant", &pi_call), "/items/0/content/1", "pi"),
        ("pi", chat_calls.clone(), "/items/0/type", "openai_chat"),
        (
            "pi",
            json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}),
            "/items/0/type",
            "openai_responses",
        ),
        ("pi", pi(anthropic("assistant", &tool_use)), "/items/0/message/content/1", "anthropic"),
        (
            "pi",
            pi(json!({"role": "assistant", "content": null, "tool_calls": calls})),
            "/items/0/message/tool_calls",
            "openai_chat",
        ),
        (
            "pi",
            pi(json!({"role": "tool", "tool_call_id": "a", "content": "x"})),
            "/items/0/message/role",
            "openai_chat",
        ),
    ];
    let mut wrong = Vec::new();
    for (format, item, pointer, looks_like) in cases {
        let (status, at, detail) = refusal(app, format, &item).await;
        let named = looks_like.is_empty() || detail.contains(&format!("looks like {looks_like}"));
        if status != 422 || at != pointer || !named {
            wrong.push(format!("{format} {item}: {status} {at:?} {detail:?}"));
        }
        let counted = app.post("/v1/count", json!({"format": format, "items": [item]})).await;
        if counted.status != 422 {
            wrong.push(format!("counted: {format} {item}: {}", counted.text));
        }
        let put = app
            .put(&format!("{}/transcript", app.session(json!({})).await), json!({"format": format, "items": [item]}))
            .await;
        if put.status != 422 {
            wrong.push(format!("put: {format} {item}: {}", put.text));
        }
    }
    assert!(wrong.is_empty(), "{} of the cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knows_is_kept_as_it_came() {
    let app = App::shared();
    let odd = json!({"type": "hologram", "beam": [1, 2], "text": "x"});
    let items = [
        ("openai_chat", json!({"role": "user", "content": [odd], "planet": "mars", "tool_calls": null})),
        (
            "openai_chat",
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}]}),
        ),
        ("anthropic", json!({"role": "user", "content": [odd, {"type": "text", "text": "a", "planet": "mars"}]})),
        ("openai_responses", json!({"type": "hologram", "beam": [1, 2]})),
        ("openai_responses", json!({"type": "tool_call", "function": "f", "arguments": {}})),
        ("native", json!({"role": "user", "content": [odd], "planet": "mars"})),
        ("pi", json!({"type": "hologram", "id": "1", "parentId": null, "beam": 1})),
        ("pi", json!({"type": "message", "id": "1", "parentId": null, "message": {"role": "artifact", "content": []}})),
    ];
    for (format, item) in items {
        let session = app.session(json!({})).await;
        let answer = app.append(&session, format, json!([item])).await;
        let stored = all(app, &format!("{session}/entries")).await;
        assert_eq!(stored.last().unwrap()["item"], item, "{answer}");
        let context = context(app, &session, format).await;
        let linted = app.post("/v1/lint", json!({"format": format, "items": messages(&context)})).await.expect(200);
        assert_eq!(linted["valid"], true, "{format} {item}: {linted}");
    }
}

/// Calls of any format in an item, found by their form alone.
fn calls_in(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(calls_in).sum(),
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
            let is_call = matches!(kind, "tool_use" | "toolCall" | "function_call" | "custom_tool_call")
                || (kind == "tool_call" && fields.contains_key("name"))
                || (kind == "function" && fields.contains_key("function"));
            let inner: usize =
                ["content", "tool_calls", "message"].iter().filter_map(|key| fields.get(*key)).map(calls_in).sum();
            usize::from(is_call) + inner
        }
        _ => 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_under_any_name_is_handed_out_valid() {
    let app = App::shared();
    let cases: u64 = std::env::var("CONTEXTD_MIXED_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let mut pool = seeds();
    for recording in recordings().iter().step_by(3) {
        pool.extend(recording.items.iter().take(6).map(|item| (recording.format, item.clone())));
    }
    let (mut accepted, mut refused, mut faults) = (0, 0, Vec::new());
    for case in 0..cases {
        let mut dice = Dice::new(case);
        let session = app.session(json!({"settings": {"enabled": false}})).await;
        let (mut posted, mut calls) = (Vec::new(), 0);
        for _ in 0..2 + dice.below(7) {
            let (own, item) = pool[dice.below(pool.len())].clone();
            let whole = dice.below(3) > 0;
            let item = if whole { item } else { mutated(item, &pool, &mut dice) };
            let name = if dice.below(4) == 0 { own } else { NAMES[dice.below(NAMES.len())] };
            let answer = app.post(&format!("{session}/entries"), json!({"format": name, "items": [item]})).await;
            match answer.status {
                201 => {
                    accepted += 1;
                    calls += if whole { calls_in(&item) } else { 0 };
                    posted.push(format!("{own} as {name}: {item}"));
                }
                422 => refused += 1,
                _ => faults.push(format!("case {case}: {} for {item} as {name}", answer.text)),
            }
        }
        let known = all(app, &format!("{session}/tool-calls")).await.len();
        if known < calls {
            faults.push(format!("case {case}: {known} of {calls} calls in the ledger\n    {}", posted.join("\n    ")));
        }
        for format in NAMES {
            let context = context(app, &session, format).await;
            let linted = app.post("/v1/lint", json!({"format": format, "items": messages(&context)})).await.expect(200);
            if linted["valid"] != true {
                let (found, sent) = (&linted["violations"], &context["messages"]);
                faults.push(format!("case {case}, {format}: {found}\n  {sent}\n    {}", posted.join("\n    ")));
            }
        }
    }
    println!("{cases} sessions of mixed-up formats: {accepted} items accepted, {refused} refused");
    faults.iter().take(12).for_each(|fault| println!("{}", fault.chars().take(3_000).collect::<String>()));
    assert!(faults.is_empty(), "{} faults", faults.len());
}
