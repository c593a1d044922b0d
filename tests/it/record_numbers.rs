//! The numbers of a record lead back to what they stand for: over HTTP and MCP, in searches and on pages.

mod long;
mod secrets;

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::mcp::request;
use crate::ui::Visitor;

/// A call or a message by its number or id, over HTTP.
async fn recall(app: &App, session: &str, asked: &str) -> Value {
    app.get(&format!("{session}/tool-calls/{}", asked.replace('#', "%23"))).await.expect(200)
}

/// The `detail` of the refusal.
async fn refusal(app: &App, session: &str, asked: &str) -> String {
    let answer = app.get(&format!("{session}/tool-calls/{}", asked.replace('#', "%23"))).await;
    answer.assert_problem(404, "not_found");
    answer.body["detail"].as_str().unwrap().to_owned()
}

/// The answer of the tool, and whether it is a refusal.
async fn read_tool_result(app: &App, session: &str, asked: &str) -> (String, bool) {
    let arguments = json!({"session_id": id_of(session), "tool_call_id": asked});
    let answer = request(app, "tools/call", json!({"name": "read_tool_result", "arguments": arguments})).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    (text, answer["result"]["isError"] == true)
}

/// The record that a context shows.
async fn record(app: &App, session: &str) -> String {
    let context = context(app, session, "openai_chat").await;
    let texts = messages(&context).iter().filter_map(|message| message["content"].as_str());
    texts.filter(|text| text.contains("<context-summary>")).collect::<String>()
}

/// The numbers that stand at the beginning of a record's lines, of calls with their tool and arguments.
fn printed(record: &str) -> (Vec<(u32, String)>, Vec<u32>) {
    let call = |line: &str| {
        let (number, told) = line.strip_prefix("- #")?.split_once(' ')?;
        Some((number.parse().ok()?, told.split(')').next()?.to_owned()))
    };
    let user = |line: &str| line.strip_prefix('u')?.split_once(" User: ")?.0.parse().ok();
    (record.lines().filter_map(call).collect(), record.lines().filter_map(user).collect())
}

