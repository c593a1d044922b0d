//! Accessibility of the parts of a session, as pages and on its page, and of a compaction's prompt.

use reqwest::Method;
use serde_json::{Value, json};

use super::Browser;
use super::session::LOADED;
use super::stage::Stage;
use super::worked::Worked;
use crate::drill_support::{turns, upstream};
use crate::played_upstream::{Behaviour, PlayedUpstream};

const PARTS: [&str; 12] = [
    "tree",
    "calls",
    "files",
    "tasks",
    "chapters",
    "timeline",
    "composition",
    "view",
    "entries",
    "compactions",
    "now",
    "search?q=ABC-7",
];

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER and CONTEXTD_AXE: a browser and the accessibility checker"]
async fn nothing_serious_is_found_on_the_parts_of_a_session() {
    let worked = Worked::set().await;
    let browser = Browser::start().await;
    let mut found = Vec::new();
    for theme in ["light", "dark"] {
        browser.client.set_window_size(1280, 900).await.unwrap();
        for part in PARTS {
            browser.open(&format!("{}/{part}", worked.page()), theme).await;
            browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })").await;
            found.extend(browser.axe().await.into_iter().map(|one| format!("{part}, {theme}: {one}")));
        }
        // As fragments, all of them on the one page.
        browser.client.set_window_size(1280, 4_000).await.unwrap();
        browser.open(&worked.page(), theme).await;
        browser.until("all parts are there", LOADED).await;
        let asked = "document.querySelectorAll('.card > div > p.hint > a[hx-get]').forEach((link) => link.click())";
        browser.run(asked).await;
        let there = "return ['view', 'tree', 'chapters', 'tasks', 'calls', 'files']
            .every((part) => !document.querySelector(`#${part}-body > p.hint > a[hx-get]`))";
        browser.until("what is loaded by a link is there too", there).await;
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })").await;
        found.extend(browser.axe().await.into_iter().map(|one| format!("the page, {theme}: {one}")));
    }
    assert_eq!(found, Vec::<String>::new());
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER and CONTEXTD_AXE: a browser and the accessibility checker"]
async fn nothing_serious_is_found_on_a_prompt() {
    let played = PlayedUpstream::start(Behaviour::Notes(260)).await;
    let stage = Stage::with(&upstream(&played.base_url(), "60000")).await;
    let settings = json!({"enabled": false, "context_window": 40_000, "reserve_tokens": 4_000, "keep_recent_tokens": 1_500,
        "upstream": "default", "on_upstream_failure": "fail"});
    let session = stage.session(json!({"settings": settings}), 30).await;
    let items = json!({"format": "openai_chat", "items": turns(30..60, 120)});
    stage.send(Method::POST, &format!("/v1/sessions/{session}/entries"), items).await;
    let body = json!({"strategy": "llm_summarize", "wait": 60, "force": true});
    let done = stage.send(Method::POST, &format!("/v1/sessions/{session}/compact"), body).await;
    let page = stage.url(&format!("/ui/compactions/{}", done["id"].as_str().unwrap()));
    let ended = "return document.querySelector('h1 .badge').innerText.includes('succeeded')";
    let shown = "return document.querySelectorAll('pre.text').length > 1 && document.body.innerText.includes('Prompts are not kept')";
    let browser = Browser::start().await;
    let mut found = Vec::new();
    for theme in ["light", "dark"] {
        browser.open(&page, theme).await;
        browser.until("it has succeeded", ended).await;
        browser.run("document.querySelector('#prompt-body a').click()").await;
        browser.until("the prompt is there", shown).await;
        found.extend(browser.axe().await.into_iter().map(|one| format!("the page, {theme}: {one}")));
        for path in ["/prompt", "/prompt?piece=1&from=20", "/diff"] {
            browser.open(&format!("{page}{path}"), theme).await;
            if path == "/prompt" {
                assert_eq!(browser.run(shown).await, Value::Bool(true));
                browser.picture(&format!("prompt-{theme}.png")).await;
            }
            found.extend(browser.axe().await.into_iter().map(|one| format!("{path}, {theme}: {one}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    browser.quit().await;
}
