//! The edges: a proxy that keeps nothing, hooks that fail.

use futures::future::join_all;
use serde_json::json;

use super::stage::watching;
use crate::app::App;
use crate::drill_support::{by_hand, compact, filled};
use crate::hook_support::{Receiver, Reply};
use crate::pg_proxy::{Mode, Proxy};
use crate::proxy::provider::Provider;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn a_proxy_that_keeps_nothing() {
    let (database, provider) = (Proxy::start().await, Provider::start().await);
    let (url, base_url) = (database.url(), provider.base_url());
    let app = App::fresh(&[
        ("DATABASE_URL", &url),
        ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "1000"),
        ("CONTEXTD_PROXY", "true"),
        ("CONTEXTD_PROXY_OPENAI_BASE_URL", &base_url),
    ]);
    let prometheus = watching(&app).await;
    let hello = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async || {
        let some = (0..10).map(async |number| {
            let request =
                client.post(app.url("/openai/v1/chat/completions")).header("content-type", "application/json");
            let request = request.header("contextd-session", format!("asked-{number}")).body(hello.clone());
            assert_eq!(request.send().await.unwrap().status(), 200, "it is answered all the same");
        });
        join_all(some).await;
    };
    ask().await;
    database.set(Mode::Cut);
    prometheus.fires("ContextdProxyBypassing", &["ContextdDatabaseAway"], ask).await;
    database.set(Mode::Pass);
    ask().await;
    prometheus.sees_it_well("once the database is back").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn hooks_that_fail() {
    let config = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(config.path(), "[hooks]\nallow_private_networks = true\nmax_attempts = 1\n").unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", config.path().to_str().unwrap())]);
    let receiver = Receiver::start(Reply::Json(json!({}))).await;
    receiver.register(&app, &["after_compact"], json!({})).await;
    let tell = async || {
        let some = (0..3).map(async |_| {
            let session = filled(&app, by_hand(), 20).await;
            compact(&app, &session, json!({"strategy": "summarize"})).await;
        });
        join_all(some).await;
    };
    tell().await;
    receiver.wait_for(3).await;
    let prometheus = watching(&app).await;
    receiver.play(|_, _| Reply::Text(500, "out of order"));
    let told = prometheus.fires("ContextdHooksFailing", &[], tell).await;
    assert_eq!(told.labels["event"], "after_compact");
    receiver.play(|_, _| Reply::Json(json!({})));
    tell().await;
    prometheus.sees_it_well("once they answer").await;
}
