//! One job, from claim to settlement: its work, its heartbeat, its log line.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use metrics::{counter, histogram};
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use super::context::{RELEASE_WITHIN, WorkerContext};
use super::handler::{Handler, JobOutcome};
use super::pause::within;
use crate::background::at_usual_priority;
use crate::backoff::{doubled, jittered};
use crate::families;
use crate::service::compaction::Status;
use crate::service::compaction::facts::{CollectedFacts, Facts};
use crate::store::compactions;
use crate::store::queue::{self, Job, Retried};
use crate::trace::{Beginning, KeyValue, Span, SpanKind};

/// How an attempt ended.
enum End {
    Left(JobOutcome),
    /// The shutdown's time was up.
    Abandoned,
}

pub async fn run<H: Handler>(context: Arc<WorkerContext<H>>, job: Job) {
    let span = Span::of_queued(job.cause().as_ref(), || beginning(&job)).for_conversation(&job.session_id);
    let trace_id = span.context().map(|context| context.trace_id());
    let log = tracing::info_span!(
        "job", kind = job.kind.into_str(), tenant = %job.tenant, job = %job.id, session = %job.session_id,
        compaction = job.compaction_id.map(tracing::field::display), attempt = job.attempts, trace_id,
    );
    let facts = CollectedFacts::default();
    histogram!(families::QUEUE_WAIT_SECONDS, "kind" => job.kind.into_str()).record(job.waited_seconds);
    let started = Instant::now();
    let (outcome, error) = span.within(facts.of(attempted(&context, &job))).instrument(log).await;
    let elapsed = started.elapsed();
    counter!(families::QUEUE_ATTEMPTS, "kind" => job.kind.into_str(), "outcome" => outcome).increment(1);
    histogram!(families::QUEUE_ATTEMPT_SECONDS, "kind" => job.kind.into_str()).record(elapsed);
    span.set(|| vec![KeyValue::new("contextd.job.outcome", outcome)]);
    if outcome != "done" {
        span.fail(outcome);
    }
    log_line(&job, trace_id.as_deref(), elapsed, outcome, error.as_deref(), &facts.get());
}

/// Makes an attempt and records its end. Gives the word for it, and what went wrong.
async fn attempted<H: Handler>(context: &WorkerContext<H>, job: &Job) -> (&'static str, Option<String>) {
    let end = attempt(context, job).await;
    let settled = within(RELEASE_WITHIN, settle(context, job, &end)).await;
    let outcome = settled.unwrap_or_else(|error| {
        tracing::error!(%error, "the job's end could not be recorded; its lease will run out");
        "unsettled"
    });
    match end {
        End::Left(JobOutcome::Retry(error)) => (outcome, Some(error)),
        End::Left(_) | End::Abandoned => (outcome, None),
    }
}

fn beginning(job: &Job) -> Beginning {
    let mut attributes = vec![
        KeyValue::new("contextd.job.id", job.id.to_string()),
        KeyValue::new("contextd.job.kind", job.kind.into_str()),
        KeyValue::new("contextd.job.attempt", i64::from(job.attempts)),
        KeyValue::new("contextd.job.queue_wait_ms", queue_wait_ms(job)),
        KeyValue::new("contextd.tenant.id", job.tenant.to_string()),
        KeyValue::new("gen_ai.conversation.id", job.session_id.to_string()),
    ];
    attributes.extend(job.compaction_id.map(|id| KeyValue::new("contextd.compaction.id", id.to_string())));
    Beginning::new(format!("job {}", job.kind.into_str()), SpanKind::Consumer, attributes)
}

fn queue_wait_ms(job: &Job) -> i64 {
    (job.waited_seconds * 1_000.0).round() as i64
}

