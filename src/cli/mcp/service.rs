//! A service's `/mcp`, over HTTP.

use std::io;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::{Stream, StreamExt};
use hyper::body::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;
use sse_stream::SseStream;
use tokio::sync::mpsc;

use super::message::{Fault, Message};
use crate::cli::client::Address;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const GREETING: &str = "initialize";
/// The longest answer that is read, bytes.
const MAX_ANSWER: usize = 64 << 20;

/// Where lines go to standard output from. Closed when nothing can be written any more.
pub type Lines = mpsc::Sender<Vec<u8>>;

/// A service that messages are posted to.
#[derive(Debug)]
pub struct Service {
    client: Client,
    url: Url,
    timeout: Duration,
    greeting: Mutex<HeaderMap>,
}

impl Service {
    /// `timeout` ends a wait for an answer.
    ///
    /// # Errors
    /// An address that is none, a key that no header can hold, or no HTTP client.
    pub fn new(address: &Address, timeout: Duration) -> anyhow::Result<Service> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let (client, root) = address.client(headers, timeout)?;
        Ok(Service { client, url: root.join("mcp")?, timeout, greeting: Mutex::default() })
    }

    /// Posts a message as it stands in `line`, and passes on what comes back: to a request its answer as the last.
    ///
    /// # Errors
    /// A request that has no answer, a message that was not taken.
    pub async fn post(&self, message: &Message, line: Vec<u8>, lines: &Lines) -> Result<(), Fault> {
        let waited = || Fault::service(format!("contextd gave no answer within {} s", self.timeout.as_secs()));
        let exchange = self.exchange(message, line, lines);
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or_else(|_| Err(waited()))
    }

    async fn exchange(&self, message: &Message, line: Vec<u8>, lines: &Lines) -> Result<(), Fault> {
        let request = self.client.post(self.url.clone()).headers(self.headers(message)).body(line);
        let response = request.send().await.map_err(broken)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let passing = Passing { service: self, message, lines, session: headers.get(SESSION) };
        match essence.as_str() {
            _ if message.asks().is_none() && status.is_success() => Ok(()),
            "text/event-stream" if status.is_success() => passing.events(response).await,
            essence if essence == "application/json" || essence.ends_with("+json") => {
                passing.body(status, &whole(response).await?).await
            }
            "" => Err(refused(status, "")),
            essence => Err(refused(status, &format!(" with {essence}"))),
        }
    }

    /// What is told beside a message: the newer versions of the protocol want it with each, the older ones once they
    /// are greeted.
    fn headers(&self, message: &Message) -> HeaderMap {
        let is_greeting = message.method.as_deref() == Some(GREETING);
        let greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut headers = if is_greeting { HeaderMap::new() } else { greeting.clone() };
        let told = [
            (VERSION, message.version.clone()),
            (METHOD, message.method.clone()),
            (NAME, message.name.as_deref().map(header_text)),
        ];
        for (name, text) in told {
            // What can't be a header's value is the service's to refuse.
            if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }

    /// Keeps what the answer to a greeting has settled.
    fn greet(&self, version: &str, session: Option<&HeaderValue>) {
        let version = HeaderValue::try_from(version).ok().map(|version| (VERSION, version));
        let session = session.map(|session| (SESSION, session.clone()));
        *self.greeting.lock().unwrap_or_else(PoisonError::into_inner) = version.into_iter().chain(session).collect();
    }
}

/// The way back of what one message is answered with.
struct Passing<'a> {
    service: &'a Service,
    message: &'a Message,
    lines: &'a Lines,
    session: Option<&'a HeaderValue>,
}

impl Passing<'_> {
    async fn body(&self, status: StatusCode, body: &[u8]) -> Result<(), Fault> {
        match Message::parse(body) {
            Ok(told) if told.answers(self.message) => self.pass(&told, body).await,
            // Both a problem and an error that bears no id.
            _ => Err(refused(status, &problem(body))),
        }
    }

    async fn events(&self, response: Response) -> Result<(), Fault> {
        let mut events = pin!(SseStream::from_bytes_stream(bounded(response)));
        while let Some(event) = events.next().await {
            let data = event.map_err(|error| broken_off(&error))?.data.unwrap_or_default();
            let Ok(told) = Message::parse(data.as_bytes()) else { continue };
            self.pass(&told, data.as_bytes()).await?;
            if told.answers(self.message) {
                return Ok(());
            }
        }
        Err(Fault::service("contextd's answer ended before it was whole"))
    }

    async fn pass(&self, told: &Message, body: &[u8]) -> Result<(), Fault> {
        if let (Some(GREETING), Some(version)) = (self.message.method.as_deref(), &told.settled) {
            self.service.greet(version, self.session);
        }
        // Between JSON's tokens alone there are line ends.
        let line = body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
        self.lines.send(line).await.map_err(|_| Fault::service("standard output is closed"))
    }
}

/// A text as a header's value may stand for it: in base64 where it is none by itself.
fn header_text(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim() == text;
    let is_marked = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && !is_marked { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

fn broken(error: reqwest::Error) -> Fault {
    let text = if error.is_connect() { "contextd can't be reached" } else { "the connection to contextd broke" };
    let mut cause: &dyn std::error::Error = &error.without_url();
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Fault::service(format!("{text}: {cause}"))
}

fn refused(status: StatusCode, told: &str) -> Fault {
    Fault::service(format!("contextd answered {status}{told}"))
}

/// What a problem document, or an error of JSON-RPC, says.
fn problem(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let told = ["/detail", "/title", "/error/message"].iter().find_map(|at| body.pointer(at)?.as_str());
    told.map_or_else(String::new, |told| format!(": {told}"))
}

async fn whole(response: Response) -> Result<Vec<u8>, Fault> {
    let mut chunks = pin!(bounded(response));
    let mut body = Vec::new();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| broken_off(&error))?);
    }
    Ok(body)
}

/// A body that fails where it is longer than [`MAX_ANSWER`].
fn bounded(response: Response) -> impl Stream<Item = io::Result<Bytes>> {
    let mut read = 0;
    response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| io::Error::other(error.without_url()))?;
        read += chunk.len();
        match read > MAX_ANSWER {
            true => Err(io::Error::other(format!("it is longer than {MAX_ANSWER} bytes"))),
            false => Ok(chunk),
        }
    })
}

fn broken_off(error: &impl std::error::Error) -> Fault {
    Fault::service(format!("contextd's answer broke off: {error}"))
}
