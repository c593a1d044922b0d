//! Session files of Claude Code and rollout files of Codex: in, on with any provider, and out as they came.

use std::collections::HashSet;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::app::App;
use crate::data::Source;
use crate::drill_support::*;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn claude(id: &str, parent: Value, kind: &str, message: Value) -> Value {
    let mut message = message;
    message["role"] = json!(kind);
    json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/work", "sessionId": "s1",
        "version": "2.1.0", "type": kind, "message": message, "uuid": id, "timestamp": "2026-01-01T00:00:00.000Z"})
}

/// A file with parallel calls, a branch, a subagent, lines without ids, and a compaction in the middle.
fn claude_file() -> Vec<Value> {
    let said = |text: &str| json!({"content": text});
    let call = |message: &str, id: &str| {
        json!({"id": message, "type": "message", "model": "claude-x", "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": id}}]})
    };
    let result = |id: &str| json!({"content": [{"type": "tool_result", "tool_use_id": id, "content": format!("words of {id}")}]});
    let mut aside = claude("x1", Value::Null, "user", said("look for it"));
    aside["isSidechain"] = json!(true);
    let mut inside = claude("x2", json!("x1"), "assistant", json!({"content": [{"type": "text", "text": "found it"}]}));
    inside["isSidechain"] = json!(true);
    let mut summary = claude("k2", json!("k1"), "user", said("This session is being continued: file names were read."));
    (summary["isCompactSummary"], summary["isVisibleInTranscriptOnly"]) = (json!(true), json!(true));
    let mut boundary = json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"});
    for (key, value) in [("uuid", json!("k1")), ("parentUuid", Value::Null), ("logicalParentUuid", json!("b2"))] {
        boundary[key] = value;
    }
    vec![
        json!({"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}, "isSnapshotUpdate": false}),
        claude("u1", Value::Null, "user", said("read two files")),
        claude("a1", json!("u1"), "assistant", call("m1", "c1")),
        claude("a2", json!("a1"), "assistant", call("m1", "c2")),
        claude("r1", json!("a1"), "user", result("c1")),
        aside,
        claude("r2", json!("a2"), "user", result("c2")),
        inside,
        claude("b1", json!("r2"), "assistant", json!({"content": [{"type": "text", "text": "A first answer."}]})),
        claude("b2", json!("r2"), "assistant", json!({"content": [{"type": "text", "text": "A second answer."}]})),
        boundary,
        summary,
        claude("u2", json!("k2"), "user", said("and now?")),
        json!({"type": "summary", "summary": "A title", "leafUuid": "u2"}),
    ]
}

fn codex_file() -> Vec<Value> {
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    vec![
        line("session_meta", json!({"id": "s", "cwd": "/work", "cli_version": "0.1"})),
        line("turn_context", json!({"model": "gpt-x"})),
        line("response_item", said("user", "input_text", "read a file")),
        line("event_msg", json!({"type": "user_message", "message": "read a file"})),
        line("response_item", json!({"type": "reasoning", "summary": [], "encrypted_content": "c2Vj"})),
        line(
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c1"}),
        ),
        line("response_item", json!({"type": "function_call_output", "call_id": "c1", "output": "a.txt"})),
        line("response_item", said("assistant", "output_text", "There is a.txt.")),
        line("compacted", json!({"message": "So far: a.txt was found.", "replacement_history": []})),
        line("response_item", said("user", "input_text", "and now?")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_out_as_they_went_in() {
    let app = App::shared();
    for (format, file) in [("claude_code", claude_file()), ("codex", codex_file())] {
        let session = app.session(json!({"settings": by_hand()})).await;
        app.append(&session, format, json!(file)).await;
        assert_eq!(lines(&app.get(&format!("{session}/export?format={format}")).await.text), file, "{format}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_before_the_first_entry_is_an_empty_file() {
    let app = App::shared();
    let empty = app.session(json!({})).await;
    let rewound = app.session(json!({})).await;
    app.append(&rewound, "openai_chat", json!([{"role": "user", "content": "Hello."}])).await;
    app.post(&format!("{rewound}/navigate"), json!({"target_id": null})).await.expect(200);
    for format in ["native", "openai_chat", "openai_responses", "anthropic", "gemini", "pi", "claude_code", "codex"] {
        for session in [&empty, &rewound] {
            let answer = app.get(&format!("{session}/export?format={format}")).await;
            assert_eq!(answer.status, 200, "{format}: {}", answer.text);
            // These two have every branch.
            let has_all = session == &rewound && ["pi", "claude_code"].contains(&format);
            assert_eq!(answer.text.contains("Hello."), has_all, "{format}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_model_saw_is_what_a_context_shows() {
    let app = App::shared();
    let file = claude_file();
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "claude_code", json!(file[..10])).await;
    let shown = context(app, &session, "anthropic").await.to_string();
    for said in ["read two files", "words of c1", "words of c2", "A second answer."] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    for unsaid in ["A first answer.", "found it", "No result"] {
        assert!(!shown.contains(unsaid), "{unsaid}: {shown}");
    }
    app.append(&session, "claude_code", json!(file[10..])).await;
    let shown = context(app, &session, "openai_chat").await;
    assert_eq!(messages(&shown).len(), 2, "{shown}");
    assert!(messages(&shown)[0].to_string().contains("file names were read"), "{shown}");
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "codex", json!(codex_file())).await;
    let shown = context(app, &session, "anthropic").await;
    assert!(messages(&shown)[0].to_string().contains("So far: a.txt was found."), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_other_formats_become_files_that_can_be_read_again() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded");
    app.append(&session, "openai_chat", json!(turns(30..32, 5))).await;
    for format in ["claude_code", "codex"] {
        let text = app.get(&format!("{session}/export?format={format}")).await.text;
        let file = lines(&text);
        let again = app.session(json!({"settings": by_hand()})).await;
        app.append(&again, format, json!(file)).await;
        assert_eq!(app.get(&format!("{again}/export?format={format}")).await.text, text, "{format}");
        let shown = context(app, &again, "openai_chat").await;
        let (mut calls, mut results) = (0, 0);
        for message in messages(&shown) {
            calls += message["tool_calls"].as_array().map_or(0, Vec::len);
            results += usize::from(message["role"] == "tool");
        }
        assert_eq!((calls, results), (32, 32), "{format}");
    }
    // Exports put nothing of ours between the lines, and results bear the names of their tools.
    for format in ["anthropic", "gemini"] {
        let file = lines(&app.get(&format!("{session}/export?format={format}")).await.text);
        assert_eq!(file.len(), 32 * 4, "{format}");
    }
    let file = lines(&app.get(&format!("{session}/export?format=gemini")).await.text);
    assert_eq!(file[2]["parts"][0]["functionResponse"]["name"], "read");
    // A file that goes on in another format hangs together.
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "claude_code", json!(claude_file())).await;
    app.append(&session, "openai_chat", json!(turns(0..1, 5))).await;
    let file = lines(&app.get(&format!("{session}/export?format=claude_code")).await.text);
    assert_eq!(file[..14], claude_file());
    assert_eq!(file[14]["parentUuid"], "u2");
    assert_eq!((file.len(), &file[17]["parentUuid"]), (18, &file[16]["uuid"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_line_is_refused_and_leaves_nothing() {
    let app = App::shared();
    let twice = claude("u1", Value::Null, "user", json!({"content": "x"}));
    let mut wrong = twice.clone();
    wrong["message"]["content"] = json!([{"type": "toolCall"}]);
    let codex = |payload: Value| json!({"timestamp": "t", "type": "response_item", "payload": payload});
    let cases = [
        ("claude_code", json!([twice, twice]), "/items/1/uuid"),
        ("claude_code", json!([twice, {"type": "user", "uuid": "b"}]), "/items/1/message"),
        ("claude_code", json!([wrong]), "/items/0/message/content/0"),
        ("claude_code", json!([{"role": "user", "content": "x"}]), "/items/0/type"),
        ("codex", json!([codex(json!({"type": "function_call"}))]), "/items/0/payload/call_id"),
        ("codex", json!([codex(json!("x"))]), "/items/0/payload"),
    ];
    for (format, items, pointer) in cases {
        let session = app.session(json!({})).await;
        let answer = app.post(&format!("{session}/entries"), json!({"format": format, "items": items})).await;
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{}", answer.body);
        assert!(all(app, &format!("{session}/entries?all=true")).await.is_empty());
    }
    // Rings and lost parents are told, and nothing runs in a circle.
    let session = app.session(json!({})).await;
    let ring = json!([
        claude("a", json!("b"), "user", json!({"content": "x"})),
        claude("b", json!("a"), "user", json!({"content": "y"}))
    ]);
    let appended = app.append(&session, "claude_code", ring).await;
    assert_eq!(appended["warnings"][0]["code"], "unknown_parent");
    assert_eq!(appended["warnings"][0]["pointer"], "/items/0/parentUuid");
    assert_eq!(messages(&context(app, &session, "anthropic").await).len(), 2);
    let again = app
        .post(
            &format!("{session}/entries"),
            json!({"format": "claude_code", "items": [claude("a", Value::Null, "user", json!({"content": "x"}))]}),
        )
        .await;
    assert_eq!(again.body["errors"][0]["pointer"], "/items/0/uuid", "{}", again.body);
    // They are for files.
    for (path, body) in [
        (format!("{session}/rebuild"), json!({"format": "codex"})),
        ("/v1/lint".to_owned(), json!({"format": "claude_code", "items": []})),
        (format!("{session}/entries"), json!({"format": "openai_chat", "items": [], "return_context": "codex"})),
    ] {
        app.post(&path, body).await.assert_problem(422, "validation_failed");
    }
    app.get(&format!("{session}/context?format=codex")).await.assert_problem(422, "validation_failed");
}

/// A linear history in lines of a format with parents, whose ids are letters: question, call, result, answer, and so on.
fn linear(format: &str, ids: &str) -> Vec<Value> {
    let mut parent = Value::Null;
    let mut call = String::new();
    let line = |(n, id): (usize, char)| {
        let kind = if n % 2 == 0 { "user" } else { "assistant" };
        let (id, before) = (id.to_string(), std::mem::replace(&mut parent, json!(id.to_string())));
        let is_pi = format == "pi";
        let (name, input) = if is_pi { ("toolCall", "arguments") } else { ("tool_use", "input") };
        let message = match n % 4 {
            0 => json!({"content": format!("request {id}")}),
            1 => {
                call = format!("call_{id}");
                json!({"content": [{"type": name, "id": call, "name": "read", input: {"path": id}}]})
            }
            2 if is_pi => {
                json!({"role": "toolResult", "toolCallId": call, "content": [{"type": "text", "text": format!("result {id}")}]})
            }
            2 => json!({"content": [{"type": "tool_result", "tool_use_id": call, "content": format!("result {id}")}]}),
            _ => json!({"content": [{"type": "text", "text": format!("answer {id}")}]}),
        };
        match is_pi {
            false => claude(&id, before, kind, message),
            true => {
                let mut message = message;
                if message["role"].is_null() {
                    message["role"] = json!(kind);
                }
                json!({"type": "message", "id": id, "parentId": before, "message": message})
            }
        }
    };
    ids.chars().enumerate().map(line).collect()
}

/// What was said in a context, word for word and in order.
async fn said(app: &App, session: &str) -> Vec<String> {
    let shown = context(app, session, "openai_chat").await;
    let text = |message: &Value| match message["tool_calls"][0]["id"].as_str() {
        Some(call) => call.to_owned(),
        None => message["content"].as_str().map_or_else(|| message["content"][0]["text"].to_string(), str::to_owned),
    };
    messages(&shown).iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_in_the_same_request_is_found_whatever_the_order() {
    let app = App::shared();
    for format in ["claude_code", "pi"] {
        let history = linear(format, "abcdefgh");
        let head = json!({"type": "session", "version": 3, "id": "head", "cwd": "/"});
        let inside = |order: &str| -> Vec<Value> {
            order.chars().map(|id| history["abcdefgh".find(id).unwrap()].clone()).collect()
        };
        let expected = {
            let session = app.session(json!({"settings": {"enabled": false}})).await;
            app.append(&session, format, json!(history)).await;
            said(app, &session).await
        };
        assert_eq!(expected.len(), 8, "{expected:?}");
        for order in ["abcedfgh", "hgfedcba", "badcfehg", "efghabcd", "acegbdfh"] {
            for with_head in [false, true] {
                let mut items = inside(order);
                if with_head && format == "pi" {
                    items.insert(0, head.clone());
                }
                for way in ["entries", "transcript"] {
                    if way == "transcript" && format != "pi" {
                        continue;
                    }
                    let session = app.session(json!({"settings": {"enabled": false}})).await;
                    let told = format!("{format}, {order}, {way}, {with_head}");
                    let body = json!({"format": format, "items": items});
                    let answer = match way {
                        "entries" => app.post(&format!("{session}/entries"), body).await.expect(201),
                        _ => app.put(&format!("{session}/transcript"), body.clone()).await.expect(200),
                    };
                    assert_eq!(answer["warnings"], json!([]), "{told}");
                    let posted: Vec<&Value> =
                        answer["entries"].as_array().unwrap().iter().map(|one| &one["source_id"]).collect();
                    let ids: Vec<&Value> = items.iter().map(|item| item.get("uuid").unwrap_or(&item["id"])).collect();
                    assert_eq!(posted, ids, "{told}: entries are told in the order of the items");
                    assert_eq!(said(app, &session).await, expected, "{told}");
                    assert_eq!(all(app, &format!("{session}/tool-calls")).await.len(), 2, "{told}");
                    if way == "transcript" {
                        let body = json!({"format": format, "items": items});
                        let again = app.put(&format!("{session}/transcript"), body).await.expect(200);
                        assert_eq!((&again["appended"], &again["forked"]), (&json!(0), &json!(false)), "{told}");
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_not_there_is_the_line_before() {
    let app = App::shared();
    for format in ["claude_code", "pi"] {
        let field = if format == "pi" { "parentId" } else { "parentUuid" };
        let expected = linear(format, "abcdefgh").len();
        // Nobody's id, its own, one that comes later and hangs under it, and what is no id.
        for named in
            [json!("nowhere"), json!("e"), json!("g"), json!(7), json!({}), json!(["d"]), json!(false), json!("")]
        {
            let mut items = linear(format, "abcdefgh");
            items[4][field] = named.clone();
            for parts in [std::iter::once(0..8).collect(), vec![0..4, 4..8]] {
                let session = app.session(json!({"settings": {"enabled": false}})).await;
                let mut warned = Vec::new();
                for part in parts {
                    let answer = app.append(&session, format, json!(items[part.clone()])).await;
                    for warning in answer["warnings"].as_array().unwrap() {
                        let pointer = warning["pointer"].as_str().unwrap();
                        let place: usize = pointer.split('/').nth(2).unwrap().parse().unwrap();
                        warned.push((warning["code"].clone(), place + part.start));
                    }
                }
                assert_eq!(warned, [(json!("unknown_parent"), 4)], "{format}, {named}");
                assert_eq!(said(app, &session).await.len(), expected, "{format}, {named}");
                assert_eq!(all(app, &format!("{session}/tool-calls")).await.len(), 2, "{format}, {named}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boundary_whose_parent_is_not_in_the_file_hangs_under_the_line_before() {
    let app = App::shared();
    let file = claude_file();
    for parent in [json!("nowhere"), Value::Null, json!("x2")] {
        let mut items = file.clone();
        let boundary = items.iter_mut().find(|line| line["subtype"] == "compact_boundary").unwrap();
        boundary["logicalParentUuid"] = parent.clone();
        let session = app.session(json!({"settings": by_hand()})).await;
        app.append(&session, "claude_code", json!(items)).await;
        assert_eq!(all(app, &format!("{session}/tool-calls")).await.len(), 2, "{parent}");
        let shown = context(app, &session, "openai_chat").await;
        assert_eq!(messages(&shown).len(), 2, "{shown}");
    }
}

/// The main line of a recorded Claude Code session, as its file has it.
fn main_line(session: &Value) -> Vec<Value> {
    let both = session["messages"].as_array().unwrap().iter().zip(session["meta"].as_array().unwrap());
    let mut seen = HashSet::new();
    let main = both.filter(|(_, meta)| {
        let is_new = meta["uuid"].as_str().is_some_and(|id| seen.insert(id));
        is_new && meta["isSidechain"] != true
    });
    // What was recorded without its content is no line.
    let main = main.filter(|(item, _)| !item["content"].is_null());
    let line = |(item, meta): (&Value, &Value)| {
        let mut line = meta.clone();
        (line["type"], line["message"]) = (item["role"].clone(), item.clone());
        line
    };
    main.map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn every_call_of_a_recorded_conversation_is_in_the_ledger() {
    let app = App::shared();
    let sources = ["agentcmd", "claude-code-log", "claude-code-viewer", "entireio-cli", "claude-code-transcripts"];
    let sessions = sources.iter().flat_map(|source| {
        let lines = Source::Shared.reader(&format!("corpus/{source}.jsonl")).lines();
        lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
    });
    let (mut whole, mut lost_calls, mut all_calls, mut lost_parents) = (0, 0, 0, 0);
    for session in sessions.filter(|session| session["format"] == "anthropic-messages") {
        let lines = main_line(&session);
        let known: HashSet<&str> = lines.iter().filter_map(|line| line["uuid"].as_str()).collect();
        let parents: Vec<&str> = lines.iter().filter_map(|line| line["parentUuid"].as_str()).collect();
        let lost = parents.iter().filter(|parent| !known.contains(**parent)).count();
        // Whoever asks anew in the middle has a tree; here only what was lost before counts.
        let roots = lines.len() - parents.len();
        let blocks = |line: &Value| line["message"]["content"].as_array().cloned().unwrap_or_default();
        let is_call = |block: &Value| block["type"] == "tool_use";
        let calls = lines.iter().flat_map(blocks).filter(is_call).count();
        let stored = app.session(json!({"settings": {"enabled": false}})).await;
        app.append(&stored, "claude_code", json!(lines)).await;
        let ledger = all(app, &format!("{stored}/tool-calls")).await.len();
        if ledger < calls {
            println!("{}: {ledger} of {calls} calls, {lost} lost parents, {roots} roots", session["session_id"]);
        }
        whole += usize::from(ledger == calls);
        (lost_calls, all_calls, lost_parents) = (lost_calls + calls - ledger, all_calls + calls, lost_parents + lost);
    }
    println!("{whole} sessions whole; {lost_calls} of {all_calls} calls off the path; {lost_parents} lost parents");
    assert_eq!(lost_calls, 0);
}

/// Imports a file by the command line and exports it again.
fn through_the_command_line(folder: &Path, format: &str, text: &[u8]) -> Result<String, String> {
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        let output = command.args(args).arg("--data-dir").arg(folder).env_remove("DATABASE_URL").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    };
    let path = folder.join("session.jsonl");
    std::fs::write(&path, text).unwrap();
    let session = run(&["import", path.to_str().unwrap(), "--format", format])?;
    run(&["export", session.trim(), "--format", format])
}

#[test]
fn the_command_line_takes_files_as_editors_and_crashes_leave_them() {
    let folder = tempfile::tempdir().unwrap();
    for (format, file) in [("claude_code", claude_file()), ("codex", codex_file())] {
        let whole: Vec<String> = file.iter().map(Value::to_string).collect();
        let text = format!("\u{feff}{}\r\n{{\"type\":\"us", whole.join("\r\n"));
        let exported = through_the_command_line(folder.path(), format, text.as_bytes()).unwrap();
        assert_eq!(exported, whole.join("\n") + "\n", "{format}");
        assert!(through_the_command_line(folder.path(), format, b"").unwrap_err().contains("no item"));
        let refused = through_the_command_line(folder.path(), format, b"{\"type\":7}\n").unwrap_err();
        assert!(refused.contains("/items/0/type"), "{refused}");
    }
    let mut large = claude("big", Value::Null, "user", json!({"content": "word ".repeat(1_000_000)}));
    large["toolUseResult"] = json!({"x": 1});
    let text = format!("{large}\n");
    assert_eq!(through_the_command_line(folder.path(), "claude_code", text.as_bytes()).unwrap(), text);
}

#[test]
fn the_command_line_says_what_was_taken_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut items = linear("claude_code", "abcd");
    items[2]["parentUuid"] = json!("no\u{1b}[31mwhere");
    std::fs::write(&path, items.iter().map(|item| format!("{item}\n")).collect::<String>()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
    command.args(["import", path.to_str().unwrap(), "--format", "claude_code", "--data-dir"]).arg(folder.path());
    let output = command.env_remove("DATABASE_URL").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    let warning = told.lines().find(|line| line.starts_with("warning: ")).unwrap_or_else(|| panic!("{told}"));
    assert!(warning.starts_with("warning: item 3: unknown_parent: ") && warning.contains("follow the line before"));
    assert!(!told.contains('\u{1b}'), "{told:?}");
}

fn recorded(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            recorded(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn recorded_files_come_out_byte_for_byte() {
    let app = App::shared();
    let mut files = Vec::new();
    recorded(&Source::Shared.path("corpus/raw"), &mut files);
    files.sort();
    let (mut exact, mut refused) = (0, Vec::new());
    for path in files {
        let mut text = String::new();
        let name = path.display().to_string();
        let file = std::fs::File::open(&path).unwrap();
        let read = match name.ends_with(".gz") {
            true => flate2::read::GzDecoder::new(file).read_to_string(&mut text),
            false => { file }.read_to_string(&mut text),
        };
        let format = if text.contains("\"parentUuid\"") { "claude_code" } else { "codex" };
        let is_file = text.contains("\"parentUuid\"") || text.contains("\"session_meta\"") || name.contains("/codex/");
        if read.is_err() || !is_file || !name.contains(".jsonl") {
            continue;
        }
        let whole: Vec<&str> = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).collect();
        let items: Vec<Value> = whole.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let session = app.session(json!({"settings": {"enabled": false}})).await;
        let body = format!(r#"{{"format":"{format}","items":[{}]}}"#, whole.join(","));
        let answer = app.send(reqwest::Method::POST, &format!("{session}/entries"), &[], body).await;
        if answer.status != 201 {
            refused.push(format!("{name}: {}", answer.body["errors"][0]));
            continue;
        }
        let exported = app.get(&format!("{session}/export?format={format}")).await.text;
        assert_eq!(lines(&exported), items, "{name}");
        assert!(exported.lines().eq(whole.iter().map(|line| line.trim())), "{name}");
        exact += 1;
        for format in ["anthropic", "gemini", "openai_responses"] {
            let shown = context(app, &session, format).await;
            let linted = app.post("/v1/lint", json!({"format": format, "items": messages(&shown)})).await.expect(200);
            assert_eq!(linted["valid"], true, "{name}, {format}: {}", linted["violations"]);
        }
    }
    println!("{exact} files byte for byte; refused: {refused:#?}");
    assert!(exact > 30, "{exact}, {refused:#?}");
}
