//! Overview and lists: drawn, alive, by keyboard, for everybody; and no text of others does anything.

use contextd::service::Services;
use contextd::service::core::state::Options;
use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::Browser;
use super::stage::Stage;
use crate::app::Keyed;
use crate::patience::eventually;
use crate::pg;

const PAGES: [(&str, &str); 8] = [
    ("overview", "/ui"),
    ("sessions", "/ui/sessions"),
    ("search", "/ui/search"),
    ("found", "/ui/search?q=the"),
    ("compactions", "/ui/compactions"),
    ("queue", "/ui/queue?status=dead"),
    ("hooks", "/ui/hooks"),
    ("keys", "/ui/keys"),
];

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER and CONTEXTD_AXE: a browser and the accessibility checker"]
async fn nothing_serious_is_found_on_any_page_light_or_dark() {
    let stage = Stage::filled().await;
    let browser = Browser::start().await;
    let mut found = Vec::new();
    for (name, path) in PAGES {
        for theme in ["light", "dark"] {
            browser.client.set_window_size(1280, if path == "/ui" { 1_500 } else { 900 }).await.unwrap();
            browser.open(&stage.url(path), theme).await;
            if path == "/ui" {
                browser
                    .until("charts are drawn", "return document.querySelectorAll('.chart canvas').length === 2")
                    .await;
            }
            browser.picture(&format!("{name}-{theme}.png")).await;
            found.extend(browser.axe().await.into_iter().map(|one| format!("{name}, {theme}: {one}")));
        }
    }
    browser.open(&stage.url("/ui/nothing"), "dark").await;
    found.extend(browser.axe().await);
    assert_eq!(found, Vec::<String>::new());
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn the_overview_follows_and_the_keyboard_leads_everywhere() {
    let stage = Stage::empty().await;
    let browser = Browser::start().await;
    browser.open(&stage.url("/ui"), "light").await;
    browser.until("nothing is there", "return document.querySelector('.figure dd').innerText === '0'").await;
    for title in ["One", "Two"] {
        stage.session(json!({"title": title}), 1).await;
    }
    browser.until("the figures have followed", "return document.querySelector('.figure dd').innerText === '2'").await;
    let told = "return document.getElementById('said').innerText.includes('0 compactions failed')";
    browser.until("a screen reader is told", told).await;

    sqlx::query(
        "INSERT INTO compactions (tenant_id, id, session_id, status, trigger, strategy, request, attempts, error, created_at,
            finished_at) SELECT tenant_id, id, id, 'failed', 'auto', 'summarize', '{}', 1, 'no answer', now(), now()
         FROM sessions WHERE title = 'One'",
    )
    .execute(&stage.pool)
    .await
    .unwrap();
    browser.until("it is told", "return document.body.innerText.includes('no answer')").await;
    // The overview follows meanwhile, and may put another button in this one's place.
    eventually("the button is pressed", async || {
        browser.client.find(Locator::Css("form[action$='/retry'] button")).await.ok()?.click().await.ok()
    })
    .await;
    browser.until("it is done again", "return /^.ui.compactions.[0-9a-f-]{36}$/.test(location.pathname)").await;
    browser.client.goto(&stage.url("/ui")).await.unwrap();

    let keys = async |keys: &str| browser.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    let at = async |path: &str| browser.until(path, &format!("return location.pathname === '{path}'")).await;
    keys("gs").await;
    at("/ui/sessions").await;
    browser.until("ready", "return document.readyState === 'complete'").await;
    keys("j").await;
    let focused = "return document.activeElement.innerText";
    assert_eq!(browser.run(focused).await, "Two", "the first row");
    keys("j").await;
    assert_eq!(browser.run(focused).await, "One");
    keys("k").await;
    keys("/").await;
    assert_eq!(browser.run("return document.activeElement.name").await, "q");
    let field = browser.client.find(Locator::Css("[data-search]")).await.unwrap();
    field.send_keys("one").await.unwrap();
    field.send_keys(&Key::Enter.to_string()).await.unwrap();
    browser
        .until(
            "it is found",
            "return location.search.includes('q=one') && document.querySelectorAll('tbody tr').length === 1",
        )
        .await;
    keys("?").await;
    assert_eq!(browser.run("return document.getElementById('help').open").await, Value::Bool(true));
    browser.client.find(Locator::Css("#help button")).await.unwrap().click().await.unwrap();
    for (key, path) in [("gc", "/ui/compactions"), ("gh", "/ui/hooks"), ("gk", "/ui/keys"), ("go", "/ui")] {
        browser.until("ready", "return document.readyState === 'complete'").await;
        keys(key).await;
        at(path).await;
    }
    let theme = "return document.documentElement.dataset.theme ?? 'automatic'";
    assert_eq!(browser.run(theme).await, "light");
    browser.client.find(Locator::Css("[data-theme-toggle]")).await.unwrap().click().await.unwrap();
    assert_eq!(browser.run(theme).await, "dark");
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn no_text_of_others_runs() {
    let stage = Stage::empty().await;
    let hostile = "<script>window.canary=1</script>\"'><img src=x onerror=window.canary=1><svg onload=window.canary=1>";
    stage.session(json!({"title": hostile, "external_id": hostile, "model": hostile}), 1).await;
    let browser = Browser::start().await;
    let query: String = form_urlencoded::byte_serialize(hostile.as_bytes()).collect();
    for path in [
        "/ui",
        "/ui/sessions",
        &format!("/ui/sessions?q={query}"),
        &format!("/ui/search?q={query}"),
        "/ui/compactions",
        &format!("/ui/{query}"),
    ] {
        browser.client.goto(&stage.url(path)).await.unwrap();
        browser.until("ready", "return document.readyState === 'complete'").await;
        assert_eq!(browser.run("return window.canary ?? null").await, Value::Null, "{path}");
    }
    let inline = "const script = document.createElement('script'); script.textContent = 'window.canary = 1';
        document.body.append(script); return window.canary ?? null";
    assert_eq!(browser.run(inline).await, Value::Null, "not even one that is added runs");
    let reports = async || {
        let metrics = reqwest::Client::builder().no_proxy().build().unwrap().get(stage.url("/metrics"));
        let text = metrics.send().await.unwrap().text().await.unwrap();
        let line = text.lines().find(|line| line.starts_with("contextd_ui_csp_reports_total"))?.to_owned();
        line.rsplit(' ').next().filter(|count| *count != "0").map(str::to_owned)
    };
    let count = crate::patience::eventually("the browser reports it", reports).await;
    assert_eq!(count, "1", "and nothing else");
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER and CONTEXTD_AXE: a browser and the accessibility checker"]
async fn a_key_leads_in_and_a_button_out() {
    let database = pg::url().await;
    let services = Services::new(PgPool::connect(&database).await.unwrap(), Options::default());
    let key = services.keys.create("own", "laptop").await.unwrap();
    let server = Keyed::start(&database, &[], &[]);
    let browser = Browser::start().await;
    let at = async |path: &str| browser.until(path, &format!("return location.pathname === '{path}'")).await;
    for theme in ["dark", "light"] {
        browser.open(&format!("{}/ui/keys", server.base), theme).await;
        at("/ui/login").await;
        browser.picture(&format!("login-{theme}.png")).await;
        assert_eq!(browser.axe().await, Vec::<String>::new());
    }
    let enter = async |key: &str| {
        let field = browser.client.find(Locator::Css("input[name=key]")).await.unwrap();
        field.send_keys(&format!("{key}{}", Key::Enter)).await.unwrap();
    };
    enter("ctxd_wrong").await;
    browser
        .until("it is refused", "return document.querySelector('[role=alert]')?.innerText.includes('unknown')")
        .await;
    enter(&key).await;
    at("/ui/keys").await;
    assert_eq!(browser.run("return document.cookie").await, "", "no script reads the cookie");
    browser.client.set_window_size(420, 900).await.unwrap();
    browser.client.goto(&format!("{}/ui", server.base)).await.unwrap();
    browser.until("drawn", "return document.querySelectorAll('.chart canvas').length === 2").await;
    browser.picture("overview-narrow.png").await;
    let is_wide = "return document.documentElement.scrollWidth > document.documentElement.clientWidth";
    assert_eq!(browser.run(is_wide).await, Value::Bool(false), "nothing has to be pushed aside");
    browser.client.find(Locator::Css("form[action='/ui/logout'] button")).await.unwrap().click().await.unwrap();
    at("/ui/login").await;
    browser.client.goto(&format!("{}/ui/keys", server.base)).await.unwrap();
    at("/ui/login").await;
    browser.quit().await;
}
