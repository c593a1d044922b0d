//! Conversations that grow beyond their window.

use serde_json::{Value, json};

use super::provider::Reply;
use super::{CHAT, MESSAGES, RESPONSES, ROUTES, Stage, body, raw_items};
use crate::drill_support::{all, turns};
use crate::drill_valid::violations;
use crate::transcript::agent::turn;

const SMALL: &str = "context_window = 4000\nreserve_tokens = 400\nkeep_recent_tokens = 500\n";
const WINDOW: u64 = 4_000;

/// Turns that the agent of a route takes.
const TURNS: usize = 24;

/// An agent that posts all it has, as agents do, and what was sent on for it.
struct Agent<'s> {
    stage: &'s Stage,
    path: &'static str,
    format: &'static str,
    history: Vec<Value>,
    /// What was sent on last.
    before: Vec<String>,
    compactions: Vec<String>,
    session: String,
}

impl Agent<'_> {
    async fn post(&mut self) {
        let (path, format) = (self.path, self.format);
        let got = self.stage.post(path, format, &body(path, &self.history).to_string()).await;
        assert_eq!(got.status, 200);
        self.session = got.session();
        let seen = self.stage.provider.take_one();
        let sent = raw_items(path, &seen.body);
        match got.header("contextd-compaction") {
            Some(compaction) => self.compactions.push(compaction.to_owned()),
            None => assert!(sent.starts_with(&self.before), "{path}: the prefix stays: {sent:?}\n{:?}", self.before),
        }
        self.check(&seen.json(), &sent).await;
        self.before = sent;
    }

    /// What is sent on fits, is valid, and is the whole body but for its items.
    async fn check(&self, sent: &Value, items: &[String]) {
        let items: Vec<Value> = items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        assert_eq!(violations(self.format, &items, true), Vec::<String>::new());
        let count = json!({"format": self.format, "items": items});
        let tokens = self.stage.app.post("/v1/count", count).await.expect(200)["tokens"].as_u64().unwrap();
        assert!(tokens <= WINDOW, "{}: {tokens}", self.path);
        assert_eq!(*sent, body(self.path, &items));
        let newest = longest(self.history.last().unwrap());
        assert_eq!(longest(items.last().unwrap()), newest, "{}", self.path);
    }
}

