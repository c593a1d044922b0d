//! One session, from its first append to the contexts after its compaction.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Recording;
use super::refused::{is_broken, refusals};
use super::report::Outcome;
use crate::app::App;
use crate::drill_support::{all, compact, context, messages};
use crate::drill_valid::{FORMATS, violations};

/// Items in one append.
const BATCH: usize = 1_000;

pub async fn run(app: &App, recording: &Recording) -> Outcome {
    let mut outcome = Outcome { name: recording.name.clone(), items: recording.items.len(), ..Outcome::default() };
    let session = create(app, recording).await;
    let size = match append(app, &session, recording).await {
        Ok(snapshot) => Size::of(&snapshot),
        Err(why) => {
            outcome.refused = why;
            return outcome;
        }
    };
    let mut faults = Vec::new();
    let entries = all(app, &format!("{session}/entries?all=true")).await;
    check_read_back(recording, &entries, &mut faults);
    let path = all(app, &format!("{session}/entries")).await;
    check_own_format(recording, &path, &context(app, &session, recording.format).await, &mut outcome, &mut faults);
    let calls = expected_calls(recording.format, &path);
    outcome.calls = calls.len();
    check_calls(app, &session, &calls, &mut faults).await;
    check_contexts(app, &session, recording, &path, "before", &mut faults).await;
    let done = compact_for(app, &session, size).await;
    check_compaction(app, &session, &done, &mut outcome, &mut faults).await;
    check_contexts(app, &session, recording, &path, "after", &mut faults).await;
    check_calls(app, &session, &calls, &mut faults).await;
    outcome.violations = faults;
    outcome
}

pub async fn create(app: &App, recording: &Recording) -> String {
    // Nothing starts by itself, so that the first rebuild shows the transcript as it came.
    let mut body = json!({"title": recording.name, "settings": {"enabled": false}});
    for (name, value) in [("system", &recording.system), ("tools", &recording.tools)] {
        if !value.is_null() {
            body[name] = value.clone();
        }
    }
    app.session(body).await
}

/// A session's tokens, all of them and those of its messages.
pub struct Size {
    pub tokens: u64,
    pub messages: u64,
}

impl Size {
    pub fn of(snapshot: &Value) -> Size {
        let part = |name: &str| snapshot["breakdown"][name].as_u64().unwrap();
        Size { tokens: snapshot["tokens"].as_u64().unwrap(), messages: part("messages") + part("tool_results") }
    }
}

/// The snapshot after the last item, or what was refused.
pub async fn append(app: &App, session: &str, recording: &Recording) -> Result<Value, Vec<String>> {
    let mut snapshot = Value::Null;
    for batch in recording.items.chunks(BATCH) {
        let body = json!({"format": recording.format, "items": batch});
        let answer = app.post(&format!("{session}/entries"), body).await;
        match answer.status {
            201 => snapshot = answer.body["snapshot"].clone(),
            422 => return Err(refusals(&recording.name, &answer.body["errors"])),
            status => panic!("{}: {status}: {}", recording.name, answer.text),
        }
    }
    Ok(snapshot)
}

/// The snapshot after the last item; `None` where the recording is one that is known to be broken.
pub async fn append_known(app: &App, session: &str, recording: &Recording) -> Option<Value> {
    let appended = append(app, session, recording).await;
    if let Err(refused) = &appended {
        assert!(is_broken(&recording.name), "{refused:?}");
    }
    appended.ok()
}

fn check_read_back(recording: &Recording, entries: &[Value], faults: &mut Vec<String>) {
    if entries.len() != recording.items.len() {
        faults.push(format!("{} items became {} entries", recording.items.len(), entries.len()));
    }
    for (n, (entry, item)) in entries.iter().zip(&recording.items).enumerate() {
        if entry["item"] != *item {
            faults.push(format!("item {n} came back as {} and was {item}", entry["item"]));
        }
    }
}

