//! Contexts with numbered tasks and chapters, posted back as they were handed out now or earlier.

use serde_json::{Value, json};

use super::agent::{settings, turn};
use super::{figures, put};
use crate::app::App;
use crate::drill_support::{all, by_hand, compact, context, kept_items, messages};

fn chaptered() -> Value {
    let mut settings = settings();
    settings["chaptering_trigger"] = json!(100);
    settings
}

async fn close(app: &App, session: &str, ranges: &[(i64, i64, &str)]) {
    let chapter = |(start, end, name): &(i64, i64, &str)| json!({"start": start, "end": end, "name": name, "message": format!("What {name} was about.\n\nAll done.")});
    let chapters: Vec<Value> = ranges.iter().map(chapter).collect();
    let answer = app.post(&format!("{session}/chapters"), json!({"chapters": chapters})).await.expect(201);
    assert_eq!(answer["chapters"].as_array().unwrap().len(), ranges.len(), "{answer}");
}

async fn lint(app: &App, format: &str, items: &[Value]) {
    let answer = app.post("/v1/lint", json!({"format": format, "items": items})).await.expect(200);
    assert_eq!(answer["valid"], true, "{format}: {answer}");
}

/// Nothing of ours is among what was said.
async fn only_what_was_said(app: &App, session: &str) {
    for entry in all(app, &format!("{session}/entries?all=true")).await {
        let text = entry["item"].to_string();
        let ours = text.contains("/chapters/") || (1..30).any(|n| text.contains(&format!("\"[{n}] ")));
        assert!(entry["type"] != "message" || !ours, "{text}");
    }
}

/// A session, and every context that a client of it may still hold.
struct Client<'a> {
    app: &'a App,
    session: String,
    format: &'a str,
    held: Vec<Vec<Value>>,
    history: Vec<Value>,
    turns: usize,
}

impl<'a> Client<'a> {
    async fn of(app: &'a App, format: &'a str, count: usize) -> Client<'a> {
        let session = app.session(json!({"settings": chaptered()})).await;
        let history: Vec<Value> = (0..count).flat_map(|n| turn(format, n)).collect();
        assert_eq!(figures(&put(app, &session, format, &history).await), (history.len() as u64, 0, false));
        Client { app, session, format, held: vec![history.clone()], history, turns: count }
    }

    /// Every context is posted, with one turn behind it that is new the first time.
    async fn goes_on(&mut self, stage: &str) {
        let newest = messages(&context(self.app, &self.session, self.format).await).clone();
        lint(self.app, self.format, &newest).await;
        self.held.push(newest);
        let new = turn(self.format, self.turns);
        self.turns += 1;
        let mut expected = new.len() as u64;
        for (n, held) in self.held.iter_mut().enumerate().rev() {
            let before = held.len() as u64;
            if expected > 0 {
                let known = figures(&put(self.app, &self.session, self.format, held).await);
                assert_eq!(known, (0, before, false), "{} {stage}: {n} as it was", self.format);
            }
            held.extend(new.iter().cloned());
            let answer = put(self.app, &self.session, self.format, held).await;
            assert_eq!(
                figures(&answer),
                (expected, before + new.len() as u64 - expected, false),
                "{} {stage}: {n}: {answer}",
                self.format
            );
            expected = 0;
        }
        self.history.extend(new);
        assert_eq!(kept_items(self.app, &self.session).await, self.history, "{} {stage}", self.format);
        only_what_was_said(self.app, &self.session).await;
    }
}

