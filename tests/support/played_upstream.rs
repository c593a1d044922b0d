//! An upstream that plays a script: chat completions, Responses and Messages on a loopback port, told how to
//! behave and remembering what it was asked.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri, header};
use futures::stream;
use serde_json::{Value, json};

/// What [`Behaviour::Good`] with no particular wish says.
///
/// It has a heading of each template and cites what every session has. Most of its words tell nothing, so that it fits all.
pub const SUMMARY: &str = "## Next Steps\nNext: Ship it green.\n1. Go on with what is still to do, one step after one \
step, and see after each of them that nothing that was done before is not as it has to be (u1)\n2. When all of that is \
done, see what there is that is still to be done, and do it there as it was done before, with no changes but those that \
were asked for\n3. Then see with the user what is to be done next, and what is not to be done at all\n\n## Critical \
Context\n- The tests are as they were (inferred)\n- What was asked for before is still what is to be done, and there is nothing in it but \
what was asked for then (inferred)\n\n## Remaining Work\n- It is still to be done, and what is next is not \
(inferred)\n\n## Action Items\n- It is the user who is asked when all of it is done (inferred)";
/// What every played answer reports as usage: input (cached included), output, cached.
pub const USAGE: (u64, u64, u64) = (100, 20, 40);

/// How the upstream answers one request.
#[derive(Debug, Clone)]
pub enum Behaviour {
    Good(String),
    /// Answers with so many words of the prompt, from here and there.
    Notes(usize),
    /// Waits, then answers well.
    Slow(Duration, String),
    /// Answers well once [`PlayedUpstream::release`] is called.
    Held(String),
    /// A good answer that reports this as its usage; null: nothing.
    Usage(Value),
    /// A whole answer of no text.
    Empty,
    /// An answer cut off by the output limit.
    Truncated,
    /// This text, cut off by the output limit.
    CutOff(String),
    ToolCall,
    Refusal,
    /// An error status with the provider's error body; `Retry-After` in the words given.
    Status(u16, Option<String>),
    /// An error status with exactly this body.
    StatusBody(u16, String),
    /// 400, the context is too long.
    Overflow,
    /// As `Overflow` where the request's body is longer than so many bytes, else the other.
    OverflowAbove(usize, Box<Behaviour>),
    /// 429 `insufficient_quota`.
    Quota,
    /// Closes the connection in the middle of the body.
    Drop,
    /// A well-formed answer with a text of so many bytes.
    Huge(usize),
    /// 200 with a body that is not JSON.
    Malformed,
    /// 200 with JSON that is no answer.
    WrongShape,
    /// Answers with the user's prompt.
    EchoPrompt,
    /// An error status whose message quotes the user's prompt and every header.
    EchoError(u16),
    /// Each in its turn, once; then the last for ever.
    Sequence(Vec<Behaviour>, Box<Behaviour>),
}

impl Behaviour {
    /// A good answer with the stock text.
    pub fn good() -> Behaviour {
        Behaviour::Good(SUMMARY.to_owned())
    }

