//! Sessions that grow to several times their window while the summariser is slow, or says nothing at all: no context is
//! larger than the window, no append waits for a model, and compactions stay few.

use serde_json::{Value, json};

use crate::app::App;
use crate::corpus::of;
use crate::data::Source;
use crate::drill_support::*;
use crate::drill_valid::violations;
use crate::patience::{eventually, until};
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

const GROWTH: u64 = 5;

/// How many turns the agent goes on while a summary is written.
const SUMMARY_TAKES_TURNS: usize = 8;

/// What a session was driven through.
struct Drive {
    app: App,
    session: String,
    format: &'static str,
    window: u64,
    /// Tokens of the contexts handed out, in order.
    handed_out: Vec<u64>,
}

impl Drive {
    async fn new(app: App, format: &'static str, window: u64) -> Drive {
        let settings =
            json!({"context_window": window, "reserve_tokens": window / 6, "keep_recent_tokens": window / 8});
        let session = app.session(json!({"settings": settings})).await;
        Drive { app, session, format, window, handed_out: Vec::new() }
    }

    /// One turn of the agent: what is new goes in, the context comes back in the same answer.
    async fn turn(&mut self, items: &[Value]) {
        let body = json!({"format": self.format, "items": items, "return_context": self.format});
        let answer = self.app.post(&format!("{}/entries", self.session), body).await.expect(201);
        let tokens = answer["context"]["tokens"].as_u64().unwrap();
        if tokens > self.window {
            let compactions = all(&self.app, &format!("{}/compactions", self.session)).await;
            panic!("{tokens} tokens in a window of {}: {}\n{compactions:#?}", self.window, answer["snapshot"]);
        }
        self.handed_out.push(tokens);
        if self.handed_out.len().is_multiple_of(25) {
            let faults = violations(self.format, messages(&answer["context"]), false);
            assert_eq!(faults, Vec::<String>::new());
        }
    }

    /// Every compaction waits for the model, or is prepared, or has ended.
    async fn until_asked_or_settled(&self, played: &PlayedUpstream) {
        let path = format!("{}/compactions", self.session);
        until("compactions wait for the model or are settled", async || {
            let is_settled = |one: &Value| {
                one["prepared"] == true || !["queued", "running"].contains(&one["status"].as_str().unwrap())
            };
            played.running() > 0 || all(&self.app, &path).await.iter().all(is_settled)
        })
        .await;
    }

    /// Nothing lost, few compactions, the saw-tooth printed.
    async fn finish(&self, what: &str, items: &[Value]) -> Vec<Value> {
        let compactions = all(&self.app, &format!("{}/compactions", self.session)).await;
        let by = |status: &str| compactions.iter().filter(|one| one["status"] == status).collect::<Vec<_>>();
        let done = by("succeeded");
        let shed: u64 = done.iter().map(|one| one["result"]["tokens_saved"].as_u64().unwrap()).sum();
        println!("{what}: {} contexts, window {}", self.handed_out.len(), self.window);
        println!("  {}", saw_tooth(&self.handed_out, self.window));
        for one in &done {
            let result = &one["result"];
            println!(
                "  {} {} -> {} by {}{}",
                one["trigger"].as_str().unwrap(),
                result["tokens_before"],
                result["tokens_after"],
                result["strategy_used"].as_str().unwrap(),
                if result["fallback"]["used"] == true { ", without waiting for the model" } else { "" },
            );
        }
        println!("  {} succeeded, {} others, {shed} tokens shed", done.len(), compactions.len() - done.len());
        assert!(!done.is_empty());
        let each = self.window / 8;
        assert!(done.len() as u64 <= shed / each + 2, "{} compactions for {shed} tokens", done.len());
        assert!(by("skipped").len() <= done.len() + 1, "{compactions:#?}");
        assert_eq!(kept_items(&self.app, &self.session).await, items);
        compactions
    }
}

/// Tenths of the window, one digit for each context.
fn saw_tooth(tokens: &[u64], window: u64) -> String {
    tokens.iter().map(|tokens| char::from_digit((tokens * 10 / window).min(9) as u32, 10).unwrap()).collect()
}

async fn slow_instance() -> (PlayedUpstream, App) {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    (played, app)
}

