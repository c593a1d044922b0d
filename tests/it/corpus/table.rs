//! What each strategy makes of sessions, made up and real, in a table.

use std::collections::BTreeMap;

use serde_json::json;

use super::session::{Size, append_known, compact_with, create, expected_calls};
use super::{Recording, of};
use crate::app::App;
use crate::data::Source;
use crate::drill_rounds::{recall_after, told_calls};
use crate::drill_support::{all, context};

const STRATEGIES: [&str; 8] = ["auto", "mask", "prune", "truncate", "sliding", "smart", "summarize", "llm_summarize"];
/// Smaller sessions say little about strategies.
const LEAST_TOKENS: u64 = 3_000;

#[derive(Default)]
struct Row {
    sessions: usize,
    skipped: usize,
    before: u64,
    after: u64,
    recall: Vec<(f64, f64)>,
    calls: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_strategy_on_made_up_sessions() {
    every_strategy(of(Source::Own), 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn every_strategy_on_real_sessions() {
    every_strategy(of(Source::Shared), 8).await;
}

/// Every Nth session of some size; all of those with `CORPUS_TABLE_EVERY=1`.
async fn every_strategy(recordings: Vec<Recording>, every: usize) {
    let every = std::env::var("CORPUS_TABLE_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(every);
    let app = App::shared();
    let large = recordings.into_iter().filter(is_large);
    let sample: Vec<Recording> = large.step_by(every).collect();
    let mut table: BTreeMap<usize, Row> = BTreeMap::new();
    for (at, strategy) in STRATEGIES.iter().enumerate() {
        let row = table.entry(at).or_default();
        for recording in &sample {
            run(app, recording, strategy, row).await;
        }
        assert!(row.sessions > 0, "no session of the sample is large enough");
    }
    print(&table);
}

/// Whether a session may have [`LEAST_TOKENS`], by its bytes.
fn is_large(recording: &Recording) -> bool {
    let bytes: usize = recording.items.iter().map(|item| item.to_string().len()).sum();
    bytes as u64 > 4 * LEAST_TOKENS
}

async fn run(app: &App, recording: &Recording, strategy: &str, row: &mut Row) {
    let session = create(app, recording).await;
    let Some(snapshot) = append_known(app, &session, recording).await else { return };
    let size = Size::of(&snapshot);
    if size.messages < LEAST_TOKENS {
        return;
    }
    let path = all(app, &format!("{session}/entries")).await;
    let calls = expected_calls(recording.format, &path);
    let done = compact_with(app, &session, size, json!({"strategy": strategy})).await;
    let (result, name) = (&done["result"], &recording.name);
    let tokens = |field: &str| result[field].as_u64().unwrap_or_else(|| panic!("{name}, {strategy}: {done}"));
    assert!(tokens("tokens_after") <= tokens("tokens_before"), "{name}, {strategy}: {result}");
    row.sessions += 1;
    row.before += tokens("tokens_before");
    row.after += tokens("tokens_after");
    if done["status"] != "succeeded" {
        println!(
            "{name}, {strategy}: {} {} at {} tokens",
            done["status"], result["skip_reason"], result["tokens_before"]
        );
        row.skipped += 1;
    }
    let listed = all(app, &format!("{session}/tool-calls")).await;
    let known: Vec<&str> = listed.iter().filter_map(|row| row["tool_call_id"].as_str()).collect();
    assert!(calls.iter().all(|call| known.contains(&call.as_str())), "{name}, {strategy}: a call is gone");
    if let Some(summary) = result["summary"].as_str() {
        row.recall.push((result["identifiers"]["recall"].as_f64().unwrap(), recall_after(result)));
        let shown = context(app, &session, recording.format).await;
        let entries = shown["entry_ids"].as_array().unwrap();
        let replaced = listed.iter().filter(|call| !entries.contains(&call["entry_id"])).count();
        let told = told_calls(summary);
        assert!(told >= replaced as u64, "{name}, {strategy}: {told} of {replaced} calls: {summary}");
        row.calls += replaced;
    }
}

fn mean(values: Vec<f64>) -> f64 {
    if values.is_empty() { 1.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn print(table: &BTreeMap<usize, Row>) {
    println!(
        "strategy      | sessions | skipped |   before |    after | savings | recall before, after restoring | calls told"
    );
    for (at, row) in table {
        let savings = 100.0 * (row.before - row.after) as f64 / row.before.max(1) as f64;
        let (before, after) = row.recall.iter().copied().unzip();
        println!(
            "{:13} | {:8} | {:7} | {:8} | {:8} | {savings:6.1}% | {:>13.3} {:>16.3} | {:15}",
            STRATEGIES[*at],
            row.sessions,
            row.skipped,
            row.before,
            row.after,
            mean(before),
            mean(after),
            row.calls
        );
    }
}
