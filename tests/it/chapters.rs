//! Chapters over real HTTP: closing, refusing, folding again, reading back, and living with compactions.

mod agent;
mod compactions;

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::{all, asked, by_hand, context, messages, turns};

/// Settings under which nothing but chapters happens by itself.
pub fn chaptered(trigger: u64) -> Value {
    let mut settings = by_hand();
    settings["chaptering_trigger"] = json!(trigger);
    settings
}

/// A session of `count` whole turns of about 400 tokens each.
pub async fn filled(app: &App, trigger: u64, count: usize) -> String {
    let session = app.session(json!({"settings": chaptered(trigger)})).await;
    app.append(&session, "openai_chat", json!(turns(0..count, 120))).await;
    session
}

pub async fn close(app: &App, session: &str, ranges: &[(i64, i64, &str)]) -> Value {
    let chapter = |(start, end, name): &(i64, i64, &str)| json!({"start": start, "end": end, "name": name, "message": format!("What {name} was about.")});
    let chapters: Vec<Value> = ranges.iter().map(chapter).collect();
    app.post(&format!("{session}/chapters"), json!({"chapters": chapters})).await.expect(201)
}

pub async fn tasks(app: &App, session: &str) -> Vec<Value> {
    app.get(&format!("{session}/tasks")).await.expect(200).as_array().unwrap().clone()
}

pub async fn pending(app: &App, session: &str) -> bool {
    app.get(&format!("{session}/snapshot")).await.expect(200)["chapter_task"]["pending"].as_bool().unwrap()
}

