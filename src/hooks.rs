//! Calling hooks over HTTP. Their addresses come from tenants, so only the public internet is reached unless the operator
//! says otherwise: the check is made on the address that is connected to, redirects are not followed, proxies not used.

mod resolver;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Response, Url};

use crate::backoff::jittered;
use crate::domain::hook::address::is_public;
use crate::domain::hook::signature::{self, ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};
use crate::trace::{self, Beginning, KeyValue, Span, SpanKind};
use resolver::{PublicOnly, Refused};

/// The largest answer that is read, bytes after decompression.
pub const MAX_ANSWER: usize = 1 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before a call is made again; it grows fourfold.
const RETRY_BASE: Duration = Duration::from_millis(200);

/// One message to a hook.
#[derive(Debug, Clone, Copy)]
pub struct HookCall<'a> {
    pub url: &'a str,
    pub secret: &'a str,
    /// What is asked or told, in a word.
    pub event: &'a str,
    /// The same for every attempt at one message.
    pub id: &'a str,
    /// Seconds since 1970.
    pub timestamp: i64,
    pub body: &'a str,
    /// For one attempt, from the connection to the last byte.
    pub timeout: Duration,
}

/// The answer of a hook that took the message.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Why a hook did not take the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("the address {0}")]
    Url(&'static str),
    #[error("the host has no address in the public internet")]
    Refused,
    #[error("no connection could be made")]
    Connect,
    #[error("there was no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("the connection broke before the answer was whole")]
    Dropped,
    #[error("the answer is larger than {MAX_ANSWER} bytes")]
    TooLarge,
    #[error("the answer is a redirect ({0}), which is not followed")]
    Redirect(u16),
    #[error("the answer has the status {0}")]
    Status(u16),
    #[error("no HTTP client: {0}")]
    Client(String),
}

impl CallError {
    /// The HTTP status, where there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            CallError::Redirect(status) | CallError::Status(status) => Some(*status),
            _ => None,
        }
    }

    /// A stable word, or the status, for telemetry.
    pub fn code(&self) -> Cow<'static, str> {
        let word = match self {
            CallError::Redirect(status) | CallError::Status(status) => return status.to_string().into(),
            CallError::Url(_) => "url",
            CallError::Refused => "refused",
            CallError::Connect => "connect",
            CallError::Timeout(_) => "timeout",
            CallError::Dropped => "dropped",
            CallError::TooLarge => "too_large",
            CallError::Client(_) => "client",
        };
        word.into()
    }

    /// Returns true if the same call may go well a moment later. False after a timeout: the hook has had its time.
    fn passes(&self) -> bool {
        match self {
            CallError::Connect | CallError::Dropped => true,
            CallError::Status(status) => matches!(status, 408 | 429 | 500..),
            _ => false,
        }
    }
}

/// Calls hooks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    allow_private: bool,
    clients: Arc<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    plain: OnceLock<Result<reqwest::Client, String>>,
    tls: OnceLock<Result<reqwest::Client, String>>,
}

impl Client {
    /// `allow_private`: any address may be called.
    pub fn new(allow_private: bool) -> Client {
        Client { allow_private, clients: Arc::default() }
    }

