//! What is refused is refused with its code and its pointer, and leaves nothing behind.

use futures::stream;
use reqwest::{Body, Method};
use serde_json::{Value, json};

use crate::app::App;

const MIB: usize = 1 << 20;

async fn assert_empty(app: &App, session: &str) {
    assert_eq!(app.get(session).await.expect(200)["entry_count"], json!(0));
    assert_eq!(app.get(&format!("{session}/entries?all=true")).await.expect(200)["items"], json!([]));
    assert_eq!(app.get(&format!("{session}/tree")).await.expect(200)["nodes"], json!([]));
}

fn nested(depth: usize) -> String {
    let item = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    format!(r#"{{"format":"native","items":[{{"role":"user","content":[]}},{item}]}}"#)
}

#[tokio::test]
async fn refused_bodies_store_nothing() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let path = format!("{session}/entries");
    let good = r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#;
    let with = |rest: &str| format!(r#"{{"format":"native","items":[{good}]{rest}}}"#).into_bytes();
    let mut not_utf8 = with("");
    not_utf8.extend(b"\xff");
    let cases: Vec<(Vec<u8>, u16, &str, Option<&str>)> = vec![
        (nested(65).into_bytes(), 422, "too_deep", None),
        (not_utf8, 400, "invalid_utf8", None),
        (b"{\"format\":\"native\",\"items\":[\"a\0b\"]}".to_vec(), 400, "malformed_json", None),
        (with("")[1..].to_vec(), 400, "malformed_json", None),
        (with(r#","nope":1"#), 422, "validation_failed", Some("/nope")),
        (with(r#","return_context":true"#), 422, "validation_failed", Some("/return_context")),
        (with(r#","usage":3"#), 422, "validation_failed", Some("/usage")),
        (with(r#","parent_id":"x""#), 422, "validation_failed", Some("/parent_id")),
        (
            format!(r#"{{"format":"native","items":[{good},7]}}"#).into_bytes(),
            422,
            "validation_failed",
            Some("/items/1"),
        ),
        (format!(r#"{{"format":"x","items":[{good}]}}"#).into_bytes(), 422, "validation_failed", Some("/format")),
        (
            format!(r#"{{"format":"native","items":[{}]}}"#, vec![good; 1_001].join(",")).into_bytes(),
            422,
            "too_many_items",
            None,
        ),
    ];
    for (body, status, code, pointer) in cases {
        let answer = app.send(Method::POST, &path, &[], body).await;
        answer.assert_problem(status, code);
        if let Some(pointer) = pointer {
            assert_eq!(answer.body["errors"][0]["pointer"], json!(pointer), "{}", answer.text);
        }
    }
    assert_empty(app, &session).await;
}

#[tokio::test]
async fn a_33_mib_body_is_413_with_and_without_a_length() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let path = format!("{session}/entries");
    let body = json!({"format": "native", "items": [{"role": "user", "content": "a".repeat(33 * MIB)}]}).to_string();
    app.send(Method::POST, &path, &[], body.clone()).await.assert_problem(413, "payload_too_large");
    let chunks: Vec<std::io::Result<Vec<u8>>> = body.into_bytes().chunks(MIB).map(|chunk| Ok(chunk.to_vec())).collect();
    let streamed = Body::wrap_stream(stream::iter(chunks));
    app.send(Method::POST, &path, &[], streamed).await.assert_problem(413, "payload_too_large");
    assert_empty(app, &session).await;
}

#[tokio::test]
async fn escaped_nuls_are_kept_in_items_and_metadata_and_refused_in_names() {
    let app = App::shared();
    let metadata = json!({"note": "a\0b"});
    let session = app.session(json!({"metadata": metadata})).await;
    assert_eq!(app.get(&session).await.expect(200)["metadata"], metadata);
    let item = json!({"role": "user", "content": [{"type": "text", "text": "a\0b"}]});
    app.append(&session, "native", json!([item])).await;
    let entries = app.get(&format!("{session}/entries")).await.expect(200);
    assert_eq!(entries["items"][0]["item"], item);
    let answer = app.post("/v1/sessions", json!({"title": "a\0b"})).await;
    answer.assert_problem(422, "validation_failed");
    assert_eq!(answer.body["errors"][0]["pointer"], json!("/title"));
}

#[tokio::test]
async fn ids_of_nothing_are_404() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let none = "01890a5d-ac96-774b-bcce-b302099a8057";
    for path in [
        "/v1/sessions/nothing".to_owned(),
        format!("/v1/sessions/{none}"),
        format!("{session}/entries/{none}"),
        format!("{session}/tool-calls/none"),
        format!("/v1/compactions/{none}"),
        "/v1/none".to_owned(),
    ] {
        app.get(&path).await.assert_problem(404, "not_found");
    }
    app.put(&session, Value::Null).await.assert_problem(405, "method_not_allowed");
}
