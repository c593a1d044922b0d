//! Every message of the user's outlives every summary, in its own words or counted; a short reply with what it answers, and
//! the agent's tasks likewise.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::played_upstream::{Behaviour, PlayedUpstream};

/// Remembers nothing.
const FORGETFUL: &str = "## Goal\n- Some work on a service.\n\n## Progress\n### Done\n- Parts of it were looked at.";

const TABLES: [&str; 12] = [
    "orders",
    "customers",
    "invoices",
    "shipments",
    "returns",
    "prices",
    "stores",
    "carts",
    "coupons",
    "reviews",
    "suppliers",
    "audits",
];

fn says(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answers(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// What the user says in the `n`th turn; now and then at length.
fn said(n: usize) -> String {
    match n % 5 {
        0 => format!("Please look at part {n} of the service."),
        1 => format!("The part numbered {n} must not take longer than {n}0 ms."),
        2 => format!("About part {n}: {}that is all.", "it has grown for years and nobody knows why; ".repeat(8)),
        3 => format!("Never rename the table of {}.", TABLES[n / 5]),
        _ => format!("Is part {n} green?"),
    }
}

fn round(turns: std::ops::Range<usize>, words: usize) -> Vec<Value> {
    let answer = |n: usize| format!("Part {n} was looked at. {}", "Nothing of it was odd. ".repeat(words));
    turns.flat_map(|n| [says(&said(n)), answers(&answer(n))]).collect()
}

/// The context's texts on one line, and how many requests it says that it leaves out.
async fn shown(app: &App, session: &str) -> (String, usize) {
    let context = context(app, session, "openai_chat").await;
    assert!(context["exceeds_window"].is_null(), "{context}");
    let texts = messages(&context).iter().filter_map(|message| message["content"].as_str());
    let texts: Vec<&str> = texts.collect();
    let stated = texts.iter().map(|text| requests_left_out(text)).sum();
    (texts.join("\n").split_whitespace().collect::<Vec<_>>().join(" "), stated)
}

/// The first messages of the user's that are neither shown nor shortened with the cut marked.
fn unseen(shown: &str, count: usize) -> Vec<usize> {
    let is_cut = |said: &str| {
        let head: String = said.chars().take(40).collect();
        shown.split_once(&head).is_some_and(|(_, rest)| rest.chars().take(400).collect::<String>().contains("[…]"))
    };
    (0..count).filter(|at| !shown.contains(&said(*at)) && !is_cut(&said(*at))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_rounds_with_a_model_that_forgets_everything_lose_no_message() {
    let upstream = PlayedUpstream::start(Behaviour::Good(FORGETFUL.to_owned())).await;
    let app = App::fresh(&crate::drill_support::upstream(&upstream.base_url(), "5000"));
    let session = app.session(json!({"settings": by_hand()})).await;
    for n in 0..10 {
        app.append(&session, "openai_chat", json!(round(n * 6..n * 6 + 6, 150))).await;
        let done = compact(&app, &session, json!({"force": true, "strategy": "llm_summarize"})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let (shown, stated) = shown(&app, &session).await;
        let missing = unseen(&shown, n * 6 + 6);
        assert_eq!((missing, stated), (Vec::new(), 0), "round {n}: there is room for all of them: {shown}");
        let whole = (0..n * 6 + 6).filter(|at| shown.contains(&said(*at))).count();
        assert!(whole * 5 >= (n * 6 + 6) * 4, "round {n}: {whole} of them are whole: {shown}");
        let twice = (0..n * 6 + 6).filter(|at| shown.matches(&said(*at)).count() > 1).count();
        assert_eq!(twice, 0, "round {n}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_rounds_in_a_small_window_fit_and_state_what_is_left_out() {
    let upstream = PlayedUpstream::start(Behaviour::Good(FORGETFUL.to_owned())).await;
    let app = App::fresh(&crate::drill_support::upstream(&upstream.base_url(), "5000"));
    for strategy in ["llm_summarize", "summarize"] {
        let settings = json!({"enabled": false, "context_window": 4_000, "reserve_tokens": 1_000,
            "keep_recent_tokens": 300});
        let session = app.session(json!({"settings": settings})).await;
        for n in 0..10 {
            app.append(&session, "openai_chat", json!(round(n * 6..n * 6 + 6, 40))).await;
            let done = compact(&app, &session, json!({"force": true, "strategy": strategy})).await;
            assert_eq!(done["status"], "succeeded", "{strategy}, round {n}: {done}");
            assert!(done["result"]["tokens_after"].as_u64().unwrap() < 3_000, "{strategy}, round {n}: {done}");
            let (shown, stated) = shown(&app, &session).await;
            for at in (n * 6 + 3..n * 6 + 6).map(said) {
                assert!(shown.contains(&at), "{strategy}, round {n}: {at} in {shown}");
            }
            let missing = unseen(&shown, n * 6 + 6);
            assert!(stated >= missing.len(), "{strategy}, round {n}: {missing:?}, {stated} in {shown}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_reply_is_shown_with_the_question_that_it_answers() {
    let upstream = PlayedUpstream::start(Behaviour::Good(FORGETFUL.to_owned())).await;
    let app = App::fresh(&crate::drill_support::upstream(&upstream.base_url(), "5000"));
    let session = app.session(json!({"settings": by_hand()})).await;
    let replies = vec![
        says("Clean up the database, please."),
        answers("The table of old orders is empty. Shall I drop it?"),
        says("no"),
        answers("It stays. Where shall the backup go?\n\n1. To the old disk\n2. To the new disk\n"),
        says("2"),
    ];
    let asking = "Which of the indexes is to go first?";
    let rounds = [
        [replies, round(0..6, 150), vec![answers(asking), says("the largest"), answers("So be it.")]].concat(),
        round(6..14, 150),
    ];
    for items in rounds {
        app.append(&session, "openai_chat", json!(items)).await;
        let done = compact(&app, &session, json!({"force": true, "strategy": "llm_summarize"})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let (shown, _) = shown(&app, &session).await;
        for line in [
            "Shall I drop it? u2 User: no ",
            "Where shall the backup go? 1. To the old disk 2. To the new disk u3 User: 2 ",
        ] {
            assert!(shown.contains(line), "{line} in {shown}");
        }
    }
    let (shown, _) = shown(&app, &session).await;
    let line = format!("{asking} u10 User: the largest ");
    assert!(shown.contains(&line), "{line} in {shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_tasks_outlive_a_model_that_forgets_them() {
    let upstream = PlayedUpstream::start(Behaviour::Good(FORGETFUL.to_owned())).await;
    let app = App::fresh(&crate::drill_support::upstream(&upstream.base_url(), "5000"));
    let session = app.session(json!({"settings": by_hand()})).await;
    let keeps = |id: &str, states: [&str; 3]| {
        let tasks = ["Move the parser to its own crate", "Write the manual page", "Tag version 1.4"];
        let todos: Vec<Value> =
            tasks.iter().zip(states).map(|(task, state)| json!({"content": task, "status": state})).collect();
        let function = json!({"name": "TodoWrite", "arguments": json!({"todos": todos}).to_string()});
        vec![
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}),
            json!({"role": "tool", "tool_call_id": id, "content": "The list was written."}),
        ]
    };
    let rounds = [
        [round(0..2, 150), keeps("a", ["in_progress", "pending", "pending"]), round(2..6, 150)].concat(),
        round(6..12, 150),
        [round(12..14, 150), keeps("b", ["completed", "in_progress", "pending"]), round(14..18, 150)].concat(),
        round(18..24, 150),
    ];
    let list = "The agent's task list where this record ends (a newer one may follow):";
    let first = format!(
        "{list} - in_progress: Move the parser to its own crate - pending: Write the manual page - pending: Tag version 1.4"
    );
    let later = format!(
        "{list} - completed: Move the parser to its own crate - in_progress: Write the manual page - pending: Tag version 1.4"
    );
    for (items, expected) in rounds.into_iter().zip([&first, &first, &later, &later]) {
        app.append(&session, "openai_chat", json!(items)).await;
        let done = compact(&app, &session, json!({"force": true, "strategy": "llm_summarize"})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let (shown, _) = shown(&app, &session).await;
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_summary_repeats_is_found_in_the_original_first() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let items = [vec![says("The gateway listens on port 8443, I think.")], round(0..8, 150)].concat();
    app.append(&session, "openai_chat", json!(items)).await;
    let summary =
        "## Goal\n- The gateway on port 8443.\n\n## Key Decisions\n- gateway port 8443 stays: gateway, port 8443.";
    let done = compact(app, &session, json!({"force": true, "summary": summary})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let found = app.get(&format!("{session}/search?q=gateway%20port%208443")).await.expect(200);
    let kinds: Vec<&str> = found["items"].as_array().unwrap().iter().map(|hit| hit["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "compaction"], "{found}");
}