/// Drives a session through all of its turns. A summary that is begun is ready some turns later; the agent is no faster
/// than that, however busy the machine.
async fn drive_slowly(drive: &mut Drive, played: &PlayedUpstream, items: &[Value]) {
    let mut begun = 0;
    for turn in items.chunks(2) {
        drive.turn(turn).await;
        drive.until_asked_or_settled(played).await;
        begun = if played.running() == 0 { 0 } else { begun + 1 };
        if begun > SUMMARY_TAKES_TURNS {
            played.release_and_wait().await;
            drive.until_asked_or_settled(played).await;
        }
    }
    // What is still asked for is of no use any more.
    played.play(Behaviour::good());
    played.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_session_outgrows_its_window() {
    let (played, app) = slow_instance().await;
    let mut drive = Drive::new(app, "openai_chat", 24_000).await;
    let items = turns(0..190, 150);
    drive_slowly(&mut drive, &played, &items).await;
    let compactions = drive.finish("generated", &items).await;
    assert!(played.calls() > 0);
    let in_time = |one: &&Value| one["trigger"] == "ahead" && one["result"]["fallback"]["used"] == false;
    assert!(compactions.iter().filter(in_time).count() > 0, "some summary was ready when it was needed");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn a_real_session_outgrows_its_window() {
    let real = of(Source::Shared).into_iter().filter(|one| one.format == "anthropic");
    let mut real = real.max_by_key(|one| one.items.len()).expect("a recording");
    // What was reported then is the size of a context that was never compacted.
    for item in &mut real.items {
        item.as_object_mut().unwrap().remove("usage");
    }
    let (played, app) = slow_instance().await;
    let counted = json!({"format": real.format, "items": real.items.chunks(900).next()});
    let total = app.post("/v1/count", counted).await.expect(200)["tokens"].as_u64().unwrap();
    let mut drive = Drive::new(app, real.format, total / GROWTH).await;
    drive_slowly(&mut drive, &played, &real.items).await;
    drive.finish(&real.name, &real.items).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summariser_that_never_answers_is_not_waited_for() {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let mut drive = Drive::new(app, "openai_chat", 12_000).await;
    let items = turns(0..100, 150);
    drive.turn(&items[..80]).await;
    for turn in items[80..].chunks(2) {
        drive.turn(turn).await;
    }
    let compactions = drive.finish("no answer", &items).await;
    for one in compactions.iter().filter(|one| one["status"] == "succeeded") {
        let result = &one["result"];
        assert_eq!(result["upstream"]["calls"], 0, "{one}");
        assert!(result["strategy_used"] == "mask" || result["fallback"]["reason"] == "window_full", "{one}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_outlives_kill_9() {
    let mut app = App::fresh(&[]);
    let settings = json!({"context_window": 12_000, "reserve_tokens": 2_000, "keep_recent_tokens": 1_000});
    let session = app.session(json!({"settings": settings})).await;
    let mut count = 0;
    let mut append = async |app: &App| {
        count += 1;
        app.append(&session, "openai_chat", json!(turns(count..count + 1, 120))).await
    };
    let id = loop {
        let answer = append(&app).await;
        if answer["compaction"].is_object() {
            assert_eq!(answer["compaction"]["trigger"], "ahead", "{answer}");
            break answer["compaction"]["id"].as_str().unwrap().to_owned();
        }
    };
    let prepared = async || {
        let one = app.get(&format!("/v1/compactions/{id}")).await.expect(200);
        (one["prepared"] == true).then_some(one)
    };
    assert_eq!(eventually("the candidate is ready", prepared).await["status"], "running");
    app = tokio::task::block_in_place(|| app.kill_and_restart());
    let shown = context(&app, &session, "openai_chat").await;
    assert!(shown["summary_entry_id"].is_null() && shown["elided"] == json!([]), "not applied");
    let landed = loop {
        let answer = append(&app).await;
        if answer["compaction"].is_object() {
            break answer;
        }
        assert_ne!(answer["snapshot"]["state"], "red", "{answer}");
    };
    assert_eq!((&landed["compaction"]["id"], &landed["compaction"]["status"]), (&json!(id), &json!("succeeded")));
    assert_ne!(landed["snapshot"]["state"], "red");
    let shown = context(&app, &session, "openai_chat").await;
    assert!(shown["summary_entry_id"].is_string() || shown["elided"].as_array().is_some_and(|some| !some.is_empty()));
}
