//! Two million tokens through a window of eight thousand: one call, which fits; the beginning and the newest are read.

use std::io::BufRead;

use contextd::domain::settings::Estimator;
use contextd::domain::tokens::count_text;
use serde_json::{Value, json};

use crate::app::App;
use crate::data::Source;
use crate::drill_model_faults::instance;
use crate::patience::eventually;
use crate::played_upstream::{Behaviour, PlayedRequest, PlayedUpstream};

const WINDOW: u32 = 8_192;
const MESSAGES: usize = 1_600;
/// Characters of a message; with the first and the last ones this makes two million tokens.
const LENGTH: usize = 5_200;

/// Real transcripts as they lie in their files, where they are there; else made-up words.
fn real_text() -> Vec<char> {
    let mut text = String::new();
    if cfg!(shared) {
        for line in Source::Shared.reader("corpus/swe-smith.jsonl").lines().map_while(Result::ok).take(40) {
            text.push_str(&line);
        }
    }
    (0..40_000).for_each(|at| text.push_str(&format!("word{} of the made-up text; 日本語 {at} ", at % 97)));
    text.chars().take(900_000).collect()
}

/// Chat messages, each with a mark of its own; every tenth pair is a call and its long result.
fn messages() -> Vec<Value> {
    let text = real_text();
    let piece = |at: usize| -> String { text.iter().skip(at * 4_799 % (text.len() - LENGTH)).take(LENGTH).collect() };
    let marked = |at: usize| format!("MARK{at:05} {}", piece(at));
    let message = |at: usize| match at % 20 {
        11 => {
            let function = json!({"name": "read", "arguments": json!({"mark": format!("MARK{at:05}")}).to_string()});
            json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": format!("c{at}"), "type": "function", "function": function}]})
        }
        12 => json!({"role": "tool", "tool_call_id": format!("c{}", at - 1), "content": marked(at)}),
        other if other % 2 == 0 => json!({"role": "user", "content": marked(at)}),
        _ => json!({"role": "assistant", "content": marked(at)}),
    };
    (0..MESSAGES).map(message).collect()
}

fn marks(request: &PlayedRequest) -> Vec<usize> {
    let (user, found) = (request.user(), "MARK");
    user.match_indices(found).filter_map(|(at, _)| user.get(at + 4..at + 9)?.parse().ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_million_tokens_go_through_a_window_of_eight_thousand() {
    let upstream = PlayedUpstream::start(Behaviour::Notes(300)).await;
    let lines = format!("kind = \"openai\"\nmodel = \"small\"\ncontext_window = {WINDOW}\nmax_calls = 2");
    let (app, _file) = instance(&[("default", &upstream, &lines)]);
    let settings = json!({"enabled": false, "context_window": 4_000_000, "keep_recent_tokens": 4_000});
    let session = app.session(json!({"settings": settings})).await;
    let messages = messages();
    for batch in messages.chunks(400) {
        app.append(&session, "openai_chat", json!(batch)).await;
    }
    let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
    assert!(snapshot["tokens"].as_u64().unwrap() >= 2_000_000, "{snapshot}");

    let begun = app.post(&format!("{session}/compact"), json!({"strategy": "llm_summarize"})).await.expect(202);
    let done = ended_while_asking(&app, &begun["id"], &upstream).await;
    let result = &done["result"];
    assert_eq!((&done["status"], &result["fallback"]["used"]), (&json!("succeeded"), &json!(false)), "{done}");
    let requests = upstream.requests();
    println!(
        "{} tokens, {} calls, {} s",
        snapshot["tokens"],
        requests.len(),
        result["duration_ms"].as_u64().unwrap() / 1_000
    );
    assert_eq!(result["upstream"]["calls"], json!(requests.len()), "{done}");
    assert_eq!(requests.len(), 1);

    for request in &requests {
        let answer = request.body["max_tokens"].as_u64().unwrap();
        let prompt = [request.system(), request.user()];
        let counted: u64 = prompt.iter().map(|text| u64::from(count_text(Estimator::O200k, text))).sum();
        let quarters = prompt.iter().map(|text| text.chars().count() as u64).sum::<u64>() / 4;
        assert!(counted.max(quarters) + answer <= WINDOW.into(), "{counted} {quarters} {answer}");
    }
    let seen = requests.iter().flat_map(marks).collect::<Vec<_>>();
    assert!(seen.is_sorted(), "{seen:?}");
    let (first, last) = (seen.first().copied().unwrap(), seen.last().copied().unwrap());
    assert!(first < 20 && last + 20 > MESSAGES, "{first} to {last}");
}

/// Waits for the end of a compaction as long as it goes on asking its model.
async fn ended_while_asking(app: &App, id: &Value, upstream: &PlayedUpstream) -> Value {
    let path = format!("/v1/compactions/{}", id.as_str().unwrap());
    loop {
        let asked = upstream.calls();
        let done = eventually("a compaction asks again or ends", async || {
            let compaction = app.get(&path).await.expect(200);
            let has_ended = !["queued", "running"].contains(&compaction["status"].as_str().unwrap());
            (has_ended || upstream.calls() > asked).then_some((has_ended, compaction))
        });
        if let (true, compaction) = done.await {
            return compaction;
        }
    }
}
