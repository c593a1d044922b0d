//! With keys: a request names its tenant by `contextd-key`, and keeps its own key for the provider.

use contextd::service::ops::keys::Keys;
use reqwest::Method;
use serde_json::json;

use super::provider::Provider;
use super::{CHAT, MESSAGES, body, client, send};
use crate::app::{Keyed, NEVER_MS};

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_told_by_their_keys() {
    let provider = Provider::start().await;
    let url = crate::pg::url().await;
    let keys = Keys::new(sqlx::PgPool::connect(&url).await.unwrap());
    let (one, other) = (keys.create("one", "k").await.unwrap(), keys.create("other", "k").await.unwrap());
    let base_url = provider.base_url();
    let envs = [
        ("CONTEXTD_PROXY_TIMEOUT_MS", NEVER_MS),
        ("CONTEXTD_PROXY_OPENAI_BASE_URL", base_url.as_str()),
        ("CONTEXTD_PROXY_ANTHROPIC_BASE_URL", base_url.as_str()),
    ];
    let server = Keyed::start(&url, &["--proxy"], &envs);
    let client = client();
    let hello = body(CHAT, &[json!({"role": "user", "content": "hello"})]).to_string();
    let post = async |path: &str, key: Option<&str>| {
        let mut headers = vec![("authorization", "Bearer sk-client"), ("contextd-session", "same")];
        headers.extend(key.map(|key| ("contextd-key", key)));
        send(&client, Method::POST, &format!("{}{path}", server.base), &headers, hello.clone()).await
    };
    let (first, second) = (post(CHAT, Some(&one)).await.session(), post(CHAT, Some(&other)).await.session());
    assert_ne!(first, second, "one name, two tenants");
    for seen in provider.take() {
        assert_eq!((seen.header("authorization"), seen.header("contextd-key")), (Some("Bearer sk-client"), None));
    }
    let own = format!("Bearer {one}");
    for (session, status) in [(&first, 200), (&second, 404)] {
        let got =
            send(&client, Method::GET, &format!("{}{session}", server.base), &[("authorization", &own)], "").await;
        assert_eq!(got.status, status);
    }
    for key in [None, Some("ctxd_wrong"), Some("sk-client")] {
        for path in [CHAT, MESSAGES, "/openai/v1/models"] {
            let got = post(path, key).await;
            assert_eq!((got.status, provider.take().len()), (401, 0), "{path} {key:?}");
            assert!(String::from_utf8_lossy(&got.body).contains("unauthorized"));
        }
    }
}
