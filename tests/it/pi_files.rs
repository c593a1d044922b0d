//! pi's session files: in, used, compacted, out again, and read by pi's rules as the service reads them.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::app::App;
use crate::data::Source;
use crate::drill_support::*;

/// A session file as pi reads it. Written from pi's rules and not from our code.
struct PiFile {
    header: Value,
    entries: Vec<Value>,
    places: HashMap<String, usize>,
}

impl PiFile {
    /// Reads and checks: one header, first; ids of their own; parents before their children.
    fn read(text: &str) -> PiFile {
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let header = lines.next().unwrap();
        assert_eq!((&header["type"], &header["version"]), (&json!("session"), &json!(3)), "{header}");
        for name in ["id", "timestamp", "cwd"] {
            assert!(header[name].is_string(), "{name}: {header}");
        }
        let entries: Vec<Value> = lines.collect();
        let mut places = HashMap::new();
        for (place, entry) in entries.iter().enumerate() {
            let id = entry["id"].as_str().unwrap().to_owned();
            assert!(entry["timestamp"].is_string() && entry["type"].is_string(), "{entry}");
            match &entry["parentId"] {
                Value::String(parent) => assert!(places.contains_key(parent), "{parent} is known before {id}"),
                other => assert!(other.is_null(), "{entry}"),
            }
            assert!(places.insert(id, place).is_none(), "an id of its own: {entry}");
        }
        for entry in entries.iter().filter(|entry| entry["type"] == "compaction") {
            assert!(entry["summary"].is_string() && entry["tokensBefore"].is_u64(), "{entry}");
            assert!(places.contains_key(entry["firstKeptEntryId"].as_str().unwrap()), "{entry}");
        }
        PiFile { header, entries, places }
    }

    fn path(&self) -> Vec<&Value> {
        let mut path = Vec::new();
        let mut next = self.entries.last();
        while let Some(entry) = next {
            path.push(entry);
            next = entry["parentId"].as_str().map(|parent| &self.entries[self.places[parent]]);
        }
        path.reverse();
        path
    }

    /// The messages that pi would send: role and what is said.
    fn context(&self) -> Vec<(String, Value)> {
        let path = self.path();
        let Some(place) = path.iter().rposition(|entry| entry["type"] == "compaction") else {
            return path.into_iter().filter_map(told).collect();
        };
        let compaction = path[place];
        let kept = path[..place].iter().position(|entry| entry["id"] == compaction["firstKeptEntryId"]);
        let kept = kept.map_or(&[][..], |kept| &path[kept..place]);
        let summary = ("compactionSummary".to_owned(), compaction["summary"].clone());
        std::iter::once(summary).chain(kept.iter().chain(&path[place + 1..]).filter_map(|entry| told(entry))).collect()
    }

    fn labels(&self) -> HashMap<&str, &str> {
        let mut labels = HashMap::new();
        for entry in self.entries.iter().filter(|entry| entry["type"] == "label") {
            let target = entry["targetId"].as_str().unwrap();
            match entry["label"].as_str() {
                Some(label) => labels.insert(target, label),
                None => labels.remove(target),
            };
        }
        labels
    }
}

/// What an entry says to a model, if anything.
fn told(entry: &Value) -> Option<(String, Value)> {
    let text = |role: &str, value: &Value| Some((role.to_owned(), value.clone()));
    match entry["type"].as_str().unwrap() {
        "message" => {
            let mut message = entry["message"].clone();
            let role = message["role"].as_str().unwrap().to_owned();
            if role == "branchSummary" || role == "compactionSummary" {
                return text(&role, &message["summary"]);
            }
            message.as_object_mut().unwrap().shift_remove("timestamp");
            Some((role, message))
        }
        "custom_message" => text("custom", &entry["content"]),
        "branch_summary" if entry["summary"] != "" => text("branchSummary", &entry["summary"]),
        _ => None,
    }
}

async fn exported(app: &App, session: &str) -> String {
    let answer = app.get(&format!("{session}/export?format=pi")).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")));
    answer.text
}

/// The file says what the service's own context says.
async fn assert_same(app: &App, session: &str) -> PiFile {
    let file = PiFile::read(&exported(app, session).await);
    let shown = context(app, session, "pi").await;
    let own: Vec<(String, Value)> = messages(&shown).iter().filter_map(told).collect();
    let theirs = file.context();
    assert_eq!(theirs.len(), own.len());
    for (theirs, own) in theirs.iter().zip(&own) {
        assert_eq!(theirs, own);
    }
    file
}

fn as_pi() -> Value {
    let mut settings = by_hand();
    settings["preset"] = json!("checkpoint");
    settings["estimator"] = json!("pi");
    settings
}

fn id(n: usize) -> String {
    format!("{n:08x}")
}

