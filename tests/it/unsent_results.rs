//! Results without calls, early ones and doubled ones: the snapshot is that of the context that is handed out.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

const FORMATS: [&str; 4] = ["openai_chat", "openai_responses", "anthropic", "gemini"];

fn said(format: &str, role: &str, text: &str) -> Value {
    match (format, role) {
        ("gemini", "user") => json!({"role": "user", "parts": [{"text": text}]}),
        ("gemini", _) => json!({"role": "model", "parts": [{"text": text}]}),
        _ => json!({"role": role, "content": text}),
    }
}

fn call(format: &str, id: &str) -> Value {
    match format {
        "openai_chat" => json!({"role": "assistant", "content": null,
            "tool_calls": [{"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}]}),
        "openai_responses" => json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"}),
        "anthropic" => json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "read", "input": {}}]}),
        _ => json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": "read", "args": {}}}]}),
    }
}

fn result(format: &str, id: &str, words: usize) -> Value {
    let text = "word ".repeat(words);
    match format {
        "openai_chat" => json!({"role": "tool", "tool_call_id": id, "content": text}),
        "openai_responses" => json!({"type": "function_call_output", "call_id": id, "output": text}),
        "anthropic" => json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text}]}),
        _ => json!({"role": "user", "parts": [
            {"functionResponse": {"id": id, "name": "read", "response": {"output": text}}}]}),
    }
}

fn settings() -> Value {
    json!({"settings": {"context_window": 10_000, "reserve_tokens": 1_000}})
}

/// The snapshot and what is handed out agree, as the service tells it and as it is counted anew.
async fn agreed(app: &App, session: &str, format: &str, told: &str) -> u64 {
    measured(app, session, format, told).await.0
}

