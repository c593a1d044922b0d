//! A running service, as the commands for people call it.

mod fault;

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response, Url};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

pub use fault::Fault;

/// The longest answer that is read, bytes.
const MAX_ANSWER: usize = 64 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Items of a page: the most that the service gives.
const PAGE: usize = 200;
/// Empty pages in a row that a list may have: each stands for 50,000 sessions that fit nothing.
const EMPTY_PAGES: usize = 1_000;

/// Where a service is.
#[derive(Debug, Clone, Args)]
pub struct Address {
    /// The service.
    #[arg(long, env = "CONTEXTD_URL", default_value = "http://127.0.0.1:8080")]
    pub url: String,
    /// A key of the service's; none where it runs with --dev.
    #[arg(long, env = "CONTEXTD_API_KEY", hide_env_values = true)]
    pub key: Option<String>,
}

/// Where a service is, and how long it is waited for.
#[derive(Debug, Clone, Args)]
pub struct ServiceArgs {
    #[command(flatten)]
    pub address: Address,
    /// Seconds that an answer may take.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
}

impl Address {
    /// An HTTP client that sends the key and these headers with every request, and the service's root.
    ///
    /// # Errors
    /// An address that is none, a key that no header can hold, or no HTTP client.
    pub fn client(&self, mut headers: HeaderMap, timeout: Duration) -> anyhow::Result<(Client, Url)> {
        let given = &self.url;
        let url = Url::parse(&format!("{}/", given.trim_end_matches('/'))).with_context(|| format!("URL `{given}`"))?;
        anyhow::ensure!(matches!(url.scheme(), "http" | "https"), "the URL must begin with http:// or https://");
        if let Some(key) = self.key.as_deref().filter(|key| !key.is_empty()) {
            let value = HeaderValue::try_from(format!("Bearer {key}"));
            let mut value = value.map_err(|_| anyhow::anyhow!("the key holds characters that no key has"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // Redirects are not followed: they would carry the key to wherever they point. Nothing is sent twice.
        let mut builder = Client::builder()
            .user_agent(concat!("contextd/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT.min(timeout));
        if url.scheme() == "http" {
            // Plain HTTP must work on a machine without any root certificates.
            builder = builder.tls_certs_only([]);
        }
        Ok((builder.build()?, url))
    }
}

/// A service that commands ask.
#[derive(Debug, Clone)]
pub struct Service {
    client: Client,
    root: Url,
    timeout: Duration,
}

/// A JSON answer, also as it came.
#[derive(Debug, Clone)]
pub struct Answer {
    pub text: String,
    pub value: Value,
}

/// A page of a list, its items as they came.
#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

impl Service {
    /// # Errors
    /// An address or a key that can't be one.
    pub fn new(args: &ServiceArgs) -> anyhow::Result<Service> {
        let timeout = Duration::from_secs(args.timeout);
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let (client, root) = args.address.client(headers, timeout)?;
        Ok(Service { client, root, timeout })
    }

    /// The address that the service was given with.
    pub fn root(&self) -> &Url {
        &self.root
    }

    /// Asks for a document. `path` is what follows `/`, segment by segment.
    pub async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Answer, Fault> {
        self.whole(self.client.get(self.url(path, query))).await
    }

    /// Posts a document.
    pub async fn post(&self, path: &[&str], body: &Value) -> Result<Answer, Fault> {
        let request = self.client.request(Method::POST, self.url(path, &[]));
        self.whole(request.header(CONTENT_TYPE, "application/json").body(body.to_string())).await
    }

    /// The first `limit` items of a list, page by page.
    pub async fn list(&self, path: &[&str], query: &[(&str, &str)], limit: usize) -> Result<Vec<Answer>, Fault> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        let mut empty = 0;
        while items.len() < limit {
            let size = (limit - items.len()).min(PAGE).to_string();
            let mut query = [query, &[("limit", size.as_str())]].concat();
            query.extend(cursor.as_deref().map(|cursor| ("after", cursor)));
            let answer = self.get(path, &query).await?;
            let page: Page = serde_json::from_str(&answer.text).map_err(|_| Fault::stranger(&self.root, "no list"))?;
            // A page may be empty and have a next one; too many of them in a row are no list.
            empty = if page.items.is_empty() { empty + 1 } else { 0 };
            for item in page.items {
                let value = serde_json::from_str(item.get()).unwrap_or_default();
                items.push(Answer { text: Box::<str>::from(item).into(), value });
            }
            match page.next_cursor {
                Some(next) if empty < EMPTY_PAGES => cursor = Some(next),
                _ => break,
            }
        }
        Ok(items)
    }

    /// The session of this id or external id.
    pub async fn session(&self, name: &str) -> Result<Answer, Fault> {
        if name.parse::<Uuid>().is_ok() {
            match self.get(&["v1", "sessions", name], &[]).await {
                Err(fault) if fault.status() == Some(404) => {}
                answered => return answered,
            }
        }
        let mut found = self.list(&["v1", "sessions"], &[("external_id", name)], 2).await?;
        match found.len() {
            0 => Err(Fault::NoSession { name: name.to_owned() }),
            1 => Ok(found.remove(0)),
            _ => Err(Fault::Ambiguous { name: name.to_owned() }),
        }
    }

    /// Opens a stream of events, after the one with this id where it is known. The answer's head alone has a time.
    pub async fn events(&self, path: &[&str], after: Option<&str>) -> Result<Response, Fault> {
        let mut request = self.client.get(self.url(path, &[]));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let sent = tokio::time::timeout(self.timeout, request.send()).await;
        let response = sent.map_err(|_| self.silent())?.map_err(|error| Fault::broken(&self.root, error))?;
        let kind = media_type(&response);
        match kind.as_str() {
            "text/event-stream" if response.status().is_success() => Ok(response),
            _ => Err(self.refusal(response, &kind).await),
        }
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.root.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    async fn whole(&self, request: reqwest::RequestBuilder) -> Result<Answer, Fault> {
        tokio::time::timeout(self.timeout, self.exchange(request)).await.unwrap_or_else(|_| Err(self.silent()))
    }

    async fn exchange(&self, request: reqwest::RequestBuilder) -> Result<Answer, Fault> {
        let response = request.send().await.map_err(|error| Fault::broken(&self.root, error))?;
        let kind = media_type(&response);
        if !response.status().is_success() || kind != "application/json" {
            return Err(self.refusal(response, &kind).await);
        }
        let text = self.body(response).await?;
        match serde_json::from_str(&text) {
            Ok(value) => Ok(Answer { text, value }),
            Err(_) => Err(Fault::stranger(&self.root, "what says that it is JSON and is not")),
        }
    }

    async fn refusal(&self, response: Response, kind: &str) -> Fault {
        let status = response.status();
        if kind != "application/problem+json" {
            let what = if kind.is_empty() { status.to_string() } else { format!("{status} with {kind}") };
            return Fault::stranger(&self.root, &what);
        }
        match self.body(response).await {
            Ok(body) => Fault::problem(status.as_u16(), &body),
            Err(fault) => fault,
        }
    }

    async fn body(&self, mut response: Response) -> Result<String, Fault> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Fault::broken(&self.root, error))? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER {
                return Err(Fault::TooLong { bytes: MAX_ANSWER });
            }
        }
        String::from_utf8(body).map_err(|_| Fault::stranger(&self.root, "what is not UTF-8"))
    }

    fn silent(&self) -> Fault {
        Fault::Silent { url: self.root.to_string(), seconds: self.timeout.as_secs() }
    }
}

fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