/// The longest text in an item.
fn longest(item: &Value) -> &str {
    let inner: Vec<&Value> = match item {
        Value::String(text) => return text,
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    };
    inner.into_iter().map(longest).max_by_key(|text| text.len()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_through_compactions() {
    let stage = Stage::set(SMALL, &[]).await;
    for (path, format) in ROUTES {
        let (history, before, compactions) = (Vec::new(), Vec::new(), Vec::new());
        let mut agent = Agent { stage: &stage, path, format, history, before, compactions, session: String::new() };
        for n in 0..TURNS {
            let items = turn(format, n);
            // The user has spoken; the tool has answered.
            agent.history.push(items[0].clone());
            agent.post().await;
            agent.history.extend(items[1..items.len() - 1].iter().cloned());
            agent.post().await;
            agent.history.push(items[items.len() - 1].clone());
        }
        println!("{path}: {} compactions", agent.compactions.len());
        assert!(agent.compactions.len() >= 2, "{path}: {:?}", agent.compactions);
        let kept = stage.kept(&agent.session).await;
        assert_eq!(kept, agent.history[..agent.history.len() - 1], "{path}: every item is stored once");
        for id in &agent.compactions {
            let compaction = stage.app.get(&format!("/v1/compactions/{id}")).await.expect(200);
            assert_eq!(compaction["status"], "succeeded", "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_finds_too_long_is_sent_once_more() {
    const MOST: usize = 40_000;
    let stage = Stage::set("context_window = 100000\nreserve_tokens = 4000\nkeep_recent_tokens = 1500\n", &[]).await;
    let too_long = json!({"error": {"message": "Your input exceeds the context window of this model.",
        "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}});
    let refusal = too_long.clone();
    stage.provider.play(move |seen| match seen.body.len() > MOST {
        true => Reply::json(400, &refusal),
        false => Reply::json(200, &json!({"id": "played"})),
    });
    let mut history = turns(0..40, 120);
    history.push(json!({"role": "user", "content": "What next?"}));
    let got = stage.post(CHAT, "long", &body(CHAT, &history).to_string()).await;
    let seen = stage.provider.take();
    assert_eq!((got.status, seen.len()), (200, 2), "{}", String::from_utf8_lossy(&got.body));
    assert_eq!(seen[0].json(), body(CHAT, &history), "the first time as it came");
    assert!(seen[1].body.len() <= MOST);
    let compaction = got.header("contextd-compaction").expect("it was compacted").to_owned();
    let compaction = stage.app.get(&format!("/v1/compactions/{compaction}")).await.expect(200);
    assert_eq!((&compaction["status"], &compaction["trigger"]), (&json!("succeeded"), &json!("overflow")));

    let before = raw_items(CHAT, &seen[1].body);
    history.extend([json!({"role": "assistant", "content": "Done."}), json!({"role": "user", "content": "And now?"})]);
    stage.post(CHAT, "long", &body(CHAT, &history).to_string()).await;
    assert!(raw_items(CHAT, &stage.provider.take_one().body).starts_with(&before), "and from then on compacted");

    // Where nothing can be done, the client hears the provider's own words.
    stage.provider.play(move |_| Reply::json(400, &too_long));
    let got = stage.post(CHAT, "short", &body(CHAT, &turns(0..1, 3)).to_string()).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (400, &json!("context_length_exceeded")));
}

/// A stream begins with 200 before the request was looked at: what it says then is as good as a status.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_stream_says_in_place_of_an_answer_is_heard() {
    let stage = Stage::set("context_window = 100000\nreserve_tokens = 4000\nkeep_recent_tokens = 1500\n", &[]).await;
    let too_long =
        json!({"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."});
    let response = |status: &str, error: Value| json!({"id": "r", "status": status, "output": [], "error": error});
    let begun = json!({"type": "response.created", "response": response("in_progress", Value::Null)});
    let failed = json!({"type": "response.failed", "response": response("failed", too_long.clone())});
    for (path, first) in [
        (RESPONSES, vec![begun.clone(), failed]),
        (CHAT, vec![json!({"error": too_long})]),
        (
            MESSAGES,
            vec![json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "prompt is too long: 210000 tokens > 200000 maximum"}})],
        ),
    ] {
        let events = |all: &[Value]| all.iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
        let (refused, good) = (events(&first), events(&[json!({"type": "done"})]));
        let format = ROUTES.iter().find(|(route, _)| *route == path).unwrap().1;
        let mut history: Vec<Value> = Vec::new();
        (0..40).for_each(|n| history.extend(turn(format, n)));
        let mut asked = body(path, &history);
        asked["stream"] = json!(true);
        let (said, most) = (refused.clone(), asked.to_string().len() * 2 / 3);
        stage.provider.play(move |seen| {
            Reply::of(200, "text/event-stream", &[if seen.body.len() > most { &refused } else { &good }])
        });
        let got = stage.post(path, &format!("long-{format}"), &asked.to_string()).await;
        let seen = stage.provider.take();
        assert_eq!(seen.len(), 2, "{path}: {}", String::from_utf8_lossy(&got.body));
        assert_eq!((got.status, String::from_utf8_lossy(&got.body).contains("done")), (200, true), "{path}");
        // Where nothing can be done, the client hears the stream as it came.
        let only = said.clone();
        stage.provider.play(move |_| Reply::of(200, "text/event-stream", &[&only]));
        let mut short = body(path, &turn(format, 0));
        short["stream"] = json!(true);
        let got = stage.post(path, &format!("short-{format}"), &short.to_string()).await;
        stage.provider.take();
        assert_eq!(String::from_utf8_lossy(&got.body), said, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_of_answers_is_the_basis_of_the_account() {
    let stage = Stage::plain().await;
    stage.provider.play(|seen| Reply::good(seen, 3_000, 200));
    for (path, format) in ROUTES {
        let (mut history, first) = (Vec::new(), turn(format, 0));
        history.push(first[0].clone());
        let session = stage.post(path, format, &body(path, &history).to_string()).await.session();
        let snapshot = stage.app.get(&format!("{session}/snapshot")).await.expect(200);
        assert_eq!(snapshot["source"], "estimate", "{path}");
        history.extend(first[1..first.len() - 1].iter().cloned());
        stage.post(path, format, &body(path, &history).to_string()).await;
        let snapshot = stage.app.get(&format!("{session}/snapshot")).await.expect(200);
        assert_eq!(snapshot["source"], "usage", "{path}");
        assert!(snapshot["tokens"].as_u64().unwrap() >= 3_200, "{path}: {snapshot}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_marks_stay_few() {
    let stage = Stage::set(SMALL, &[]).await;
    let mut history: Vec<Value> = Vec::new();
    for n in 0..TURNS {
        // The client marks what is newest, and moves the mark on.
        let mut posted = history.clone();
        let text = |mark: Value| {
            let mut block = json!({"type": "text", "text": crate::drill_support::asked(n).repeat(2)});
            if !mark.is_null() {
                block["cache_control"] = mark;
            }
            json!({"role": "user", "content": [block]})
        };
        posted.push(text(json!({"type": "ephemeral"})));
        let got = stage.post(MESSAGES, "marks", &body(MESSAGES, &posted).to_string()).await;
        got.session();
        let sent = stage.provider.take_one();
        assert_eq!(sent.text().matches("cache_control").count(), 1, "turn {n}");
        history.push(text(Value::Null));
        history
            .push(json!({"role": "assistant", "content": format!("Renamed module {n}, all tests pass. ").repeat(20)}));
    }
    let sessions = all(&stage.app, "/v1/sessions").await;
    assert_eq!(sessions.len(), 1);
    let compactions =
        all(&stage.app, &format!("/v1/sessions/{}/compactions", sessions[0]["id"].as_str().unwrap())).await;
    assert!(compactions.iter().any(|one| one["status"] == "succeeded"), "{compactions:?}");
}
