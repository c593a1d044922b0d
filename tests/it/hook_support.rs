//! A played receiver of hooks: checks each signature for itself, keeps what came, answers as a script says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::app::App;
use crate::patience::until;

/// How the receiver answers.
#[derive(Debug, Clone)]
pub enum Reply {
    Json(Value),
    Text(u16, &'static str),
    Redirect(String),
    Hang,
    /// 200 MB, without saying so.
    Huge,
}

/// One message as it came.
#[derive(Debug, Clone)]
pub struct Message {
    pub id: String,
    pub body: Value,
    pub headers: HeaderMap,
    /// The signature is one of the secret in force.
    pub verified: bool,
}

type Script = Box<dyn Fn(usize, &Value) -> Reply + Send + Sync>;

struct Stage {
    script: Mutex<Script>,
    secret: Mutex<String>,
    messages: Mutex<Vec<Message>>,
}

pub struct Receiver {
    address: SocketAddr,
    stage: Arc<Stage>,
    server: tokio::task::JoinHandle<()>,
}

impl Receiver {
    /// Answers every message with `reply`.
    pub async fn start(reply: Reply) -> Receiver {
        let stage = Stage {
            script: Mutex::new(Box::new(move |_, _| reply.clone())),
            secret: Mutex::default(),
            messages: Mutex::default(),
        };
        let stage = Arc::new(stage);
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let limit = axum::extract::DefaultBodyLimit::disable();
        let router = Router::new().fallback(answer).layer(limit).with_state(stage.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Receiver { address, stage, server }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// From now on, `script` answers: it gets the number of the message since now, from 0, and its body.
    pub fn play(&self, script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) {
        self.stage.messages.lock().unwrap().clear();
        *self.stage.script.lock().unwrap() = Box::new(script);
    }

    pub fn messages(&self) -> Vec<Message> {
        self.stage.messages.lock().unwrap().clone()
    }

    /// Registers it for these events; gives the hook's path.
    pub async fn register(&self, app: &App, events: &[&str], mut extra: Value) -> String {
        // The most that there is: only those who want it are not waited for.
        if extra["timeout_ms"].is_null() {
            extra["timeout_ms"] = json!(30_000);
        }
        extra["url"] = json!(self.url());
        extra["events"] = json!(events);
        let hook = app.post("/v1/hooks", extra).await.expect(201);
        *self.stage.secret.lock().unwrap() = hook["secret"].as_str().unwrap().to_owned();
        format!("/v1/hooks/{}", hook["id"].as_str().unwrap())
    }

    /// Waits until so many messages have come.
    pub async fn wait_for(&self, count: usize) -> Vec<Message> {
        until(&format!("{count} messages come"), async || self.messages().len() >= count).await;
        self.messages()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(stage): State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default();
    let signed = format!("{}.{}.{text}", header("webhook-id"), header("webhook-timestamp"));
    let secret = stage.secret.lock().unwrap().clone();
    let key = secret.strip_prefix("whsec_").map_or_else(|| secret.clone().into(), |key| STANDARD.decode(key).unwrap());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(signed.as_bytes());
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    let body: Value = serde_json::from_str(&text).unwrap();
    let message = Message {
        id: header("webhook-id").to_owned(),
        verified: header("webhook-signature") == expected,
        headers: headers.clone(),
        body: body.clone(),
    };
    let number = {
        let mut messages = stage.messages.lock().unwrap();
        messages.push(message);
        messages.len() - 1
    };
    let reply = stage.script.lock().unwrap()(number, &body);
    match reply {
        Reply::Json(value) => axum::Json(value).into_response(),
        Reply::Text(status, text) => (StatusCode::from_u16(status).unwrap(), text).into_response(),
        Reply::Redirect(to) => (StatusCode::TEMPORARY_REDIRECT, [("location", to)]).into_response(),
        Reply::Hang => std::future::pending().await,
        Reply::Huge => {
            let chunk = Bytes::from(vec![b' '; 1 << 20]);
            let chunks = (0..200).map(move |_| Ok::<_, std::io::Error>(chunk.clone()));
            Body::from_stream(futures::stream::iter(chunks)).into_response()
        }
    }
}
