//! Histories whose end, middle or beginning is another one at every turn keep their compaction as long as what it covers
//! stands; where that was edited, the record is told again before anything is handed out.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::{all, settled};

/// One message of some 250 tokens.
pub fn message(n: usize) -> Value {
    let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
    let text: String = (0..60).map(|word| format!("word{n}x{word} ")).collect();
    json!({"role": role, "content": format!("Step {n} of src/part_{n}.rs: {text}")})
}

pub fn said(n: usize, text: &str) -> Value {
    json!({"role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "content": text})
}

fn clock(hour: usize) -> Value {
    json!({"role": "user", "content": format!("It is {hour}:00. Go on.")})
}

/// A client that posts its whole history with every turn.
pub struct Poster<'a> {
    pub app: &'a App,
    pub session: String,
    pub window: u64,
}

impl<'a> Poster<'a> {
    pub async fn new(app: &'a App, window: u64) -> Poster<'a> {
        let session = app.session(json!({"settings": {"context_window": window}})).await;
        Poster { app, session, window }
    }

    pub async fn put(&self, items: &[Value], usage: Option<Value>) -> Value {
        let mut body = json!({"format": "openai_chat", "items": items, "return_context": "openai_chat"});
        if let Some(usage) = usage {
            body["usage"] = usage;
        }
        let answer = self.app.put(&format!("{}/transcript", self.session), body).await.expect(200);
        let counted = self.count(&answer["context"]["messages"]).await;
        assert!(counted <= self.window, "{counted} tokens handed out in a window of {}: {answer}", self.window);
        answer
    }

    pub async fn count(&self, messages: &Value) -> u64 {
        let counted = self.app.post("/v1/count", json!({"format": "openai_chat", "items": messages})).await.expect(200);
        counted["tokens"].as_u64().unwrap()
    }

    /// The compactions that were carried out.
    pub async fn compactions(&self) -> usize {
        self.landed().await.len()
    }

    /// No compaction is being made; one that is prepared may wait.
    pub async fn settled(&self) {
        settled(self.app, &self.session).await;
    }

    /// The places of their entries among all of the session's.
    pub async fn landed(&self) -> Vec<u64> {
        let done = all(self.app, &format!("{}/compactions", self.session)).await;
        let done = done.iter().filter(|one| one["status"] == "succeeded");
        let mut places: Vec<u64> = done.map(|one| place_of(&one["result"]["entry_id"]).unwrap()).collect();
        places.sort_unstable();
        places
    }

    /// The size in the snapshot is that of what is handed out.
    pub async fn agrees(&self, answer: &Value) {
        let counted = self.count(&answer["context"]["messages"]).await as f64;
        let snapshot = &answer["snapshot"];
        let unposted = snapshot["breakdown"]["unposted"].as_f64().unwrap_or(0.0);
        let told = (snapshot["tokens"].as_f64().unwrap() - unposted) / snapshot["calibration"].as_f64().unwrap();
        assert!((told - counted).abs() <= counted * 0.05 + 8.0, "{told} told, {counted} counted: {snapshot}");
    }
}

/// The place of an entry in the order in which they were stored, which is the end of its id.
pub fn place_of(id: &Value) -> Option<u64> {
    let id = id.as_str()?;
    u64::from_str_radix(&id[id.len() - 8..], 16).ok()
}

pub fn shown(answer: &Value) -> Vec<Value> {
    answer["context"]["messages"].as_array().unwrap().clone()
}

/// How many messages two contexts begin with in common.
pub fn common(one: &[Value], other: &[Value]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[tokio::test]
async fn a_last_message_that_is_replaced_leaves_the_compaction() {
    let app = App::shared();
    for with_usage in [true, false] {
        let poster = Poster::new(app, 4_000).await;
        let mut history: Vec<Value> = (0..16).map(message).collect();
        let with = |history: &[Value], hour: usize| [history, &[clock(hour)]].concat();
        let first = poster.put(&with(&history, 1), None).await;
        assert!(shown(&first).len() < 10, "{}", shown(&first).len());
        let mut before = shown(&first);
        for hour in 2..8 {
            let n = 16 + 2 * (hour - 2);
            history.extend([said(n, "Next."), said(n + 1, "Done; the next part is ready.")]);
            let usage = json!({"prompt_tokens": poster.count(&json!(before)).await, "completion_tokens": 20});
            let answer = poster.put(&with(&history, hour), Some(usage).filter(|_| with_usage)).await;
            assert_eq!(answer["compaction"], Value::Null, "{hour}");
            poster.agrees(&answer).await;
            let now = shown(&answer);
            assert_eq!(common(&before, &now), before.len() - 1, "{hour}: all but the clock stands");
            before = now;
        }
        assert_eq!(poster.compactions().await, 1);
    }
}

/// A session of 20 messages that was compacted once, its history, and the context.
async fn compacted(app: &App) -> (Poster<'_>, Vec<Value>, Vec<Value>) {
    let poster = Poster::new(app, 4_500).await;
    let history: Vec<Value> = (0..20).map(message).collect();
    let first = poster.put(&history, None).await;
    assert_eq!(poster.compactions().await, 1);
    (poster, history, shown(&first))
}

fn is_summary(message: &Value) -> bool {
    message["content"].as_str().is_some_and(|text| text.contains("<context-summary>"))
}

/// Edits of what the compaction keeps leave it; edits of what it covers have its record told again. Neither is another
/// compaction.
#[tokio::test]
async fn no_edit_is_a_second_compaction() {
    let app = App::shared();
    type Edit = fn(&mut Vec<Value>);
    let edits: [(&str, bool, Edit); 9] = [
        ("the last replaced", true, |items| items[19] = said(19, "Something else.")),
        ("a kept one changed", true, |items| items[18] = said(18, "Another question.")),
        ("a shorter tail", true, |items| items.truncate(19)),
        ("the front trimmed", true, |items| drop(items.drain(..4))),
        ("the front trimmed, and the last replaced", true, |items| {
            items.drain(..6);
            *items.last_mut().unwrap() = said(19, "Something else.");
        }),
        ("a covered one changed", false, |items| {
            items[4]["content"] = json!(format!("Today is Friday. {}", items[4]["content"]))
        }),
        ("the anchor changed", false, |items| {
            items[0]["content"] = json!(format!("Today is Friday. {}", items[0]["content"]))
        }),
        ("a covered one dropped", false, |items| drop(items.remove(5))),
        ("one put in", false, |items| items.insert(3, said(3, "One more thing."))),
    ];
    for (name, stands, edit) in edits {
        let (poster, mut history, before) = compacted(app).await;
        edit(&mut history);
        let usage = json!({"prompt_tokens": poster.count(&json!(before)).await, "completion_tokens": 20});
        let answer = poster.put(&history, Some(usage)).await;
        poster.agrees(&answer).await;
        let now = shown(&answer);
        assert!(now.iter().any(is_summary), "{name}: {now:?}");
        // What is told again may well read the same.
        assert!(!stands || common(&before, &now) >= 2, "{name}: the same summary");
        assert_eq!((poster.compactions().await, &answer["compaction"]), (1, &Value::Null), "{name}");
        assert!(answer["snapshot"]["state"] != "red", "{name}: {}", answer["snapshot"]);
        history.extend([said(20, "Next."), said(21, "Done.")]);
        let next = poster.put(&history, None).await;
        poster.agrees(&next).await;
        assert_eq!((common(&now, &shown(&next)), poster.compactions().await), (now.len(), 1), "{name}: goes on");
    }
}

#[tokio::test]
async fn what_ends_before_the_covered_span_has_no_compaction() {
    let (poster, history, _) = compacted(App::shared()).await;
    let answer = poster.put(&history[..3], None).await;
    assert_eq!(shown(&answer), history[..3]);
    poster.agrees(&answer).await;
}

/// So much is left that the next compaction would follow at once.
#[tokio::test]
async fn what_ends_before_the_covered_span_and_is_large_has_its_record_told_again() {
    let (poster, history, _) = compacted(App::shared()).await;
    for length in [14, 13] {
        let answer = poster.put(&history[..length], None).await;
        assert!(shown(&answer).iter().any(is_summary), "{length}: {answer}");
        poster.agrees(&answer).await;
        assert_eq!((poster.compactions().await, &answer["compaction"]), (1, &Value::Null), "{length}");
    }
}

/// The compaction that has fallen was handed to nobody: what came before it is not what was sent now.
#[tokio::test]
async fn usage_behind_a_record_that_was_told_again_is_of_that() {
    let app = App::shared();
    let poster = Poster::new(app, 4_500).await;
    let mut history: Vec<Value> = (0..16).map(message).collect();
    let body = json!({"format": "openai_chat", "items": history});
    app.put(&format!("{}/transcript", poster.session), body).await.expect(200);
    poster.settled().await;
    history[3] = said(3, "Something else.");
    let told = poster.put(&history, None).await;
    assert!(shown(&told).iter().any(is_summary), "{told}");
    let usage = json!({"prompt_tokens": poster.count(&told["context"]["messages"]).await, "completion_tokens": 5});
    history.extend([said(17, "Done."), said(18, "Next.")]);
    let answer = poster.put(&history, Some(usage)).await;
    let (tokens, counted) =
        (answer["snapshot"]["tokens"].as_u64().unwrap(), poster.count(&json!(shown(&answer))).await);
    assert!(tokens.abs_diff(counted) <= counted / 20, "{tokens} told, {counted} counted: {}", answer["snapshot"]);
}

/// Of what a call leaves: the messages, and the summary's place in them.
async fn rebuilt(app: &App, session: &str) -> Value {
    app.post(&format!("{session}/rebuild"), json!({"format": "openai_chat"})).await.expect(200)
}

#[tokio::test]
async fn a_move_behind_the_covered_span_takes_it_along() {
    let app = App::shared();
    let (poster, _, before) = compacted(app).await;
    let entries = all(app, &format!("{}/entries", poster.session)).await;
    // An answer: a move onto a user's message would go to what is before it.
    let last = entries[17]["id"].clone();
    app.post(&format!("{}/navigate", poster.session), json!({"target_id": last, "summarize": false})).await.expect(200);
    let context = rebuilt(app, &poster.session).await;
    let now = context["messages"].as_array().unwrap();
    assert_eq!((common(&before, now), now.len()), (before.len() - 2, before.len() - 2));
    app.append(&poster.session, "openai_chat", json!([said(1, "It goes on.")])).await;
    let context = rebuilt(app, &poster.session).await;
    assert_eq!(common(&before, context["messages"].as_array().unwrap()), before.len() - 2);
    assert_eq!(poster.compactions().await, 1);
    let early = entries[2]["id"].clone();
    app.post(&format!("{}/navigate", poster.session), json!({"target_id": early, "summarize": false}))
        .await
        .expect(200);
    let context = rebuilt(app, &poster.session).await;
    assert!(!context["messages"].as_array().unwrap().iter().any(is_summary), "{context}");
}

#[tokio::test]
async fn a_fork_keeps_what_it_shares_when_its_end_is_replaced() {
    let app = App::shared();
    let (poster, mut history, before) = compacted(app).await;
    let fork = app.post(&format!("{}/fork", poster.session), json!({})).await.expect(201);
    let fork = Poster { app, session: format!("/v1/sessions/{}", fork["id"].as_str().unwrap()), window: poster.window };
    for text in ["Something else.", "And something else again."] {
        history[19] = said(19, text);
        let answer = fork.put(&history, None).await;
        fork.agrees(&answer).await;
        assert_eq!(common(&before, &shown(&answer)), before.len() - 1, "{text}");
    }
    assert_eq!((poster.compactions().await, fork.compactions().await), (1, 0));
}

/// Items with a parent of their own go elsewhere in the tree.
#[tokio::test]
async fn an_append_elsewhere_takes_it_along() {
    let app = App::shared();
    let (poster, _, before) = compacted(app).await;
    let entries = all(app, &format!("{}/entries", poster.session)).await;
    let last = entries.iter().rfind(|entry| entry["type"] == "message").unwrap()["parent_id"].clone();
    let new = said(1, "On another branch.");
    let body = json!({"format": "openai_chat", "items": [new], "parent_id": last, "return_context": "openai_chat"});
    let answer = app.post(&format!("{}/entries", poster.session), body).await.expect(201);
    poster.agrees(&answer).await;
    let now = shown(&answer);
    assert_eq!((common(&before, &now), now.len(), now.last()), (before.len() - 1, before.len(), Some(&new)));
    assert_eq!(poster.compactions().await, 1);
}

#[tokio::test]
async fn a_carried_compaction_is_taken_back_as_one() {
    let app = App::shared();
    let (poster, mut history, _) = compacted(app).await;
    history[19] = said(19, "Something else.");
    poster.put(&history, None).await;
    let done = all(app, &format!("{}/compactions", poster.session)).await;
    app.patch(&poster.session, json!({"settings": {"enabled": false}})).await.expect(200);
    app.post(&format!("/v1/compactions/{}/revert", done[0]["id"].as_str().unwrap()), json!({})).await.expect(200);
    assert_eq!(rebuilt(app, &poster.session).await["messages"], json!(history));
    // What was taken back does not come again with the next edit.
    history[19] = said(19, "And again something else.");
    let body = json!({"format": "openai_chat", "items": history});
    app.put(&format!("{}/transcript", poster.session), body).await.expect(200);
    assert_eq!(rebuilt(app, &poster.session).await["messages"], json!(history));
}

/// Who goes back to the very end of what is covered has nothing but the record to answer, so it is not shown there.
#[tokio::test]
async fn a_history_that_ends_with_what_is_covered_shows_its_newest_message() {
    let (poster, history, _) = compacted(App::shared()).await;
    let done = all(poster.app, &format!("{}/compactions", poster.session)).await;
    let entries = all(poster.app, &format!("{}/entries", poster.session)).await;
    let messages: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "message").collect();
    let kept = messages.iter().position(|entry| entry["id"] == done[0]["result"]["first_kept_entry_id"]).unwrap();
    let left = &history[..kept];
    let answer = poster.put(left, None).await;
    let shown = answer["context"]["messages"].as_array().unwrap();
    assert_eq!(shown.last(), left.last(), "{answer}");
    // One that goes on from there has it again.
    let mut next = left.to_vec();
    next.push(said(kept, "Go on from here."));
    let answer = poster.put(&next, None).await;
    assert_eq!(answer["context"]["messages"].as_array().unwrap().last(), next.last(), "{answer}");
    // Taken back again it ends with the message, not with what came along behind it, nor does that come along once more.
    for _ in 0..2 {
        let answer = poster.put(left, None).await;
        assert_eq!(answer["context"]["messages"].as_array().unwrap().last(), left.last(), "{answer}");
        let answer = poster.put(&next, None).await;
        assert_eq!(answer["context"]["messages"].as_array().unwrap().last(), next.last(), "{answer}");
    }
}

/// A history that was taken back to the very end of what is covered is shown without its record; whoever goes on from there,
/// by a transcript or an append, has it again, and no second compaction is made.
#[tokio::test]
async fn whoever_goes_on_from_the_end_of_what_is_covered_has_its_record() {
    let app = App::shared();
    for (is_put, with_usage) in [(true, false), (true, true), (false, false), (false, true)] {
        let (poster, history, _) = compacted(app).await;
        let done = all(app, &format!("{}/compactions", poster.session)).await;
        let entries = all(app, &format!("{}/entries", poster.session)).await;
        let messages: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "message").collect();
        let kept = messages.iter().position(|entry| entry["id"] == done[0]["result"]["first_kept_entry_id"]).unwrap();
        let mut left = history[..kept].to_vec();
        // Room for the whole of it, as after a change of the settings or where little was kept.
        app.patch(&poster.session, json!({"settings": {"context_window": 40_000}})).await.expect(200);
        let poster = Poster { window: 40_000, ..poster };
        let answer = poster.put(&left, None).await;
        assert_eq!(shown(&answer), left, "shown without the record");
        let counted = poster.count(&json!(left)).await;
        let usage = json!({"prompt_tokens": counted, "completion_tokens": 8});
        let usage = Some(usage).filter(|_| with_usage);
        let new = [said(kept, "Go on from here."), said(kept + 1, "It goes on.")];
        left.extend(new.clone());
        let answer = if is_put {
            poster.put(&left, usage).await
        } else {
            let mut body = json!({"format": "openai_chat", "items": new, "return_context": "openai_chat"});
            body["usage"] = usage.unwrap_or_default();
            app.post(&format!("{}/entries", poster.session), body).await.expect(201)
        };
        let now = shown(&answer);
        assert!(now.iter().any(is_summary), "put {is_put}, usage {with_usage}: {answer}");
        assert_eq!(now.last(), left.last());
        poster.agrees(&answer).await;
        assert_eq!((poster.compactions().await, &answer["compaction"]), (1, &Value::Null));
        left.extend([said(kept + 2, "Next."), said(kept + 3, "Done.")]);
        let next = poster.put(&left, None).await;
        poster.agrees(&next).await;
        assert_eq!((common(&now, &shown(&next)), poster.compactions().await), (now.len(), 1));
    }
}