/// The one line that an attempt leaves in the log when all goes well.
fn log_line(
    job: &Job,
    trace_id: Option<&str>,
    elapsed: Duration,
    outcome: &'static str,
    error: Option<&str>,
    facts: &Facts,
) {
    tracing::info!(
        kind = job.kind.into_str(),
        tenant = %job.tenant,
        job = %job.id,
        session = %job.session_id,
        compaction = job.compaction_id.map(tracing::field::display),
        trace_id,
        attempt = job.attempts,
        queue_wait_ms = queue_wait_ms(job),
        duration_ms = elapsed.as_millis() as u64,
        outcome,
        status = facts.status,
        trigger = facts.trigger,
        strategy = facts.strategy,
        skip_reason = facts.skip_reason,
        tokens_before = facts.tokens_before,
        tokens_after = facts.tokens_after,
        upstream = facts.upstream,
        model = facts.model,
        calls = facts.calls,
        fallback = facts.fallback,
        error = error.or(facts.error),
        "job"
    );
}

async fn attempt<H: Handler>(context: &WorkerContext<H>, job: &Job) -> End {
    let work = AssertUnwindSafe(at_usual_priority(Box::pin(context.handler.run(job)))).catch_unwind();
    tokio::select! {
        // First of all the work: a commit removes the row that the heartbeat looks for.
        biased;
        result = work => End::Left(result.unwrap_or_else(|_| JobOutcome::Retry("internal error".to_owned()))),
        () = lease_lost(context, job) => End::Left(JobOutcome::LeaseLost),
        () = context.abandon.cancelled() => End::Abandoned,
    }
}

/// Renews the lease until it is lost: to another worker, by cancellation, or because the database was away for
/// so long that another worker may have the job.
async fn lease_lost<H: Handler>(context: &WorkerContext<H>, job: &Job) {
    let lease = context.options.lease;
    let mut renewed = Instant::now();
    while renewed.elapsed() < lease {
        sleep(lease / 3).await;
        let asked = Instant::now();
        match within(lease / 3, queue::heartbeat(&context.pool, job, lease)).await {
            Ok(true) => renewed = asked,
            Ok(false) => return,
            Err(error) => tracing::warn!(%error, "the lease was not renewed"),
        }
    }
}

/// Records the end. Gives the word for it in logs and metrics.
async fn settle<H: Handler>(context: &WorkerContext<H>, job: &Job, end: &End) -> sqlx::Result<&'static str> {
    Ok(match end {
        End::Left(JobOutcome::Done) => "done",
        End::Left(JobOutcome::LeaseLost) => "lease_lost",
        End::Left(JobOutcome::Retry(error)) => {
            match queue::retry(&context.pool, job, error, retry_delay(context, job)).await? {
                Retried::Pending => "retry",
                Retried::Dead => {
                    count_failed(failed_compaction(context, job).await?);
                    "dead"
                }
                Retried::LeaseLost => "lease_lost",
            }
        }
        End::Abandoned if queue::release(&context.pool, job).await? => "released",
        End::Abandoned => "lease_lost",
    })
}

/// Strategy and trigger of the compaction of a job whose attempts are spent.
async fn failed_compaction<H>(context: &WorkerContext<H>, job: &Job) -> sqlx::Result<Option<(String, String)>> {
    let Some(id) = job.compaction_id else { return Ok(None) };
    let row = compactions::get(&context.pool, job.tenant, id).await?;
    Ok(row.map(|row| (row.strategy, row.trigger)))
}

/// Counts a compaction that has failed with its job: by its strategy and its trigger, words that the database checks.
pub(super) fn count_failed(compaction: Option<(String, String)>) {
    let Some((strategy, trigger)) = compaction else { return };
    let status = Status::Failed.into_str();
    counter!(families::COMPACTIONS, "status" => status, "strategy" => strategy, "trigger" => trigger).increment(1);
}

fn retry_delay<H>(context: &WorkerContext<H>, job: &Job) -> Duration {
    let failures = u32::try_from(job.attempts).unwrap_or(1);
    jittered(doubled(context.options.retry_base, context.options.retry_max, failures))
}
