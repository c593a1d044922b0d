//! What reads a long path, or a page of it: sessions never compacted, with a tool call in every other entry.

use std::time::{Duration, Instant};

use futures::StreamExt;
use reqwest::header::CONTENT_TYPE;
use serde_json::json;

use crate::Outcome;
use crate::long::milliseconds;
use crate::report::Report;
use crate::server::Server;

const BATCH: u64 = 1_000;
const SETTINGS: &str = r#"{"enabled":false,"context_window":200000000}"#;
const PATIENCE: Duration = Duration::from_secs(600);

/// The sizes of sessions, in entries: `CONTEXTD_BENCH_ENTRIES=12000,100000,200000`.
fn sizes() -> Vec<u64> {
    let listed = std::env::var("CONTEXTD_BENCH_ENTRIES").unwrap_or_default();
    let sizes: Vec<u64> = listed.split(',').filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() { vec![12_000] } else { sizes }
}

pub async fn measure(report: &mut Report) -> Outcome<()> {
    for entries in sizes() {
        // A process of its own: what it holds at its peak is what these reads took.
        let server = Server::start(&[]).await?;
        let session = seed(&server, entries).await?;
        let reader = Reader { server: &server, session, entries };
        let last = format!("tool-calls?limit=200&after={}.0", entries.saturating_sub(300));
        for (what, path) in [
            ("files", "files"),
            ("tasks", "tasks"),
            ("tool-calls, first page", "tool-calls?limit=200"),
            ("tool-calls, last page", last.as_str()),
            ("tool-calls, one", "tool-calls/call_5001"),
            ("tree", "tree"),
            ("search, no hit", "search?q=nowhere-to-be-found"),
            ("search, many hits", "search?q=config.toml"),
            ("export as openai_chat", "export?format=openai_chat"),
            ("export as pi", "export?format=pi"),
        ] {
            reader.read(what, path, None, report).await?;
        }
        reader.read("prepare", "prepare", Some("{}"), report).await?;
        for format in ["openai_chat", "anthropic"] {
            let body = json!({"format": format}).to_string();
            reader.read(&format!("rebuild as {format}"), "rebuild", Some(&body), report).await?;
        }
        server.stop().await?;
    }
    Ok(())
}

async fn seed(server: &Server, entries: u64) -> Outcome<String> {
    let mut client = server.client().await?;
    let session = client.session(SETTINGS).await?;
    for from in (0..entries).step_by(BATCH as usize) {
        let items: Vec<_> = (from..entries.min(from + BATCH)).map(item).collect();
        let body = json!({"format": "openai_chat", "items": items}).to_string();
        client.post(&format!("{session}/entries"), &body).await?;
    }
    Ok(session)
}

/// Turns of twenty: a request, nine calls with their results, an answer.
fn item(n: u64) -> serde_json::Value {
    let words = |count: usize| "config.toml holds two sections named alike, fn parse() returns early ".repeat(count);
    match n % 20 {
        0 => json!({"role": "user", "content": format!("Step {n}: {}", words(5))}),
        19 => json!({"role": "assistant", "content": format!("Done {n}: {}", words(5))}),
        place if place % 2 == 1 => {
            let arguments = json!({"path": format!("src/m{}/f{}.rs", n % 500, n % 977)}).to_string();
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": format!("call_{n}"), "type": "function", "function": {"name": "read", "arguments": arguments}}]})
        }
        _ => {
            json!({"role": "tool", "tool_call_id": format!("call_{}", n - 1), "content": format!("{n}: {}", words(16))})
        }
    }
}

struct Reader<'s> {
    server: &'s Server,
    session: String,
    entries: u64,
}

impl Reader<'_> {
    /// One call, its answer read to the end and let go.
    async fn read(&self, what: &str, path: &str, body: Option<&str>, report: &mut Report) -> Outcome<()> {
        let url = format!("http://{}{}/{path}", self.server.address, self.session);
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        let request = match body {
            Some(body) => client.post(url).header(CONTENT_TYPE, "application/json").body(body.to_owned()),
            None => client.get(url),
        };
        self.server.forget_peak()?;
        let start = Instant::now();
        let answer = request.send().await?;
        let status = answer.status();
        let (mut bytes, mut first) = (0, None);
        let mut pieces = answer.bytes_stream();
        while let Some(piece) = pieces.next().await {
            first.get_or_insert_with(|| milliseconds(start));
            bytes += piece?.len();
        }
        let (_, peak) = self.server.memory_mb()?;
        let (took, first) = (milliseconds(start), first.unwrap_or_default());
        let megabytes = bytes as f64 / 1e6;
        let value = format!("{took:.0} ms (first byte {first:.0}), {megabytes:.1} MB, peak {peak:.0} MB");
        let value = if status.is_success() { value } else { format!("{status}: {value}") };
        report.figure(&format!("{what}, {} entries", self.entries), value, "");
        Ok(())
    }
}
