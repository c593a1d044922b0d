//! Getting a summary out of an upstream: in parts where the window is too small, checked, with the built-in
//! summariser standing in where the session allows it.

use std::sync::{Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt, stream};

use crate::domain::compaction::{Fallback, UpstreamReport};
use crate::domain::settings::{Estimator, OnUpstreamFailure, Settings};
use crate::domain::summary::{Allowance, SummaryPart, SummaryTask, chunk};
use crate::domain::verify::{RejectReason, check_summary};
use crate::llm::{Completion, Upstream, UpstreamError, UpstreamKind, Upstreams};
use crate::service::work::SummaryOutcome;

/// Splits, folds and halvings of the window until a summary counts as impossible.
const MAX_ROUNDS: u32 = 8;
/// Asked again once where the answer is no summary.
const MAX_ANSWERS: u32 = 2;

/// What is to be summarised, and for whom.
pub struct Request<'a> {
    pub tasks: &'a [SummaryTask],
    pub settings: &'a Settings,
    /// No upstream is asked.
    pub builtin: bool,
    /// The upstream's name; `None`: the default one.
    pub upstream: Option<&'a str>,
    /// Size of what all the tasks stand for: no summary may be larger.
    pub replaced_tokens: u64,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("the upstream `{0}` is not configured")]
    Unknown(String),
    #[error("the upstream failed: {0}")]
    Upstream(#[from] UpstreamError),
    #[error("the upstream's answer was refused: {0}")]
    Rejected(#[from] RejectReason),
    #[error("the upstream's window is too small for this context")]
    DoesNotFit,
    #[error("the transcript could not be split")]
    Split(#[from] tokio::task::JoinError),
}

impl Failure {
    /// A stable word for `fallback.reason`.
    fn code(&self) -> &'static str {
        match self {
            Failure::Unknown(_) => "unknown_upstream",
            Failure::Upstream(error) => error.code(),
            Failure::Rejected(reason) => reason.code(),
            Failure::DoesNotFit => "context_overflow",
            Failure::Split(_) => "internal",
        }
    }

    fn is_overflow(&self) -> bool {
        matches!(self, Failure::Upstream(UpstreamError::ContextOverflow { .. }))
    }
}

/// Runs all tasks of a request: all by the upstream, or all by the built-in summariser.
pub async fn summarise(upstreams: &Upstreams, request: &Request<'_>) -> Result<SummaryOutcome, Failure> {
    let Some(upstream) = choose(upstreams, request) else {
        let name = request.upstream.unwrap_or_default().to_owned();
        return fall_back(upstreams, request, UpstreamReport::default(), &name, Failure::Unknown(name.clone())).await;
    };
    if request.tasks.is_empty() || upstream.config().kind == UpstreamKind::Builtin {
        let texts = builtin(upstreams, request).await?;
        return Ok(SummaryOutcome { builtin: !texts.is_empty(), ..outcome(request.tasks, texts) });
    }
    let caller = Caller::new(&upstream, request);
    let result = caller.all(request.tasks).await;
    let report = caller.spent.into_inner().unwrap_or_else(PoisonError::into_inner);
    match result {
        Ok(texts) => Ok(SummaryOutcome { upstream: report, ..outcome(request.tasks, texts) }),
        Err(failure) => fall_back(upstreams, request, report, &upstream.config().name, failure).await,
    }
}

fn choose(upstreams: &Upstreams, request: &Request<'_>) -> Option<std::sync::Arc<Upstream>> {
    match request.upstream {
        _ if request.builtin => Some(upstreams.builtin()),
        Some(name) => upstreams.get(name),
        None => Some(upstreams.default_upstream()),
    }
}

async fn fall_back(
    upstreams: &Upstreams,
    request: &Request<'_>,
    report: UpstreamReport,
    from: &str,
    failure: Failure,
) -> Result<SummaryOutcome, Failure> {
    let reason = failure.code();
    tracing::warn!(upstream = from, reason, "no summary from the upstream");
    metrics::counter!("contextd_summary_failures_total", "upstream" => from.to_owned(), "reason" => reason)
        .increment(1);
    if request.settings.on_upstream_failure == OnUpstreamFailure::Fail {
        return Err(failure);
    }
    let texts = builtin(upstreams, request).await?;
    let fallback = Fallback { used: true, from: Some(from.to_owned()), reason: Some(reason.to_owned()) };
    Ok(SummaryOutcome { upstream: report, fallback, builtin: true, ..outcome(request.tasks, texts) })
}

/// The built-in summariser writes to measure: its summary leaves the compaction worth doing.
async fn builtin(upstreams: &Upstreams, request: &Request<'_>) -> Result<Vec<String>, Failure> {
    let allowance = Allowance::new(request.replaced_tokens, request.settings.summary_reserve());
    let mut texts = Vec::new();
    for task in request.tasks {
        // Of two parts, the history has more to say.
        let share = match task.part {
            _ if request.tasks.len() == 1 => allowance.body,
            SummaryPart::TurnPrefix => allowance.body / 3,
            SummaryPart::History | SummaryPart::Branch => allowance.body / 3 * 2,
        };
        let task = SummaryTask { max_output_tokens: task.max_output_tokens.min(share), ..task.clone() };
        texts.push(upstreams.builtin().summarise(&task).await?.text);
    }
    Ok(texts)
}

fn outcome(tasks: &[SummaryTask], texts: Vec<String>) -> SummaryOutcome {
    let mut outcome = SummaryOutcome::default();
    for (task, text) in tasks.iter().zip(texts) {
        match task.part {
            SummaryPart::TurnPrefix => outcome.turn_prefix = Some(text),
            SummaryPart::History | SummaryPart::Branch => outcome.history = Some(text),
        }
    }
    outcome
}

/// An upstream being asked on behalf of one request.
struct Caller<'a> {
    upstream: &'a Upstream,
    estimator: Estimator,
    replaced_tokens: u64,
    /// Of failed requests too.
    spent: Mutex<UpstreamReport>,
}

