//! With keys: a request names its tenant by `contextd-key`, and keeps its own key for the provider.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use contextd::service::ops::keys::Keys;
use reqwest::Method;
use serde_json::json;

use super::provider::Provider;
use super::{CHAT, MESSAGES, body, client, send};

/// The real binary with keys. Killed when dropped.
struct Server {
    child: Child,
    base: String,
    _output: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn start(database: &str, provider: &Provider) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_contextd"))
            .args(["serve", "--proxy", "--listen", "127.0.0.1:0"])
            .env("DATABASE_URL", database)
            .env("CONTEXTD_PROXY_TIMEOUT_MS", crate::app::NEVER_MS)
            .env("CONTEXTD_PROXY_OPENAI_BASE_URL", provider.base_url())
            .env("CONTEXTD_PROXY_ANTHROPIC_BASE_URL", provider.base_url())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let base = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
        Server { child, base, _output: output }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_told_by_their_keys() {
    let provider = Provider::start().await;
    let url = crate::pg::url().await;
    let keys = Keys::new(sqlx::PgPool::connect(&url).await.unwrap());
    let (one, other) = (keys.create("one", "k").await.unwrap(), keys.create("other", "k").await.unwrap());
    let server = Server::start(&url, &provider);
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
