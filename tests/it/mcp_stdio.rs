//! `contextd mcp`: the real binary over pipes, before the service and before a played one.

use std::process::{ExitStatus, Stdio};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::app::App;
use crate::proxy::provider::{Provider, Reply, Seen};

struct Bridge {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Bridge {
    fn start(url: &str, args: &[&str]) -> Bridge {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
        command.args(["mcp", "--url", url]).args(args).env_remove("CONTEXTD_URL").env_remove("CONTEXTD_API_KEY");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Bridge { child, input, output: BufReader::new(output).lines() }
    }

    async fn say(&mut self, line: impl AsRef<[u8]>) {
        self.input.write_all(line.as_ref()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.output.next_line().await.unwrap().expect("a line")).unwrap()
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.say(message.to_string()).await;
        self.read().await
    }

    /// Ends its input; gives what it still says, and what it logs.
    async fn end(mut self) -> (Vec<Value>, String, ExitStatus) {
        drop(self.input);
        let mut said = Vec::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            said.push(serde_json::from_str(&line).unwrap());
        }
        let mut logged = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut logged).await.unwrap();
        (said, logged, self.child.wait().await.unwrap())
    }
}

fn call(id: Value, name: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": name, "params": params})
}

/// A service's answer: only its id is taken over.
fn answered(seen: &Seen) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.json()["id"], "result": {}})
}

async fn played(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static, args: &[&str]) -> (Provider, Bridge) {
    let provider = Provider::start().await;
    provider.play(script);
    let bridge = Bridge::start(&provider.base_url(), args);
    (provider, bridge)
}

#[tokio::test]
async fn both_eras_of_the_protocol_are_spoken() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let session = session.rsplit('/').next().unwrap();

    let mut greeted = Bridge::start(&app.url("/"), &[]);
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answer = greeted.ask(call(json!(0), "initialize", hello)).await;
    assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!(0), &json!("2025-06-18")), "{answer}");
    greeted.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let tools = greeted.ask(call(json!("tools"), "tools/list", json!({}))).await;
    assert!(tools["result"]["tools"].as_array().unwrap().len() > 5, "{tools}");
    let asked = json!({"name": "get_snapshot", "arguments": {"session_id": session}});
    let answer = greeted.ask(call(json!(2), "tools/call", asked.clone())).await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(false)), "{answer}");
    let (said, _, status) = greeted.end().await;
    assert!(said.is_empty() && status.success(), "{said:?} {status}");

    let mut bare = Bridge::start(&app.url(""), &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let mut with_meta = asked;
    with_meta["_meta"] = meta.clone();
    let answer = bare.ask(call(json!(1), "tools/call", with_meta)).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    // A name that no header can hold as it is.
    let answer = bare.ask(call(json!(2), "resources/read", json!({"uri": "contextd://ü\n", "_meta": meta}))).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("no such resource"), "{answer}");
    assert!(bare.end().await.2.success());
}