/// Where a task stands after a round.
enum Step {
    Done(String),
    Folded(SummaryTask),
}

impl<'a> Caller<'a> {
    fn new(upstream: &'a Upstream, request: &Request<'_>) -> Caller<'a> {
        let config = upstream.config();
        let spent = UpstreamReport {
            name: Some(config.name.clone()),
            model: Some(config.model.clone()),
            ..UpstreamReport::default()
        };
        Caller {
            upstream,
            estimator: request.settings.estimator,
            replaced_tokens: request.replaced_tokens,
            spent: Mutex::new(spent),
        }
    }

    async fn all(&self, tasks: &[SummaryTask]) -> Result<Vec<String>, Failure> {
        self.concurrently(tasks, |task| self.whole(task)).await
    }

    /// Runs `ask` for all tasks, in order where the upstream takes one call at a time.
    async fn concurrently<'t, F>(
        &self,
        tasks: &'t [SummaryTask],
        ask: impl Fn(&'t SummaryTask) -> F,
    ) -> Result<Vec<String>, Failure>
    where
        F: Future<Output = Result<String, Failure>>,
    {
        let calls: Vec<F> = tasks.iter().map(ask).collect();
        stream::iter(calls).buffered(self.upstream.config().max_concurrency.max(1)).try_collect().await
    }

    /// One summary of the whole task, whatever its size.
    async fn whole(&self, task: &SummaryTask) -> Result<String, Failure> {
        let config = self.upstream.config();
        let output =
            task.max_output_tokens.min(config.max_output_tokens.unwrap_or(u32::MAX)).min(config.context_window / 2);
        let mut task = SummaryTask { max_output_tokens: output, ..task.clone() };
        // Our count of tokens is not the upstream's: a tenth is left free.
        let mut limit = (config.context_window - output) / 10 * 9;
        for _ in 0..MAX_ROUNDS {
            match self.round(&task, limit).await {
                Ok(Step::Done(text)) => return Ok(text),
                Ok(Step::Folded(folded)) => task = folded,
                Err(failure) if failure.is_overflow() => limit /= 2,
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::DoesNotFit)
    }

    async fn round(&self, task: &SummaryTask, limit: u32) -> Result<Step, Failure> {
        let (whole, estimator) = (task.clone(), self.estimator);
        let parts = tokio::task::spawn_blocking(move || chunk::split(&whole, limit, estimator)).await?;
        if let [whole] = parts.as_slice() {
            return self.answer(whole, self.replaced_tokens).await.map(Step::Done);
        }
        // What a part stands for is not known here; the fold's answer is measured.
        let notes = self.concurrently(&parts, |part| self.answer(part, u64::MAX)).await?;
        Ok(Step::Folded(chunk::fold(task, notes)))
    }

    /// One answer that stands up to its check.
    async fn answer(&self, task: &SummaryTask, replaced_tokens: u64) -> Result<String, Failure> {
        let mut rejected = RejectReason::Empty;
        for _ in 0..MAX_ANSWERS {
            let completion = self.upstream.summarise(task).await?;
            self.note(&completion);
            match check_summary(&completion.text, Some(completion.stop), replaced_tokens, self.estimator) {
                Ok(()) => return Ok(completion.text),
                Err(reason) => rejected = reason,
            }
        }
        Err(rejected.into())
    }

    fn note(&self, completion: &Completion) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.calls = spent.calls.saturating_add(completion.calls);
        spent.input_tokens = spent.input_tokens.saturating_add(completion.usage.input);
        spent.output_tokens = spent.output_tokens.saturating_add(completion.usage.output);
        spent.cached_tokens = spent.cached_tokens.saturating_add(completion.usage.cached);
        spent.cost_usd += self.upstream.config().cost_usd(&completion.usage);
        spent.latency_ms = spent.latency_ms.saturating_add(completion.latency.as_millis() as u64);
    }
}

#[cfg(test)]
mod tests;
