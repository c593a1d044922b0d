//! Conversations whose past is edited: the provider is never sent more than the window, and the header tells what it got.

use serde_json::{Value, json};

use super::{ROUTES, Stage, body, raw_items};
use crate::transcript::agent::turn;

const SMALL: &str = "context_window = 4000\nreserve_tokens = 400\nkeep_recent_tokens = 500\n";
const WINDOW: u64 = 4_000;

struct Sent {
    items: Vec<String>,
    tokens: u64,
    told: u64,
    compaction: bool,
}

async fn sent(stage: &Stage, path: &str, format: &str, name: &str, history: &[Value]) -> Sent {
    let got = stage.post(path, name, &body(path, history).to_string()).await;
    got.session();
    let items = raw_items(path, &stage.provider.take_one().body);
    let parsed: Vec<Value> = items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
    let count = json!({"format": format, "items": parsed});
    let tokens = stage.app.post("/v1/count", count).await.expect(200)["tokens"].as_u64().unwrap();
    let told = got.header("contextd-tokens").unwrap().parse().unwrap();
    Sent { items, tokens, told, compaction: got.header("contextd-compaction").is_some() }
}

/// The text of a user's message, changed.
fn dated(item: &mut Value, day: &str) {
    let text = item["content"].as_str().map(str::to_owned).or(item["content"][0]["text"].as_str().map(str::to_owned));
    let text = format!("Today is {day}. {}", text.unwrap());
    match &mut item["content"] {
        Value::Array(blocks) => blocks[0]["text"] = json!(text),
        content => *content = json!(text),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_conversation_fits_and_is_not_compacted_anew() {
    let stage = Stage::set(SMALL, &[]).await;
    for (path, format) in ROUTES {
        for (name, edits) in [("a covered one", 1_usize), ("another", 3), ("the last", usize::MAX)] {
            let session = format!("{format}-{}", name.replace(' ', "-"));
            let mut history: Vec<Value> = Vec::new();
            let mut compactions = 0;
            // Right behind a compaction no other is due.
            for n in 0..40 {
                let items = turn(format, n);
                history.push(items[0].clone());
                let one = sent(&stage, path, format, &session, &history).await;
                compactions += usize::from(one.compaction);
                history.extend(items[1..].iter().cloned());
                if one.compaction && n > 12 {
                    break;
                }
            }
            assert!(compactions > 0, "{session}");
            let mut before: Vec<String> = Vec::new();
            for day in ["Monday", "Tuesday", "Wednesday"] {
                history.push(turn(format, 40)[0].clone());
                let mut posted = history.clone();
                let users: Vec<usize> = (0..posted.len()).filter(|at| is_users(&posted[*at])).collect();
                let at = if edits == usize::MAX { posted.len() - 1 } else { users[edits] };
                dated(&mut posted[at], day);
                let one = sent(&stage, path, format, &session, &posted).await;
                assert!(one.tokens <= WINDOW, "{session}, {day}: {} tokens of {} items", one.tokens, one.items.len());
                let error = one.told.abs_diff(one.tokens) as f64 / one.tokens as f64;
                assert!(error < 0.25, "{session}, {day}: told {} of {}", one.told, one.tokens);
                assert!(one.items.len() < posted.len(), "{session}, {day}: compacted");
                assert!(!one.compaction, "{session}, {day}: that is no compaction");
                if edits == usize::MAX && !before.is_empty() {
                    assert!(one.items.starts_with(&before[..before.len() - 1]), "{session}, {day}: the prefix stays");
                }
                before = one.items;
                history.pop();
            }
        }
    }
}

/// Returns true if it is a user's own message.
fn is_users(item: &Value) -> bool {
    item["role"] == "user" && (item["content"].is_string() || item["content"][0]["text"].is_string())
}