#[tokio::test]
async fn whatever_the_service_answers_each_request_is_answered_once() {
    let problem = json!({"title": "Unauthorized", "status": 401, "code": "unauthorized", "detail": "no such key"});
    let error = |id: Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": "not so"}});
    let script = move |seen: &Seen| match seen.json()["id"].as_str().unwrap_or_default() {
        "page" => Reply::of(502, "text/html; charset=utf-8", &["<html>\n</html>"]),
        "page in place of an answer" => Reply::of(200, "text/html", &["<html>"]),
        "key" => Reply::of(401, "application/problem+json", &[&problem.to_string()]),
        "moved" => Reply::of(307, "", &[]).with("location", "http://127.0.0.1:9/mcp"),
        "nobody's" => Reply::json(400, &error(Value::Null)),
        "another's" => Reply::json(200, &error(json!("x"))),
        "own" => Reply::json(400, &error(json!("own"))),
        "nothing" => Reply::of(202, "", &[]),
        "cut off" => Reply::json(200, &json!("{")),
        "broken" => Reply::broken(&["data: {\"jsonrpc\":\"2.0\",", "\"id\":\"broken\""]),
        "no answer" => Reply::of(200, "text/event-stream", &[": ping\n\n", "data: {\"method\":\"x\"}\n\n"]),
        "" => Reply::of(500, "text/html", &["<html>"]),
        _ => Reply::of(200, "application/json", &[&serde_json::to_string_pretty(&answered(seen)).unwrap()]),
    };
    let (provider, mut bridge) = played(script, &["--key", "cdx_secret"]).await;
    for (id, told) in [
        ("page", "contextd answered 502 Bad Gateway with text/html"),
        ("page in place of an answer", "contextd answered 200 OK with text/html"),
        ("key", "contextd answered 401 Unauthorized: no such key"),
        ("moved", "contextd answered 307 Temporary Redirect"),
        ("nobody's", "contextd answered 400 Bad Request: not so"),
        ("another's", "contextd answered 200 OK: not so"),
        ("own", "not so"),
        ("nothing", "contextd answered 202 Accepted"),
        ("cut off", "contextd answered 200 OK"),
        ("broken", "contextd's answer broke off"),
    ] {
        let answer = bridge.ask(call(json!(id), "ping", json!({}))).await;
        assert_eq!(answer["id"], id, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(told), "{answer}");
    }
    let passed_on = bridge.ask(call(json!("no answer"), "ping", json!({}))).await;
    assert_eq!(passed_on["method"], "x", "{passed_on}");
    assert_eq!(bridge.read().await["id"], "no answer");
    // Neither a notification nor an answer of the client's is answered, whatever became of it.
    bridge.say(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
    bridge.say(r#"{"jsonrpc":"2.0","id":"page","result":{}}"#).await;
    assert_eq!(bridge.ask(call(json!("ä"), "ping", json!({}))).await["result"], json!({}));
    let (said, logged, status) = bridge.end().await;
    assert!(said.is_empty() && status.success(), "{said:?} {status}");
    assert!(logged.contains("502 Bad Gateway") && !logged.contains("cdx_secret"), "{logged}");
    assert!(provider.take().iter().all(|seen| seen.header("authorization") == Some("Bearer cdx_secret")));
}

#[tokio::test]
async fn what_a_greeting_settled_is_told_from_then_on() {
    let script = |seen: &Seen| match seen.json()["method"].as_str().unwrap() {
        "initialize" => {
            let settled =
                json!({"jsonrpc": "2.0", "id": seen.json()["id"], "result": {"protocolVersion": "2025-03-26"}});
            let event = format!("event: message\r\ndata: {settled}\r\n\r\n");
            Reply::of(200, "text/event-stream", &[&event]).with("mcp-session-id", "s-1")
        }
        "notifications/initialized" => Reply::of(202, "", &[]),
        _ => Reply::json(200, &answered(seen)),
    };
    let (provider, mut bridge) = played(script, &[]).await;
    let hello = call(json!(1), "initialize", json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(bridge.ask(hello.clone()).await["result"]["protocolVersion"], "2025-03-26");
    bridge.ask(call(json!(2), "tools/call", json!({"name": "look"}))).await;
    bridge.ask(hello).await;
    let heads: Vec<_> = provider
        .take()
        .into_iter()
        .map(|seen| {
            let names = ["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "authorization"];
            names.map(|name| seen.header(name).unwrap_or("-").to_owned()).join(" ")
        })
        .collect();
    assert_eq!(heads, ["- - initialize - -", "2025-03-26 s-1 tools/call look -", "- - initialize - -"]);
}

#[tokio::test]
async fn nobody_waits_for_the_answer_of_another() {
    let script = |seen: &Seen| match seen.json()["id"].as_u64() {
        Some(1) => Reply::open(&[]),
        _ => Reply::json(200, &answered(seen)),
    };
    let (provider, mut bridge) = played(script, &[]).await;
    bridge.say(call(json!(1), "ping", json!({})).to_string()).await;
    provider.until_running(1).await;
    assert_eq!(bridge.ask(call(json!(2), "ping", json!({}))).await["id"], 2);
}

#[tokio::test]
async fn the_end_waits_for_answers_but_not_forever() {
    let (_provider, mut bridge) = played(|_| Reply::open(&[]), &["--timeout", "1"]).await;
    bridge.say(call(json!(1), "ping", json!({})).to_string()).await;
    bridge.say(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
    let (said, _, status) = bridge.end().await;
    assert_eq!((said.len(), &said[0]["id"]), (1, &json!(1)), "{said:?}");
    assert_eq!(said[0]["error"]["message"], "contextd gave no answer within 1 s");
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn a_service_that_is_away_is_an_error_of_each_request() {
    let mut bridge = Bridge::start("http://127.0.0.1:9", &[]);
    for id in [json!("a"), json!(2)] {
        let answer = bridge.ask(call(id.clone(), "tools/list", json!({}))).await;
        assert_eq!(answer["id"], id);
        assert!(answer["error"]["message"].as_str().unwrap().starts_with("contextd can't be reached: "), "{answer}");
    }
    assert!(bridge.end().await.2.success());
    for url in ["ftp://127.0.0.1", "127.0.0.1:8080", ""] {
        let (said, logged, status) = Bridge::start(url, &[]).end().await;
        assert!(said.is_empty() && !status.success() && logged.contains("contextd: "), "{url}: {logged}");
    }
}

#[tokio::test]
async fn lines_that_are_no_messages_do_no_harm() {
    let (provider, mut bridge) = played(|seen| Reply::json(200, &answered(seen)), &[]).await;
    bridge.say("\n  \r\n").await;
    for line in ["{", "<html>", "[]", "5", "\u{fffd}"] {
        bridge.say(line).await;
        let answer = bridge.read().await;
        assert!(answer["id"].is_null() && answer["error"]["code"].as_i64().unwrap() < -32_000, "{line}: {answer}");
    }
    let too_long = call(json!(1), "ping", json!({"x": "x".repeat(64 << 20)}));
    let answer = bridge.ask(too_long).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("longer than"), "{answer}");
    assert_eq!(bridge.ask(call(json!(2), "ping", json!({}))).await["id"], 2);
    // What comes without the end of its line is a message, too.
    bridge.input.write_all(call(json!(3), "ping", json!({})).to_string().as_bytes()).await.unwrap();
    let (said, _, status) = bridge.end().await;
    assert_eq!((said.len(), &said[0]["id"], status.success()), (1, &json!(3), true), "{said:?}");
    assert_eq!(provider.take().len(), 2);
}

/// Runs a script of `tests/clients` with this program; it is told the service's root and the binary.
async fn published(program: String, script: &str) {
    let app = App::shared();
    let script = format!("{}/tests/clients/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(program);
    command.arg(script).arg(app.url("")).env("CONTEXTD_BINARY", env!("CARGO_BIN_EXE_contextd"));
    let output = command.output().await.unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with the published clients"]
async fn the_published_python_client_speaks_through_it() {
    published(std::env::var("CONTEXTD_CLIENTS_PYTHON").expect("CONTEXTD_CLIENTS_PYTHON"), "mcp_client.py").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_NODE: a folder whose node_modules has the published clients"]
async fn the_published_typescript_client_speaks_through_it() {
    std::env::var("CONTEXTD_CLIENTS_NODE").expect("CONTEXTD_CLIENTS_NODE");
    published("node".to_owned(), "mcp_client.mjs").await;
}
