//! `contextd report`, opened from the disk.

use std::process::Command;

use serde_json::json;

use super::Browser;
use crate::app::App;
use crate::drill_support::*;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CHROMEDRIVER and CONTEXTD_AXE: a browser and the accessibility checker"]
async fn a_report_is_whole_without_a_network_and_runs_nothing() {
    const HOSTILE: &str = "<script>window.canary = 1</script><img src=x onerror='window.canary = 1'>\u{202e}";
    let app = App::shared();
    let session = app.session(json!({"title": HOSTILE, "settings": by_hand(), "model": "gpt-4o"})).await;
    app.append(&session, "openai_chat", json!(turns(0..30, 120))).await;
    compact(app, &session, json!({"strategy": "summarize"})).await;
    app.append(&session, "openai_chat", json!([{"role": "user", "content": HOSTILE.repeat(20)}])).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
    command.args(["report", id_of(&session), "--url", &app.url(""), "-o"]).arg(&file);
    assert!(command.output().unwrap().status.success());

    let browser = Browser::start().await;
    browser.client.goto(&format!("file://{}", file.display())).await.unwrap();
    let seen = browser
        .run(
            "return {canary: window.canary === undefined, scripts: document.scripts.length, images: document.images.length,
                loaded: performance.getEntriesByType('resource').length, shapes: document.querySelectorAll('svg polygon').length > 0,
                styled: getComputedStyle(document.querySelector('dl.figures')).display !== 'block',
                wide: document.documentElement.scrollWidth <= window.innerWidth}",
        )
        .await;
    let whole =
        json!({"canary": true, "scripts": 0, "images": 0, "loaded": 0, "shapes": true, "styled": true, "wide": true});
    assert_eq!(seen, whole);
    assert_eq!(browser.axe().await, Vec::<String>::new());
    browser.quit().await;
}