/// The same, and what is counted anew.
async fn measured(app: &App, session: &str, format: &str, told: &str) -> (u64, u64) {
    let shown = snapshot(app, session).await;
    let handed = context(app, session, format).await;
    let tokens = shown["tokens"].as_u64().unwrap();
    let said = handed["tokens"].as_u64().unwrap();
    assert!(tokens.abs_diff(said) <= said / 50 + 12, "{format}, {told}: {tokens} and {said}");
    let unposted = shown["breakdown"]["unposted"].as_u64().unwrap();
    let own = (tokens - unposted) as f64 / shown["calibration"].as_f64().unwrap();
    let body = json!({"format": format, "items": handed["messages"]});
    let counted = app.post("/v1/count", body).await.expect(200)["tokens"].as_u64().unwrap();
    let count = counted as f64;
    assert!((own - count).abs() <= count / 20.0 + 40.0, "{format}, {told}: {own} and {count}");
    (tokens, counted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_whose_call_never_comes_fills_nothing() {
    let app = App::shared();
    for format in FORMATS {
        let items = json!([said(format, "user", "go"), result(format, "c1", 8_500), said(format, "assistant", "hi")]);
        for way in ["at once", "one by one", "transcript"] {
            let session = app.session(settings()).await;
            match way {
                "at once" => drop(app.append(&session, format, items.clone()).await),
                "one by one" => {
                    for item in items.as_array().unwrap() {
                        let appended = app.append(&session, format, json!([item])).await;
                        assert_eq!(appended["compaction"], json!(null), "{appended}");
                    }
                }
                _ => {
                    let body = json!({"format": format, "items": items});
                    let put = app.put(&format!("{session}/transcript"), body).await.expect(200);
                    assert_eq!(put["compaction"], json!(null), "{put}");
                }
            }
            let told = format!("{way}, {format}");
            assert!(agreed(app, &session, format, &told).await < 60, "{told}");
            assert_eq!(snapshot(app, &session).await["state"], "green", "{told}");
            let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
            let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
            assert!(agreed(app, &fork, format, &format!("{told}, forked")).await < 60, "{told}");
            // Its call comes after all: now it counts.
            let late = app.append(&session, format, json!([call(format, "c1")])).await;
            assert!(late["snapshot"]["tokens"].as_u64().unwrap() > 8_500, "{told}: {late}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubled_result_counts_once() {
    let app = App::shared();
    for format in ["openai_chat", "anthropic"] {
        let session = app.session(json!({"settings": by_hand()})).await;
        let items = json!([said(format, "user", "go"), call(format, "c1"), result(format, "c1", 3_000)]);
        app.append(&session, format, items).await;
        let once = agreed(app, &session, format, "once").await;
        app.append(&session, format, json!([result(format, "c1", 3_000)])).await;
        assert_eq!(agreed(app, &session, format, "twice").await, once);
    }
    // A compaction takes nothing away twice, wherever the doubled one stands.
    let format = "openai_chat";
    for behind in [false, true] {
        let session = app.session(json!({"settings": by_hand()})).await;
        let double = json!([
            said(format, "user", "go"),
            call(format, "c1"),
            result(format, "c1", 900),
            result(format, "c1", 900),
            said(format, "assistant", "Read.")
        ]);
        if !behind {
            app.append(&session, format, double.clone()).await;
        }
        app.append(&session, format, json!(turns(0..12, 300))).await;
        if behind {
            app.append(&session, format, double).await;
        }
        agreed(app, &session, format, "not compacted").await;
        let done = compact(app, &session, json!({"force": true, "strategy": "summarize"})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        agreed(app, &session, format, &format!("compacted, behind: {behind}")).await;
        app.append(&session, format, json!(turns(12..14, 300))).await;
        agreed(app, &session, format, &format!("and on, behind: {behind}")).await;
    }
}

/// Calls, results and words in any order, in appends of any size: kept running, worked out at another place and back, and
/// told by usage, it is what is handed out.
#[tokio::test(flavor = "multi_thread")]
async fn in_any_order_the_snapshot_is_that_of_the_context() {
    let app = App::shared();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut any = move |of: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % of
    };
    for round in 0..16 {
        let format = FORMATS[round % 4];
        let session = app.session(json!({"settings": {"enabled": false}})).await;
        let (mut told, mut leaves, mut called) = (String::new(), Vec::new(), 0);
        for _ in 0..6 {
            let mut items = Vec::new();
            for _ in 0..=any(4) {
                let (item, word) = match any(6) {
                    0 => (said(format, "user", "and more words of mine"), "user".to_owned()),
                    1 => (said(format, "assistant", "so it is"), "answer".to_owned()),
                    2 => {
                        called += 1;
                        (call(format, &format!("c{called}")), format!("call {called}"))
                    }
                    _ => {
                        let (id, words) = (1 + any(called + 3), 60 + usize::try_from(any(400)).unwrap());
                        (result(format, &format!("c{id}"), words), format!("result {id} {words}"))
                    }
                };
                items.push(item);
                told.push_str(&format!("{word} "));
            }
            told.push_str("| ");
            let appended = app.append(&session, format, json!(items)).await;
            let tokens = snapshot(app, &session).await["tokens"].as_u64().unwrap();
            let handed = context(app, &session, format).await["tokens"].as_u64().unwrap();
            assert!(tokens.abs_diff(handed) <= handed / 50 + 12, "{format} {round}: {told}: {tokens} {handed}");
            leaves.push((appended["leaf_id"].clone(), tokens));
        }
        for (leaf, tokens) in leaves.iter().rev() {
            let target = json!({"target_id": leaf, "summarize": false});
            app.post(&format!("{session}/navigate"), target).await.expect(200);
            let there = snapshot(app, &session).await["tokens"].as_u64().unwrap();
            let handed = context(app, &session, format).await["tokens"].as_u64().unwrap();
            assert!(there.abs_diff(handed) <= handed / 50 + 12, "{format} {round}: {told}: {there} {handed}");
            // Who goes to a message of the user's stands before it, where a call may still wait for what stood in for its
            // result.
            assert!(tokens.abs_diff(there) <= 12 + 31, "{format} {round}: {told}: {tokens} {there}");
        }
    }
}

/// A call whose result was never posted gets one that says so in every context, and so it fills what that fills.
#[tokio::test(flavor = "multi_thread")]
async fn what_stands_in_for_a_result_is_counted() {
    let app = App::shared();
    for format in FORMATS {
        let session = app.session(json!({"settings": {"enabled": false}})).await;
        let mut items = Vec::new();
        for n in 0..12 {
            items.push(said(format, "user", "go on"));
            items.push(call(format, &format!("c{n}")));
        }
        items.push(said(format, "user", "and now?"));
        let body = json!({"format": format, "items": items});
        app.put(&format!("{session}/transcript"), body).await.expect(200);
        let told = |way: &str| format!("{format}, {way}");
        let all = exact(app, &session, format, &told("posted")).await;
        // One of them comes after all: what it brings is in the place of what stood for it.
        app.append(&session, format, json!([result(format, "c3", 400)])).await;
        let more = exact(app, &session, format, &told("answered late")).await;
        assert!((all + 350..all + 420).contains(&more), "{format}: {all} and {more}");
        let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
        let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
        assert_eq!(exact(app, &fork, format, &told("forked")).await, more);
    }
}

/// A transcript that is posted whole is all that there is: no result of a call at its end is on its way.
#[tokio::test(flavor = "multi_thread")]
async fn a_transcript_whose_newest_result_was_taken_out_is_counted_as_it_is_shown() {
    let app = App::shared();
    for format in FORMATS {
        let session = app.session(json!({"settings": {"enabled": false}})).await;
        let both = |n: u32| [call(format, &format!("c{n}")), result(format, &format!("c{n}"), 40)];
        let mut items = vec![said(format, "user", "go")];
        items.extend(both(1));
        let mut told = Vec::new();
        for way in ["whole", "without its result", "and on", "answered"] {
            match way {
                "without its result" => drop(items.pop()),
                "and on" => items.extend(both(2)),
                "answered" => items.extend([said(format, "assistant", "Read."), said(format, "user", "and?")]),
                _ => (),
            }
            let body = json!({"format": format, "items": items});
            app.put(&format!("{session}/transcript"), body).await.expect(200);
            told.push(exact(app, &session, format, &format!("{format}, {way}")).await);
        }
        assert!(told.is_sorted_by(|a, b| *a < *b + 25), "{told:?}");
    }
}

/// A result without an id is given to an open call of its tool. Where that stands before a compaction, no context has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_of_a_call_that_a_compaction_covers_fills_nothing() {
    let app = App::shared();
    let format = "gemini";
    let without_id = |mut item: Value| {
        let part = item["parts"][0].as_object_mut().unwrap();
        part.values_mut().for_each(|part| drop(part.as_object_mut().unwrap().remove("id")));
        item
    };
    let session = app.session(json!({"settings": by_hand()})).await;
    let turns = |turns: std::ops::Range<u32>| {
        let words = "word ".repeat(200);
        let turn = move |n| [said("gemini", "user", &format!("{n}: {words}")), said("gemini", "assistant", "Done.")];
        turns.flat_map(turn).collect::<Vec<Value>>()
    };
    app.append(&session, format, json!([said(format, "user", "go"), without_id(call(format, "c1"))])).await;
    app.append(&session, format, json!(turns(0..12))).await;
    let done = compact(app, &session, json!({"force": true, "strategy": "summarize"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let before = exact(app, &session, format, "compacted").await;
    app.append(&session, format, json!([without_id(result(format, "c1", 900))])).await;
    app.append(&session, format, json!(turns(12..13))).await;
    let after = exact(app, &session, format, "a result of a call that is covered").await;
    assert!(after < before + 260, "{before} and {after}");
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    assert_eq!(exact(app, &fork, format, "forked").await, after);
}

/// The snapshot, what is handed out by its own word and what is counted anew are one figure, within what counting each
/// message alone is off by. Gives it.
async fn exact(app: &App, session: &str, format: &str, told: &str) -> u64 {
    let (tokens, count) = measured(app, session, format, told).await;
    assert!(tokens.abs_diff(count) <= count / 25 + 14, "{format}, {told}: {tokens} and {count}");
    tokens
}
