//! A session of 20,000 entries beside one of 100, both compacted, so that the model sees as much of either.

use std::time::{Duration, Instant};

use crate::client::Client;
use crate::report::{Report, Round, median};
use crate::server::Server;
use crate::{Effort, Outcome, transcript};

const LONG: u64 = 20_000;
const SHORT: u64 = 100;
const BATCH: u64 = 1_000;
const SETTINGS: &str = r#"{"enabled":false,"keep_recent_tokens":8000,"context_window":20000000}"#;
const REBUILD: &str = r#"{"format":"openai_chat"}"#;

pub async fn measure(server: &Server, effort: Effort, report: &mut Report) -> Outcome<()> {
    let mut client = server.client().await?;
    let whole = filled(&mut client, LONG).await?;
    report.note(format!("MEM after fill {:?}", server.memory_mb()?));
    let whole_prepare = prepares(&mut client, &whole, effort).await?;
    report.note(format!("MEM after fill+prepare {:?}", server.memory_mb()?));
    let (long, short) = (filled(&mut client, LONG).await?, filled(&mut client, SHORT).await?);
    for session in [&long, &short] {
        report.note(format!("MEM {:?}", server.memory_mb()?));
        compact(&mut client, session).await?;
        report.note(format!("MEM after compact {:?}", server.memory_mb()?));
        let context = client.post(&format!("{session}/rebuild"), REBUILD).await?;
        let (shown, tokens) = (context["messages"].as_array().map_or(0, Vec::len), &context["tokens"]);
        report.note(format!("{session}: {shown} messages, {tokens} tokens in view"));
    }
    let (mut appends, mut rebuilds): (Vec<Round>, Vec<Round>) = (Vec::new(), Vec::new());
    for round in 0..=effort.rounds {
        // As many appends to either, so that the views stay of one size.
        let times = if effort.rounds > 3 { 400 } else { 100 };
        let of_long = append_time(&mut client, &long, times).await?;
        let of_short = append_time(&mut client, &short, times).await?;
        let rebuild_long = rebuild_time(&mut client, &long, effort.window / 3).await?;
        let rebuild_short = rebuild_time(&mut client, &short, effort.window / 3).await?;
        if round > 0 {
            appends.push((of_long, of_short));
            rebuilds.push((rebuild_long, rebuild_short));
        }
    }
    report.compare("append, 20,000 entries beside 100", " ms", &appends, "≤ 1.25");
    report.compare("rebuild, 20,000 entries beside 100", " ms", &rebuilds, "≤ 1.25");
    let prepare = prepares(&mut client, &long, effort).await?;
    report.figure("prepare, 20,000 entries, compacted", format!("{prepare:.2} ms"), "< 5 ms");
    report.figure("prepare, 20,000 entries, never compacted", format!("{whole_prepare:.2} ms"), "");
    Ok(())
}

async fn filled(client: &mut Client, entries: u64) -> Outcome<String> {
    let session = client.session(SETTINGS).await?;
    for from in (0..entries).step_by(BATCH as usize) {
        let body = transcript::body(from, entries.min(from + BATCH));
        client.post(&format!("{session}/entries"), &body).await?;
    }
    Ok(session)
}

async fn compact(client: &mut Client, session: &str) -> Outcome<()> {
    let done =
        client.post(&format!("{session}/compact"), r#"{"strategy":"summarize","force":true,"wait":120}"#).await?;
    if done["status"] == "succeeded" { Ok(()) } else { Err(done.to_string().into()) }
}

/// Milliseconds of an append, the median of `times`.
async fn append_time(client: &mut Client, session: &str, times: u64) -> Outcome<f64> {
    let path = format!("{session}/entries");
    let mut taken = Vec::new();
    for n in 0..times {
        let request = client.request(&path, &transcript::body(n, n + 1));
        let start = Instant::now();
        client.send(&request).await?;
        taken.push(milliseconds(start));
    }
    Ok(median(&taken))
}

async fn rebuild_time(client: &mut Client, session: &str, window: Duration) -> Outcome<f64> {
    let request = client.request(&format!("{session}/rebuild"), REBUILD);
    repeated(client, &request, window).await
}

async fn prepares(client: &mut Client, session: &str, effort: Effort) -> Outcome<f64> {
    let request = client.request(&format!("{session}/prepare"), "{}");
    repeated(client, &request, effort.window).await
}

/// Milliseconds of a request, the median of as many as fit into `window`.
async fn repeated(client: &mut Client, request: &[u8], window: Duration) -> Outcome<f64> {
    let begin = Instant::now();
    let mut taken = Vec::new();
    while begin.elapsed() < window {
        let start = Instant::now();
        client.send(request).await?;
        taken.push(milliseconds(start));
    }
    Ok(median(&taken))
}

pub fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
