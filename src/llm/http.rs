//! One attempt over HTTP: post, read within bounds, classify what went wrong.

pub mod models;

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Request, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::answer::ModelAnswer;
use super::config::{SetupError, UpstreamConfig};
use super::endpoint::endpoint;
use super::error::{UpstreamError, cleaned, is_quota};
use super::question::ModelRequest;
use super::retry::retry_after;
use super::wire::{Wire, secret_value};
use crate::domain::tokens::overflow::{error_text, error_words, is_context_overflow};
use crate::trace;

/// The largest answer that is read, bytes after decompression.
pub(super) const MAX_ANSWER: usize = 8 << 20;
/// How much of an error's body is read, bytes.
const MAX_ERROR: usize = 64 << 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP upstream: its client, address and headers.
pub(super) struct HttpUpstream {
    client: Client,
    wire: Wire,
    url: Url,
    headers: HeaderMap,
    secrets: Vec<SecretString>,
    timeout: Duration,
}

impl HttpUpstream {
    pub(super) fn new(config: &UpstreamConfig, wire: Wire) -> Result<HttpUpstream, SetupError> {
        let url = endpoint(config, wire)?;
        Ok(HttpUpstream {
            client: client(config, url.scheme() == "https")?,
            wire,
            url,
            headers: headers(config, wire)?,
            secrets: config.api_key.iter().chain(config.headers.values()).cloned().collect(),
            timeout: config.timeout,
        })
    }

    /// The request that asks `question`; each attempt sends a clone of it, which shares the body.
    pub(super) fn request(&self, question: &ModelRequest) -> Result<Request, UpstreamError> {
        let body = self.wire.request(question);
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        request.build().map_err(|_| UpstreamError::Internal("the request could not be built"))
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends `request` once. `prompt` is kept out of errors.
    pub(super) async fn attempt(&self, request: &Request, prompt: &[&str]) -> Result<ModelAnswer, UpstreamError> {
        let mut request = request.try_clone().ok_or(UpstreamError::Internal("the request cannot be repeated"))?;
        trace::inject(request.headers_mut());
        let exchange = async {
            let response = self.client.execute(request).await.map_err(transport)?;
            let status = response.status();
            if !status.is_success() {
                let asked = retry_after(response.headers(), SystemTime::now());
                let body = read_prefix(response, MAX_ERROR).await;
                return Err(self.rejection(status, asked, &body, prompt));
            }
            self.answer(&read_all(response, MAX_ANSWER).await?, prompt)
        };
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or(Err(UpstreamError::Timeout(self.timeout)))
    }

    fn answer(&self, body: &[u8], prompt: &[&str]) -> Result<ModelAnswer, UpstreamError> {
        let value: Value = serde_json::from_slice(body).map_err(|error| match error.is_eof() {
            true => UpstreamError::Dropped,
            false => UpstreamError::Malformed("not JSON"),
        })?;
        // Gateways report a failure behind them with status 200.
        if value.get("error").is_some_and(|error| !error.is_null()) {
            let code = value.pointer("/error/code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
            let status = code.filter(|code| (400..600).contains(code)).and_then(|code| StatusCode::from_u16(code).ok());
            return Err(self.rejection(status.unwrap_or(StatusCode::BAD_GATEWAY), None, body, prompt));
        }
        let model = value.get("model").and_then(Value::as_str).map(str::to_owned);
        Ok(ModelAnswer { model, ..self.wire.parse(&value)? })
    }

    /// Turns an answer with an error status into the error that it means.
    fn rejection(
        &self,
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &[u8],
        prompt: &[&str],
    ) -> UpstreamError {
        let code = status.as_u16();
        let known = error_words(body);
        let secrets: Vec<&str> = self.secrets.iter().map(ExposeSecret::expose_secret).collect();
        // The body of an unknown form may be anything, an echo of the request too: it is judged, not kept.
        let reason = status.canonical_reason().unwrap_or("unknown status");
        let message = cleaned(known.as_deref().unwrap_or(reason), &secrets, prompt);
        let text = error_text(code, body);
        if is_quota(&text) || code == 402 {
            return UpstreamError::Quota { code, message };
        }
        // With 429 every talk of tokens is about their rate.
        if code != 429 && is_context_overflow(&text) {
            return UpstreamError::ContextOverflow { message };
        }
        UpstreamError::Status { code, retry_after, message }
    }
}

fn client(config: &UpstreamConfig, is_https: bool) -> Result<Client, SetupError> {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Redirects are not followed: they would carry the key to wherever they point.
    let mut builder = Client::builder()
        .user_agent(concat!("contextd/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT.min(config.timeout));
    if !is_https {
        // Plain HTTP must work on a machine without any root certificates.
        builder = builder.tls_certs_only([]);
    }
    builder
        .build()
        .map_err(|error| SetupError::Client { name: config.name.clone(), reason: error.without_url().to_string() })
}

fn headers(config: &UpstreamConfig, wire: Wire) -> Result<HeaderMap, SetupError> {
    let refuse = |header: &str| SetupError::Header { name: config.name.clone(), header: header.to_owned() };
    let mut headers = wire.headers(config.api_key.as_ref()).ok_or_else(|| refuse("api_key"))?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &config.headers {
        let key: HeaderName = name.parse().map_err(|_| refuse(name))?;
        headers.insert(key, secret_value(value.expose_secret()).ok_or_else(|| refuse(name))?);
    }
    Ok(headers)
}

fn transport(error: reqwest::Error) -> UpstreamError {
    match error.is_connect() {
        true => UpstreamError::Connect,
        false => UpstreamError::Dropped,
    }
}

/// The whole body, refused as soon as it is known to be longer than `limit`.
async fn read_all(mut response: Response, limit: usize) -> Result<Vec<u8>, UpstreamError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(UpstreamError::TooLarge(limit));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| UpstreamError::Dropped)? {
        if body.len() + chunk.len() > limit {
            return Err(UpstreamError::TooLarge(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The beginning of the body; a connection that breaks ends it.
async fn read_prefix(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = limit - body.len();
        body.extend(chunk.iter().take(room));
        if body.len() == limit {
            break;
        }
    }
    body
}
