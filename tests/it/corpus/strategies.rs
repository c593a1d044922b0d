//! Every strategy that asks no model, on recorded sessions: compacted twice, valid in each format after each.

use std::collections::HashMap;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::session::{Size, append_known, check_contexts, create};
use super::{CONCURRENCY, Recording, recordings};
use crate::app::App;
use crate::drill_support::{all, compact};

const STRATEGIES: [&str; 4] = ["truncate", "sliding", "smart", "prune"];
/// Sessions of one file.
const PER_FILE: usize = 3;
const FEWEST_ITEMS: usize = 8;

/// What the runs of one strategy come to.
#[derive(Default)]
struct Row {
    runs: u64,
    succeeded: u64,
    reached: u64,
    before: u64,
    after: u64,
    removed: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_strategy_leaves_a_valid_context() {
    let all = recordings();
    let mut of_file: HashMap<&str, usize> = HashMap::new();
    let some: Vec<&Recording> = all
        .iter()
        .filter(|recording| recording.items.len() >= FEWEST_ITEMS)
        .filter(|recording| {
            let file = recording.name.split(' ').next().unwrap();
            let seen = of_file.entry(file).or_default();
            *seen += 1;
            *seen <= PER_FILE
        })
        .collect();
    let runs = some.iter().flat_map(|recording| STRATEGIES.map(|strategy| (*recording, strategy)));
    let app = App::shared();
    let outcomes: Vec<(&str, Row, Vec<String>)> = stream::iter(runs)
        .map(|(recording, strategy)| async move {
            let mut faults = Vec::new();
            let row = run(app, recording, strategy, &mut faults).await;
            (
                strategy,
                row,
                faults.into_iter().map(|fault| format!("{strategy}, {}: {fault}", recording.name)).collect(),
            )
        })
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await;
    println!("strategy   runs  done  target reached  tokens before → after  messages removed");
    for strategy in STRATEGIES {
        let sum = |of: fn(&Row) -> u64| -> u64 {
            outcomes.iter().filter(|outcome| outcome.0 == strategy).map(|outcome| of(&outcome.1)).sum()
        };
        println!(
            "{strategy:9} {:5} {:5} {:15} {:>12} → {:<8} {:8}",
            sum(|row| row.runs),
            sum(|row| row.succeeded),
            sum(|row| row.reached),
            sum(|row| row.before),
            sum(|row| row.after),
            sum(|row| row.removed),
        );
        assert!(sum(|row| row.succeeded) > 0, "{strategy} never did anything");
    }
    let faults: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.2).collect();
    assert!(faults.is_empty(), "{} faults, the first: {:#?}", faults.len(), &faults[..faults.len().min(10)]);
}

async fn run(app: &App, recording: &Recording, strategy: &str, faults: &mut Vec<String>) -> Row {
    let session = create(app, recording).await;
    let mut row = Row { runs: 1, ..Row::default() };
    let Some(snapshot) = append_known(app, &session, recording).await else { return row };
    let size = Size::of(&snapshot);
    let reserve = (size.tokens / 4).max(64);
    let target = (size.tokens - size.messages / 2).max(1);
    let settings = json!({"context_window": size.tokens + reserve + 1, "reserve_tokens": reserve,
                          "target_tokens": target, "keep_recent_tokens": size.messages / 4});
    app.patch(&session, json!({"settings": settings})).await.expect(200);
    let path = all(app, &format!("{session}/entries")).await;
    for round in ["first", "second"] {
        let done = compact(app, &session, json!({"strategy": strategy})).await;
        check(strategy, &done, faults);
        if done["status"] == "succeeded" {
            let result = &done["result"];
            let number = |name: &str| result[name].as_u64().unwrap();
            row.succeeded += 1;
            row.reached += u64::from(result["target_reached"] == true);
            row.before += number("tokens_before");
            row.after += number("tokens_after");
            row.removed += number("messages_removed");
            let now = app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"].as_u64();
            if now != Some(number("tokens_after")) {
                faults.push(format!("{round}: {now:?} tokens in the snapshot, {}", number("tokens_after")));
            }
            if !was_made_to_fit(&done) {
                check_summary(app, &session, strategy, faults).await;
            }
        }
        check_contexts(app, &session, recording, &path, round, faults).await;
        if recording.format == "pi" {
            return row;
        }
        let said = recording.items[..recording.items.len().min(40)].to_vec();
        let again = json!({"format": recording.format, "items": said});
        app.post(&format!("{session}/entries"), again).await.expect(201);
    }
    row
}

/// The strategy alone would have left more than the window, in a session that nothing else compacts: it was made to fit.
fn was_made_to_fit(done: &Value) -> bool {
    done["result"]["fallback"]["reason"] == "window_full"
}

fn check(strategy: &str, done: &Value, faults: &mut Vec<String>) {
    let result = &done["result"];
    let (before, after) = (result["tokens_before"].as_u64(), result["tokens_after"].as_u64());
    let fine = match done["status"].as_str().unwrap() {
        "succeeded" => after < before && (result["strategy_used"] == strategy || was_made_to_fit(done)),
        "skipped" => after == before && result["skip_reason"].is_string(),
        _ => false,
    };
    if !fine {
        faults.push(format!("{done}"));
    }
}

/// One summary message, with one notice. None at all only where the target is narrow and no call was left out.
async fn check_summary(app: &App, session: &str, strategy: &str, faults: &mut Vec<String>) {
    if strategy == "prune" {
        return;
    }
    let entries = all(app, &format!("{session}/entries")).await;
    let Some(record) = entries.iter().rfind(|entry| entry["type"] == "compaction") else {
        faults.push("no compaction entry".to_owned());
        return;
    };
    let Some(summary) = record["item"]["summary"].as_str() else {
        let shown = app.get(&format!("{session}/context?format=native")).await.expect(200)["messages"].to_string();
        let calls = all(app, &format!("{session}/tool-calls")).await;
        let gone = calls.iter().filter(|call| !shown.contains(call["tool_call_id"].as_str().unwrap())).count();
        if gone > 0 {
            faults.push(format!("{gone} calls are gone without a summary"));
        }
        return;
    };
    if summary.matches("## Left Out").count() != 1 {
        faults.push(format!("notices in {summary}"));
    }
}
