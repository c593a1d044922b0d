//! Pages in windows of every width: none has to be pushed aside, and the navigation is one row.

use reqwest::Method;
use serde_json::{Value, json};

use super::Browser;
use super::session::LOADED;
use super::stage::Stage;
use super::worked::Worked;

const WIDTHS: [u32; 4] = [360, 390, 500, 760];

/// What reaches beyond the window or beyond its own box, and rows of the navigation.
const LAID_OUT: &str = "
    const width = document.documentElement.clientWidth;
    const scrolls = (one) => { for (let at = one.parentElement; at; at = at.parentElement) if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return true; };
    const shown = [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() && !one.matches('.sr, .skip, svg *'));
    const beyond = shown.filter((one) => one.getBoundingClientRect().right > width + 1 && !scrolls(one));
    const cut = [...document.querySelectorAll('.figure, .figure :not(.sr), button, .badge')].filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline' && one.tagName !== 'METER');
    const rows = new Set([...document.querySelectorAll('.top nav a')].map((link) => link.getBoundingClientRect().top));
    return {wide: document.documentElement.scrollWidth - width, beyond: beyond.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)),
        cut: cut.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)), rows: rows.size};";

/// Long names without a place to break, and a compaction that failed.
async fn crowd(worked: &Worked) {
    let name = "unbroken_name".repeat(30);
    let about = json!({"title": name, "external_id": name, "model": name});
    worked.stage.session(about, 1).await;
    sqlx::query(
        "INSERT INTO compactions (tenant_id, id, session_id, status, trigger, strategy, request, attempts, error, created_at,
            finished_at) SELECT tenant_id, id, id, 'failed', 'auto', 'summarize', '{}', 1, repeat('no_answer', 50), now(), now()
         FROM sessions",
    )
    .execute(&worked.stage.pool)
    .await
    .unwrap();
    let hook = json!({"url": format!("https://example.org/{name}"), "events": ["after_compact"]});
    let hook = worked.stage.send(Method::POST, "/v1/hooks", hook).await;
    assert!(hook["id"].is_string());
    let key =
        worked.stage.send(Method::POST, "/v1/keys", json!({"name": name, "expires_at": "9999-01-01T00:00:00Z"})).await;
    assert!(key["id"].is_string());
}

fn pages(stage: &Stage, session: &str, compaction: &str) -> Vec<String> {
    let own = ["", "/settings", "/tree", "/calls", "/files", "/view", "/timeline", "/entries", "/search?q=ABC-7"];
    let own = own.map(|part| format!("/ui/sessions/{session}{part}"));
    let all = [
        "/ui",
        "/ui/sessions",
        "/ui/search?q=the",
        "/ui/compactions",
        "/ui/queue",
        "/ui/hooks",
        "/ui/keys",
        "/ui/nothing",
    ];
    let all = all.iter().map(|path| (*path).to_owned()).chain(own).chain([format!("/ui/compactions/{compaction}")]);
    all.map(|path| stage.url(&path)).collect()
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn no_page_is_wider_than_its_window() {
    let worked = Worked::set().await;
    crowd(&worked).await;
    let mut found = Vec::new();
    for width in WIDTHS {
        let browser = Browser::of_width(width).await;
        for url in pages(&worked.stage, &worked.session, &worked.compaction) {
            browser.client.goto(&url).await.unwrap();
            browser.until("all parts are there", LOADED).await;
            browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })").await;
            assert_eq!(browser.run("return innerWidth").await, width);
            let laid = browser.run(LAID_OUT).await;
            let good = json!({"wide": 0, "beyond": Value::Array(vec![]), "cut": Value::Array(vec![]), "rows": 1});
            if laid != good {
                found.push(format!("{width}: {url}: {laid}"));
            }
        }
        browser.quit().await;
    }
    assert_eq!(found, Vec::<String>::new());
}