async fn works_in(format: &str) {
    let app = App::shared();
    let mut client = Client::of(app, format, 24).await;
    client.goes_on("numbered").await;
    close(app, &client.session, &[(2, 3, "First"), (5, 5, "Second")]).await;
    client.goes_on("chapters").await;
    close(app, &client.session, &[(2, 4, "Both")]).await;
    client.goes_on("nested").await;
    let done = compact(app, &client.session, json!({"strategy": "mask", "force": true})).await;
    client.goes_on(done["status"].as_str().unwrap()).await;
    let tokens = app.get(&format!("{}/snapshot", client.session)).await.expect(200)["tokens"].as_u64().unwrap();
    let cut = json!({"strategy": "truncate", "force": true, "settings": {"target_tokens": tokens / 2}});
    let done = compact(app, &client.session, cut).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    client.goes_on("left out").await;
    app.post(&format!("/v1/compactions/{}/revert", done["id"].as_str().unwrap()), json!({})).await.expect(200);
    client.goes_on("taken back").await;
    let done = compact(
        app,
        &client.session,
        json!({"strategy": "llm_summarize", "force": true, "summary": "- looked at modules"}),
    )
    .await;
    assert_eq!(done["status"], "succeeded", "{done}");
    client.goes_on("summary").await;
    client.goes_on("more").await;
    close(app, &client.session, &[(2, 2, "Later")]).await;
    for _ in 0..6 {
        client.goes_on("a chapter behind the summary").await;
    }
    let done = compact(
        app,
        &client.session,
        json!({"strategy": "llm_summarize", "force": true, "summary": "- looked at modules"}),
    )
    .await;
    assert_eq!(done["status"], "succeeded", "{done}");
    client.goes_on("another summary").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chapters_on_chat_completions() {
    works_in("openai_chat").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chapters_on_messages() {
    works_in("anthropic").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chapters_on_responses() {
    works_in("openai_responses").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chapters_on_native_messages_and_pi() {
    works_in("native").await;
    works_in("pi").await;
}

/// The first text of an item.
fn text_of(item: &mut Value) -> &mut Value {
    if item["content"].is_array() { &mut item["content"][0]["text"] } else { &mut item["content"] }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_context_is_stored_without_numbers_and_chapters() {
    let app = App::shared();
    for format in ["openai_chat", "anthropic", "openai_responses"] {
        let client = Client::of(app, format, 8).await;
        let session = &client.session;
        close(app, session, &[(5, 6, "Fifth")]).await;
        let before = messages(&context(app, session, format).await).clone();
        let size = turn(format, 0).len();
        // The second task is put otherwise; a chapter and a task come behind it.
        let mut posted = before.clone();
        *text_of(&mut posted[size]) = json!("[2] Something else");
        posted.push(json!({"role": "user", "content": "[9] is what I say"}));
        let answer = put(app, session, format, &posted).await;
        assert_eq!((answer["forked"].as_bool(), answer["matched"].as_u64()), (Some(true), Some(size as u64 + 1)));
        let mut expected = client.history[..5 * size].to_vec();
        *text_of(&mut expected[size]) = json!("Something else");
        expected.truncate(4 * size);
        expected.extend(client.history[6 * size..].iter().cloned());
        let mut kept = kept_items(app, session).await;
        let last = kept.pop().unwrap();
        assert_eq!(kept.len(), expected.len(), "{format}");
        for (kept, expected) in kept.iter_mut().zip(&mut expected) {
            assert_eq!(text_of(kept), text_of(expected), "{format}");
        }
        assert!(last["content"].as_str().is_some_and(|text| text.ends_with("is what I say")));
        // The chapter is on the other branch; whoever still holds it goes on.
        let mut again = messages(&context(app, session, format).await).clone();
        lint(app, format, &again).await;
        again.push(json!({"role": "user", "content": "and then?"}));
        assert_eq!(figures(&put(app, session, format, &again).await), (1, again.len() as u64 - 1, false));
        let text = Value::from(
            all(app, &format!("{session}/entries?all=true"))
                .await
                .iter()
                .filter(|entry| entry["type"] == "message")
                .map(|entry| entry["item"].clone())
                .collect::<Vec<_>>(),
        )
        .to_string();
        assert!(!text.contains("/chapters/fifth/"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chapter_outlives_its_branch() {
    let app = App::shared();
    let client = Client::of(app, "openai_chat", 6).await;
    let session = &client.session;
    let leaf = app.get(session).await.expect(200)["leaf_id"].clone();
    close(app, session, &[(2, 4, "Middle")]).await;
    let mut held = messages(&context(app, session, "openai_chat").await).clone();
    app.post(&format!("{session}/navigate"), json!({"target_id": leaf})).await.expect(200);
    held.push(json!({"role": "user", "content": "go on"}));
    assert_eq!(figures(&put(app, session, "openai_chat", &held).await), (1, held.len() as u64 - 1, false));
    let mut expected = client.history.clone();
    expected.push(held.last().unwrap().clone());
    assert_eq!(kept_items(app, session).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_merely_looks_like_ours_is_the_users() {
    let app = App::shared();
    let user = |text: &str| json!({"role": "user", "content": text});
    let answer = json!({"role": "assistant", "content": "yes"});
    let chapter = user("Chapter \"One\" (/chapters/one/)\n\nIt is about whales.");
    for trigger in [json!(null), json!(100)] {
        let mut settings = by_hand();
        settings["chaptering_trigger"] = trigger.clone();
        let session = app.session(json!({"settings": settings})).await;
        let items =
            vec![user("[1] first"), answer.clone(), user("[3] third"), answer.clone(), chapter.clone(), answer.clone()];
        put(app, &session, "openai_chat", &items).await;
        assert_eq!(figures(&put(app, &session, "openai_chat", &items).await), (0, 6, false));
        let mut held = messages(&context(app, &session, "openai_chat").await).clone();
        assert_eq!(held == items, trigger.is_null());
        held.push(user("[4] new"));
        assert_eq!(figures(&put(app, &session, "openai_chat", &held).await), (1, 6, false), "{trigger}");
        let mut all = items.clone();
        all.push(user("[4] new"));
        assert_eq!(kept_items(app, &session).await, all, "{trigger}");
        // The raw history, edited.
        all[2] = user("[3] another third");
        assert_eq!(figures(&put(app, &session, "openai_chat", &all).await), (5, 2, true), "{trigger}");
        assert_eq!(kept_items(app, &session).await, all, "{trigger}");
        all[0] = user("[1] another first");
        assert_eq!(figures(&put(app, &session, "openai_chat", &all).await), (7, 0, true), "{trigger}");
        assert_eq!(kept_items(app, &session).await, all, "{trigger}");
    }
    let session = app.session(json!({"settings": by_hand()})).await;
    put(app, &session, "openai_chat", &[user("first"), answer.clone()]).await;
    let edited = [user("[1] first"), answer];
    assert_eq!(figures(&put(app, &session, "openai_chat", &edited).await), (2, 0, true), "numbers are off");
    assert_eq!(kept_items(app, &session).await, edited);
}
