//! `contextd compact`.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::compaction;
use crate::cli::client::{Answer, Service, ServiceArgs};
use crate::cli::fields::Fields;
use crate::cli::figures::{count, percent, usd};
use crate::cli::output::print;
use crate::cli::progress::Progress;
use crate::cli::text::visible;

const LOOK_EVERY: Duration = Duration::from_millis(300);

#[derive(Debug, Args)]
pub struct CompactArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Its id, or its external id.
    session: String,
    /// [default: as the session's settings say]
    #[arg(long, value_parser = ["auto", "mask", "prune", "truncate", "sliding", "smart", "summarize", "llm_summarize"])]
    strategy: Option<String>,
    /// What the summary is to dwell on.
    #[arg(long, value_name = "TOPIC")]
    focus: Option<String>,
    /// More for the summariser to heed.
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// Compact although the guard or the thresholds are against it.
    #[arg(long)]
    force: bool,
    /// Only say what would be done; calls no model.
    #[arg(long, conflicts_with_all = ["force", "wait"])]
    dry_run: bool,
    /// Wait for the end, at most so many seconds (600); Ctrl-C ends the waiting alone.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "600",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: Option<u64>,
    /// The API's answer as it is.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: CompactArgs) -> anyhow::Result<()> {
    let service = Service::new(&args.service)?;
    let session = service.session(&args.session).await?;
    let path = |last: &'static str| ["v1", "sessions", session.value.word("/id"), last];
    if args.dry_run {
        let body = json!({"include_messages": false, "settings": wishes(&args)});
        let answer = service.post(&path("prepare"), &body).await?;
        return if args.json { print(&(answer.text + "\n")) } else { print(&forecast(&answer.value)) };
    }
    let mut body = Value::Object(wishes(&args));
    if args.force {
        body["force"] = json!(true);
    }
    let mut answer = service.post(&path("compact"), &body).await?;
    if let Some(seconds) = args.wait {
        answer = ended(&service, answer, Duration::from_secs(seconds)).await?;
    }
    if args.json {
        print(&format!("{}\n", answer.text))?;
    } else {
        print(&(late(&args, &answer.value) + &told(&answer.value)))?;
    }
    match answer.value.word("/status") {
        status @ ("failed" | "cancelled") => bail!("the compaction {status}: {}", visible(answer.value.word("/error"))),
        _ => Ok(()),
    }
}

fn wishes(args: &CompactArgs) -> Map<String, Value> {
    let given = [("strategy", &args.strategy), ("focus_topic", &args.focus), ("instructions", &args.instructions)];
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_deref()?)))).collect()
}

/// Looks after a compaction until it is over.
async fn ended(service: &Service, begun: Answer, most: Duration) -> anyhow::Result<Answer> {
    let id = begun.value.word("/id").to_owned();
    let end = Instant::now() + most;
    let progress = Progress::spinner();
    let mut now = begun;
    while matches!(now.value.word("/status"), "queued" | "running") {
        progress.say(&format!("compaction {id}: {}", now.value.word("/status")));
        if Instant::now() > end {
            bail!("compaction {id} is still {} after {} s; it goes on", now.value.word("/status"), most.as_secs());
        }
        tokio::time::sleep(LOOK_EVERY).await;
        match service.get(&["v1", "compactions", &id], &[]).await {
            Ok(answer) => now = answer,
            // What is away for a while only delays the news.
            Err(fault) if fault.is_passing() => progress.say(&fault.to_string()),
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok(now)
}

/// One that was under way already is answered in place of a new one, and was begun without these wishes.
fn late(args: &CompactArgs, begun: &Value) -> String {
    match begun.word("/trigger") {
        "manual" | "" => String::new(),
        trigger if wishes(args).is_empty() => format!("one was under way already ({})\n", visible(trigger)),
        trigger => {
            format!("one was under way already ({}): what was asked for here did not change it\n", visible(trigger))
        }
    }
}

fn told(done: &Value) -> String {
    let (id, strategy) = (done.word("/id"), visible(compaction::strategy(done)));
    match done.word("/status") {
        "succeeded" => {
            let size = |at: &str| count(done.number(at));
            let saved = percent(done.figure("/result/savings_pct").unwrap_or_default());
            let net = done.pointer("/result/net").map(compaction::net).unwrap_or_default();
            let (before, after) = (size("/result/tokens_before"), size("/result/tokens_after"));
            let counts = format!(
                "{} messages summarised, {} kept, {} results masked, {} pruned",
                size("/result/messages_summarized"),
                size("/result/messages_kept"),
                size("/result/tool_results_masked"),
                size("/result/tool_results_pruned")
            );
            format!("{strategy}: {before} -> {after} tokens ({saved} less)\n{counts}\nnet: {net}\ncompaction {id}\n")
        }
        "skipped" => format!("skipped: {}\ncompaction {id}\n", visible(&compaction::remark(done))),
        status => format!("{status}\ncompaction {id}; `contextd show` tells how it went, --wait waits for it\n"),
    }
}

fn forecast(answer: &Value) -> String {
    if !answer.is("/possible") {
        return format!("nothing would be done: {}\n", visible(answer.word("/reason")));
    }
    let of = |at: &str| answer.number(&format!("/preparation{at}"));
    let estimate = answer.pointer("/preparation/estimate").unwrap_or(&Value::Null);
    let saved = percent(estimate.figure("/savings_pct").unwrap_or_default());
    let cost = estimate.figure("/cost_usd").map_or_else(|| "not known".to_owned(), usd);
    let remark = match answer.word("/reason") {
        "" => String::new(),
        reason => format!("by itself it would not start: {}\n", visible(reason)),
    };
    format!(
        "about {} -> {} tokens ({saved} less)\n{} tokens would be summarised, {} kept\na summariser would read {} tokens; cost {cost}\nnet: {}\n{remark}",
        count(of("/tokens_before")),
        count(estimate.number("/tokens_after")),
        count(of("/tokens_to_summarize")),
        count(of("/tokens_kept")),
        count(estimate.number("/summarizer_input_tokens")),
        estimate.pointer("/net").map(compaction::net).unwrap_or_default(),
    )
}
