//! Usage belongs to the request that it measured, and teaches only what it can.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

/// What a provider with these ways would say of a context.
#[derive(Clone, Copy)]
struct Bill {
    unposted: f64,
    factor: f64,
}

impl Bill {
    async fn of(self, app: &App, context: &Value) -> u64 {
        let body = json!({"format": "openai_chat", "items": context["messages"]});
        let counted = app.post("/v1/count", body).await.expect(200)["tokens"].as_f64().unwrap();
        (self.unposted + self.factor * counted).round() as u64
    }
}

fn words(n: usize, count: usize) -> String {
    (0..count).map(|word| format!("line{n}_{word} ")).collect()
}

async fn succeeded(app: &App, session: &str) -> usize {
    let compactions = all(app, &format!("{session}/compactions")).await;
    compactions.iter().filter(|one| one["status"] == "succeeded").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_measured_before_a_compaction_does_not_start_the_next() {
    let app = App::shared();
    let settings = json!({"context_window": 40_000, "keep_recent_tokens": 1_000, "ahead_at": null});
    let session = filled(app, settings, 42).await;
    let before = snapshot(app, &session).await["tokens"].as_u64().unwrap();
    assert!((20_000..27_000).contains(&before), "{before}");
    let done = compact(app, &session, json!({"strategy": "summarize"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let small = snapshot(app, &session).await["tokens"].as_u64().unwrap();
    let body = json!({"format": "openai_chat", "items": [{"role": "assistant", "content": "Done so far."}],
        "usage": {"prompt_tokens": 33_000, "completion_tokens": 40}});
    let appended = app.post(&format!("{session}/entries"), body).await.expect(201);
    let now = &appended["snapshot"];
    assert!(appended["compaction"].is_null() && now["state"] == "green", "{appended}");
    let expected = small + 33_000 - before;
    assert!(now["tokens"].as_u64().unwrap().abs_diff(expected) < 100, "{expected}: {now}");
    assert_eq!(now["source"], "estimate");
    assert!(now["breakdown"]["unposted"].as_u64().unwrap().abs_diff(33_000 - before) < 100, "{now}");
}

/// How an agent gives what the service hands out to a model that takes its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Entries,
    /// The user speaks while the model is being asked.
    Interrupted,
    Transcript,
}

/// An agent's loop; how many compactions there were, and at which turns.
async fn work(app: &App, manner: Manner, bill: Bill) -> Vec<usize> {
    let settings =
        json!({"context_window": 30_000, "reserve_tokens": 4_000, "keep_recent_tokens": 1_500, "ahead_at": null});
    let session = app.session(json!({"settings": settings})).await;
    let (mut at, mut history) = (Vec::new(), Vec::<Value>::new());
    let mut usage = Value::Null;
    for n in 0..75 {
        history.push(json!({"role": "user", "content": format!("{} {}", asked(n), words(n, 120))}));
        let put = match manner {
            Manner::Transcript => {
                let mut body = json!({"format": "openai_chat", "items": history, "return_context": "openai_chat"});
                if !usage.is_null() {
                    body["usage"] = usage.clone();
                }
                app.put(&format!("{session}/transcript"), body).await.expect(200)
            }
            _ => {
                let body = json!({"format": "openai_chat", "items": [history.last()], "return_context": "openai_chat"});
                app.post(&format!("{session}/entries"), body).await.expect(201)
            }
        };
        let reported = bill.of(app, &put["context"]).await;
        // The model takes long enough for a compaction to land.
        if put["compaction"].is_object() {
            at.push(n);
            ended(app, &put["compaction"]["id"]).await;
        }
        usage = json!({"prompt_tokens": reported, "completion_tokens": (bill.factor * 130.0) as u64});
        history.push(json!({"role": "assistant", "content": words(n + 1_000, 25)}));
        if manner == Manner::Transcript {
            continue;
        }
        if manner == Manner::Interrupted && n % 3 == 0 {
            let more = json!({"role": "user", "content": format!("And mind the budget of step {n}.")});
            let body = json!({"format": "openai_chat", "items": [more], "return_context": "openai_chat"});
            let said = app.post(&format!("{session}/entries"), body).await.expect(201);
            if said["compaction"].is_object() {
                at.push(n);
                ended(app, &said["compaction"]["id"]).await;
            }
        }
        let body = json!({"format": "openai_chat", "items": [history.last()], "usage": usage});
        let answered = app.post(&format!("{session}/entries"), body).await.expect(201);
        if answered["compaction"].is_object() {
            at.push(n);
            ended(app, &answered["compaction"]["id"]).await;
        }
    }
    assert!(succeeded(app, &session).await >= 2, "{at:?}");
    at
}

#[tokio::test(flavor = "multi_thread")]
async fn no_compaction_follows_another_for_usage_that_came_late() {
    let app = App::shared();
    for manner in [Manner::Entries, Manner::Interrupted, Manner::Transcript] {
        for bill in [Bill { unposted: 0.0, factor: 1.0 }, Bill { unposted: 9_000.0, factor: 1.31 }] {
            let at = work(app, manner, bill).await;
            println!("{manner:?} {} {}: {at:?}", bill.unposted, bill.factor);
            assert!(at.len() >= 2, "{manner:?}: too few to tell: {at:?}");
            let close = at.windows(2).find(|pair| pair[1] - pair[0] < 3);
            assert_eq!(close, None, "{manner:?} {}: compactions at turns {at:?}", bill.unposted);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_that_cannot_be_is_not_believed_and_the_answer_says_so() {
    let app = App::shared();
    let settings = json!({"context_window": 60_000, "enabled": false});
    for (reported, in_usage) in [(30, true), (927_907, true), (30, false), (927_907, false)] {
        let session = filled(app, settings.clone(), 25).await;
        let before = snapshot(app, &session).await["tokens"].as_u64().unwrap();
        let (usage, format) = (json!({"input_tokens": reported, "output_tokens": 10}), "anthropic");
        let mut item = json!({"role": "assistant", "content": [{"type": "text", "text": "Noted."}]});
        let mut body = json!({"format": format, "items": []});
        match in_usage {
            true => body["usage"] = usage,
            false => item["usage"] = usage,
        }
        body["items"] = json!([item]);
        let appended = app.post(&format!("{session}/entries"), body).await.expect(201);
        let warning = &appended["warnings"][0];
        let pointer = if in_usage { "/usage" } else { "/items/0" };
        assert_eq!(
            (&warning["code"], &warning["pointer"]),
            (&json!("usage_not_believed"), &json!(pointer)),
            "{appended}"
        );
        let now = &appended["snapshot"];
        assert_eq!((&now["source"], &now["breakdown"]["unposted"]), (&json!("usage_rejected"), &json!(0)));
        assert!(now["tokens"].as_u64().unwrap().abs_diff(before) < 20, "{before}: {now}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_posted_is_in_every_figure() {
    let app = App::shared();
    let settings = json!({"context_window": 120_000, "enabled": false, "keep_recent_tokens": 1_500});
    let session = app.session(json!({"settings": settings})).await;
    let bill = Bill { unposted: 20_000.0, factor: 1.0 };
    for n in 0..4 {
        app.append(&session, "openai_chat", json!(turns(8 * n..8 * n + 8, 120))).await;
        let context = context(app, &session, "openai_chat").await;
        let usage = json!({"prompt_tokens": bill.of(app, &context).await, "completion_tokens": 6});
        let body =
            json!({"format": "openai_chat", "items": [{"role": "assistant", "content": "Noted."}], "usage": usage});
        app.post(&format!("{session}/entries"), body).await.expect(201);
    }
    let before = snapshot(app, &session).await;
    assert!(before["breakdown"]["unposted"].as_u64().unwrap().abs_diff(20_000) < 300, "{before}");
    assert!((before["calibration"].as_f64().unwrap() - 1.0).abs() < 0.02, "{before}");
    let forecast = app.post(&format!("{session}/prepare"), json!({})).await.expect(200);
    let done = compact(app, &session, json!({"strategy": "summarize"})).await;
    let (from, to) = (before["tokens"].as_f64().unwrap(), snapshot(app, &session).await["tokens"].as_f64().unwrap());
    assert!(to > 20_000.0, "what was never posted is still there: {to}");
    let saved = done["result"]["savings_pct"].as_f64().unwrap();
    assert!((saved - (from - to) / from * 100.0).abs() < 0.1, "{saved} of {from} -> {to}");
    let foreseen = forecast["preparation"]["estimate"]["savings_pct"].as_f64().unwrap();
    assert!((foreseen - saved).abs() < 6.0, "{foreseen} foreseen, {saved} saved");
    let after = snapshot(app, &session).await;
    let counted = app
        .post(
            "/v1/count",
            json!({"format": "openai_chat", "items": context(app, &session, "openai_chat").await["messages"]}),
        )
        .await
        .expect(200)["tokens"]
        .as_f64()
        .unwrap();
    let posted = (to - after["breakdown"]["unposted"].as_f64().unwrap()) / after["calibration"].as_f64().unwrap();
    assert!((posted - counted).abs() / counted < 0.05, "{posted} by the account, {counted} counted");
    let parts = app.get(&format!("{session}/composition")).await.expect(200);
    let unposted = parts["categories"].as_array().unwrap().iter().find(|part| part["category"] == "unposted").unwrap();
    assert_eq!(unposted["tokens"], after["breakdown"]["unposted"]);
    let line = app.get(&format!("{session}/timeline")).await.expect(200);
    let last = line["points"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["tokens"], &last["breakdown"]), (&after["tokens"], &after["breakdown"]));
}

/// An agent with tools whose system prompt and tools, never posted, take much of a small window: every compaction has to gain
/// more than a turn, and one and a half on the average, though a turn is a quarter of all that the conversation can have.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_never_posted_leaves_room_for_more_than_a_turn() {
    let app = App::shared();
    for (window, unposted) in [(16_000, 5_000.0), (16_000, 2_500.0), (32_000, 16_000.0)] {
        let bill = Bill { unposted, factor: 1.0 };
        let session = app.session(json!({"settings": {"context_window": window}})).await;
        let post = async |items: Value, usage: Value| {
            let mut body = json!({"format": "openai_chat", "items": items});
            if !usage.is_null() {
                body["usage"] = usage;
            }
            let appended = app.post(&format!("{session}/entries"), body).await.expect(201);
            // The agent's model takes long enough for what is made or prepared in the background.
            settled(app, &session).await;
            appended["snapshot"]["tokens"].as_u64().unwrap()
        };
        let mut first = 0;
        for n in 0..24 {
            let before = snapshot(app, &session).await["tokens"].as_u64().unwrap();
            post(json!([{"role": "user", "content": format!("{} {}", asked(n), words(n, 12))}]), Value::Null).await;
            for step in 0..2 {
                let id = format!("c{n}_{step}");
                let usage = bill.of(app, &context(app, &session, "openai_chat").await).await;
                let called = json!({"role": "assistant", "content": format!("I look at part {step} of step {n}."),
                    "tool_calls": [{"id": id, "type": "function", "function":
                        {"name": "read_file", "arguments": json!({"file_path": format!("src/m{n}_{step}.rs")}).to_string()}}]});
                post(json!([called]), json!({"prompt_tokens": usage, "completion_tokens": 40})).await;
                post(json!([{"role": "tool", "tool_call_id": id, "content": words(2 * n + step, 100)}]), Value::Null)
                    .await;
            }
            let usage = bill.of(app, &context(app, &session, "openai_chat").await).await;
            let said =
                json!({"role": "assistant", "content": format!("Step {n} is looked at. {}", words(n + 900, 25))});
            let now = post(json!([said]), json!({"prompt_tokens": usage, "completion_tokens": 120})).await;
            if n == 1 {
                first = now - before;
            }
        }
        assert!(first > 900, "a turn of {first} tokens");
        let mut landed = all(app, &format!("{session}/compactions")).await;
        landed.retain(|one| one["status"] == "succeeded");
        landed.sort_by_key(|one| one["finished_at"].as_str().unwrap().to_owned());
        let size = |one: &Value, field: &str| one["result"][field].as_u64().unwrap();
        let gaps: Vec<u64> = landed
            .windows(2)
            .map(|pair| size(&pair[1], "tokens_before").saturating_sub(size(&pair[0], "tokens_after")))
            .collect();
        println!("{window}, {unposted}: a turn of {first}, {gaps:?} between compactions");
        assert!(gaps.len() >= 3, "too few to tell: {gaps:?}");
        assert!(gaps.iter().all(|gap| *gap > first), "a turn of {first}, between compactions {gaps:?}");
        let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
        assert!(mean * 2 >= first * 3, "a turn of {first}, between compactions {gaps:?}");
    }
}
