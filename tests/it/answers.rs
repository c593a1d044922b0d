//! Large answers: they are counted until their clients have taken them, and what there is no room for is refused before
//! anything of it is read.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::app::App;
use crate::patience::until;

const MEGABYTE: usize = 1 << 20;

/// A session whose context has so many megabytes, in pictures: nobody counts their tokens by their bytes.
async fn large_session(app: &App, megabytes: usize) -> String {
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    let url = format!("data:image/png;base64,{}", "A".repeat(4 * MEGABYTE));
    let item = json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]});
    for _ in 0..megabytes / 4 {
        app.append(&session, "openai_chat", json!([item])).await;
    }
    session
}

/// Asks for the context and takes no more of it than its beginning.
async fn slow_reader(app: &App, session: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(app.url("").strip_prefix("http://").unwrap()).await.unwrap();
    let request = format!("GET {session}/context?format=openai_chat HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = vec![0; 12];
    stream.read_exact(&mut head).await.unwrap();
    (stream, String::from_utf8(head).unwrap())
}

#[tokio::test]
async fn answers_that_are_not_taken_are_counted() {
    let app = App::fresh(&[]);
    let session = large_session(&app, 48).await;
    let path = format!("{session}/context?format=openai_chat");
    let (slow, head) = slow_reader(&app, &session).await;
    assert_eq!(head, "HTTP/1.1 200");
    for _ in 0..20 {
        let refused = app.get(&path).await;
        refused.assert_problem(503, "too_many_bytes");
        assert!(refused.header("retry-after").is_some());
    }
    assert!(app.peak_memory() < 400 << 20, "{} bytes", app.peak_memory());
    // What is small goes on, and so does what changes something.
    app.get(&session).await.expect(200);
    app.append(&session, "openai_chat", json!([{"role": "user", "content": "go on"}])).await;
    drop(slow);
    until("the room is given back", async || app.get(&path).await.status == 200).await;
}

#[tokio::test]
async fn one_answer_larger_than_all_room_is_let_through_alone() {
    let app = App::fresh(&[]);
    let session = large_session(&app, 132).await;
    let context = app.get(&format!("{session}/context?format=openai_chat")).await;
    assert!(context.header("content-length").is_some_and(|bytes| bytes.parse::<usize>().unwrap() > 132 * MEGABYTE));
    assert_eq!(context.expect(200)["messages"].as_array().unwrap().len(), 33);
}

/// What was parsed of one item took ten times as much as all of this for each copy of it, and there were several.
#[tokio::test]
async fn a_lint_holds_what_is_parsed_of_one_item_once() {
    let app = App::fresh(&[]);
    let parts: Vec<usize> = (0..600_000).collect();
    let broken = json!({"format": "anthropic", "items": [{"role": "user", "content": parts}]});
    let call =
        |n: usize| json!({"id": format!("c{n}"), "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calls: Vec<Value> = (0..60_000).map(call).collect();
    let open = json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": null, "tool_calls": calls}]);
    for (body, most) in [(broken, 200), (json!({"format": "openai_chat", "items": open}), 200)] {
        let idle = app.forget_peak_memory();
        let linted = app.post("/v1/lint", body).await.expect(200);
        assert_eq!(linted["valid"], false);
        let held = app.peak_memory().saturating_sub(idle) / MEGABYTE as u64;
        println!("{held} MiB");
        assert!(held < most, "{held} MiB");
    }
}
