//! The real binary with its own embedded database, and a client for it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Body, Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::patience::eventually;

use crate::openapi::assert_documented;

static SHARED: OnceLock<App> = OnceLock::new();

/// A running instance in `--dev`. Killed when dropped.
pub struct App {
    base: String,
    client: Client,
    child: Child,
    data: TempDir,
    envs: Vec<(String, String)>,
    /// Kept open: the process must not meet a closed pipe.
    _output: BufReader<ChildStdout>,
}

/// Starts a server and reads its address from its first line.
pub fn started(command: &mut Command) -> (Child, String, BufReader<ChildStdout>) {
    started_logging(command, Stdio::null())
}

fn started_logging(command: &mut Command, log: Stdio) -> (Child, String, BufReader<ChildStdout>) {
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let base = line.trim_end().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
    (child, base, output)
}

/// A running instance that wants keys. Killed when dropped.
pub struct Keyed {
    child: Child,
    pub base: String,
    /// Kept open: the process must not meet a closed pipe.
    _output: BufReader<ChildStdout>,
}

impl Keyed {
    /// Over this database, with more arguments and environment variables.
    pub fn start(database: &str, args: &[&str], envs: &[(&str, &str)]) -> Keyed {
        Keyed::logging(database, args, envs, Stdio::null())
    }

    pub fn logging(database: &str, args: &[&str], envs: &[(&str, &str)], log: Stdio) -> Keyed {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args).env("DATABASE_URL", database);
        let (child, base, output) = started_logging(command.envs(envs.iter().copied()), log);
        Keyed { child, base, _output: output }
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Another key of the same form, of the same tenant.
pub fn made_up_key(key: &str, number: u64) -> String {
    format!("{}{number:064x}", &key[..key.len() - 64])
}

/// An answer; `body` is null where it is not JSON, and then `text` has it.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn code(&self) -> Option<&str> {
        self.body["code"].as_str()
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.body
    }

    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
    }
}

/// Longer than [`crate::patience::PATIENCE`].
pub const NEVER_MS: &str = "3600000";

/// Times that end what a test waits for. A test that is about one sets it.
const CLOCKS: [&str; 4] = [
    "CONTEXTD_BODY_TIMEOUT_MS",
    "CONTEXTD_WRITE_TIMEOUT_MS",
    "CONTEXTD_REQUEST_TIMEOUT_MS",
    "CONTEXTD_DATABASE_STATEMENT_TIMEOUT_MS",
];

impl App {
    /// One instance for the whole test process, with the defaults.
    pub fn shared() -> &'static App {
        SHARED.get_or_init(|| {
            let app = App::fresh(&[]);
            stop_at_exit(app.child.id(), app.data.path());
            app
        })
    }

    /// An instance of its own, with these environment variables.
    pub fn fresh(envs: &[(&str, &str)]) -> App {
        App::start(tempfile::tempdir().unwrap(), owned(envs))
    }

    /// As [`App::fresh`], with its log in a file.
    pub fn logging(envs: &[(&str, &str)], log: File) -> App {
        App::start_logging(tempfile::tempdir().unwrap(), owned(envs), log.into())
    }

    fn start(data: TempDir, envs: Vec<(String, String)>) -> App {
        App::start_logging(data, envs, Stdio::null())
    }

    fn start_logging(data: TempDir, envs: Vec<(String, String)>, log: Stdio) -> App {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        command
            .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data.path())
            .env_remove("DATABASE_URL")
            // The tests share their machine with others, behind whom such work would starve.
            .env("CONTEXTD_BACKGROUND_NICE", "0")
            .envs(CLOCKS.map(|name| (name, NEVER_MS)))
            .envs(envs.iter().map(|(name, value)| (name, value)));
        let (child, base, output) = started_logging(&mut command, log);
        App { base, client: client(), child, data, envs, _output: output }
    }

    /// Ends it with SIGKILL and starts it again on the same data.
    pub fn kill_and_restart(mut self) -> App {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let empty = tempfile::tempdir().unwrap();
        let data = std::mem::replace(&mut self.data, empty);
        App::start(data, std::mem::take(&mut self.envs))
    }

    /// Ends it with SIGTERM; one that does not end fails the test.
    pub async fn stop(mut self) -> ExitStatus {
        self.ask_to_end();
        let child = std::cell::RefCell::new(&mut self.child);
        eventually("it stops", async || child.borrow_mut().try_wait().unwrap()).await
    }

    fn terminate(&mut self) -> ExitStatus {
        self.ask_to_end();
        self.child.wait().unwrap()
    }

    fn ask_to_end(&self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    }

    /// Ends it with SIGTERM and starts it again on the same data.
    pub fn stop_and_restart(mut self) -> (ExitStatus, App) {
        let status = self.terminate();
        let data = std::mem::replace(&mut self.data, tempfile::tempdir().unwrap());
        (status, App::start(data, std::mem::take(&mut self.envs)))
    }

    /// The most memory that it has held so far, or since it was last forgotten, in bytes.
    pub fn peak_memory(&self) -> u64 {
        self.memory("VmHWM:")
    }

    /// Begins to measure anew; gives what it holds now.
    pub fn forget_peak_memory(&self) -> u64 {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
        self.memory("VmRSS:")
    }

    fn memory(&self, what: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    pub fn data_dir(&self) -> &Path {
        self.data.path()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Any request; `headers` may replace the JSON content type. What refuses it must be in the OpenAPI document.
    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        let response = self.request(method.clone(), path, headers).body(body).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        assert_documented(&method, path, status, &body);
        Answer { status, headers, body, text }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    /// Any request, whatever comes of it.
    pub async fn raw(&self, method: Method, path: &str, headers: &[(&str, &str)], body: String) -> u16 {
        self.request(method, path, headers).body(body).send().await.map_or(0, |answer| answer.status().as_u16())
    }

    /// `headers` may replace the JSON content type.
    fn request(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let mut request = self.client.request(method, self.url(path)).header(CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            let mut one = HeaderMap::new();
            one.insert(name.parse::<reqwest::header::HeaderName>().unwrap(), value.parse().unwrap());
            request = request.headers(one);
        }
        request
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, &[], body.to_string()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, &[], body.to_string()).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, &[], body.to_string()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], "").await
    }

    /// A new session; returns its path, `/v1/sessions/{id}`.
    pub async fn session(&self, body: Value) -> String {
        let session = self.post("/v1/sessions", body).await.expect(201);
        format!("/v1/sessions/{}", session["id"].as_str().unwrap())
    }

    /// Appends items to a session's leaf.
    pub async fn append(&self, session: &str, format: &str, items: Value) -> Value {
        self.post(&format!("{session}/entries"), json!({"format": format, "items": items})).await.expect(201)
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn owned(envs: &[(&str, &str)]) -> Vec<(String, String)> {
    envs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Without idle connections: each test has a runtime of its own, and a connection dies with its runtime.
pub fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().pool_max_idle_per_host(0).no_proxy().build().unwrap()
}

/// A static is never dropped: a small process waits for the end of this one (its pipe closes), then stops and
/// removes what is left.
fn stop_at_exit(pid: u32, data: &Path) {
    let script = r#"cat >/dev/null; kill "$1"; n=0
        while kill -0 "$1" 2>/dev/null && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done
        rm -rf "$0""#;
    let watcher = Command::new("sh")
        .args(["-c", script])
        .arg(data)
        .arg(pid.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::mem::forget(watcher);
}
