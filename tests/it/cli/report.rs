//! `contextd report`.

use serde_json::json;

use super::{HOSTILE, at, told};
use crate::app::App;
use crate::drill_support::*;

/// Tags as they are opened and closed; one that is not closed in its turn fails the test.
fn assert_well_formed(page: &str) {
    let tag = regex::Regex::new("<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    for found in tag.captures_iter(page) {
        let name = found.get(2).unwrap().as_str();
        match (&found[1], name) {
            (_, "meta") => {}
            ("/", _) => assert_eq!(open.pop(), Some(name), "at {}", found.get(0).unwrap().start()),
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let rest = tag.replace_all(page, "");
    assert!(!rest.replace("<!DOCTYPE html>", "").contains('<'), "what looks like a tag is none");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_one_file_that_loads_and_runs_nothing() {
    let app = App::shared();
    let session = told(app, "cli-report", HOSTILE).await;
    let said = json!({"role": "user", "content": HOSTILE.repeat(100)});
    app.append(&session, "openai_chat", json!([said, {"role": "assistant", "content": HOSTILE}])).await;
    compact(app, &session, json!({"strategy": "summarize"})).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let written = at(&app.url(""), &["report", "cli-report", "-o", file.to_str().unwrap()]).await.good();
    assert!(written.contains("report.html"), "{written}");
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.len() < 2 << 20, "{} bytes", page.len());
    assert_well_formed(&page);
    let tag = regex::Regex::new("<[^>]*>").unwrap();
    let tags: String = tag.find_iter(&page).map(|tag| tag.as_str()).collect();
    for absent in ["<script", "<img", "<link", "<iframe", " on", " src=", " href=", " style="] {
        assert!(!tags.contains(absent), "{absent}");
    }
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    for absent in ["http:", "https:", "url(", "@import"] {
        assert!(!tags.contains(absent) && !style.contains(absent), "{absent}");
    }
    assert!(page.contains("default-src 'none'") || page.contains("default-src &#39;none&#39;"));
    assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{7}']));
    for part in [
        id_of(&session),
        "How full the window was",
        "Compactions",
        "The newest summary",
        "Tasks",
        "The largest entries",
        "polygon",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let printed = at(&app.url(""), &["report", "cli-report", "-o", "-"]).await.good();
    assert!(printed.starts_with("<!DOCTYPE html>"));
    let nowhere = folder.path().join("no/such/folder.html");
    at(&app.url(""), &["report", "cli-report", "-o", nowhere.to_str().unwrap()]).await.failed(&["writing"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_session_has_a_report_too() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let page = at(&app.url(""), &["report", id_of(&session), "-o", "-"]).await.good();
    assert_well_formed(&page);
    assert!(!page.contains("NaN"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_a_long_session_is_as_short() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    for begin in (0..3_000).step_by(250) {
        app.append(&session, "openai_chat", json!(turns(begin..begin + 250, 1))).await;
    }
    compact(app, &session, json!({"strategy": "summarize"})).await;
    let page = at(&app.url(""), &["report", id_of(&session), "-o", "-"]).await.good();
    assert_well_formed(&page);
    assert!(page.len() < 512 << 10, "{} bytes", page.len());
    assert!(page.contains("12,001"), "all entries are counted");
}
