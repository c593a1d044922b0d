//! Ten compactions in a row on long sessions, made up and recorded: what must survive all of them.

use serde_json::{Value, json};

use crate::app::App;
use crate::data::Source;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};
use crate::made_up;

const ROUNDS: usize = 10;

/// The items of the recording with the most of them in a file of the corpus.
fn longest(file: &str) -> Vec<Value> {
    let text = Source::Shared.text(&format!("corpus/{file}"));
    let sessions = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lists = sessions.map(|session| session["messages"].as_array().unwrap().clone());
    let mut items = lists.max_by_key(Vec::len).unwrap();
    for item in &mut items {
        without_usage(item);
    }
    items
}

/// The usage was measured in a window larger than the drill's, with tools and a system prompt that nobody posts: most of
/// the drill's window would be theirs.
fn without_usage(item: &mut Value) {
    let Some(item) = item.as_object_mut() else { return };
    item.remove("usage");
    item.values_mut().filter(|value| value.is_object()).for_each(without_usage);
}

/// The message that an item is, or holds.
fn message<'i>(format: &str, item: &'i Value) -> &'i Value {
    if format == "pi" { &item["message"] } else { item }
}

fn call_ids(format: &str, items: &[Value]) -> Vec<String> {
    let kind = if format == "pi" { "toolCall" } else { "tool_use" };
    let blocks = items.iter().filter_map(|item| message(format, item)["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == kind).map(|block| block["id"].as_str().unwrap().to_owned()).collect()
}

/// How many calls the record in a summary message tells of: by their numbers, in counts, and those of the stretches that it
/// says it leaves out, at most.
pub fn told_calls(summary: &str) -> u64 {
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
    let line = |line: &str| -> u64 {
        if let Some(told) = line.strip_prefix("- #") {
            let first: u64 = number(told).expect(line);
            let last = told.split_once("-#").filter(|(first, _)| first.chars().all(|c| c.is_ascii_digit()));
            return last.and_then(|(_, last)| number(last)).map_or(1, |last: u64| last - first + 1);
        }
        if let Some(count) = line.trim_start().strip_prefix('(') {
            let is_count =
                [" call: #", " calls: #", " calls among #", " call among #"].iter().any(|words| count.contains(words));
            return if is_count { number(count).unwrap() } else { 0 };
        }
        let gap = line.strip_prefix("[… ").and_then(|line| line.strip_suffix(']'));
        let Some((_, first)) = gap.and_then(|names| names.split_once('#')) else { return 0 };
        let last = first.split_once("-#").map_or(first, |(_, last)| last);
        number(last).unwrap() + 1 - number(first).unwrap()
    };
    summary.lines().map(line).sum()
}

async fn ten_rounds(format: &str, items: Vec<Value>) {
    let first = items.iter().map(|item| message(format, item)).find(|message| message["role"] == "user").unwrap();
    let first = match &first["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
    };
    let app = App::shared();
    let settings =
        json!({"enabled": false, "context_window": 48_000, "reserve_tokens": 8_000, "keep_recent_tokens": 6_000});
    let session = app.session(json!({"settings": settings})).await;
    let mut appended = Vec::new();
    for (round, slice) in items.chunks(items.len().div_ceil(ROUNDS)).enumerate() {
        app.append(&session, format, json!(slice)).await;
        appended.extend_from_slice(slice);
        let done = compact(app, &session, json!({"force": true})).await;
        let result = &done["result"];
        assert_eq!(done["status"], "succeeded", "{format}, round {round}: {done}");
        let (before, after) = (result["tokens_before"].as_u64().unwrap(), result["tokens_after"].as_u64().unwrap());
        println!(
            "{format}, round {round}: {before} → {after} tokens, {} calls, identifiers {}",
            call_ids(format, &appended).len(),
            result["identifiers"]
        );
        assert!(after < before, "{done}");
        check_words(app, &session, (format, &appended), result).await;
        check_round(app, &session, format, &appended, &first).await;
    }
}

/// The share of the names of what is replaced that can be found in the summary.
pub fn recall_after(result: &Value) -> f64 {
    let count = |name: &str| result["identifiers"][name].as_f64().unwrap();
    if count("found") == 0.0 { 1.0 } else { (count("kept") + count("restored")) / count("found") }
}

/// What the user said, each message by itself.
fn said<'i>(format: &str, items: &'i [Value]) -> Vec<&'i str> {
    let of_user = items.iter().map(|item| message(format, item)).filter(|message| message["role"] == "user");
    let texts = of_user.flat_map(|message| match &message["content"] {
        Value::String(text) => vec![text.as_str()],
        blocks => blocks.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect(),
    });
    // What a harness says in the user's name, skills and its own summaries among it, is no request.
    const HARNESS: [&str; 4] = ["<", "[", "Base directory for this skill:", "This session is being continued"];
    let is_harness = |text: &str| HARNESS.iter().any(|opening| text.starts_with(opening));
    texts.filter(|text| !text.trim().is_empty() && !is_harness(text.trim_start())).collect()
}