/// Checks that every number of the record leads to what stands behind it. [`turns`] make one call each.
async fn assert_leads_back(app: &App, session: &str) {
    let record = record(app, session).await;
    let (calls, users) = printed(&record);
    assert!(calls.len() > 3 && users.len() > 3, "{record}");
    for (number, told) in &calls {
        let found = recall(app, session, &format!("#{number}")).await;
        let path = found["arguments"]["path"].as_str().unwrap();
        assert_eq!(&format!("{}({path}", found["name"].as_str().unwrap()), told, "#{number}");
        let (text, _) = read_tool_result(app, session, &format!("#{number}")).await;
        assert_eq!(json!(text), found["result_text"], "#{number}");
    }
    for number in &users {
        let found = recall(app, session, &format!("u{number}")).await;
        assert_eq!(found["text"], asked(*number as usize - 1), "u{number}");
        assert_eq!(found["number"], format!("u{number}"));
        let (text, _) = read_tool_result(app, session, &format!("u{number}")).await;
        assert_eq!(json!(text), found["text"], "u{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_number_of_a_record_leads_back_however_often_it_is_told() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    for round in 1..=3 {
        let done = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        assert_leads_back(app, &session).await;
        app.append(&session, "openai_chat", json!(turns(30 * round..30 * round + 30, 120))).await;
    }
    // Before the cut, in the kept tail, and behind the compaction.
    for number in [1, 2, 59, 88, 90, 91, 120] {
        let call = recall(app, &session, &format!("#{number}")).await;
        assert_eq!(call["tool_call_id"], format!("call_{}", number - 1));
        assert_eq!(recall(app, &session, &number.to_string()).await["entry_id"], call["entry_id"], "a bare number");
        let message = recall(app, &session, &format!("u{number}")).await;
        assert_eq!(message["text"], asked(number - 1));
        assert_eq!(message["content"][0]["text"], asked(number - 1));
        let entry = app.get(&format!("{session}/entries/{}", message["entry_id"].as_str().unwrap())).await.expect(200);
        assert_eq!(entry["item"]["content"], asked(number - 1));
        if [2, 59, 91, 120].contains(&number) {
            assert_eq!(message["elided"], json!(number < 90), "u{number}");
        }
    }
    let listed = all(app, &format!("{session}/tool-calls")).await;
    assert_eq!(recall(app, &session, "#77").await["entry_id"], listed[76]["entry_id"], "the 77th row");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_without_a_compaction_is_a_row_of_the_path_and_one_that_leads_nowhere_says_what_there_is() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    assert_eq!(refusal(app, &session, "#1").await, "#1 not found: there are no calls here");
    assert_eq!(refusal(app, &session, "u1").await, "u1 not found: there are no messages of the user's own here");
    app.append(&session, "openai_chat", json!(turns(0..12, 20))).await;
    assert_eq!(recall(app, &session, "#12").await["tool_call_id"], "call_11");
    assert_eq!(recall(app, &session, "u12").await["text"], asked(11));
    for compacted in [false, true] {
        for asked in ["#13", "13", "#4000000000"] {
            let number = asked.trim_start_matches('#');
            assert_eq!(
                refusal(app, &session, asked).await,
                format!("#{number} not found: calls are numbered 1 to 12 here"),
                "{compacted}"
            );
        }
        let told = "u13 not found: the user's messages are numbered 1 to 12 here";
        assert_eq!(refusal(app, &session, "u13").await, told);
        assert_eq!(read_tool_result(app, &session, "u13").await, (format!("not_found: {told}"), true));
        for asked in ["#0", "0", "u0", "#", "#x", "call_99", "#5000000000"] {
            assert_eq!(refusal(app, &session, asked).await, "tool call not found", "{asked}");
        }
        compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
    }
}

#[tokio::test]
async fn an_id_comes_before_a_number_and_results_in_the_users_role_are_no_words_of_the_users() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": id}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": format!("of {id}")});
    let said = |text: &str| json!({"type": "text", "text": text});
    let items = json!([
        {"role": "user", "content": "<environment_context>\n  <cwd>/srv/app</cwd>\n</environment_context>"},
        {"role": "user", "content": "Read them."},
        {"role": "assistant", "content": [call("a"), call("1"), call("c")]},
        {"role": "user", "content": [result("a"), result("1"), result("c")]},
        {"role": "assistant", "content": [call("a")]},
        {"role": "user", "content": [result("a"), said("And mind the gap.")]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png",
            "data": "iVBORw0KGgo="}}, said("What is this?")]},
    ]);
    app.append(&session, "anthropic", items).await;
    let id = async |asked: &str| recall(app, &session, asked).await["tool_call_id"].clone();
    assert_eq!((id("#1").await, id("1").await, id("#2").await), (json!("a"), json!("1"), json!("1")));
    assert_eq!((id("3").await, id("#4").await), (json!("c"), json!("a")));
    let (first, last) = (recall(app, &session, "#1").await, recall(app, &session, "a").await);
    assert_ne!(first["entry_id"], last["entry_id"], "of an id that came again the newest is meant, of a number one");
    assert_eq!(first["result_text"], "of a");
    let text = async |asked: &str| recall(app, &session, asked).await["text"].clone();
    assert_eq!((text("u1").await, text("u2").await), (json!("Read them."), json!("And mind the gap.")));
    let shown = recall(app, &session, "u3").await;
    assert_eq!((&shown["text"], &shown["content"][0]["type"]), (&json!("What is this?"), &json!("image")), "{shown}");
    assert!(refusal(app, &session, "u4").await.ends_with("numbered 1 to 3 here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_and_an_edit_move_no_number_of_the_record() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let done = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let told = record(app, &session).await;
    let calls = printed(&told).0;
    let last = calls.iter().map(|(number, _)| *number).max().unwrap();

    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    app.append(&fork, "openai_chat", json!(turns(50..55, 20))).await;
    assert_leads_back(app, &fork).await;
    assert_eq!(recall(app, &fork, "#31").await["tool_call_id"], "call_50", "numbers go on behind it");
    assert_eq!(recall(app, &fork, "u31").await["text"], asked(50));

    // The kept tail is written anew: the compaction goes on on another branch.
    let entries = all(app, &format!("{session}/entries")).await;
    let messages: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "message").collect();
    let parent = messages[4 * 29 - 1]["id"].clone();
    let items = json!([
        {"role": "user", "content": "Another request in its place, please."},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "call_other", "type": "function",
            "function": {"name": "read", "arguments": "{\"path\":\"other.rs\"}"}}]},
        {"role": "tool", "tool_call_id": "call_other", "content": "other"},
    ]);
    app.post(&format!("{session}/entries"), json!({"format": "openai_chat", "items": items, "parent_id": parent}))
        .await
        .expect(201);
    assert_eq!(record(app, &session).await, told, "it says the same");
    assert!(last < 30, "{last}");
    assert_leads_back(app, &session).await;
    assert_eq!(recall(app, &session, "#30").await["tool_call_id"], "call_other");
    assert_eq!(recall(app, &session, "u30").await["text"], "Another request in its place, please.");
    assert!(refusal(app, &session, "#31").await.ends_with("numbered 1 to 30 here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_a_number_finds_what_it_leads_to_first() {
    let app = App::shared();
    let session = filled(app, by_hand(), 30).await;
    let quoting = json!([{"role": "user", "content": "See #7 and u7, and 7 again: #7 #7 u7 u7."}]);
    app.append(&session, "openai_chat", quoting).await;
    compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
    let find = async |query: &str| {
        let found = app.get(&format!("{session}/search?q={}&limit=200", query.replace('#', "%23"))).await.expect(200);
        found["items"].as_array().unwrap().clone()
    };
    let call = recall(app, &session, "#7").await;
    let found = find("#7").await;
    assert_eq!((&found[0]["entry_id"], &found[1]["entry_id"]), (&call["entry_id"], &call["result_entry_id"]));
    assert!(found[0]["snippet"].as_str().unwrap().contains("module_6") && found[0]["rank"] == 1.0, "{}", found[0]);
    assert!(found[2..].iter().any(|hit| hit["snippet"].as_str().unwrap().contains("See")), "words are found too");
    let message = recall(app, &session, "u7").await;
    let found = find("u7").await;
    assert_eq!(found[0]["entry_id"], message["entry_id"]);
    assert!(found[0]["snippet"].as_str().unwrap().contains("Request 6:"), "{}", found[0]);
    let ids: Vec<&Value> = found.iter().map(|hit| &hit["entry_id"]).collect();
    assert_eq!(ids.iter().filter(|id| **id == ids[0]).count(), 1, "nothing is found twice");
    assert!(find("#99").await.is_empty() && !find("7").await.is_empty());

    // Page by page it is the same.
    let mut paged = Vec::new();
    let mut after = String::new();
    loop {
        let page = app.get(&format!("{session}/search?q=%237&limit=1{after}")).await.expect(200);
        paged.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(paged, find("#7").await);
    let arguments = json!({"session_id": id_of(&session), "query": "#7", "limit": 1});
    let answer = request(app, "tools/call", json!({"name": "search", "arguments": arguments})).await;
    assert_eq!(answer["result"]["structuredContent"]["items"][0]["entry_id"], call["entry_id"], "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_compactions_page_its_numbers_are_links() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let done = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
    let id = done["id"].as_str().unwrap();
    let visitor = Visitor::of(&app.url(""));
    let page = visitor.get(&format!("/ui/compactions/{id}")).await.page();
    let numbers = format!("/ui/compactions/{id}/numbers");
    let (calls, users) = printed(&record(app, &session).await);
    let (call, user) = (calls[0].0, users[0]);
    assert!(page.contains(&format!("href=\"{numbers}/{call}\">#{call}</a>")), "{page}");
    assert!(page.contains(&format!("href=\"{numbers}/u{user}\">u{user}</a> User:")), "{page}");
    visitor.assert_links(&page).await;
    let home = session.replace("/v1", "/ui");
    // Where the leaf is by now makes no difference.
    app.append(&session, "openai_chat", json!(turns(20..24, 20))).await;
    for (link, asked) in [(call.to_string(), format!("#{call}")), (format!("u{user}"), format!("u{user}"))] {
        let entry = recall(app, &session, &asked).await["entry_id"].clone();
        let seen = visitor.get(&format!("{numbers}/{link}")).await;
        assert_eq!(seen.leads_to(), format!("{home}/entries/{}", entry.as_str().unwrap()));
    }
    for nowhere in ["21", "u21", "x", "0", "%23x"] {
        assert_eq!(visitor.get(&format!("{numbers}/{nowhere}")).await.status, 404, "{nowhere}");
    }
}