    /// `first` in order, then good answers.
    pub fn then_good(first: impl Into<Vec<Behaviour>>) -> Behaviour {
        Behaviour::Sequence(first.into(), Box::new(Behaviour::good()))
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct PlayedRequest {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
    /// The body to the byte.
    pub text: String,
}

impl PlayedRequest {
    /// The system prompt, whichever the API.
    pub fn system(&self) -> &str {
        let places = ["/messages/0/content", "/instructions", "/system"];
        self.text(if self.is_chat() { &places[..1] } else { &places[1..] })
    }

    /// The user's prompt, whichever the API.
    pub fn user(&self) -> &str {
        let places = ["/messages/1/content", "/input", "/messages/0/content"];
        self.text(if self.is_chat() { &places[..1] } else { &places[1..] })
    }

    fn is_chat(&self) -> bool {
        self.path.ends_with("/chat/completions")
    }

    fn text(&self, places: &[&str]) -> &str {
        places.iter().find_map(|place| self.body.pointer(place)?.as_str()).unwrap_or_default()
    }
}

/// The running server. It ends with the value.
pub struct PlayedUpstream {
    address: SocketAddr,
    stage: Arc<Stage>,
    server: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Stage(Mutex<Script>, tokio::sync::watch::Sender<u64>);

#[derive(Default)]
struct Script {
    queue: VecDeque<Behaviour>,
    behaviour: Option<Behaviour>,
    requests: Vec<PlayedRequest>,
    running: usize,
    peak: usize,
    /// How many times what was held has been released.
    released: u64,
}

impl PlayedUpstream {
    /// Starts on a free port of 127.0.0.1.
    pub async fn start(behaviour: Behaviour) -> PlayedUpstream {
        let stage = Arc::new(Stage::default());
        stage.play(behaviour);
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let router =
            Router::new().fallback(answer).layer(axum::extract::DefaultBodyLimit::disable()).with_state(stage.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("serving") });
        PlayedUpstream { address, stage, server }
    }

    /// `http://127.0.0.1:PORT`, without a version segment.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Behaves like this from the next request on.
    pub fn play(&self, behaviour: Behaviour) {
        self.stage.play(behaviour);
    }

    /// All requests so far, oldest first.
    pub fn requests(&self) -> Vec<PlayedRequest> {
        self.stage.script().requests.clone()
    }

    /// How many requests came.
    pub fn calls(&self) -> usize {
        self.stage.script().requests.len()
    }

    /// The most requests that were in work at the same time.
    pub fn peak_concurrency(&self) -> usize {
        self.stage.script().peak
    }

    /// Requests in work now.
    pub fn running(&self) -> usize {
        self.stage.script().running
    }

    /// Waits until `count` requests have come.
    pub async fn wait_for_calls(&self, count: usize) {
        self.wait_until("requests to come", |script| script.requests.len() >= count).await;
    }

    /// Waits until exactly `count` requests are in work.
    pub async fn wait_for_running(&self, count: usize) {
        self.wait_until("requests in work", |script| script.running == count).await;
    }

    /// Lets the requests go on that are held now, and waits until nothing is in work or something new has come: an answer
    /// may have the next question asked at once.
    pub async fn release_and_wait(&self) {
        let came = self.calls();
        self.release();
        self.wait_until("an end, or the next request", |script| script.running == 0 || script.requests.len() > came)
            .await;
    }

    /// Lets the requests go on that are held now. Later ones are held again.
    pub fn release(&self) {
        let mut script = self.stage.script();
        script.released += 1;
        self.stage.1.send_replace(script.released);
    }

    async fn wait_until(&self, what: &str, condition: impl Fn(&Script) -> bool) {
        for _ in 0..90_000 {
            if condition(&self.stage.script()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never came true: {what}; {} came, {} are in work", self.calls(), self.running());
    }
}

impl Drop for PlayedUpstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Stage {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn play(&self, behaviour: Behaviour) {
        let mut script = self.script();
        script.queue.clear();
        script.behaviour = Some(match behaviour {
            Behaviour::Sequence(first, last) => {
                script.queue.extend(first);
                *last
            }
            other => other,
        });
    }

    fn enter(self: &Arc<Self>, request: PlayedRequest) -> (Behaviour, Running) {
        let mut script = self.script();
        script.requests.push(request);
        script.running += 1;
        script.peak = script.peak.max(script.running);
        let queued = script.queue.pop_front();
        let behaviour = queued.or_else(|| script.behaviour.clone()).unwrap_or_else(Behaviour::good);
        (behaviour, Running { stage: self.clone(), entered: script.released })
    }
}

/// Counts a request as running until it is answered or the client is gone.
struct Running {
    stage: Arc<Stage>,
    /// How many releases there had been when it came.
    entered: u64,
}

impl Running {
    /// Waits for the next release.
    async fn held(&self) {
        let mut released = self.stage.1.subscribe();
        // The sender lives as long as the stage.
        let _ = released.wait_for(|count| *count > self.entered).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stage.script().running -= 1;
    }
}

async fn answer(State(stage): State<Arc<Stage>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let size = body.len();
    let text = String::from_utf8_lossy(&body).into_owned();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = PlayedRequest { path: uri.path().to_owned(), headers, body, text };
    let Some(api) = Api::of(&request.path) else { return reply(404, &api_error("not_found", "no such path")) };
    let (mut behaviour, running) = stage.enter(request.clone());
    if let Behaviour::OverflowAbove(limit, other) = behaviour {
        behaviour = if size > limit { Behaviour::Overflow } else { *other };
    }
    if let Behaviour::Slow(pause, _) = &behaviour {
        tokio::time::sleep(*pause).await;
    }
    if let Behaviour::Held(_) = &behaviour {
        running.held().await;
    }
    match behaviour {
        Behaviour::Status(code, retry_after) => {
            let mut response = reply(code, &api_error("played_error", "a played error"));
            if let Some(value) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, value.parse().expect("a header value"));
            }
            response
        }
        Behaviour::StatusBody(code, body) => response(code, Body::from(body)),
        Behaviour::Overflow => reply(400, &api_error("context_length_exceeded", "the prompt is too long")),
        Behaviour::Quota => reply(429, &api_error("insufficient_quota", "nothing is left")),
        Behaviour::EchoError(code) => {
            let text = format!("{} {:?}", request.user(), request.headers);
            reply(code, &api_error("played_error", &text))
        }
        Behaviour::Drop => response(200, cut_body()),
        Behaviour::Malformed => response(200, Body::from("<html>not what you expect</html>")),
        Behaviour::WrongShape => reply(200, &json!({"hello": "world"})),
        Behaviour::Huge(bytes) => response(200, huge_body(api, bytes)),
        Behaviour::Good(text) | Behaviour::Slow(_, text) | Behaviour::Held(text) => {
            reply(200, &api.completion(&text, Stop::End))
        }
        Behaviour::Usage(usage) => {
            let mut completion = api.completion(SUMMARY, Stop::End);
            completion["usage"] = usage;
            reply(200, &completion)
        }
        Behaviour::Notes(words) => reply(200, &api.completion(&notes(request.user(), words), Stop::End)),
        Behaviour::EchoPrompt => reply(200, &api.completion(request.user(), Stop::End)),
        Behaviour::Empty => reply(200, &api.completion("", Stop::End)),
        Behaviour::CutOff(text) => reply(200, &api.completion(&text, Stop::Length)),
        Behaviour::Truncated => reply(200, &api.completion("## Goal\nShip the", Stop::Length)),
        Behaviour::ToolCall => reply(200, &api.completion("", Stop::ToolCall)),
        Behaviour::Refusal => reply(200, &api.completion("I cannot help with that.", Stop::Refusal)),
        Behaviour::OverflowAbove(..) | Behaviour::Sequence(..) => panic!("a script inside a script"),
    }
}

/// Words of a prompt in a heap, under a heading; the marks by which a test knows its messages are not among them.
fn notes(prompt: &str, count: usize) -> String {
    let told = prompt.split("</conversation>").next().unwrap_or(prompt);
    let words: Vec<&str> =
        told.split_whitespace().filter(|word| !word.starts_with(['[', '<']) && !word.contains("MARK")).collect();
    let mut text = "## Next Steps\n- As was asked (u1).".to_owned();
    let mut at = 0_usize;
    for number in 0..count {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(if number % 12 == 0 { "\n- " } else { " " });
        text.push_str(words[(at >> 33) % words.len()]);
    }
    text
}

/// The error body of all three APIs.
fn api_error(code: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": code, "code": code, "message": message}})
}

fn reply(code: u16, body: &Value) -> Response<Body> {
    response(code, Body::from(body.to_string()))
}

fn response(code: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).expect("a status");
    response.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().expect("a header value"));
    response
}