/// Equal but for the entries that the notes name: those may be repaired, merged or left out.
fn check_own_format(
    recording: &Recording,
    path: &[Value],
    context: &Value,
    outcome: &mut Outcome,
    faults: &mut Vec<String>,
) {
    let notes = context["conversion_notes"].as_array().unwrap();
    let got = messages(context);
    outcome.notes = notes.iter().map(|note| note["code"].as_str().unwrap().to_owned()).collect();
    if compacted_already(recording) {
        outcome.notes.push("(own compaction)".to_owned());
        return;
    }
    let noted: HashSet<&Value> = notes.iter().map(|note| &note["entry_id"]).collect();
    let expected: Vec<&Value> =
        path.iter().filter(|entry| !noted.contains(&entry["id"])).map(|entry| &entry["item"]).collect();
    outcome.exact = notes.is_empty();
    if outcome.exact && got.len() != expected.len() {
        faults.push(format!("{} items came back as {} messages without a note", expected.len(), got.len()));
    }
    let mut rest = got.iter();
    for item in expected {
        if !rest.any(|message| message == item) {
            faults.push(format!("not in its own format's context, in order and without a note: {item}"));
            return;
        }
    }
}

pub(super) async fn check_contexts(
    app: &App,
    session: &str,
    recording: &Recording,
    path: &[Value],
    when: &str,
    faults: &mut Vec<String>,
) {
    let first = first_user_text(recording.format, path).filter(|_| !compacted_already(recording));
    for format in FORMATS {
        let context = context(app, session, format).await;
        let own = format == recording.format;
        let found = violations(format, messages(&context), own);
        faults.extend(found.into_iter().map(|fault| format!("{when}, {format}: {fault}")));
        let Some(first) = first.as_deref() else { continue };
        let has = |text: &str| messages(&context).iter().any(|message| says(message, text));
        let stands = has(first) || leaves_no_room(app, session, first).await && has(head(first)) && has(tail(first));
        if !stands {
            faults.push(format!("{when}, {format}: the first user message is gone: {first}"));
        }
    }
}

/// The first message and the system prompts, which stay as they are, take all but a sixteenth of the usable window.
async fn leaves_no_room(app: &App, session: &str, first: &str) -> bool {
    let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
    let number = |name: &str| snapshot[name].as_u64().unwrap();
    let usable = number("window") - number("reserve_tokens");
    let entries = all(app, &format!("{session}/entries")).await;
    let stays = |entry: &&Value| entry["role"] == "system" || entry["role"] == "user" && says(&entry["item"], first);
    let said_again = entries.iter().filter(|entry| entry["role"] == "user" && says(&entry["item"], first)).skip(1);
    let tokens = |entry: &Value| entry["tokens"].as_u64().unwrap();
    let staying = entries.iter().filter(stays).map(tokens).sum::<u64>() - said_again.map(tokens).sum::<u64>();
    staying > usable - usable / 16
}

fn head(text: &str) -> &str {
    text.char_indices().nth(100).map_or(text, |(end, _)| &text[..end])
}

fn tail(text: &str) -> &str {
    text.char_indices().rev().nth(100).map_or(text, |(start, _)| &text[start..])
}

/// Leaves about a quarter of the session as it is, in a window that the whole nearly fills.
async fn compact_for(app: &App, session: &str, size: Size) -> Value {
    compact_with(app, session, size, json!({})).await
}

/// As [`compact_for`], asked for in these words.
pub async fn compact_with(app: &App, session: &str, size: Size, request: Value) -> Value {
    let reserve = (size.tokens / 3).max(64);
    let settings = json!({
        "context_window": size.tokens + reserve + 1,
        "reserve_tokens": reserve,
        "keep_recent_tokens": size.messages / 4,
    });
    app.patch(session, json!({"settings": settings})).await.expect(200);
    compact(app, session, request).await
}

