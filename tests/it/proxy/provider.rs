//! A played provider: keeps what came to the byte, answers as a script says.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::serve::ListenerExt;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::patience::until;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: Method,
    /// Path and query.
    pub uri: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<String>,
    end: End,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Whole,
    /// The connection breaks behind the pieces.
    Broken,
    /// Nothing follows the pieces.
    Open,
}

type Script = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;

struct Stage {
    script: Mutex<Script>,
    seen: Mutex<Vec<Seen>>,
    /// Answers that are under way.
    running: AtomicUsize,
}

/// The running server. It ends with the value.
pub struct Provider {
    address: SocketAddr,
    stage: Arc<Stage>,
    server: tokio::task::JoinHandle<()>,
}

impl Seen {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

impl Reply {
    /// A body of these pieces, each sent by itself.
    pub fn of(status: u16, kind: &str, pieces: &[&str]) -> Reply {
        let headers = vec![("content-type", kind.to_owned()), ("x-request-id", "req_played".to_owned())];
        Reply { status, headers, pieces: pieces.iter().map(|piece| (*piece).to_owned()).collect(), end: End::Whole }
    }

    pub fn json(status: u16, body: &Value) -> Reply {
        Reply::of(status, "application/json", &[&body.to_string()])
    }

    /// A stream of events that breaks off behind the first ones.
    pub fn broken(pieces: &[&str]) -> Reply {
        Reply { end: End::Broken, ..Reply::of(200, "text/event-stream", pieces) }
    }

    /// A stream of events that nothing more comes of.
    pub fn open(pieces: &[&str]) -> Reply {
        Reply { end: End::Open, ..Reply::of(200, "text/event-stream", pieces) }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Reply {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// A good answer of any route, with this usage.
    pub fn good(seen: &Seen, input: u64, output: u64) -> Reply {
        let text = "Done.";
        let body = match seen.uri.split('?').next().unwrap().rsplit('/').next().unwrap() {
            "completions" => json!({"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0,
                "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}}),
            "responses" => json!({"id": "resp_1", "object": "response", "status": "completed", "output": [],
                "usage": {"input_tokens": input, "output_tokens": output, "total_tokens": input + output}}),
            _ => json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": text}],
                "usage": {"input_tokens": input, "output_tokens": output}}),
        };
        Reply::json(200, &body)
    }

    fn response(self, stage: Arc<Stage>) -> Response<Body> {
        let guard = Running::new(stage);
        // Each piece is taken by itself, so that what comes before a break goes out first.
        let pieces = stream::iter(self.pieces).then(|piece| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(Bytes::from(piece))
        });
        let body = match self.end {
            End::Whole => pieces.boxed(),
            End::Open => pieces.chain(stream::pending()).boxed(),
            End::Broken => {
                let broken = async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Err(std::io::Error::other("played"))
                };
                pieces.chain(stream::once(broken)).boxed()
            }
        };
        let guarded = body.inspect(move |_| guard.hold());
        let mut response = Response::new(Body::from_stream(guarded));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap();
        for (name, value) in self.headers {
            response.headers_mut().append(name, value.parse().unwrap());
        }
        response
    }
}

/// Counts an answer as running until its body is gone.
struct Running(Arc<Stage>);

impl Running {
    fn new(stage: Arc<Stage>) -> Running {
        stage.running.fetch_add(1, Ordering::SeqCst);
        Running(stage)
    }

    fn hold(&self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Provider {
    /// Starts with answers that say nothing of usage.
    pub async fn start() -> Provider {
        let script: Script = Box::new(|_| Reply::json(200, &json!({"id": "played"})));
        let stage = Stage { script: Mutex::new(script), seen: Mutex::default(), running: AtomicUsize::new(0) };
        let stage = Arc::new(stage);
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        // As a provider's front does: else the kernel's delays are what is measured.
        let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&stage));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Provider { address, stage, server }
    }

    /// Its API's address, with a version segment.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn play(&self, script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) {
        *self.stage.script.lock().unwrap() = Box::new(script);
    }

    /// Everything that came since the last call.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.stage.seen.lock().unwrap())
    }

    /// The one request that came since the last call.
    #[track_caller]
    pub fn take_one(&self) -> Seen {
        let mut seen = self.take();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }

    /// Waits until so many answers are under way.
    pub async fn until_running(&self, count: usize) {
        until("answers are under way", async || self.stage.running.load(Ordering::SeqCst) == count).await;
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(stage): State<Arc<Stage>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let seen = Seen { method: parts.method, uri: parts.uri.to_string(), headers: parts.headers, body };
    let reply = stage.script.lock().unwrap()(&seen);
    stage.seen.lock().unwrap().push(seen);
    reply.response(Arc::clone(&stage))
}
