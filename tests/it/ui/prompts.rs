//! The prompt of a compaction on its page: none is kept, so that it is written anew.

use serde_json::{Value, json};

use super::Visitor;
use crate::app::App;
use crate::drill_support::{asking, compact, filled, turns, upstream};
use crate::played_upstream::{Behaviour, PlayedUpstream};

/// Good enough for the checks, whatever it is about.
fn notes() -> Behaviour {
    Behaviour::Notes(260)
}

fn page_of(compaction: &Value) -> String {
    format!("/ui/compactions/{}", compaction["id"].as_str().unwrap())
}

/// The texts on the page of a prompt, as they were before they were escaped.
fn texts(page: &str) -> Vec<String> {
    let texts = page.split("<pre class=\"text\" tabindex=\"0\"><bdi>").skip(1);
    let plain = |text: &str| {
        text.split("</bdi>")
            .next()
            .unwrap()
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
    };
    texts.map(plain).collect()
}

/// All of a text, part by part.
async fn whole(visitor: &Visitor, path: &str, piece: usize) -> String {
    let (mut text, mut from) = (String::new(), 0);
    loop {
        let page = visitor.get(&format!("{path}/prompt?piece={piece}&from={from}")).await.page();
        let part = texts(&page).remove(0);
        from += part.chars().count();
        text.push_str(&part);
        if !page.contains("more characters") {
            return text;
        }
    }
}

#[tokio::test]
async fn a_prompt_is_written_anew_word_for_word_while_the_settings_stay() {
    let played = PlayedUpstream::start(notes()).await;
    let base = played.base_url();
    let app = App::fresh(&upstream(&base, "60000"));
    let session = filled(&app, asking("default", "fail"), 60).await;
    let visitor = Visitor::of(&app.url(""));
    for round in 0..2 {
        let before = played.calls();
        let done = compact(&app, &session, json!({"strategy": "llm_summarize", "focus_topic": "<b>tickets</b>"})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let page = visitor.get(&page_of(&done)).await.page();
        assert!(page.contains("/prompt"), "{page}");
        visitor.assert_links(&page).await;
        // What came since changes nothing of it.
        app.append(&session, "openai_chat", json!(turns(60 + round * 40..100 + round * 40, 120))).await;
        let sent = played.requests()[before..].to_vec();
        let path = page_of(&done);
        let shown = visitor.get(&format!("{path}/prompt")).await.page();
        assert!(!shown.contains("Planned anew, other entries"), "{shown:.3000}");
        assert_eq!(texts(&shown).len() % 2, 0);
        let mut found = 0;
        for piece in (0..texts(&shown).len()).step_by(2) {
            let (system, user) = (whole(&visitor, &path, piece).await, whole(&visitor, &path, piece + 1).await);
            let same =
                |request: &&crate::played_upstream::PlayedRequest| request.system() == system && request.user() == user;
            found += sent.iter().filter(same).count();
        }
        assert_eq!(found, texts(&shown).len() / 2, "round {round}: {} calls", sent.len());
    }
}

#[tokio::test]
async fn what_differs_from_the_prompt_that_was_sent_is_said() {
    let played = PlayedUpstream::start(Behaviour::Sequence(vec![Behaviour::Empty], Box::new(notes()))).await;
    let base = played.base_url();
    let app = App::fresh(&upstream(&base, "60000"));
    let session = filled(&app, asking("default", "fail"), 60).await;
    let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(done["result"]["upstream"]["calls"], 2, "{done}");
    let visitor = Visitor::of(&app.url(""));
    let path = format!("{}/prompt", page_of(&done));
    let shown = visitor.get(&path).await.page();
    assert!(shown.contains("There were 2 calls"), "{shown:.3000}");
    app.patch(&session, json!({"settings": {"keep_recent_tokens": 9_000, "anchor_first_user": false}}))
        .await
        .expect(200);
    visitor.get(&path).await.page();

    // No model, no prompt.
    let other = filled(&app, asking("default", "fail"), 30).await;
    let by_rules = compact(&app, &other, json!({"strategy": "summarize"})).await;
    let page = visitor.get(&page_of(&by_rules)).await.page();
    assert!(!page.contains("/prompt"), "{page}");
    visitor.get(&format!("{}/prompt", page_of(&by_rules))).await.page();
    let nothing = visitor.get("/ui/compactions/00000000-0000-7000-8000-000000000000/prompt").await;
    assert_eq!(nothing.status, 404);
    let odd = visitor.get(&format!("{path}?piece=-1")).await;
    assert_eq!(odd.status, 422);
    visitor.get(&format!("{path}?piece=99&from=99999999999")).await.page();
}
