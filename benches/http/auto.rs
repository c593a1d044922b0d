//! `auto` without a model on a session of 1,000 messages, end to end: the call, the worker, the answer.

use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::long::milliseconds;
use crate::report::{Report, median, quantile};
use crate::server::Server;
use crate::{Effort, Outcome};

const MESSAGES: usize = 1_000;
const SETTINGS: &str = r#"{"enabled":false}"#;
const COMPACT: &str = r#"{"strategy":"auto","force":true,"wait":60}"#;

pub async fn measure(server: &Server, effort: Effort, report: &mut Report) -> Outcome<()> {
    let mut client = server.client().await?;
    for Transcript { name, format, items } in transcripts()? {
        let mut taken = Vec::new();
        let mut result = Value::Null;
        for round in 0..=2 * effort.rounds {
            let session = client.session(SETTINGS).await?;
            for batch in items.chunks(500) {
                let body = json!({"format": format, "items": batch}).to_string();
                client.post(&format!("{session}/entries"), &body).await?;
            }
            let request = client.request(&format!("{session}/compact"), COMPACT);
            let start = Instant::now();
            let done: Value = serde_json::from_slice(client.send(&request).await?)?;
            let time = milliseconds(start);
            if done["status"] != "succeeded" {
                return Err(done.to_string().into());
            }
            if round > 0 {
                taken.push(time);
            }
            result = done["result"].clone();
        }
        let (middle, low, high) = (median(&taken), quantile(&taken, 0.0), quantile(&taken, 1.0));
        report.note(format!(
            "auto on {name}: {} tokens before, {} after, by {}",
            result["tokens_before"], result["tokens_after"], result["strategy_used"]
        ));
        report.figure(
            &format!("auto without a model, {} messages of {name}", items.len()),
            format!("{middle:.0} ({low:.0}-{high:.0}) ms"),
            "< 100 ms",
        );
    }
    Ok(())
}

struct Transcript {
    name: &'static str,
    format: &'static str,
    items: Vec<Value>,
}

/// A generated transcript with tools, and a recorded one where there are any.
fn transcripts() -> Outcome<Vec<Transcript>> {
    let items = (0..MESSAGES).map(generated).collect();
    let generated = Transcript { name: "a generated session", format: "openai_chat", items };
    Ok([generated].into_iter().chain(recorded()?).collect())
}

fn generated(n: usize) -> Value {
    let text =
        |words: usize| -> String { (0..words).map(|at| format!("line {} of src/part_{at}.rs\n", n + at)).collect() };
    let id = |n: usize| format!("call_{n}");
    match n % 10 {
        0 => json!({"role": "user", "content": format!("Step {n}: never touch main.rs; fix error E{n}. {}", text(4))}),
        9 => json!({"role": "assistant", "content": format!("We decided to keep part_{n}.rs as it is. {}", text(6))}),
        at if at % 2 == 1 => {
            let arguments = json!({"path": format!("src/part_{n}.rs")}).to_string();
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id(n), "type": "function", "function": {"name": "read", "arguments": arguments}}
            ]})
        }
        _ => json!({"role": "tool", "tool_call_id": id(n - 1), "content": text(40)}),
    }
}

/// The longest recorded session.
fn recorded() -> Outcome<Option<Transcript>> {
    let root = std::env::var("CONTEXTD_SHARED").unwrap_or_else(|_| format!("{}/../shared", env!("CARGO_MANIFEST_DIR")));
    let file = Path::new(&root).join("corpus/pi-mono.jsonl.gz");
    if !file.exists() {
        println!("skipped: {} is not there", file.display());
        return Ok(None);
    }
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file)?).read_to_string(&mut text)?;
    let mut sessions: Vec<Vec<Value>> = Vec::new();
    for line in text.lines() {
        let mut session: Value = serde_json::from_str(line)?;
        if let Value::Array(messages) = session["messages"].take() {
            sessions.push(messages);
        }
    }
    let items = sessions.into_iter().max_by_key(Vec::len).ok_or("no recorded session")?;
    Ok(Some(Transcript { name: "a recorded session", format: "pi", items }))
}
