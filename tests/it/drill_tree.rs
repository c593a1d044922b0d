//! Leaving a branch: where the leaf lands, and what the summary of what was left says.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

async fn path(app: &App, session: &str) -> Vec<Value> {
    all(app, &format!("{session}/entries")).await
}

async fn navigate(app: &App, session: &str, target: &Value, mut body: Value) -> Value {
    body["target_id"] = target.clone();
    app.post(&format!("{session}/navigate"), body).await.expect(200)
}

async fn summarized(app: &App, session: &str, target: &Value) -> Value {
    navigate(app, session, target, json!({"summarize": true})).await
}

async fn assert_valid(app: &App, session: &str) {
    for format in FORMATS {
        let shown = context(app, session, format).await;
        assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new(), "{format}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_is_told_at_the_target() {
    let played = PlayedUpstream::start(Behaviour::good()).await;
    let app = App::fresh(&upstream(&played.base_url(), "20000"));
    let session = filled(&app, by_hand(), 6).await;
    let before = path(&app, &session).await;
    let moved = summarized(&app, &session, &before[7]["id"]).await;
    let prompt = played.requests()[0].user().to_owned();
    assert!(prompt.contains(&asked(2)) && prompt.contains(&asked(5)), "{prompt}");
    assert!(!prompt.contains(&asked(1)) && prompt.contains("line3_7"), "its results, and no shared history: {prompt}");
    assert!(prompt.contains("left for another one") && !prompt.contains("Critical Context"), "{prompt}");
    let text = moved["summary"]["text"].as_str().unwrap();
    for part in [SUMMARY, "src/module_4.rs", "src/module_5.rs", "not an instruction", "edit("] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(moved["summary"]["details"]["read_files"], json!(["src/module_2.rs", "src/module_4.rs"]));
    assert_eq!(moved["summary"]["details"]["modified_files"], json!(["src/module_3.rs", "src/module_5.rs"]));
    assert_eq!((&moved["leaf_id"], &moved["old_leaf_id"]), (&moved["summary_entry_id"], &before[23]["id"]));
    let entry = app.get(&format!("{session}/entries/{}", moved["leaf_id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&entry["type"], &entry["parent_id"]), (&json!("branch_summary"), &before[7]["id"]));
    assert_eq!(entry["tokens"], moved["summary"]["tokens"]);
    assert_eq!(entry["item"]["from_id"], before[23]["id"]);
    let now = path(&app, &session).await;
    assert_eq!(now[..8], before[..8]);
    assert_eq!(now.len(), 9);
    assert_eq!(all(&app, &format!("{session}/entries?leaf_id={}", before[23]["id"].as_str().unwrap())).await, before);
    let shown = context(&app, &session, "openai_chat").await;
    assert_eq!(messages(&shown).len(), 9);
    assert_eq!(shown["tokens"], moved["snapshot"]["tokens"]);
    assert_valid(&app, &session).await;

    // Left again from there, the earlier summary and its files are passed on.
    app.append(&session, "openai_chat", json!(turns(8..10, 20))).await;
    let again = summarized(&app, &session, &before[3]["id"]).await;
    let files = &again["summary"]["details"];
    assert_eq!(files["modified_files"].as_array().unwrap().len(), 4, "modules 1, 3, 5 and 9: {files}");
    assert!(played.requests()[1].user().contains(SUMMARY));
    assert_valid(&app, &session).await;
}

/// Without a model it is told by the record and nothing else: no list of files, no ledger, and of each call what it returned.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_a_branch_is_told_by_a_record_alone() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_chat", json!(turns(0..1, 5))).await;
    let target = path(app, &session).await.pop().unwrap()["id"].clone();
    let function = json!({"name": "bash", "arguments": "{\"command\": \"make check\"}"});
    app.append(&session, "openai_chat", json!([
        {"role": "user", "content": "Try it with the other allocator."},
        {"role": "assistant", "content": "I try it.", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "FAILED tests/arena.rs: 41 of 42"},
        {"role": "assistant", "content": "The arena test fails with it, so it is no use."},
    ])).await;
    let moved = summarized(app, &session, &target).await;
    let text = moved["summary"]["text"].as_str().unwrap();
    for told in [
        "another line of this conversation",
        "u1 User: Try it with the other allocator.",
        "#1 bash(make check) → FAILED tests/arena.rs: 41 of 42",
        "Agent: The arena test fails with it, so it is no use.",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    for added in ["<read-files>", "<modified-files>", "<tool-calls>", "no output", "→ returned"] {
        assert!(!text.contains(added), "{added}: {text}");
    }
    assert_eq!(text.matches("make check").count(), 1, "it is told once: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_models_notes_on_a_branch_stands_what_they_lack() {
    let played = PlayedUpstream::start(Behaviour::good()).await;
    let app = App::fresh(&upstream(&played.base_url(), "20000"));
    let session = filled(&app, by_hand(), 6).await;
    let target = path(&app, &session).await[7]["id"].clone();
    let text = summarized(&app, &session, &target).await["summary"]["text"].as_str().unwrap().to_owned();
    for told in ["Messages of the user that the notes neither quote nor cite", "Calls that may have changed something"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    for added in ["<read-files>", "<modified-files>", "<tool-calls>", "oldest first; the older, the less detail"] {
        assert!(!text.contains(added), "{added}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_builtin_summariser_tells_it_too() {
    let app = App::shared();
    let session = filled(app, by_hand(), 6).await;
    let before = path(app, &session).await;
    let moved = summarized(app, &session, &before[3]["id"]).await;
    let text = moved["summary"]["text"].as_str().unwrap();
    assert!(text.contains("src/module_5.rs") && text.contains("ABC-3"), "{text}");
    assert!(!text.contains("no result"), "every call was answered: {text}");
    assert_eq!(moved["summary"]["fallback"]["used"], false);
    assert_valid(app, &session).await;
    // A transcript in Anthropic's format: results stand in the user's messages and are skipped all the same.
    let session = app.session(json!({"settings": by_hand()})).await;
    let call = json!({"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a/b.rs"}});
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "UNSEEN output"});
    app.append(&session, "anthropic", json!([{"role": "user", "content": "Start here."}])).await;
    let items = json!([{"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Never touch the lock file."}]}]);
    app.append(&session, "anthropic", items).await;
    let root = summarized(app, &session, &Value::Null).await;
    let text = root["summary"]["text"].as_str().unwrap();
    assert!(text.contains("Never touch the lock file.") && text.contains("a/b.rs"), "{text}");
    assert_eq!(root["summary"]["details"]["modified_files"], json!(["a/b.rs"]));
    assert_eq!(path(app, &session).await.len(), 1, "the summary alone, at the root");
    assert_valid(app, &session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leaf_lands_where_the_target_says() {
    let app = App::shared();
    let session = filled(app, by_hand(), 3).await;
    let before = path(app, &session).await;
    // Onto a user message: its parent, and its text to be sent again; itself is not told.
    let moved = summarized(app, &session, &before[4]["id"]).await;
    assert_eq!(moved["editor_text"], asked(1));
    let summary = path(app, &session).await.pop().unwrap();
    assert_eq!((&summary["type"], &summary["parent_id"]), (&json!("branch_summary"), &before[3]["id"]));
    assert!(!summary["item"]["content"].to_string().contains(&asked(1)), "{summary}");
    // Onto the leaf: nothing, with a summary or without.
    for summarize in [true, false] {
        let stays = navigate(app, &session, &summary["id"], json!({"summarize": summarize})).await;
        assert_eq!((&stays["leaf_id"], &stays["summary_entry_id"]), (&summary["id"], &Value::Null));
    }
    // Onto a deeper entry nothing is left that could be told.
    navigate(app, &session, &before[3]["id"], json!({})).await;
    let deeper = summarized(app, &session, &before[11]["id"]).await;
    assert_eq!((&deeper["leaf_id"], &deeper["summary"]), (&before[11]["id"], &Value::Null));
    // Onto the first user message and before the first entry: the root.
    let first = navigate(app, &session, &before[0]["id"], json!({})).await;
    assert_eq!((&first["leaf_id"], &first["editor_text"]), (&Value::Null, &json!(asked(0))));
    assert_eq!(navigate(app, &session, &before[11]["id"], json!({})).await["leaf_id"], before[11]["id"]);
    let root = navigate(app, &session, &Value::Null, json!({})).await;
    assert_eq!((&root["leaf_id"], &root["snapshot"]["tokens"]), (&Value::Null, &json!(0)));
    assert_eq!(path(app, &session).await, Vec::<Value>::new());
    app.append(&session, "openai_chat", json!(turns(7..8, 5))).await;
    assert_eq!(kept_items(app, &session).await, turns(7..8, 5));
    let unknown = json!({"target_id": "018f0000-0000-7000-8000-000000000000", "summarize": true});
    app.post(&format!("{session}/navigate"), unknown).await.assert_problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_join_the_prompt_or_take_its_place() {
    let played = PlayedUpstream::start(Behaviour::good()).await;
    let app = App::fresh(&upstream(&played.base_url(), "20000"));
    let session = filled(&app, by_hand(), 3).await;
    let before = path(&app, &session).await;
    for (replace, keeps) in [(false, true), (true, false)] {
        navigate(&app, &session, &before[11]["id"], json!({})).await;
        let body = json!({"summarize": true, "instructions": "Name every ticket.", "replace_instructions": replace});
        navigate(&app, &session, &before[3]["id"], body).await;
        let prompt = played.requests().pop().unwrap().user().to_owned();
        assert!(prompt.contains("Name every ticket."), "{prompt}");
        assert_eq!(prompt.contains("left for another one"), keeps, "{prompt}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_longer_than_asked() {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = filled(&app, by_hand(), 4).await;
    let before = path(&app, &session).await;
    let body = json!({"summarize": true, "wait": 0.3});
    let moved = navigate(&app, &session, &before[3]["id"], body.clone()).await;
    assert_eq!(moved["summary"]["fallback"], json!({"used": true, "from": null, "reason": "timeout"}));
    assert!(moved["summary"]["text"].as_str().unwrap().contains("ABC-2"), "{moved}");
    // Where nothing may stand in, nothing moves.
    app.patch(&session, json!({"settings": {"on_upstream_failure": "fail"}})).await.expect(200);
    let mut back = body;
    back["target_id"] = before[1]["id"].clone();
    app.post(&format!("{session}/navigate"), back).await.assert_problem(409, "summary_failed");
    assert_eq!(app.get(&session).await.expect(200)["leaf_id"], moved["leaf_id"]);
    let plain = navigate(&app, &session, &before[1]["id"], json!({})).await;
    assert_eq!(plain["leaf_id"], before[1]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_fails_is_stood_in_for_or_told() {
    let played = PlayedUpstream::start(Behaviour::Quota).await;
    let app = App::fresh(&upstream(&played.base_url(), "20000"));
    let mut settings = by_hand();
    for (policy, status) in [("fallback", 200), ("fail", 409)] {
        settings["on_upstream_failure"] = json!(policy);
        let session = filled(&app, settings.clone(), 3).await;
        let before = path(&app, &session).await;
        let body = json!({"target_id": before[3]["id"], "summarize": true});
        let answer = app.post(&format!("{session}/navigate"), body).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        if status == 200 {
            assert_eq!(answer.body["summary"]["fallback"]["used"], true, "{}", answer.text);
        } else {
            answer.assert_problem(409, "summary_failed");
            assert_eq!(path(&app, &session).await, before);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_during_the_summary_is_told_too() {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = filled(&app, by_hand(), 3).await;
    let before = path(&app, &session).await;
    let append = async {
        played.wait_for_calls(1).await;
        played.play(Behaviour::good());
        app.append(&session, "openai_chat", json!(turns(20..21, 5))).await;
        played.release();
    };
    let (moved, ()) = tokio::join!(summarized(&app, &session, &before[3]["id"]), append);
    assert_eq!(played.requests().len(), 2);
    assert!(played.requests()[1].user().contains(&asked(20)));
    let text = moved["summary"]["text"].as_str().unwrap();
    assert!(text.contains("src/module_20.rs"), "{text}");
    assert_eq!(path(&app, &session).await.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_compaction_and_a_departure_leave_each_other_whole() {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = filled(&app, by_hand(), 30).await;
    let before = path(&app, &session).await;
    let id = app.post(&format!("{session}/compact"), json!({})).await.expect(202)["id"].clone();
    played.wait_for_calls(1).await;
    let both = async {
        played.wait_for_calls(2).await;
        played.play(Behaviour::good());
        played.release();
    };
    let (moved, ()) = tokio::join!(summarized(&app, &session, &before[39]["id"]), both);
    assert!(moved["summary_entry_id"].is_string());
    let done = ended(&app, &id).await;
    println!("left during the summary: {} {}", done["status"], done["result"]["skip_reason"]);
    let leaf = app.get(&session).await.expect(200)["leaf_id"].clone();
    let now = path(&app, &session).await;
    assert_eq!(now[..40], before[..40]);
    assert!(now.iter().any(|entry| entry["id"] == moved["summary_entry_id"]), "the summary is on the path");
    assert_eq!(now.last().unwrap()["id"], leaf);
    assert_valid(&app, &session).await;
}
