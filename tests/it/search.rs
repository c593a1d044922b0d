//! Search over HTTP: every entry, compacted or not, on any branch.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::compact;

fn said(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// `(seq, snippet)` of every hit, best first.
async fn find(app: &App, session: &str, query: &str) -> Vec<(i64, String)> {
    let found = app.get(&format!("{session}/search?q={}", encode(query))).await.expect(200);
    let items = found["items"].as_array().unwrap();
    items.iter().map(|hit| (hit["seq"].as_i64().unwrap(), hit["snippet"].as_str().unwrap().to_owned())).collect()
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn seqs(found: &[(i64, String)]) -> Vec<i64> {
    found.iter().map(|(seq, _)| *seq).collect()
}

#[tokio::test]
async fn everything_ever_said_is_found_also_after_a_compaction_and_on_other_branches() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"keep_recent_tokens": 1, "anchor_first_user": false}})).await;
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_x", "type": "function",
        "function": {"name": "bash", "arguments": "{\"cmd\":\"cat src/a.rs\\nfoo_bar\"}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "call_x", "content": "error[E0502]: cannot borrow `连接超时` \u{0} twice"});
    let items = json!([said(&format!("Please fix the Zebra crossing. {}", "It is old and worn. ".repeat(60))), call, result, said("next"), {"role": "assistant", "content": "Done."}]);
    let appended = app.append(&session, "openai_chat", items).await;
    let first = appended["entries"][0]["id"].clone();
    let summary = "The quagga summary of all that was done here before, in as few words as can be.";
    compact(app, &session, json!({"summary": summary, "force": true})).await;
    app.post(
        &format!("{session}/entries"),
        json!({"format": "openai_chat", "items": [said("an okapi aside")], "parent_id": first}),
    )
    .await
    .expect(201);

    for (query, expected) in [
        ("zebra", vec![0]),
        ("src/a.rs", vec![1]),
        ("foo_bar", vec![1]),
        ("E0502", vec![2]),
        ("超时", vec![2]),
        ("call_x", vec![2, 1]),
        ("\"cannot borrow\"", vec![2]),
        ("okapi", vec![6]),
        ("quagga", vec![5]),
        ("function", vec![]),
        ("zebra okapi", vec![6, 0]),
    ] {
        let mut found = seqs(&find(app, &session, query).await);
        let mut expected = expected;
        // The summary repeats some of it.
        found.retain(|seq| *seq != 5 || query == "quagga");
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
    let found = find(app, &session, "cannot BORROW").await;
    assert!(found[0].1.contains("error[E0502]: <mark>cannot borrow</mark> `连接超时` twice"), "{found:?}");
    let any = app.get(&format!("{session}/search?q=zebra+okapi")).await.expect(200);
    assert_eq!(any["matched"], "any");
    // The summary message carries the request too, word for word.
    let hits = app.get(&format!("{session}/search?q=zebra")).await.expect(200)["items"].clone();
    let hit = hits.as_array().unwrap().iter().find(|hit| hit["type"] == "message").unwrap();
    assert_eq!((&hit["entry_id"], &hit["role"], &hit["type"]), (&first, &json!("user"), &json!("message")));
    assert!(hit["rank"].as_f64().unwrap() > 0.5);
}

#[tokio::test]
async fn a_fork_finds_the_history_that_it_shares_and_no_more() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let appended = app.append(&session, "openai_chat", json!([said("one tapir"), said("two tapirs")])).await;
    let fork =
        app.post(&format!("{session}/fork"), json!({"entry_id": appended["entries"][0]["id"]})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    app.append(&fork, "openai_chat", json!([said("a tapir of the fork")])).await;
    let texts: Vec<String> = find(app, &fork, "tapir").await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("two")), "{texts:?}");
    assert_eq!(find(app, &session, "tapir").await.len(), 2);
}

#[tokio::test]
async fn pages_follow_one_another_while_the_session_grows() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let items: Vec<Value> = (0..25).map(|n| said(&format!("gnu {}", "and more ".repeat(n % 5)))).collect();
    app.append(&session, "openai_chat", json!(items)).await;
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = app.get(&format!("{session}/search?q=gnu&limit=10{after}")).await.expect(200);
        seen.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|hit| (-hit["rank"].as_f64().unwrap(), -hit["seq"].as_i64().unwrap())),
        );
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        after = format!("&after={cursor}");
        app.append(&session, "openai_chat", json!([said("gnu")])).await;
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted(), "{seen:?}");
}

#[tokio::test]
async fn large_and_odd_items_are_stored_and_searched() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    let data = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo".repeat(15_000);
    let image = json!({"role": "user", "content": [{"type": "text", "text": "a picture of an aardvark"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}]});
    let many: String = (0..120_000).map(|n| format!("w{n} ")).collect();
    app.append(&session, "openai_chat", json!([image, said(&data), said(&many)])).await;
    let odd = r#"{"format":"openai_chat","items":[{"role":"user","content":"lone \ud800 \u0000 \u4e2d\u6587 bison"}]}"#;
    assert_eq!(app.send(reqwest::Method::POST, &format!("{session}/entries"), &[], odd).await.status, 201);
    assert_eq!(seqs(&find(app, &session, "aardvark").await), [0]);
    assert_eq!(seqs(&find(app, &session, "w119999").await), [2]);
    assert_eq!(seqs(&find(app, &session, "中文").await), [3]);
    assert_eq!(find(app, &session, "bison").await[0].1, "lone \u{fffd} 中文 <mark>bison</mark>");
    assert_eq!(find(app, &session, "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo").await, []);
}

#[tokio::test]
async fn bad_queries_are_refused_and_foreign_sessions_not_found() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let long = "x".repeat(1_001);
    for query in [
        "",
        "?q=",
        "?q=%20",
        "?q=%00",
        "?q=%22%22",
        &format!("?q={long}"),
        "?q=a&limit=0",
        "?q=a&limit=x",
        "?q=a&after=x",
        "?q=a&p=1",
    ] {
        app.get(&format!("{session}/search{query}")).await.assert_problem(422, "validation_failed");
    }
    let nothing = app.get(&format!("{session}/search?q=a")).await.expect(200);
    assert_eq!(nothing, json!({"items": [], "next_cursor": null, "matched": "all"}));
    let nobody = uuid::Uuid::from_u128(7);
    app.get(&format!("/v1/sessions/{nobody}/search?q=a")).await.assert_problem(404, "not_found");
}
