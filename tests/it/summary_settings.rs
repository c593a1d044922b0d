//! What a session says about its summaries reaches the model, and the context: prompt, instructions, focus, framing.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

const FACT: &str = "Payment retries: the idempotency key is pay-7781, never send it twice.";

async fn stage(behaviour: Behaviour) -> (App, PlayedUpstream) {
    let upstream = PlayedUpstream::start(behaviour).await;
    let app = App::fresh(&crate::drill_support::upstream(&upstream.base_url(), "5000"));
    (app, upstream)
}

/// A session that states [`FACT`] early and goes on for a while.
async fn session(app: &App, settings: Value) -> String {
    let mut all = by_hand();
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let session = app.session(json!({"settings": all})).await;
    app.append(&session, "openai_chat", json!(turns(0..1, 20))).await;
    app.append(&session, "openai_chat", json!([{"role": "user", "content": FACT}])).await;
    app.append(&session, "openai_chat", json!(turns(1..40, 60))).await;
    session
}

/// The text of the summary message as a model is sent it.
async fn summary(app: &App, session: &str) -> String {
    let context = context(app, session, "openai_chat").await;
    let texts = messages(&context).iter().filter_map(|message| message["content"].as_str());
    texts.filter(|text| text.contains("<context-summary>")).map(str::to_owned).next().expect("a summary")
}

async fn compacted(app: &App, session: &str) -> Value {
    let done = compact(app, session, json!({"force": true})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    done["result"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn own_words_reach_the_model_and_the_context() {
    let (app, upstream) = stage(Behaviour::good()).await;
    let settings = json!({
        "prompt": "Write three lines for the night shift.",
        "instructions": "Name every ticket.",
        "focus_topic": "payment retries",
        "compaction_prefix": "Notes of the day shift:",
    });
    let session = session(&app, settings).await;
    let result = compacted(&app, &session).await;
    assert_eq!(result["fallback"]["used"], false, "{result}");
    let sent = upstream.requests().pop().expect("a request");
    for part in ["Write three lines for the night shift.", "Name every ticket.", "Focus: payment retries", FACT] {
        assert!(sent.user().contains(part), "{part} in {}", sent.user());
    }
    assert!(!sent.user().contains("## Goal"), "the template is replaced: {}", sent.user());
    let shown = summary(&app, &session).await;
    assert!(shown.starts_with("Notes of the day shift:\n\n<context-summary>\n"), "{shown}");
    assert!(shown.contains(SUMMARY), "{shown}");
    assert!(shown.contains(&format!("- *FOCUS* {FACT}")), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_hold_from_the_next_compaction_on() {
    let (app, upstream) = stage(Behaviour::good()).await;
    let session = session(&app, json!({"focus_topic": "payment retries"})).await;
    compacted(&app, &session).await;
    let change = json!({"settings": {
        "template": "six_section", "instructions": "Be terse.", "compaction_prefix": "", "focus_topic": null,
    }});
    app.patch(&session, change).await.expect(200);
    app.append(&session, "openai_chat", json!(turns(40..80, 60))).await;
    compacted(&app, &session).await;
    let sent = upstream.requests().into_iter().rfind(|one| one.user().contains("<previous-summary>")).expect("one");
    for part in ["## Active Task", "Be terse.", "Ship it green."] {
        assert!(sent.user().contains(part), "{part} in {}", sent.user());
    }
    assert!(!sent.user().contains("Focus: "), "{}", sent.user());
    assert!(summary(&app, &session).await.starts_with("<context-summary>"));

    app.patch(&session, json!({"settings": {"iterative": false}})).await.expect(200);
    app.append(&session, "openai_chat", json!(turns(80..120, 60))).await;
    let before = upstream.requests().len();
    compacted(&app, &session).await;
    let sent: Vec<String> = upstream.requests().split_off(before).iter().map(|one| one.user().to_owned()).collect();
    assert!(!sent.iter().any(|user| user.contains("<previous-summary>")), "{sent:?}");
    assert!(sent.iter().any(|user| user.contains(FACT)), "the originals are read again: {sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_words_around_the_sessions_names_and_wrapping_are_no_faults() {
    let each: String = (3..15).map(|n| format!("`src/module_{n}.rs` → ABC-{n}, {n} ms;")).collect();
    let said = format!("目标：发布功能。{each}");
    let (app, _upstream) = stage(Behaviour::Good(format!("<think>hm</think>\n```\n{said}\n```"))).await;
    let session = session(&app, json!({"prompt": "Write notes.", "focus_topic": "payment retries"})).await;
    let result = compacted(&app, &session).await;
    assert_eq!(result["fallback"]["used"], false, "{result}");
    let shown = summary(&app, &session).await;
    for part in [said.as_str(), "*FOCUS*", "pay-7781"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("<think>"), "{shown}");
}

/// The notes need not say what the system prompt says, so their writer is shown it: its beginning, without its secrets.
#[tokio::test(flavor = "multi_thread")]
async fn the_beginning_of_the_system_prompt_is_shown_to_the_writer() {
    let (app, upstream) = stage(Behaviour::good()).await;
    let session = session(&app, json!({})).await;
    let system = format!("You are Ada, the clerk. API_KEY=sk-proj-{}\n{}", "Zq8".repeat(16), "Be kind. ".repeat(3_000));
    app.patch(&session, json!({"system": [{"type": "text", "text": system}]})).await.expect(200);
    compacted(&app, &session).await;
    let sent = upstream.requests().pop().expect("a request").user().to_owned();
    let told = sent.strip_prefix("<system-prompt>\n").and_then(|rest| rest.split_once("\n</system-prompt>"));
    let (told, rest) = told.unwrap_or_else(|| panic!("{sent}"));
    assert!(told.starts_with("You are Ada, the clerk.") && told.ends_with("[…]") && told.len() < 12_000, "{told}");
    assert!(told.contains("[redacted: ") && !told.contains("Zq8Zq8"), "{told}");
    assert!(rest.contains("not to be repeated"), "{rest}");
}