    /// Checks that a hook may have this address, as far as that can be told without a look-up; the error says what is
    /// wrong.
    pub fn check_url(&self, url: &str) -> Result<(), &'static str> {
        self.parse(url).map(drop)
    }

    /// Sends a message once.
    pub async fn post(&self, call: &HookCall<'_>) -> Result<Reply, CallError> {
        let url = self.parse(call.url).map_err(CallError::Url)?;
        let span = Span::child(|| beginning(call, &url));
        let reply = span.within(self.exchange(call, url)).await;
        let status = reply.as_ref().map_or_else(CallError::status, |reply| Some(reply.status));
        span.set(|| {
            status.map(|status| KeyValue::new("http.response.status_code", i64::from(status))).into_iter().collect()
        });
        if let Err(error) = &reply {
            span.fail(error.code());
        }
        reply
    }

    async fn exchange(&self, call: &HookCall<'_>, url: Url) -> Result<Reply, CallError> {
        let client = self.client(url.scheme() == "https")?;
        let key = signature::key(call.secret).unwrap_or_default();
        let signature = signature::sign(&key, call.id, call.timestamp, call.body).unwrap_or_default();
        let request = client
            .post(url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ID_HEADER, call.id)
            .header(TIMESTAMP_HEADER, call.timestamp)
            .header(SIGNATURE_HEADER, signature)
            .headers(trace_headers())
            .body(call.body.to_owned());
        let exchange = async {
            let response = request.send().await.map_err(|error| transport(&error))?;
            let status = response.status();
            match status.as_u16() {
                code if status.is_success() => Ok(Reply { status: code, body: read(response).await? }),
                code if status.is_redirection() => Err(CallError::Redirect(code)),
                code => Err(CallError::Status(code)),
            }
        };
        tokio::time::timeout(call.timeout, exchange).await.unwrap_or(Err(CallError::Timeout(call.timeout)))
    }

    /// Sends a message up to `attempts` times, with growing pauses, while that may help. Gives the number of attempts too.
    pub async fn post_until_taken(&self, call: &HookCall<'_>, attempts: u32) -> (Result<Reply, CallError>, u32) {
        let mut pause = RETRY_BASE;
        let mut attempt = 1;
        loop {
            let result = self.post(call).await;
            match &result {
                Err(error) if error.passes() && attempt < attempts => {}
                _ => return (result, attempt),
            }
            tokio::time::sleep(jittered(pause)).await;
            pause *= 4;
            attempt += 1;
        }
    }

    fn parse(&self, url: &str) -> Result<Url, &'static str> {
        let url = Url::parse(url).map_err(|_| "is not a URL")?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("must begin with http:// or https://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold a user name or a password");
        }
        let host = url.host_str().ok_or("has no host")?;
        // A literal address is connected to without a look-up, so the resolver never sees it.
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
        let local = host.trim_end_matches('.').rsplit('.').next().is_some_and(|last| last == "localhost");
        if !self.allow_private && (local || literal.is_ok_and(|address| !is_public(address))) {
            return Err("is not in the public internet");
        }
        Ok(url)
    }

    fn client(&self, tls: bool) -> Result<&reqwest::Client, CallError> {
        let slot = if tls { &self.clients.tls } else { &self.clients.plain };
        let built = slot.get_or_init(|| build(tls, self.allow_private).map_err(|error| error.to_string()));
        built.as_ref().map_err(|error| CallError::Client(error.clone()))
    }
}

fn trace_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    trace::inject(&mut headers);
    headers
}

/// Without `url.full`: a hook's path or query may be its owner's secret.
fn beginning(call: &HookCall<'_>, url: &Url) -> Beginning {
    let mut attributes = vec![
        KeyValue::new("http.request.method", "POST"),
        KeyValue::new("contextd.hook.event", call.event.to_owned()),
        KeyValue::new("server.address", url.host_str().unwrap_or_default().to_owned()),
    ];
    attributes.extend(url.port_or_known_default().map(|port| KeyValue::new("server.port", i64::from(port))));
    Beginning::new("POST", SpanKind::Client, attributes)
}

fn build(tls: bool, allow_private: bool) -> reqwest::Result<reqwest::Client> {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("contextd/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        // A proxy would look the name up for itself.
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT);
    if !allow_private {
        builder = builder.dns_resolver(PublicOnly);
    }
    if !tls {
        // Plain HTTP must work on a machine without any root certificates.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

fn transport(error: &reqwest::Error) -> CallError {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner.is::<Refused>() {
            return CallError::Refused;
        }
        cause = inner.source();
    }
    if error.is_connect() { CallError::Connect } else { CallError::Dropped }
}

/// The whole body, refused as soon as it is known to be larger than [`MAX_ANSWER`].
async fn read(mut response: Response) -> Result<Vec<u8>, CallError> {
    if response.content_length().is_some_and(|length| length > MAX_ANSWER as u64) {
        return Err(CallError::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| CallError::Dropped)? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(CallError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
