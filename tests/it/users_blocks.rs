//! The user's words beside, before and behind those of a harness, of a tool or of another agent: judged block by block.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

const STOP: &str = "Stop that; rather use port 5177 only.";

/// A conversation in whose middle a message of the user's role has these blocks.
fn conversation(blocks: &Value) -> Vec<Value> {
    let long = "line of output ".repeat(400);
    let said = |role: &str, content: Value| json!({"role": role, "content": content});
    let turn = |n: usize| {
        let id = format!("toolu_{n}");
        [
            said(
                "assistant",
                json!([{"type": "tool_use", "id": id, "name": "bash", "input": {"command": format!("step {n}")}}]),
            ),
            said("user", json!([{"type": "tool_result", "tool_use_id": id, "content": long}])),
        ]
    };
    let mut items = vec![said("user", json!("Start the server, please."))];
    items.extend((0..3).flat_map(turn));
    items.push(said(
        "assistant",
        json!([{"type": "tool_use", "id": "last", "name": "bash", "input": {"command": "serve"}}]),
    ));
    items.push(said("user", blocks.clone()));
    items.extend((4..12).flat_map(turn));
    items
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_dropped_because_of_its_neighbour() {
    let app = App::shared();
    let text = |text: &str| json!({"type": "text", "text": text});
    let result = json!({"type": "tool_result", "tool_use_id": "last", "content": "stopped", "is_error": true});
    let interrupted = text("[Request interrupted by user for tool use]");
    let handed = text("# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>");
    let skill = text("Base directory for this skill: /s\n\n# Review\nRead everything.");
    for blocks in [
        json!([result, interrupted, text(STOP)]),
        json!([result, text(STOP), interrupted]),
        json!([result, skill, text(STOP)]),
        json!([result, handed, text(STOP), text("<system-reminder>Be nice.</system-reminder>")]),
        json!([result, text(&format!("[Request interrupted by user]\n{STOP}"))]),
    ] {
        for strategy in ["summarize", "auto", "truncate", "smart"] {
            let mut settings = by_hand();
            settings["target_tokens"] = json!(4_000);
            let session = app.session(json!({"settings": settings})).await;
            app.append(&session, "anthropic", json!(conversation(&blocks))).await;
            let done = compact(app, &session, json!({"force": true, "strategy": strategy})).await;
            assert_eq!(done["status"], "succeeded", "{done}");
            for format in ["anthropic", "openai_chat", "gemini"] {
                let shown = context(app, &session, format).await.to_string();
                assert!(shown.contains(STOP), "{strategy}, {format}, {blocks}: {shown}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agents_words_are_told_as_its_own() {
    let app = App::shared();
    let mail = "<teammate-message teammate_id=\"builder\">Never touch the file src/legacy.rs again.</teammate-message>";
    let said = |name: Option<&str>, text: &str| {
        let mut item = json!({"role": "user", "content": text});
        if let Some(name) = name {
            item["name"] = json!(name);
        }
        item
    };
    let mut settings = by_hand();
    settings["agents"] = json!(["planner"]);
    let session = app.session(json!({"settings": settings})).await;
    let mut items = vec![said(None, mail), said(Some("planner"), "Plan: first the parser.")];
    items.extend([
        said(Some("Jonas"), "Please rename the parser."),
        json!({"role": "assistant", "content": "I begin."}),
    ]);
    items.extend([said(Some("Mia"), "Keep the tests green."), json!({"role": "assistant", "content": "Yes."})]);
    items.extend(turns(0..12, 300));
    app.append(&session, "openai_chat", json!(items)).await;
    let done = compact(app, &session, json!({"force": true, "strategy": "summarize"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let shown = context(app, &session, "openai_chat").await;
    assert_eq!(messages(&shown)[0], items[2], "the first message that the user wrote");
    let summary = messages(&shown)[1]["content"].as_str().unwrap();
    assert!(summary.contains("Mia: Keep the tests green."), "{summary}");
    assert!(summary.contains("builder: Never touch the file src/legacy.rs again."), "{summary}");
    assert!(!summary.contains("teammate_id"), "{summary}");
    let wrong = app.patch(&session, json!({"settings": {"agents": ["x".repeat(65)]}})).await;
    wrong.assert_problem(422, "validation_failed");
    assert_eq!(wrong.body["errors"][0]["pointer"], "/settings/agents/0");
}

/// Another agent's words in every spelling of an element that names its sender, in each format of a user's message.
#[tokio::test(flavor = "multi_thread")]
async fn another_agents_words_are_its_own_however_the_element_is_spelt() {
    let app = App::shared();
    const RULE: &str = "Never touch the file src/legacy.rs again.";
    const ASKED: &str = "Please rename the parser.";
    let within = |open: &str, close: &str| format!("<{open}>{RULE}</{close}>");
    let spelt = [
        within("message agentId=\"w1\"", "message"),
        within("mail senderId='w1' urgent", "mail"),
        within("teammate-message urgent teammate_id=builder", "teammate-message "),
        within("team.message from = \"builder\"", "team.message"),
        within("x:post x:fromAgent=\"b > c\" at=12:30", "x:post"),
        within("сообщение agent=\"строитель\"", "сообщение"),
        format!(
            "<teammate-message teammate_id=\"builder\">He said <teammate-message teammate_id=\"c\">x</teammate-message> \
             and: {RULE}</teammate-message>"
        ),
        format!("<m from=\"a\">see <m from=\"b\" and {RULE}</m>\n<m from=\"c\">so <m from=\"d\"/> be it</m>"),
    ];
    for mail in spelt {
        for format in ["openai_chat", "openai_responses", "anthropic", "gemini", "native"] {
            let session = app.session(json!({"settings": by_hand()})).await;
            let item = |text: &str| match format {
                "gemini" => json!({"role": "user", "parts": [{"text": text}]}),
                "openai_responses" => json!({"type": "message", "role": "user", "content": text}),
                _ => json!({"role": "user", "content": text}),
            };
            app.append(&session, format, json!([item(&mail), item(ASKED)])).await;
            app.append(&session, "openai_chat", json!(turns(0..12, 300))).await;
            let done = compact(app, &session, json!({"force": true, "strategy": "summarize"})).await;
            assert_eq!(done["status"], "succeeded", "{done}");
            let shown = context(app, &session, "openai_chat").await;
            assert_eq!(messages(&shown)[0]["content"], ASKED, "{format}, {mail}: {}", messages(&shown)[0]);
        }
    }
}

/// The user's own words stay the user's: between two elements, behind one, in one that names nobody or the user.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_writes_around_elements_is_the_users() {
    let app = App::shared();
    for own in [
        "<m from=\"a\">x</m> Please rename the parser. <m from=\"b\">y</m>",
        "<m from=\"a\">x</m>\nPlease rename the parser.",
        "<m from=\"user\">Please rename the parser.</m>",
        "<m from>Please rename the parser.</m>",
        "<m platform=\"a\">Please rename the parser.</m>",
        "<m from=\"a\">Please rename the parser.",
        "<m from=\"a\"> see <m Please rename the parser.",
    ] {
        let session = app.session(json!({"settings": by_hand()})).await;
        app.append(&session, "openai_chat", json!([{"role": "user", "content": own}])).await;
        app.append(&session, "openai_chat", json!(turns(0..12, 300))).await;
        let done = compact(app, &session, json!({"force": true, "strategy": "summarize"})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let shown = context(app, &session, "openai_chat").await;
        assert_eq!(messages(&shown)[0]["content"], own, "{}", messages(&shown)[0]);
    }
}