async fn check_compaction(app: &App, session: &str, done: &Value, outcome: &mut Outcome, faults: &mut Vec<String>) {
    let result = &done["result"];
    let status = done["status"].as_str().unwrap();
    let (before, after) = (result["tokens_before"].as_u64(), result["tokens_after"].as_u64());
    outcome.compaction = Some(match status {
        "skipped" => format!("skipped, {}", result["skip_reason"].as_str().unwrap_or("no reason")),
        other => other.to_owned(),
    });
    let fits = match status {
        "succeeded" => after < before,
        "skipped" => after == before && result["skip_reason"].is_string(),
        _ => false,
    };
    if !fits || before.is_none() {
        faults.push(format!("compaction {done}"));
    }
    let now = app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"].as_u64();
    if now != after {
        faults.push(format!("{after:?} tokens after the compaction, {now:?} in the snapshot"));
    }
    if status == "succeeded" {
        outcome.recall = result["identifiers"]["recall"].as_f64();
    }
    outcome.tokens = (before.unwrap_or_default(), after.unwrap_or_default());
}

async fn check_calls(app: &App, session: &str, expected: &[String], faults: &mut Vec<String>) {
    let rows = all(app, &format!("{session}/tool-calls")).await;
    let wanted: HashSet<&str> = expected.iter().map(String::as_str).collect();
    let ids = rows.iter().map(|row| row["tool_call_id"].as_str().unwrap());
    let listed: Vec<&str> = ids.filter(|id| wanted.contains(id)).collect();
    if listed != *expected {
        faults.push(format!("calls {expected:?}, listed {listed:?}"));
    }
}

/// The ids of the calls on a path, read off the items.
pub fn expected_calls(format: &str, path: &[Value]) -> Vec<String> {
    let empty = Vec::new();
    let list = |value: &Value| value.as_array().unwrap_or(&empty).clone();
    let mut ids = Vec::new();
    for entry in path {
        let item = &entry["item"];
        let found: Vec<Value> = match format {
            "anthropic" => {
                let calls = list(&item["content"]).into_iter();
                calls.filter(|block| block["type"] == "tool_use").map(|block| block["id"].clone()).collect()
            }
            "openai_chat" => list(&item["tool_calls"]).into_iter().map(|call| call["id"].clone()).collect(),
            "openai_responses" => {
                let is_call = ["function_call", "custom_tool_call"].map(Value::from).contains(&item["type"]);
                if is_call { vec![item["call_id"].clone()] } else { Vec::new() }
            }
            _ => {
                let calls = list(&item["message"]["content"]).into_iter();
                calls.filter(|block| block["type"] == "toolCall").map(|block| block["id"].clone()).collect()
            }
        };
        ids.extend(found.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    ids
}

/// A file whose own compaction decides what the context shows.
fn compacted_already(recording: &Recording) -> bool {
    recording.format == "pi" && recording.items.iter().any(|item| item["type"] == "compaction")
}

/// Openings of what harnesses write in the user's name.
const PREAMBLES: [&str; 8] = [
    "Caveat: The messages below",
    "<local-command",
    "<environment_context",
    "<bash-",
    "[Request interrupted",
    "[trimmed",
    "This session is being continued",
    "Base directory for this skill",
];

/// Whether nobody typed this: a harness's preamble, or a command without a word of the user's behind it.
fn is_preamble(text: &str) -> bool {
    let bare = |text: &str| {
        let said = text.split_once("<command-args>");
        said.is_none_or(|(_, said)| said.trim_start().starts_with("</command-args>"))
    };
    PREAMBLES.iter().any(|opening| text.starts_with(opening)) || text.starts_with("<command-") && bare(text)
}

/// What the user said first.
fn first_user_text(format: &str, path: &[Value]) -> Option<String> {
    path.iter().filter(|entry| entry["role"] == "user").find_map(|entry| {
        let message = if format == "pi" { &entry["item"]["message"] } else { &entry["item"] };
        let said = match &message["content"] {
            Value::String(text) => Some(text.clone()),
            Value::Array(blocks) => blocks.iter().find_map(|block| block["text"].as_str().map(str::to_owned)),
            _ => None,
        };
        said.filter(|text| !text.trim().is_empty() && !is_preamble(text))
    })
}

/// Whether any text inside the value has this in it.
fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(said) => said.contains(text),
        Value::Array(values) => values.iter().any(|value| says(value, text)),
        Value::Object(values) => values.values().any(|value| says(value, text)),
        _ => false,
    }
}