/// Names in a folder.
pub async fn names(app: &App, session: &str, path: &str) -> Vec<String> {
    let folder = app.get(&format!("{session}/vfs/{path}")).await.expect(200);
    folder["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

pub async fn file(app: &App, session: &str, path: &str) -> String {
    let answer = app.get(&format!("{session}/vfs/{path}")).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    assert!(answer.header("content-type").unwrap().starts_with("text/markdown"));
    answer.text
}

/// The JSON in the last fence of an event file.
pub fn original(text: &str) -> &str {
    let (_, part) = text.rsplit_once("\n## Original (").unwrap();
    let fence = part.lines().find(|line| line.starts_with("```")).unwrap().trim_end_matches("json");
    let (_, inner) = part.split_once("json\n").unwrap();
    inner.strip_suffix(&format!("\n{fence}\n")).unwrap()
}

/// The texts of a chat context's user messages.
pub async fn said(app: &App, session: &str) -> Vec<String> {
    let context = context(app, session, "openai_chat").await;
    let users = messages(&context).iter().filter(|message| message["role"] == "user");
    users.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_numbered_alike_in_index_and_context() {
    let app = App::shared();
    let session = filled(app, 100, 4).await;
    let index = tasks(app, &session).await;
    assert_eq!(index.len(), 4);
    for (n, task) in index.iter().enumerate() {
        assert_eq!((task["n"].as_u64().unwrap(), &task["state"]), (n as u64 + 1, &json!("done")));
        assert!(asked(n).starts_with(task["title"].as_str().unwrap().trim_end_matches('…')));
    }
    let numbered: Vec<String> = (0..4).map(|n| format!("[{}] {}", n + 1, asked(n))).collect();
    assert_eq!(said(app, &session).await, numbered);
    // What was handed out stays as it is while the session grows.
    let before = context(app, &session, "openai_chat").await;
    app.append(&session, "openai_chat", json!(turns(4..6, 50))).await;
    let after = context(app, &session, "openai_chat").await;
    assert_eq!(after["stable_prefix_messages"], json!(messages(&before).len()));
    assert_eq!(messages(&after)[..messages(&before).len()], messages(&before)[..]);
    // Without the setting nothing is numbered.
    app.patch(&session, json!({"settings": {"chaptering_trigger": null}})).await.expect(200);
    assert_eq!(said(app, &session).await[2], asked(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_tasks_give_way_to_name_message_and_path() {
    let app = App::shared();
    let session = filled(app, 100, 6).await;
    let before = app.get(&format!("{session}/snapshot")).await.expect(200);
    let answer = close(app, &session, &[(2, 3, "Data exploration"), (4, 4, "Data exploration")]).await;
    let chapters = answer["chapters"].as_array().unwrap();
    assert_eq!(chapters[1]["slug"], "data-exploration-2");
    for chapter in chapters {
        assert!(chapter["tokens_after"].as_u64() < chapter["tokens_before"].as_u64());
        assert!(chapter["savings_pct"].as_f64().unwrap() > 50.0);
    }
    assert!(answer["snapshot"]["tokens"].as_u64() < before["tokens"].as_u64());
    let said = said(app, &session).await;
    assert_eq!(said[0], format!("[1] {}", asked(0)));
    assert!(said[1].starts_with("[2] Chapter \"Data exploration\" (/chapters/data-exploration/)"), "{}", said[1]);
    assert!(said[2].starts_with("[3] Chapter") && said[2].contains("(/chapters/data-exploration-2/)"));
    assert_eq!(said[3], format!("[4] {}", asked(4)));
    assert_eq!(tasks(app, &session).await[1]["state"], "chapter");
    assert_eq!(all(app, &format!("{session}/tool-calls")).await.len(), 6);
    // The snapshot is that of the path, however it is worked out.
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    assert_eq!(fork["snapshot"]["tokens"], answer["snapshot"]["tokens"]);
    assert_eq!(names(app, &session, "").await, ["chapters"]);
    assert_eq!(names(app, &session, "chapters/").await, ["data-exploration", "data-exploration-2"]);
    assert_eq!(names(app, &session, "chapters/data-exploration").await, ["summary.md", "events"]);
    let events = names(app, &session, "chapters/data-exploration/events/").await;
    assert_eq!(events.len(), 8);
    assert_eq!(events[..3], ["001-user.md", "002-assistant.md", "003-tool.md"]);
    let summary = file(app, &session, "chapters/data-exploration/summary.md").await;
    assert_eq!(summary, "# Data exploration\n\nWhat Data exploration was about.\n");
    let items = turns(1..3, 120);
    for (name, item) in events.iter().zip(&items) {
        let text = file(app, &session, &format!("chapters/data-exploration/events/{name}")).await;
        assert_eq!(original(&text), item.to_string());
    }
    let listed = app.get(&format!("{session}/vfs/chapters/data-exploration/events")).await.expect(200);
    let text = file(app, &session, "chapters/data-exploration/events/003-tool.md").await;
    assert_eq!(listed["entries"][2]["size"], text.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn chapters_fold_into_chapters() {
    let app = App::shared();
    let session = filled(app, 100, 6).await;
    close(app, &session, &[(2, 2, "One"), (3, 3, "One")]).await;
    close(app, &session, &[(2, 4, "Both")]).await;
    let slugs = |chapter: &Value| -> Vec<String> {
        chapter["chapters"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
    };
    let listed = app.get(&format!("{session}/chapters")).await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(slugs(&listed["items"][0]), ["/chapters/both/chapters/one/", "/chapters/both/chapters/one-2/"]);
    let inner = "chapters/both/chapters/one-2/";
    assert_eq!(names(app, &session, inner).await, ["summary.md", "events"]);
    let text = file(app, &session, &format!("{inner}events/003-tool.md")).await;
    assert_eq!(original(&text), turns(2..3, 120)[2].to_string());
    // What it closed besides the chapters is numbered with them.
    assert_eq!(names(app, &session, "chapters/both/events").await[0], "003-user.md");
    assert_eq!(tasks(app, &session).await.len(), 4);
    // A later chapter is not given the folder of one that an agent may still remember.
    let again = close(app, &session, &[(3, 3, "Both")]).await;
    assert_eq!(again["chapters"][0]["slug"], "both-2");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_to_stay_stays_within_a_chapter() {
    let app = App::shared();
    let session = filled(app, 100, 6).await;
    let entries = all(app, &format!("{session}/entries")).await;
    // The call of the third turn: its result stays with it.
    app.patch(&session, json!({"settings": {"pinned_entry_ids": [entries[9]["id"]]}})).await.expect(200);
    close(app, &session, &[(1, 3, "Begun")]).await;
    let context = context(app, &session, "openai_chat").await;
    let shown = messages(&context);
    assert_eq!(shown[0]["content"], asked(0));
    assert!(shown[1]["content"].as_str().unwrap().starts_with("[1] Chapter"));
    assert_eq!([&shown[2], &shown[3]], [&entries[9]["item"], &entries[10]["item"]]);
    assert_eq!(shown[4]["content"], format!("[2] {}", asked(3)));
    assert_eq!(names(app, &session, "chapters/begun/events").await.len(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_task_is_due_above_the_trigger_and_an_empty_list_rests_it() {
    let app = App::shared();
    let session = filled(app, 3_000, 2).await;
    assert!(!pending(app, &session).await);
    app.append(&session, "openai_chat", json!(turns(2..12, 120))).await;
    assert!(pending(app, &session).await);
    let task = app.get(&format!("{session}/chapter-task")).await.expect(200);
    assert_eq!(task["pending"], true);
    assert_eq!(task["tasks"].as_array().unwrap().len(), 12);
    assert!(task["prompt"].as_str().unwrap().contains(&format!("[3] {}", asked(2))[..40]));
    assert_eq!(task["tool"]["name"], "write_chapters");
    assert!(task["tool"]["parameters"]["properties"]["chapters"].is_object());
    let answer = close(app, &session, &[]).await;
    assert_eq!((&answer["chapters"], &answer["snapshot"]["chapter_task"]["pending"]), (&json!([]), &json!(false)));
    assert!(!pending(app, &session).await);
    app.append(&session, "openai_chat", json!(turns(12..20, 120))).await;
    assert!(pending(app, &session).await);
    // The task itself is no task when it comes back with the transcript, and what calls is still at work.
    let call = json!({"id": "w1", "type": "function", "function": {"name": "write_chapters", "arguments": "{}"}});
    let asking = json!({"role": "user", "content": task["prompt"]});
    let calling = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    app.append(&session, "openai_chat", json!([asking, calling])).await;
    let index = tasks(app, &session).await;
    assert_eq!((index.len(), &index[19]["state"]), (20, &json!("open_call")));
    let answer = close(app, &session, &[(1, 18, "Most")]).await;
    assert_eq!(answer["snapshot"]["chapter_task"]["pending"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_chapters_are_refused() {
    let app = App::shared();
    let session = filled(app, 100, 4).await;
    app.append(&session, "openai_chat", json!([{"role": "user", "content": "And now?"}])).await;
    let path = format!("{session}/chapters");
    let one = |start: i64, end: i64, name: &str| json!({"start": start, "end": end, "name": name, "message": "m"});
    let post = |chapters: Value| app.post(&path, json!({"chapters": chapters}));
    for (start, end) in [(0, 1), (2, 1), (1, 9), (5, 5), (4, 5), (-1, 3), (i64::MAX, i64::MAX)] {
        let answer = post(json!([one(start, end, "bad")])).await;
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], "/chapters/0", "{start}-{end}");
    }
    let overlap = post(json!([one(1, 2, "a"), one(3, 3, "c"), one(2, 2, "b")])).await;
    overlap.assert_problem(422, "validation_failed");
    assert_eq!(overlap.body["errors"][0]["pointer"], "/chapters/2");
    assert_eq!(tasks(app, &session).await.len(), 5);
    post(json!(vec![one(1, 1, "x"); 10_000])).await.assert_problem(422, "too_many_items");
    for body in [json!({}), json!({"chapters": null}), json!({"chapters": [one(1, 1, " ")]})] {
        app.post(&path, body).await.assert_problem(422, "validation_failed");
    }
    let mut nul = one(1, 1, "n");
    nul["message"] = json!("a\0b");
    post(json!([nul])).await.assert_problem(422, "validation_failed");
    // Larger than what it closes: that would be no compaction.
    let mut long = one(1, 1, "long");
    long["message"] = json!("word ".repeat(5_000));
    assert!(post(json!([long])).await.text.contains("larger"));
    // A bad one among good ones is left out alone.
    let answer = post(json!([one(1, 1, "good"), one(9, 9, "bad"), one(5, 5, "going on")])).await.expect(201);
    assert_eq!(answer["chapters"].as_array().unwrap().len(), 1);
    let refused: Vec<_> = answer["refused"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
    assert_eq!(refused, ["out_of_range", "in_progress"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chapter_over_a_few_words_never_makes_the_context_larger() {
    let app = App::shared();
    let session = app.session(json!({"settings": chaptered(100)})).await;
    let turn = |n: usize| {
        let said = |role: &str, text: String| json!({"role": role, "content": text});
        [said("user", format!("Task {n} please")), said("assistant", format!("Task {n} is done."))]
    };
    app.append(&session, "openai_chat", json!((0..6).flat_map(turn).collect::<Vec<_>>())).await;
    let before = app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"].as_u64();
    let answer = close(app, &session, &[(2, 2, "Small"), (3, 5, "Larger")]).await;
    assert!(answer["snapshot"]["tokens"].as_u64() <= before);
    let said = said(app, &session).await;
    assert!(said[1].contains("/chapters/small/") && said[2].contains("/chapters/larger/"), "{said:?}");
    assert!(file(app, &session, "chapters/small/summary.md").await.contains("What Small was about."));
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_names_have_sound_folders_and_no_path_climbs() {
    let app = App::shared();
    let long = "A".repeat(300);
    let strange = ["../../etc/passwd", "a/b", "..", "🙂", "مرحبا بالعالم", "\u{202e}evil", &long, "🙂"];
    let session = filled(app, 100, strange.len() + 1).await;
    let ranges: Vec<(i64, i64, &str)> = strange.iter().zip(1..).map(|(name, n)| (n, n, *name)).collect();
    let answer = close(app, &session, &ranges).await;
    let slugs: Vec<&str> = answer["chapters"].as_array().unwrap().iter().map(|c| c["slug"].as_str().unwrap()).collect();
    let expected = ["etcpasswd", "ab", "unnamed", "unnamed-2", "مرحبا-بالعالم", "evil", &"a".repeat(300), "unnamed-3"];
    assert_eq!(slugs, expected);
    assert_eq!(names(app, &session, "chapters").await, expected);
    for slug in slugs {
        assert!(file(app, &session, &format!("chapters/{slug}/summary.md")).await.starts_with("# "));
    }
    let climbing = [
        "chapters/ab/..%2f..",
        "chapters//ab",
        "chapters/ab/events/..%5c",
        "chapters/ab/summary.md/x",
        "%00",
        "chapters/AB",
        "events",
        "chapters/ab/events/1",
        "chapters/ab/chapters",
        "%ff",
    ];
    for path in climbing {
        assert_eq!(app.get(&format!("{session}/vfs/{path}")).await.status, 404, "{path}");
    }
    // A client would resolve these by itself.
    for path in
        ["..", "%2e%2e", "chapters/../../../../etc/passwd", "chapters/%2e%2e/%2E%2e/etc/passwd", "chapters/./ab"]
    {
        let answer = raw_get(app, &format!("{session}/vfs/{path}"));
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
    }
    let foreign = session.replace(|c: char| c.is_ascii_digit(), "0");
    assert_eq!(app.get(&format!("{foreign}/vfs/chapters")).await.status, 404);
    let empty = app.session(json!({})).await;
    assert_eq!(names(app, &empty, "").await, [""; 0]);
    assert_eq!(app.get(&format!("{empty}/vfs/chapters")).await.status, 404);
    assert_eq!(tasks(app, &empty).await.len(), 0);
    let one = json!({"chapters": [{"start": 1, "end": 1, "name": "n", "message": "m"}]});
    app.post(&format!("{empty}/chapters"), one).await.assert_problem(422, "validation_failed");
}

/// A request whose path nobody has touched.
fn raw_get(app: &App, path: &str) -> String {
    let host = app.url("").replace("http://", "");
    let mut stream = TcpStream::connect(&host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
