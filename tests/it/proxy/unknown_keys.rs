//! While the database says nothing, nobody is let in who was not seen good before.

use contextd::service::core::access::{Scope, Scopes};
use contextd::service::ops::keys::{Keys, NewKey};
use reqwest::Method;
use serde_json::json;

use super::provider::Provider;
use super::{CHAT, Got, MESSAGES, body, client, send};
use crate::app::{Keyed, made_up_key as made_up};
use crate::patience::until;
use crate::pg_proxy::{Mode, Proxy};

struct Doors {
    provider: Provider,
    server: Keyed,
    client: reqwest::Client,
}

impl Doors {
    async fn open(database: &str) -> Doors {
        let provider = Provider::start().await;
        let base_url = provider.base_url();
        let envs = [
            ("CONTEXTD_PROXY_TIMEOUT_MS", "1500"),
            ("CONTEXTD_PROXY_OPENAI_BASE_URL", base_url.as_str()),
            ("CONTEXTD_PROXY_ANTHROPIC_BASE_URL", base_url.as_str()),
        ];
        let server = Keyed::start(database, &["--proxy"], &envs);
        Doors { provider, server, client: client() }
    }

    async fn post(&self, path: &str, key: &str) -> Got {
        let hello = body(path, &[json!({"role": "user", "content": "hello"})]).to_string();
        let headers = [("authorization", "Bearer sk-client"), ("contextd-key", key), ("contextd-session", "s")];
        let method = if path.ends_with("/models") { Method::GET } else { Method::POST };
        send(&self.client, method, &format!("{}{path}", self.server.base), &headers, hello).await
    }

    /// Until the key is known well.
    async fn seen_good(&self, key: &str) {
        until("it is let in", async || self.post(CHAT, key).await.header("contextd-session").is_some()).await;
        self.provider.take();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_database_lets_nobody_in() {
    let database = Proxy::start().await;
    let keys = Keys::new(sqlx::PgPool::connect(&database.url()).await.unwrap());
    let (good, unseen, revoked) = (
        keys.create("t", "a").await.unwrap(),
        keys.create("t", "b").await.unwrap(),
        keys.create("t", "c").await.unwrap(),
    );
    let reads = NewKey { scopes: Scopes::of([Scope::Read]), ..NewKey::named("r") };
    let reads = keys.create_for("t", reads).await.unwrap();
    let doors = Doors::open(&database.url()).await;
    for key in [&good, &revoked] {
        doors.seen_good(key).await;
    }
    assert_eq!(doors.post(CHAT, &reads).await.status, 403);
    revoke(&keys, "c").await;
    until("the end is seen", async || doors.post(CHAT, &revoked).await.status == 401).await;
    doors.provider.take();
    for mode in [Mode::Silent, Mode::Cut] {
        database.set(mode);
        for path in [CHAT, MESSAGES, "/openai/v1/models"] {
            let wrong = [made_up(&good, 1), made_up(&good, 2), unseen.clone()];
            for key in &wrong {
                let got = doors.post(path, key).await;
                assert_eq!((got.status, doors.provider.take().len()), (503, 0), "{mode:?} {path}");
                assert!(got.header("retry-after").is_some());
                assert!(String::from_utf8_lossy(&got.body).contains("\"unavailable\""));
            }
            // That it has ended is remembered for some seconds.
            let ended = doors.post(path, &revoked).await.status;
            assert!(matches!(ended, 401 | 503) && doors.provider.take().is_empty(), "{mode:?} {path}: {ended}");
            assert_eq!(doors.post(path, "sk-other").await.status, 401, "no key of ours at all");
            assert_eq!(doors.post(path, &reads).await.status, 403, "what it may is remembered too");
            let got = doors.post(path, &good).await;
            assert_eq!((got.status, got.header("contextd-bypass")), (200, Some("unavailable")), "{mode:?} {path}");
            assert_eq!(doors.provider.take().len(), 1);
        }
    }
    database.set(Mode::Pass);
    doors.seen_good(&unseen).await;
}

async fn revoke(keys: &Keys, name: &str) {
    let all = keys.list().await.unwrap();
    let row = all.iter().find(|row| row.key.name == name).unwrap();
    keys.revoke(row.key.id).await.unwrap();
}