/// What the user ever said stands in the context, or is counted there as left out; and what the result says of the
/// identifiers holds for the summary as it is stored.
async fn check_words(app: &App, session: &str, (format, appended): (&str, &[Value]), result: &Value) {
    let entries = all(app, &format!("{session}/entries?all=true")).await;
    let compaction = entries.iter().rfind(|entry| entry["id"] == result["entry_id"]).expect("the entry");
    let summary = compaction["item"]["summary"].as_str().unwrap();
    let on_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = on_one_line(&texts_of(&context(app, session, format).await["messages"]).join(" "));
    // Long ones are told by head and tail, and of what was pasted between fences no scraps.
    let opening = |text: &str| on_one_line(text.split("```").find(|part| !part.trim().is_empty()).unwrap_or_default());
    let is_told = |text: &&str| shown.contains(&opening(text).chars().take(40).collect::<String>());
    let lost: Vec<&str> = said(format, appended).into_iter().filter(|text| !is_told(text)).collect();
    let counted = requests_left_out(summary);
    assert!(lost.len() <= counted, "{counted} are counted, lost are {lost:?}");
    let count = |name: &str| result["identifiers"][name].as_u64().unwrap();
    let (found, kept) = (count("found"), count("kept"));
    assert!(kept + count("restored") <= found, "{result}");
    assert_eq!(result["identifiers"]["recall"], json!(if found == 0 { 1.0 } else { kept as f64 / found as f64 }));
}

async fn check_round(app: &App, session: &str, format: &str, appended: &[Value], first: &str) {
    let rows = all(app, &format!("{session}/tool-calls")).await;
    let ids: Vec<&str> = rows.iter().map(|row| row["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, call_ids(format, appended));
    let shown = context(app, session, format).await;
    let entries = shown["entry_ids"].as_array().unwrap();
    let replaced = rows.iter().filter(|row| !entries.contains(&row["entry_id"])).count() as u64;
    for format in FORMATS {
        let shown = context(app, session, format).await;
        assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new(), "{format}");
        let texts = texts_of(&shown["messages"]);
        assert!(texts.iter().any(|text| text == first), "the first message of the user, verbatim in {format}");
        let summary = texts.iter().find(|text| text.contains("<context-summary>")).expect("a summary");
        assert!(told_calls(summary) >= replaced, "{} of {replaced} calls: {summary}", told_calls(summary));
    }
}

fn texts_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(texts_of).collect(),
        Value::Object(values) => values.values().flat_map(texts_of).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_rounds_on_made_up_sessions() {
    for format in ["pi", "anthropic"] {
        ten_rounds(format, made_up::items(format, 240)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn ten_rounds_on_the_longest_pi_session() {
    ten_rounds("pi", longest("pi-mono.jsonl")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn ten_rounds_on_the_longest_messages_session() {
    ten_rounds("anthropic", longest("entireio-cli.jsonl")).await;
}
