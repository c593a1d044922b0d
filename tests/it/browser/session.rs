//! The page of a session and that of a compaction: drawn, alive, by keyboard, for everybody; and no text of others does
//! anything.

use fantoccini::Locator;
use fantoccini::key::Key;
use reqwest::Method;
use serde_json::{Value, json};

use super::Browser;
use super::stage::Stage;
use super::worked::Worked;

pub const LOADED: &str = "return [...document.querySelectorAll('[data-live][hx-get]')].every((one) => !one.querySelector(':scope > p.hint > a[hx-get]'))";
const CHART: &str = "return document.querySelectorAll('.sawtooth canvas').length === 1";

/// The height of a window that ends with the chart.
const DOWN_TO_CHART: &str = "return Math.ceil(document.getElementById('timeline').getBoundingClientRect().bottom + 9 + outerHeight - innerHeight)";

async fn click(browser: &Browser, css: &str) {
    let found = browser.client.find(Locator::Css(css)).await.unwrap();
    browser
        .client
        .execute("arguments[0].scrollIntoView({block: 'center'})", vec![serde_json::to_value(&found).unwrap()])
        .await
        .unwrap();
    found.click().await.unwrap();
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER and CONTEXTD_AXE: a browser and the accessibility checker"]
async fn nothing_serious_is_found_on_the_pages_of_a_session() {
    let worked = Worked::set().await;
    let browser = Browser::start().await;
    let entry =
        worked.stage.send(Method::GET, &format!("/v1/sessions/{}/entries?limit=1", worked.session), Value::Null).await;
    let entry = entry["items"][0]["id"].as_str().unwrap().to_owned();
    let pages = [
        ("session", worked.page(), 2_600),
        ("compaction", worked.stage.url(&format!("/ui/compactions/{}", worked.compaction)), 1_900),
        ("settings", format!("{}/settings", worked.page()), 1_300),
        ("entry", format!("{}/entries/{entry}", worked.page()), 900),
    ];
    let mut found = Vec::new();
    for (name, url, height) in pages {
        for theme in ["light", "dark"] {
            browser.client.set_window_size(1280, height).await.unwrap();
            browser.open(&url, theme).await;
            browser.until("all parts are there", LOADED).await;
            if name == "session" {
                browser.until("the chart is drawn", CHART).await;
                browser.until("the tree is drawn", "return document.querySelectorAll('.tree .node').length > 3").await;
                browser.until("the view is there", "return document.querySelectorAll('.message').length > 3").await;
                if theme == "light" {
                    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })").await;
                    found.extend(browser.axe().await.into_iter().map(|one| format!("{name}, unfolded: {one}")));
                    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = false; })").await;
                }
            }
            if name == "compaction" {
                // It is loaded when it comes into view.
                browser.run("window.scrollTo(0, document.body.scrollHeight)").await;
                browser
                    .until("the comparison is there", "return document.querySelectorAll('.diff tbody tr').length > 3")
                    .await;
            }
            browser.run("window.scrollTo(0, 0)").await;
            browser.picture(&format!("{name}-{theme}.png")).await;
            if name == "session" {
                browser
                    .client
                    .set_window_size(1280, browser.run(DOWN_TO_CHART).await.as_u64().unwrap() as u32)
                    .await
                    .unwrap();
                browser.until("it is drawn anew", CHART).await;
                browser.picture(&format!("saw-tooth-{theme}.png")).await;
            }
            found.extend(browser.axe().await.into_iter().map(|one| format!("{name}, {theme}: {one}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn the_page_follows_its_session_until_it_is_erased() {
    let stage = Stage::empty().await;
    let settings =
        json!({"enabled": false, "context_window": 24_000, "reserve_tokens": 3_000, "keep_recent_tokens": 1_500});
    let session = stage.session(json!({"title": "Alive", "settings": settings}), 20).await;
    let browser = Browser::start().await;
    browser.open(&stage.url(&format!("/ui/sessions/{session}")), "light").await;
    browser.until("the chart is drawn", CHART).await;
    let none = "return document.getElementById('compactions').innerText.includes('None yet')";
    browser.until("there is no compaction", none).await;
    let before = browser.run("return document.querySelector('#now .fill').title").await;
    let body = json!({"strategy": "summarize", "wait": 60});
    stage.send(Method::POST, &format!("/v1/sessions/{session}/compact"), body).await;
    let told = "return document.querySelectorAll('#compactions tbody tr').length === 1
        && document.getElementById('compactions').innerText.includes('succeeded')";
    browser.until("the compaction is listed", told).await;
    let fuller = format!("return document.querySelector('#now .fill').title !== {before}");
    browser.until("the fill has followed", &fuller).await;
    let marked = "return JSON.parse(document.querySelector('[data-sawtooth]').dataset.sawtooth).marks.length === 1";
    browser.until("the chart has followed", marked).await;
    browser.until("the chart is drawn again", CHART).await;
    stage.send(Method::GET, &format!("/v1/sessions/{session}"), Value::Null).await;
    let erased =
        reqwest::Client::builder().no_proxy().build().unwrap().delete(stage.url(&format!("/v1/sessions/{session}")));
    assert_eq!(erased.send().await.unwrap().status(), 204);
    browser.until("the page says so", "return !document.getElementById('gone').hidden").await;
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn a_person_compacts_looks_searches_and_takes_it_back() {
    let worked = Worked::set().await;
    let browser = Browser::start().await;
    browser.open(&worked.page(), "light").await;
    browser.until("all parts are there", LOADED).await;

    click(&browser, "[data-preview]").await;
    let foreseen = "return document.getElementById('prepared').innerText.includes('foreseen, not done')";
    browser.until("the preview is there", foreseen).await;

    browser.run("document.getElementById('view').scrollIntoView()").await;
    browser.until("the view is there", "return document.querySelectorAll('.message').length > 3").await;
    let elided = "if (document.querySelector('[data-original]')) return true;
        const next = [...document.querySelectorAll('#view .pager a')].find((one) => one.innerText.startsWith('Later'));
        next?.click(); return false;";
    browser.until("a result is shown shorter", elided).await;
    click(&browser, "[data-original]").await;
    let whole = "return [...document.querySelectorAll('.whole')].some((one) => /line\\d+_100/.test(one.innerText))";
    browser.until("the original is there", whole).await;

    // By keyboard alone.
    browser.run("document.activeElement.blur(); window.scrollTo(0, 0)").await;
    let keys = async |keys: &str| browser.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    keys("/").await;
    assert_eq!(browser.run("return document.activeElement.name").await, "q");
    keys("ABC-7").await;
    keys(&Key::Enter.to_string()).await;
    browser.until("it is found", "return document.querySelectorAll('#found mark').length > 0").await;
    assert_eq!(browser.run("return location.search").await, "", "on the page itself");
    let reach = "document.querySelector('select[name=strategy]').focus(); return true";
    browser.run(reach).await;
    keys("summarize").await;
    for _ in 0..4 {
        keys(&Key::Tab.to_string()).await;
    }
    assert_eq!(browser.run("return document.activeElement.innerText").await, "Compact now");
    keys(&Key::Enter.to_string()).await;
    browser
        .until("it says so", "return document.querySelector('[role=status]')?.innerText.includes('queued') ?? false")
        .await;
    let first = "return document.querySelector('#compactions tbody tr')?.innerText.includes('succeeded') ?? false";
    browser.until("it has succeeded", first).await;
    let link = "document.querySelector('#compactions tbody a').click(); return true";
    browser.run(link).await;
    browser.until("the compaction's page", "return location.pathname.startsWith('/ui/compactions/')").await;
    click(&browser, "details.careful summary").await;
    click(&browser, "details.careful button").await;
    let reverted = "return document.querySelector('[role=status]')?.innerText.includes('taken back') ?? false";
    browser.until("it is taken back", reverted).await;
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn settings_are_previewed_while_they_are_changed() {
    let worked = Worked::set().await;
    let browser = Browser::start().await;
    browser.open(&format!("{}/settings", worked.page()), "dark").await;
    let change = "const field = document.querySelector('select[name=strategy]'); field.value = 'truncate';
        field.dispatchEvent(new Event('change', {bubbles: true})); return true";
    browser.run(change).await;
    let told = "return document.getElementById('prepared').innerText.includes('truncate')";
    browser.until("the preview follows", told).await;
    click(&browser, "button.primary").await;
    browser
        .until("it is saved", "return document.querySelector('[role=status]')?.innerText.includes('saved') ?? false")
        .await;
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn no_transcript_runs() {
    let stage = Stage::empty().await;
    let evil = "<script>window.canary=1</script>\"'><img src=x onerror=window.canary=1><svg onload=window.canary=1> {{x}} \u{202e}";
    let settings =
        json!({"enabled": false, "context_window": 24_000, "reserve_tokens": 3_000, "keep_recent_tokens": 500});
    let session =
        stage.session(json!({"title": evil, "external_id": evil, "model": evil, "settings": settings}), 8).await;
    let api = format!("/v1/sessions/{session}");
    let call = json!({"id": evil, "type": "function", "function": {"name": "read", "arguments": json!({"path": evil}).to_string()}});
    let items = json!([
        {"role": "user", "content": evil.repeat(30)},
        {"role": "assistant", "content": evil, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": evil, "content": evil.repeat(40)},
        {"role": "assistant", "content": evil},
    ]);
    stage.send(Method::POST, &format!("{api}/entries"), json!({"format": "openai_chat", "items": items})).await;
    let leaf = stage.send(Method::GET, &api, Value::Null).await["leaf_id"].as_str().unwrap().to_owned();
    stage.send(Method::PUT, &format!("{api}/entries/{leaf}/label"), json!({"label": evil})).await;
    let compact = json!({"strategy": "summarize", "focus_topic": evil, "wait": 60, "force": true});
    let compaction =
        stage.send(Method::POST, &format!("{api}/compact"), compact).await["id"].as_str().unwrap().to_owned();
    let browser = Browser::start().await;
    let home = format!("/ui/sessions/{session}");
    for path in [
        home.clone(),
        format!("{home}/view"),
        format!("{home}/tree"),
        format!("{home}/calls"),
        format!("{home}/files"),
        format!("{home}/tasks"),
        format!("{home}/search?q=canary"),
        format!("{home}/entries/{leaf}"),
        format!("{home}/settings"),
        format!("/ui/compactions/{compaction}"),
    ] {
        browser.client.goto(&stage.url(&path)).await.unwrap();
        browser.until("ready", "return document.readyState === 'complete'").await;
        browser.until("all parts are there", LOADED).await;
        browser.run("window.scrollTo(0, document.body.scrollHeight)").await;
        assert_eq!(browser.run("return window.canary ?? null").await, Value::Null, "{path}");
    }
    let metrics = reqwest::Client::builder().no_proxy().build().unwrap().get(stage.url("/metrics"));
    let text = metrics.send().await.unwrap().text().await.unwrap();
    let reports = text.lines().find(|line| line.starts_with("contextd_ui_csp_reports_total"));
    assert!(reports.is_none_or(|line| line.ends_with(" 0")), "{reports:?}");
    browser.quit().await;
}
