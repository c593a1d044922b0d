//! The proxy in front of the providers' APIs: the real binary before a played provider.

mod alike;
mod asked;
mod codex;
mod conversations;
mod edited;
mod faults;
mod identities;
mod overhead;
mod passing;
mod paths;
pub mod provider;
mod sdks;
mod tenants;
mod unknown_keys;
mod who;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::app::{App, NEVER_MS};
use crate::pg_proxy::Proxy;
use provider::Provider;

const CHAT: &str = "/openai/v1/chat/completions";
const RESPONSES: &str = "/openai/v1/responses";
const MESSAGES: &str = "/anthropic/v1/messages";
/// Each route with the format of its conversations.
const ROUTES: [(&str, &str); 3] = [(CHAT, "openai_chat"), (RESPONSES, "openai_responses"), (MESSAGES, "anthropic")];

/// An instance with the provider behind it.
struct Stage {
    app: App,
    provider: Provider,
    client: Client,
    _config: tempfile::NamedTempFile,
}

/// An answer as it came.
struct Got {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The path of the session that the conversation is kept in.
    #[track_caller]
    fn session(&self) -> String {
        assert_eq!(self.header("contextd-bypass"), None);
        format!("/v1/sessions/{}", self.header("contextd-session").expect("it is kept"))
    }
}

impl Stage {
    /// With these settings for every session, and these environment variables.
    async fn set(settings: &str, envs: &[(&str, &str)]) -> Stage {
        let provider = Provider::start().await;
        let config = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(config.path(), format!("[settings]\n{settings}")).unwrap();
        let base_url = provider.base_url();
        let mut all = vec![
            ("CONTEXTD_CONFIG", config.path().to_str().unwrap()),
            ("CONTEXTD_PROXY", "true"),
            ("CONTEXTD_PROXY_TIMEOUT_MS", NEVER_MS),
            ("CONTEXTD_PROXY_OPENAI_BASE_URL", &base_url),
            ("CONTEXTD_PROXY_ANTHROPIC_BASE_URL", &base_url),
        ];
        all.extend(envs);
        let app = App::fresh(&all);
        Stage { app, provider, client: client(), _config: config }
    }

    /// With the defaults.
    async fn plain() -> Stage {
        Stage::set("", &[]).await
    }

    /// Over a database that a test can take away.
    async fn over(database: &Proxy, envs: &[(&str, &str)]) -> Stage {
        let url = database.url();
        let mut all = vec![("DATABASE_URL", url.as_str())];
        all.extend(envs);
        Stage::set("", &all).await
    }

    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: impl Into<reqwest::Body>) -> Got {
        send(&self.client, method, &self.app.url(path), headers, body).await
    }

    /// Posts a conversation under this `contextd-session`.
    async fn post(&self, path: &str, session: &str, body: &str) -> Got {
        self.send(Method::POST, path, &[("contextd-session", session)], body.to_owned()).await
    }

    /// The entries of a session's path.
    async fn kept(&self, session: &str) -> Vec<Value> {
        crate::drill_support::kept_items(&self.app, session).await
    }
}

fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let no_redirect = reqwest::redirect::Policy::none();
    Client::builder().pool_max_idle_per_host(0).no_proxy().no_gzip().redirect(no_redirect).build().unwrap()
}

async fn send(
    client: &Client,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> Got {
    let mut request = client.request(method, url);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.body(body).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Got { status, headers, body: response.bytes().await.unwrap().to_vec() }
}

/// A body for a route with these items.
fn body(path: &str, items: &[Value]) -> Value {
    match path {
        RESPONSES => json!({"model": "gpt-5", "instructions": "Be brief.", "input": items, "store": false}),
        MESSAGES => json!({"model": "claude-sonnet-4-5", "max_tokens": 999, "system": "Be brief.", "messages": items}),
        _ => json!({"model": "gpt-5", "messages": items}),
    }
}

/// The items of a body as raw texts.
fn raw_items(path: &str, body: &[u8]) -> Vec<String> {
    let field = if path == RESPONSES { "input" } else { "messages" };
    let body: std::collections::HashMap<String, Box<serde_json::value::RawValue>> =
        serde_json::from_slice(body).unwrap();
    let items: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(body[field].get()).unwrap();
    items.iter().map(|item| item.get().to_owned()).collect()
}
