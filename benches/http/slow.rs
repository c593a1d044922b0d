//! What an agent's appends cost while a slow model writes the summary of the same session, and while none does.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::Client;
use crate::long::milliseconds;
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};
use crate::report::{Report, Round, quantile};
use crate::server::Server;
use crate::{Effort, Outcome, transcript};

const ENTRIES: u64 = 200;
const SETTINGS: &str = r#"{"enabled":false,"keep_recent_tokens":8000,"context_window":20000000}"#;

pub async fn measure(effort: Effort, report: &mut Report) -> Outcome<()> {
    // The model answers after the appends have been measured.
    let pause = effort.window + Duration::from_millis(500);
    let upstream = PlayedUpstream::start(Behaviour::Slow(pause, SUMMARY.to_owned())).await;
    let server = Server::start(&[
        ("CONTEXTD_UPSTREAM_KIND", "openai".to_owned()),
        ("CONTEXTD_UPSTREAM_BASE_URL", format!("{}/v1", upstream.base_url())),
        ("CONTEXTD_UPSTREAM_MODEL", "played".to_owned()),
    ])
    .await?;
    let mut client = server.client().await?;
    let (mut p99, mut p50): (Vec<Round>, Vec<Round>) = (Vec::new(), Vec::new());
    for round in 0..=effort.rounds {
        let session = client.session(SETTINGS).await?;
        client.post(&format!("{session}/entries"), &transcript::body(0, ENTRIES)).await?;
        let alone = appends(&mut client, &session, effort.window).await?;
        let calls = upstream.calls();
        let compaction =
            client.post(&format!("{session}/compact"), r#"{"strategy":"llm_summarize","force":true}"#).await?;
        upstream.wait_for_calls(calls + 1).await;
        let beside = appends(&mut client, &session, effort.window).await?;
        if upstream.running() == 0 {
            report.note("a summary ended before the appends did".to_owned());
        }
        finished(&mut client, &compaction).await?;
        if round > 0 {
            p99.push((quantile(&beside, 0.99), quantile(&alone, 0.99)));
            p50.push((quantile(&beside, 0.5), quantile(&alone, 0.5)));
        }
    }
    report.compare("append p99 while a slow summary runs, beside none running", " ms", &p99, "");
    report.compare("append p50 while a slow summary runs, beside none running", " ms", &p50, "");
    server.stop().await
}

/// Milliseconds of every append that fits into `window`.
async fn appends(client: &mut Client, session: &str, window: Duration) -> Outcome<Vec<f64>> {
    let path = format!("{session}/entries");
    let begin = Instant::now();
    let mut taken = Vec::new();
    while begin.elapsed() < window {
        let n = taken.len() as u64;
        let request = client.request(&path, &transcript::body(n, n + 1));
        let start = Instant::now();
        client.send(&request).await?;
        taken.push(milliseconds(start));
    }
    Ok(taken)
}

async fn finished(client: &mut Client, compaction: &Value) -> Outcome<()> {
    let path = format!("/v1/compactions/{}", compaction["id"].as_str().ok_or("a compaction without an id")?);
    loop {
        let now = client.get(&path).await?;
        match now["status"].as_str() {
            Some("queued" | "running") => tokio::time::sleep(Duration::from_millis(50)).await,
            Some("succeeded") => return Ok(()),
            _ => return Err(now.to_string().into()),
        }
    }
}