/// Some bytes, then an error, upon which the server closes the connection.
fn cut_body() -> Body {
    let cut = async {
        // What comes before goes out first.
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err(std::io::Error::other("played"))
    };
    let begin = stream::iter([Ok(Bytes::from_static(b"{\"id\":\"played\","))]);
    Body::from_stream(futures::StreamExt::chain(begin, stream::once(cut)))
}

/// A completion whose text is `bytes` long, made piece by piece.
fn huge_body(api: Api, bytes: usize) -> Body {
    const PIECE: usize = 64 << 10;
    let whole = api.completion("@", Stop::End).to_string();
    let (before, after) = whole.split_once('@').expect("the text's place");
    let pieces = (0..bytes.div_ceil(PIECE)).map(move |index| Bytes::from("x".repeat(PIECE.min(bytes - index * PIECE))));
    let begin = std::iter::once(Bytes::from(before.to_owned()));
    let end = std::iter::once(Bytes::from(after.to_owned()));
    Body::from_stream(stream::iter(begin.chain(pieces).chain(end).map(Ok::<_, Infallible>)))
}

#[derive(Clone, Copy)]
enum Api {
    Chat,
    Responses,
    Messages,
}

#[derive(Clone, Copy, PartialEq)]
enum Stop {
    End,
    Length,
    ToolCall,
    Refusal,
}

