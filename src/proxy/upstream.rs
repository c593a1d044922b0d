//! A provider's API, as requests are handed on to it.

use std::time::Duration;

use axum::http::{HeaderMap, Method, header};
use reqwest::{Body, Client, Response, Url};

use crate::proxy::refusal::Refusal;
use crate::proxy::target;
use crate::trace::{Beginning, KeyValue, Span, SpanKind};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A provider's address, and connections to it.
pub struct Upstream {
    client: Client,
    /// Without a slash at its end.
    base: String,
}

/// A request as it is handed on, its body aside.
#[derive(Clone)]
pub struct Call {
    pub method: Method,
    /// Below the provider's base.
    pub url: Url,
    pub headers: HeaderMap,
}

impl Upstream {
    /// # Errors
    /// The system has no TLS certificates.
    pub fn new(base_url: &str) -> reqwest::Result<Upstream> {
        // Fails only where a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Answers pass as they come: a redirect is the client's to follow, and what is compressed stays so.
        let mut builder = Client::builder()
            .no_gzip()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT);
        if !base_url.starts_with("https:") {
            // Plain HTTP must work on a machine without any root certificates.
            builder = builder.tls_certs_only([]);
        }
        Ok(Upstream { client: builder.build()?, base: base_url.trim_end_matches('/').to_owned() })
    }

    /// The address of a path, which may have a query, below the provider's base.
    ///
    /// # Errors
    /// `PathRefused`.
    pub fn address(&self, path: &str) -> Result<Url, Refusal> {
        target::below(&self.base, path).ok_or(Refusal::PathRefused)
    }

    /// Hands a request on. Its answer has as much time as the client gives it.
    ///
    /// # Errors
    /// `UpstreamUnreachable`.
    pub async fn send(&self, call: &Call, body: Option<Body>) -> Result<Response, Refusal> {
        let mut headers = call.headers.clone();
        if body.as_ref().is_some_and(|body| body.as_bytes().is_some()) {
            headers.remove(header::CONTENT_LENGTH);
        }
        let mut request = self.client.request(call.method.clone(), call.url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let span = Span::child(|| beginning(call));
        let answer = span.within(request.send()).await;
        match &answer {
            Ok(answer) => {
                span.set(|| vec![KeyValue::new("http.response.status_code", i64::from(answer.status().as_u16()))])
            }
            Err(_) => span.fail("unreachable"),
        }
        answer.map_err(|error| {
            tracing::warn!(
                error = format!("{:#}", anyhow::Error::from(error.without_url())),
                "no answer of a provider"
            );
            Refusal::UpstreamUnreachable
        })
    }
}

/// The request keeps the trace context that the client gave it: the span stands beside the provider's, not above it.
fn beginning(call: &Call) -> Beginning {
    let url = &call.url;
    let mut attributes = vec![
        KeyValue::new("http.request.method", call.method.to_string()),
        KeyValue::new("server.address", url.host_str().unwrap_or_default().to_owned()),
    ];
    attributes.extend(url.port_or_known_default().map(|port| KeyValue::new("server.port", i64::from(port))));
    Beginning::new(call.method.to_string(), SpanKind::Client, attributes)
}
