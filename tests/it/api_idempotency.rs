//! A request sent twice acts once, whatever happens in between.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Answer, App};

async fn keyed(app: &App, key: &str, path: &str, body: &Value) -> Answer {
    app.send(Method::POST, path, &[("idempotency-key", key)], body.to_string()).await
}

fn turn(text: &str) -> Value {
    json!({"format": "native", "items": [{"role": "user", "content": [{"type": "text", "text": text}]}]})
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotency-replayed") == Some("true")
}

#[tokio::test]
async fn the_first_answer_is_replayed() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let path = format!("{session}/entries");
    let key = format!("replay-{session}");
    let first = keyed(app, &key, &path, &turn("one")).await;
    let again = keyed(app, &key, &path, &turn("one")).await;
    assert!(!is_replay(&first) && is_replay(&again));
    assert_eq!((first.status, &first.text), (again.status, &again.text));
    assert_eq!(again.status, 201);
    assert_eq!(app.get(&session).await.expect(200)["entry_count"], json!(1));

    keyed(app, &key, &path, &turn("two")).await.assert_problem(422, "idempotency_key_reused");
    keyed(app, &key, "/v1/sessions", &json!({})).await.assert_problem(422, "idempotency_key_reused");
    assert_eq!(app.get(&session).await.expect(200)["entry_count"], json!(1));
}

#[tokio::test]
async fn a_refusal_is_replayed_and_an_answer_with_context_too() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let path = format!("{session}/entries");
    let bad = json!({"format": "native", "items": [7]});
    for replay in [false, true] {
        let answer = keyed(app, &format!("bad-{session}"), &path, &bad).await;
        answer.assert_problem(422, "validation_failed");
        assert_eq!(is_replay(&answer), replay);
    }
    let mut body = turn("with context");
    body["return_context"] = json!("openai_chat");
    for replay in [false, true] {
        let answer = keyed(app, &format!("context-{session}"), &path, &body).await;
        assert_eq!(is_replay(&answer), replay);
        assert_eq!(answer.expect(201)["context"]["format"], json!("openai_chat"));
    }
}

#[tokio::test]
async fn a_call_that_only_reads_is_made_anew() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    app.append(&session, "native", turn("one")["items"].clone()).await;
    let items = json!([{"role": "user", "content": "one"}]);
    let listed = json!({"format": "openai_chat", "items": items});
    let rebuild = json!({"format": "openai_chat"});
    let calls = [
        (format!("{session}/rebuild"), rebuild.clone(), json!({"format": "anthropic"})),
        (format!("{session}/prepare"), json!({}), json!({"include_messages": true})),
        ("/v1/count".to_owned(), listed.clone(), json!({"format": "native", "items": items})),
        ("/v1/lint".to_owned(), listed, json!({"format": "anthropic", "items": items})),
    ];
    for (path, body, other) in &calls {
        let key = format!("reading-{path}-{session}");
        let first = keyed(app, &key, path, body).await;
        let again = keyed(app, &key, path, body).await;
        assert!(!is_replay(&first) && !is_replay(&again), "{path}");
        let (mut first, mut again) = (first.expect(200), again.expect(200));
        // A context says how much of it is as it was at the time before.
        for answer in [&mut first, &mut again] {
            answer.as_object_mut().unwrap().remove("stable_prefix_messages");
        }
        assert_eq!(first, again, "{path}");
        keyed(app, &key, path, other).await.assert_problem(422, "idempotency_key_reused");
    }
    app.append(&session, "native", turn("two")["items"].clone()).await;
    let key = format!("reading-{session}/rebuild-{session}");
    let anew = keyed(app, &key, &calls[0].0, &rebuild).await.expect(200);
    assert_eq!(anew["messages"].as_array().unwrap().len(), 2, "what came since is in it");
}

#[tokio::test]
async fn equal_requests_at_once_act_once() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let (path, key) = (format!("{session}/entries"), format!("race-{session}"));
    let mut body = turn("race");
    body["expected_leaf_id"] = Value::Null;
    let answers = join_all((0..8).map(|_| keyed(app, &key, &path, &body))).await;
    let ids: Vec<Value> = answers.into_iter().map(|answer| answer.expect(201)["leaf_id"].clone()).collect();
    assert!(ids.iter().all(|id| id == &ids[0]), "{ids:?}");
    assert_eq!(app.get(&session).await.expect(200)["entry_count"], json!(1));
}

#[tokio::test]
async fn keys_outlive_kill_9_and_no_key_stays_locked() {
    let mut app = App::fresh(&[]);
    let session = app.session(json!({})).await;
    let path = format!("{session}/entries");
    for round in 0..3 {
        let before = keyed(&app, &format!("kept-{round}"), &path, &turn("kept")).await.expect(201);
        let url = app.url(&path);
        let cut = tokio::spawn(async move {
            let client = reqwest::Client::new();
            let request = client.post(url).header("content-type", "application/json");
            let _ =
                request.header("idempotency-key", format!("cut-{round}")).body(turn("cut").to_string()).send().await;
        });
        // Each round kills at another moment of the request, wherever that falls.
        tokio::time::sleep(std::time::Duration::from_millis(round * 2)).await;
        app = app.kill_and_restart();
        cut.await.unwrap();
        assert_eq!(keyed(&app, &format!("kept-{round}"), &path, &turn("kept")).await.expect(201), before);
        keyed(&app, &format!("cut-{round}"), &path, &turn("cut")).await.expect(201);
        assert_eq!(app.get(&session).await.expect(200)["entry_count"], json!((round + 1) * 2));
    }
}