fn entry(n: usize, parent: Option<usize>, rest: Value) -> Value {
    let mut entry = json!({"type": "message", "id": id(n), "parentId": parent.map(id),
        "timestamp": format!("2026-01-01T00:{:02}:{:02}.000Z", n / 60 % 60, n % 60)});
    entry.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    entry
}

fn say(n: usize, parent: Option<usize>, role: &str) -> Value {
    let text = format!("{} says {n}. {}", role, "words and more words ".repeat(12));
    let mut message = json!({"role": role, "content": [{"type": "text", "text": text}], "timestamp": n});
    if role == "assistant" {
        let usage = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0});
        let more = json!({"api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "stop"});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    entry(n, parent, json!({"message": message}))
}

/// A version 3 file with a model change, a label, an extension's text, a branch and its summary.
fn file() -> Vec<Value> {
    let mut items = vec![json!({"type": "session", "version": 3, "id": "0199aaaa-0000-7000-8000-000000000000",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/home/me/project", "parentSession": "/old.jsonl"})];
    items.push(entry(1, None, json!({"type": "model_change", "provider": "p", "modelId": "m"})));
    for n in 2..62 {
        items.push(say(n, Some(n - 1), if n % 2 == 0 { "user" } else { "assistant" }));
    }
    items.push(entry(62, Some(61), json!({"type": "label", "targetId": id(4), "label": "start"})));
    items.push(entry(
        63,
        Some(62),
        json!({"type": "custom_message", "customType": "x", "content": "extension",
        "display": true}),
    ));
    items.push(say(64, Some(63), "user"));
    items.push(say(65, Some(64), "assistant"));
    items.push(entry(
        66,
        Some(61),
        json!({"type": "branch_summary", "fromId": id(65), "summary": "It was left.",
        "details": {"readFiles": ["a"], "modifiedFiles": ["b"]}}),
    ));
    items.push(say(67, Some(66), "user"));
    items.push(say(68, Some(67), "assistant"));
    items
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_comes_out_as_it_went_in() {
    let app = App::shared();
    let session = app.session(json!({"settings": as_pi()})).await;
    app.append(&session, "pi", json!(file())).await;
    let text = exported(app, &session).await;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, file());
    assert_same(app, &session).await;
    // Another leaf comes last by a mark that pi shows to nobody.
    let entries = all(app, &format!("{session}/entries?all=true")).await;
    let inner = entries[30]["id"].as_str().unwrap();
    let text = app.get(&format!("{session}/export?format=pi&leaf_id={inner}")).await.text;
    let other = PiFile::read(&text);
    assert_eq!(other.entries.len(), file().len());
    assert_eq!(other.path().len(), 31);
    assert_eq!(other.path()[29]["id"], entries[30]["source_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_used_reads_by_pis_rules_as_the_service_reads_it() {
    let app = App::shared();
    let session = app.session(json!({"settings": as_pi()})).await;
    app.append(&session, "pi", json!(file())).await;
    let entries = all(app, &format!("{session}/entries")).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let compacted = assert_same(app, &session).await;
    let compaction = compacted.path().pop().unwrap();
    assert_eq!(compaction["type"], "compaction");
    assert_eq!(compaction["tokensBefore"], done["result"]["tokens_before"]);
    assert_eq!(compaction["summary"], done["result"]["summary"]);
    // It goes on, in another format too, is compacted again, branches, and is labelled.
    app.append(&session, "openai_chat", json!(turns(0..12, 60))).await;
    assert_same(app, &session).await;
    let before = all(app, &format!("{session}/entries")).await;
    assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded");
    assert_same(app, &session).await;
    let target = before[before.len() - 9]["id"].clone();
    let back = json!({"target_id": target, "summarize": true});
    let moved = app.post(&format!("{session}/navigate"), back).await.expect(200);
    let file = assert_same(app, &session).await;
    let summary = file.path().pop().unwrap();
    assert_eq!((&summary["type"], &summary["summary"]), (&json!("branch_summary"), &moved["summary"]["text"]));
    assert!(file.places.contains_key(summary["fromId"].as_str().unwrap()), "{summary}");
    assert_eq!(summary["details"]["modifiedFiles"], moved["summary"]["details"]["modified_files"]);
    app.append(&session, "openai_chat", json!(turns(40..41, 5))).await;
    for (label, on) in [(json!("reread"), 5), (Value::Null, 4)] {
        let at = format!("{session}/entries/{}/label", entries[on]["id"].as_str().unwrap());
        app.put(&at, json!({"label": label})).await.expect(200);
    }
    let file = assert_same(app, &session).await;
    assert_eq!(file.labels(), HashMap::from([(id(5).as_str(), "reread")]));
    let ids: HashSet<&str> = file.places.keys().map(String::as_str).collect();
    assert!((1..69).all(|n| ids.contains(id(n).as_str())), "pi's own ids stay");
    assert_eq!(file.header["cwd"], "/home/me/project");

    // The project's own reader: the same context, the same tree.
    let again = app.session(json!({"settings": as_pi()})).await;
    let text = exported(app, &session).await;
    let items: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    app.append(&again, "pi", json!(items)).await;
    let twice = assert_same(app, &again).await;
    assert_eq!(twice.context(), file.context());
    assert_eq!(exported(app, &again).await, text);
    assert_eq!(context(app, &again, "openai_chat").await["messages"].as_array().unwrap().len(), file.context().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_taken_back_is_taken_back_in_the_file() {
    let app = App::shared();
    let session = app.session(json!({"settings": as_pi()})).await;
    app.append(&session, "pi", json!(file())).await;
    let whole = assert_same(app, &session).await.context();
    let done = compact(app, &session, json!({})).await;
    let revert = format!("/v1/compactions/{}/revert", done["id"].as_str().unwrap());
    app.post(&revert, json!({})).await.expect(200);
    assert_eq!(assert_same(app, &session).await.context(), whole);
    app.append(&session, "openai_chat", json!(turns(0..2, 5))).await;
    assert_same(app, &session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_pi_has_no_place_for_is_not_lost() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let file = PiFile::read(&exported(app, &session).await);
    let context = file.context();
    assert!(context[0].1.as_str().unwrap().contains(&asked(0)), "the anchor stands at the head of the summary");
    let results: Vec<&Value> =
        file.entries.iter().filter(|entry| entry["message"]["role"] == "toolResult").map(|e| &e["message"]).collect();
    assert_eq!(results.len(), 30);
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result["toolCallId"], format!("call_{n}"));
        assert_eq!(result["toolName"], if n % 2 == 0 { "read" } else { "edit" });
        assert!(result["content"][0]["text"].as_str().unwrap().contains(&format!("line{n}_119")));
    }
    // Two results in one message are two entries, and what follows hangs under the last.
    let session = app.session(json!({})).await;
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": id}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": id});
    let items = json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [result("a"), result("b"), {"type": "text", "text": "and?"}]},
        {"role": "assistant", "content": "done"}]);
    app.append(&session, "anthropic", items.clone()).await;
    let file = assert_same(app, &session).await;
    let roles: Vec<&str> = file.path().iter().map(|entry| entry["message"]["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "toolResult", "user", "assistant"]);
    // Other formats: the path's items as they came.
    let text = app.get(&format!("{session}/export?format=anthropic")).await.text;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json!(lines), items);
    app.get(&format!("{session}/export")).await.assert_problem(422, "validation_failed");
    app.get(&format!("{session}/export?format=word")).await.assert_problem(422, "validation_failed");
}

#[test]
fn the_command_line_takes_a_file_of_version_1_and_gives_one_of_version_3() {
    let text = Source::Own.text("oracle/pi/version-1.jsonl");
    let folder = tempfile::tempdir().unwrap();
    // The summary, and what it kept.
    assert_eq!(through_the_command_line(folder.path(), "version-1", text.trim_end()).context().len(), 6);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn the_command_line_takes_recorded_files_of_version_1() {
    let text = Source::Shared.text("corpus/pi-mono.jsonl");
    let folder = tempfile::tempdir().unwrap();
    for line in text.lines().take(2) {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let lines: Vec<String> = recorded["messages"].as_array().unwrap().iter().map(Value::to_string).collect();
        let name = recorded["session_id"].as_str().unwrap();
        let file = through_the_command_line(folder.path(), name, &lines.join("\n"));
        println!("{name}: {} entries, {} in the context", lines.len(), file.context().len());
        if name == "large-session" {
            assert_eq!(file.context().len(), 914);
        }
    }
}

/// Imports a file of version 1 and exports it again.
fn through_the_command_line(folder: &Path, name: &str, text: &str) -> PiFile {
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        let output = command.args(args).arg("--data-dir").arg(folder).env_remove("DATABASE_URL").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let path = folder.join("session.jsonl");
    // A last line that was cut off, as a crash leaves it.
    std::fs::write(&path, format!("{text}\n{{\"type\": \"mess")).unwrap();
    let session = run(&["import", path.to_str().unwrap(), "--format", "pi"]);
    let exported = run(&["export", session.trim(), "--format", "pi"]);
    let file = PiFile::read(&exported);
    assert_eq!(file.entries.len(), text.lines().count() - 1);
    assert_eq!(file.path().len(), file.entries.len(), "one line of entries");
    if let Some(out) = std::env::var_os("CONTEXTD_PI_OUT") {
        std::fs::write(Path::new(&out).join(format!("{name}.jsonl")), exported).unwrap();
    }
    file
}