impl Api {
    fn of(path: &str) -> Option<Api> {
        match path.rsplit_once('/')?.1 {
            "completions" => Some(Api::Chat),
            "responses" => Some(Api::Responses),
            "messages" => Some(Api::Messages),
            _ => None,
        }
    }

    fn completion(self, text: &str, stop: Stop) -> Value {
        match self {
            Api::Chat => chat(text, stop),
            Api::Responses => responses(text, stop),
            Api::Messages => messages(text, stop),
        }
    }
}

fn chat(text: &str, stop: Stop) -> Value {
    let (input, output, cached) = USAGE;
    let message = match stop {
        Stop::ToolCall => json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]}),
        Stop::Refusal => json!({"role": "assistant", "content": null, "refusal": text}),
        _ => json!({"role": "assistant", "content": text}),
    };
    let reason = match stop {
        Stop::Length => "length",
        Stop::ToolCall => "tool_calls",
        _ => "stop",
    };
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "played",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": cached}},
    })
}

fn responses(text: &str, stop: Stop) -> Value {
    let (input, output, cached) = USAGE;
    let message = |part: Value| json!({"type": "message", "role": "assistant", "content": [part]});
    let item = match stop {
        Stop::ToolCall => json!({"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}),
        Stop::Refusal => message(json!({"type": "refusal", "refusal": text})),
        _ => message(json!({"type": "output_text", "text": text, "annotations": []})),
    };
    let cut = stop == Stop::Length;
    json!({
        "id": "resp_1", "object": "response", "model": "played", "error": null, "output": [item],
        "status": if cut { "incomplete" } else { "completed" },
        "incomplete_details": if cut { json!({"reason": "max_output_tokens"}) } else { Value::Null },
        "usage": {"input_tokens": input, "output_tokens": output, "total_tokens": input + output,
            "input_tokens_details": {"cached_tokens": cached}},
    })
}

fn messages(text: &str, stop: Stop) -> Value {
    let (input, output, cached) = USAGE;
    let block = match stop {
        Stop::ToolCall => json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
        _ => json!({"type": "text", "text": text}),
    };
    let reason = match stop {
        Stop::End => "end_turn",
        Stop::Length => "max_tokens",
        Stop::ToolCall => "tool_use",
        Stop::Refusal => "refusal",
    };
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "played", "content": [block],
        "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": input - cached, "output_tokens": output,
            "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0},
    })
}
