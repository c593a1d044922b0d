//! Contexts in the hands of published readers (`tests/clients/context_readers.py`).
//!
//! Ignored in the plain run: it needs a Python with the packages, named by `CONTEXTD_CLIENTS_PYTHON`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::app::App;
use crate::corpus::recordings;
use crate::corpus::refused::is_broken;
use crate::drill_support::*;
use crate::drill_valid::FORMATS;

/// A transcript with all that formats say in different ways, for machines without the recordings.
fn made_up() -> Vec<Value> {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": "a.rs"}});
    let result = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let said = |text: &str| json!({"type": "text", "text": text});
    json!([
        {"role": "user", "content": [said("look"), image]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, said("one"), said("two"), call("a")]},
        {"role": "assistant", "content": [call("b"), call("c")]},
        {"role": "user", "content": [result("a", json!("x")), result("b", json!([said("y"), image])), result("c", json!("")), said("go on")]},
        {"role": "assistant", "content": "done "},
        {"role": "user", "content": "and now?"},
        {"role": "assistant", "content": [call("d")]},
    ])
    .as_array()
    .cloned()
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with the published clients"]
async fn published_readers_take_every_converted_context() {
    let python = std::env::var("CONTEXTD_CLIENTS_PYTHON").expect("CONTEXTD_CLIENTS_PYTHON");
    let app = App::shared();
    let mut transcripts = vec![("made up".to_owned(), "anthropic", made_up())];
    transcripts.extend(recordings().into_iter().map(|one| (one.name, one.format, one.items)));
    let mut lines = String::new();
    for (name, own, items) in transcripts {
        let session = app.session(json!({"settings": {"enabled": false, "keep_recent_tokens": 500}})).await;
        for items in items.chunks(500) {
            let batch = json!({"format": own, "items": items});
            let answer = app.post(&format!("{session}/entries"), batch).await;
            assert!(answer.status == 201 || answer.status == 422 && is_broken(&name), "{name}: {}", answer.text);
        }
        for compacted in [false, true] {
            if compacted && compact(app, &session, json!({"strategy": "summarize"})).await["status"] != "succeeded" {
                continue;
            }
            for format in FORMATS {
                let messages = context(app, &session, format).await["messages"].take();
                let name = format!("{name}{}", if compacted { ", compacted" } else { "" });
                let line = json!({"name": name, "format": format, "own": own == format, "messages": messages});
                lines.push_str(&format!("{line}\n"));
            }
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/context_readers.py");
    let mut child =
        Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a Python");
    let mut input = child.stdin.take().unwrap();
    let feed = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    feed.join().unwrap().ok();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}", output.status);
}
