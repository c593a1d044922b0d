//! Buttons: what they do, and for whom they do nothing.

use reqwest::Method;
use serde_json::json;

use super::Visitor;
use crate::app::App;
use crate::drill_support::{asking, compact, ended, filled, upstream};
use crate::hook_support::{Receiver, Reply};
use crate::patience::eventually;

/// Where nobody answers.
const NOBODY: &str = "http://127.0.0.1:9/v1";

#[tokio::test]
async fn failed_compactions_are_done_again_or_forgotten_from_the_overview() {
    let app = App::fresh(&upstream(NOBODY, "1000"));
    let session = filled(&app, asking("default", "fail"), 30).await;
    let failed = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(failed["status"], "failed");
    let visitor = Visitor::of(&app.url(""));
    let page = visitor.get("/ui").await.page();
    let id = failed["id"].as_str().unwrap();
    let retry = format!("/ui/compactions/{id}/retry");

    // Nobody else's page can press it, and no page without the form's token.
    let own = app.url("");
    let token = page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    for (headers, fields) in [
        (vec![("origin", own.as_str())], vec![]),
        (vec![("origin", own.as_str())], vec![("csrf", "AAAA")]),
        (vec![("origin", own.as_str())], vec![("csrf", "é")]),
        (vec![], vec![("csrf", token)]),
        (vec![("origin", "null")], vec![("csrf", token)]),
        (vec![("origin", "https://evil.example")], vec![("csrf", token)]),
        (vec![("sec-fetch-site", "cross-site")], vec![("csrf", token)]),
        (vec![("sec-fetch-site", "same-site"), ("origin", own.as_str())], vec![("csrf", token)]),
    ] {
        let seen = visitor.send(Method::POST, &retry, &headers, &fields).await;
        assert_eq!(seen.status, 403, "{headers:?} {fields:?}");
    }
    let still = app.get(&format!("/v1/compactions/{id}")).await.expect(200);
    assert_eq!(still["status"], "failed", "nothing was done");
    assert_eq!(visitor.get(&retry).await.status, 405);
    let huge = "A".repeat(100_000);
    let large = visitor.send(Method::POST, &retry, &[("origin", &own)], &[("csrf", &huge)]).await;
    assert_eq!(large.status, 413);

    app.patch(&session, json!({"settings": {"on_upstream_failure": "fallback"}})).await.expect(200);
    let pressed = visitor.press(&page, &retry).await;
    assert_eq!(pressed.leads_to(), format!("/ui/compactions/{id}"));
    assert_eq!(ended(&app, &failed["id"]).await["status"], "succeeded");
    let again = visitor.press(&page, &retry).await;
    assert_eq!(again.status, 409, "{}", again.text);
    again.assert_guarded();

    let other = filled(&app, asking("default", "fail"), 30).await;
    let failed = compact(&app, &other, json!({"strategy": "llm_summarize"})).await;
    let page = visitor.get("/ui").await.page();
    assert!(page.contains(&format!("/ui/compactions/{}/retry", failed["id"].as_str().unwrap())));
    assert_eq!(visitor.press(&page, "/ui/compactions/purge").await.leads_to(), "/ui");
    app.get(&format!("/v1/compactions/{}", failed["id"].as_str().unwrap())).await.assert_problem(404, "not_found");
    let page = visitor.get("/ui").await.page();
    assert!(page.contains("No failed compaction"));
    assert!(visitor.assert_links(&page).await > 15);
}

#[tokio::test]
async fn a_hooks_message_is_sent_again() {
    let app = App::fresh(&[("CONTEXTD_HOOKS_ALLOW_PRIVATE_NETWORKS", "true")]);
    let receiver = Receiver::start(Reply::Text(200, "<script>alert(1)</script>")).await;
    let hook = receiver.register(&app, &["after_compact"], json!({})).await;
    let session = filled(&app, crate::drill_support::by_hand(), 30).await;
    compact(&app, &session, json!({"strategy": "summarize"})).await;
    let path = hook.replace("/v1/", "/ui/");
    let visitor = Visitor::of(&app.url(""));
    let page = eventually("the message was delivered", async || {
        let page = visitor.get(&path).await.page();
        page.contains("delivered").then_some(page)
    })
    .await;
    assert!(page.contains("&lt;script&gt;alert(1)"));
    visitor.assert_links(&page).await;
    let list = visitor.get("/ui/hooks").await.page();
    assert!(visitor.assert_links(&list).await > 8 && list.contains(&path));
    let messages = receiver.messages().len();
    assert_eq!(visitor.press(&page, &format!("{path}/deliveries/")).await.leads_to(), path);
    eventually("it came again", async || (receiver.messages().len() > messages).then_some(())).await;
    assert_eq!(visitor.get("/ui/hooks/00000000-0000-7000-8000-000000000000").await.status, 404);
    assert_eq!(visitor.get("/ui/hooks/none").await.status, 404);
}

#[tokio::test]
async fn reports_of_the_policy_are_counted() {
    let app = App::shared();
    let visitor = Visitor::of(&app.url(""));
    let report = json!({"csp-report": {"violated-directive": "script-src", "blocked-uri": "inline\u{1b}[31m"}});
    for body in [report.to_string(), "no JSON".to_owned(), "[".repeat(50_000)] {
        let sent = reqwest::Client::builder().no_proxy().build().unwrap().post(app.url("/ui/csp-report"));
        let sent = sent.header("content-type", "application/csp-report").body(body);
        assert_eq!(sent.send().await.unwrap().status(), 204);
    }
    assert_eq!(visitor.send(Method::POST, "/ui/csp-report", &[], &[("a", &"x".repeat(100_000))]).await.status, 413);
    let metrics = app.get("/metrics").await.text;
    let line = metrics.lines().find(|line| line.starts_with("contextd_ui_csp_reports_total")).unwrap();
    assert!(line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() >= 3.0, "{line}");
}
