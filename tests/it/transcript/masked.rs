//! Histories whose older results are shown as markers: an edit among those shows them so again before anything is handed
//! out, in whatever format, and is no second compaction.

use serde_json::{Value, json};

use super::carried::Poster;
use crate::app::App;
use crate::drill_support::all;

const FORMATS: [&str; 4] = ["openai_chat", "anthropic", "openai_responses", "gemini"];

fn asked(format: &str, text: &str) -> Value {
    match format {
        "gemini" => json!({"role": "user", "parts": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

fn answered(format: &str, text: &str) -> Value {
    match format {
        "gemini" => json!({"role": "model", "parts": [{"text": text}]}),
        _ => json!({"role": "assistant", "content": text}),
    }
}

fn called(format: &str, n: usize, result: &str) -> [Value; 2] {
    let (id, command) = (format!("call_{n}"), format!("step {n}"));
    match format {
        "anthropic" => [
            json!({"role": "assistant", "content":
                [{"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}),
        ],
        "openai_responses" => [
            json!({"type": "function_call", "call_id": id, "name": "bash",
                "arguments": json!({"command": command}).to_string()}),
            json!({"type": "function_call_output", "call_id": id, "output": result}),
        ],
        "gemini" => [
            json!({"role": "model", "parts":
                [{"functionCall": {"id": id, "name": "bash", "args": {"command": command}}}]}),
            json!({"role": "user", "parts":
                [{"functionResponse": {"id": id, "name": "bash", "response": {"output": result}}}]}),
        ],
        _ => [
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "bash", "arguments": json!({"command": command}).to_string()}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": result}),
        ],
    }
}

/// A result of some 250 tokens.
fn result(n: usize) -> String {
    let words: String = (0..60).map(|word| format!("value{n}x{word} ")).collect();
    format!("result {n}: {words}")
}

/// A client that posts all it has, and what it was handed last.
struct Masked<'a> {
    poster: Poster<'a>,
    format: &'static str,
    history: Vec<Value>,
}

impl Masked<'_> {
    async fn put(&self) -> Value {
        let body = json!({"format": self.format, "items": self.history, "return_context": self.format});
        let path = format!("{}/transcript", self.poster.session);
        let answer = self.poster.app.put(&path, body).await.expect(200);
        self.poster.settled().await;
        answer
    }

    async fn succeeded(&self) -> Vec<Value> {
        let done = all(self.poster.app, &format!("{}/compactions", self.poster.session)).await;
        done.into_iter().filter(|one| one["status"] == "succeeded").collect()
    }

    fn turn(&mut self, n: usize) {
        let format = self.format;
        self.history.extend((2 * n..2 * n + 2).flat_map(|call| called(format, call, &result(call))));
        self.history.extend([
            answered(format, &format!("Did step {n}.")),
            asked(format, &format!("Now step {} of the plan, please.", n + 1)),
        ]);
    }
}

/// A session whose only compaction so far is a mask.
async fn masked<'a>(app: &'a App, format: &'static str, window: u64) -> Masked<'a> {
    let poster = Poster::new(app, window).await;
    let mut client = Masked { poster, format, history: vec![asked(format, "Build the thing.")] };
    for n in 0..60 {
        client.turn(n);
        client.put().await;
        if let Some(first) = client.succeeded().await.first() {
            assert_eq!(first["result"]["strategy_used"], "mask", "{format}: {first}");
            return client;
        }
    }
    panic!("{format}: nothing was masked")
}

/// The places of the results in the history.
fn results_at(client: &Masked<'_>) -> Vec<usize> {
    let is_result = |item: &&usize| client.history[**item].to_string().contains("value");
    let places: Vec<usize> = (0..client.history.len()).collect();
    places.iter().filter(is_result).copied().collect()
}

fn changed(item: &Value) -> Value {
    let text = item.to_string().replacen("result ", "edited result ", 1);
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_among_masked_results_masks_them_again() {
    let app = App::shared();
    for format in FORMATS {
        for (window, place) in [(6_000, 1), (6_000, 0), (6_000, 4), (12_000, 1), (12_000, 9)] {
            let mut client = masked(app, format, window).await;
            let before = client.put().await["context"]["tokens"].as_u64().unwrap();
            let at = results_at(&client)[place];
            client.history[at] = changed(&client.history[at]);
            client.history.extend([answered(format, "Done."), asked(format, "Go.")]);
            let answer = client.put().await;
            let case = format!("{format}, {window}, result {place}");
            let tokens = answer["context"]["tokens"].as_u64().unwrap();
            assert!(tokens <= before + window / 10, "{case}: {tokens} after {before}");
            assert_eq!((answer["compaction"].clone(), client.succeeded().await.len()), (Value::Null, 1), "{case}");
            assert_ne!(answer["snapshot"]["state"], "red", "{case}: {}", answer["snapshot"]);
            assert!(!answer["context"]["messages"].to_string().contains("context-summary"), "{case}");
            let linted = json!({"format": format, "items": answer["context"]["messages"]});
            let linted = app.post("/v1/lint", linted).await.expect(200);
            assert_eq!(linted["valid"], true, "{case}: {}", linted["violations"]);
            client.turn(70);
            client.put().await;
            assert_eq!(client.succeeded().await.len(), 1, "{case}: the turn after");
        }
    }
}

/// A result among them is dropped, comes twice, or its call says something else.
#[tokio::test(flavor = "multi_thread")]
async fn other_edits_among_masked_results_are_no_second_compaction() {
    let app = App::shared();
    type Edit = fn(&mut Masked<'_>, usize);
    let edits: [(&str, Edit); 4] = [
        ("dropped", |client, at| drop(client.history.drain(at - 1..=at))),
        ("put in", |client, at| {
            let new = [asked(client.format, "One more thing."), answered(client.format, "So it is.")];
            drop(client.history.splice(at - 1..at - 1, new));
        }),
        ("the request before", |client, _| client.history[0] = asked(client.format, "Build the other thing.")),
        ("all answers", |client, _| {
            for item in &mut client.history {
                *item = serde_json::from_str(&item.to_string().replace("Did step", "Finished step")).unwrap();
            }
        }),
    ];
    for (format, window) in FORMATS.into_iter().zip([6_000, 8_000, 12_000, 6_000]) {
        for (name, edit) in edits {
            let mut client = masked(app, format, window).await;
            let before = client.put().await["context"]["tokens"].as_u64().unwrap();
            let at = results_at(&client)[2];
            edit(&mut client, at);
            let answer = client.put().await;
            let tokens = answer["context"]["tokens"].as_u64().unwrap();
            assert!(tokens <= before + window / 10, "{format}: {name}: {tokens} after {before}");
            assert_eq!((answer["compaction"].clone(), client.succeeded().await.len()), (Value::Null, 1), "{name}");
            client.turn(70);
            client.put().await;
            assert_eq!(client.succeeded().await.len(), 1, "{format}: {name}: the turn after");
        }
    }
}
