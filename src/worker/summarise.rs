//! Getting a summary out of upstreams: one after the other where one fails, with the built-in summariser standing in
//! where the session allows it.

mod caller;

use std::sync::Arc;

use crate::domain::compaction::{Fallback, UpstreamReport};
use crate::domain::settings::{OnUpstreamFailure, Settings};
use crate::domain::summary::prefix::SessionPrefix;
use crate::domain::summary::{Allowance, SummaryPart, SummaryTask};
use crate::domain::verify::RejectReason;
use crate::llm::{BUILTIN, Spent, Upstream, UpstreamError, UpstreamKind, Upstreams};
use crate::service::work::SummaryOutcome;
use caller::Caller;

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
    /// The session's own context, for upstreams that may be sent it.
    pub prefix: Option<&'a SessionPrefix>,
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
    /// Several were asked, in this order.
    #[error("no upstream gave a summary: {}", list(.0))]
    All(Vec<(String, Failure)>),
}

fn list(failures: &[(String, Failure)]) -> String {
    let each: Vec<String> = failures.iter().map(|(name, failure)| format!("`{name}`: {failure}")).collect();
    each.join("; ")
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
            Failure::All(failures) => failures.first().map_or("internal", |(_, failure)| failure.code()),
        }
    }

    fn is_overflow(&self) -> bool {
        matches!(self, Failure::Upstream(UpstreamError::ContextOverflow { .. }))
    }
}

/// Runs all tasks of a request: all by one upstream, or all by the built-in summariser.
pub async fn summarise(upstreams: &Upstreams, request: &Request<'_>) -> Result<SummaryOutcome, Failure> {
    if request.tasks.is_empty() {
        return Ok(SummaryOutcome::default());
    }
    if request.builtin {
        return Trail::default().by_builtin(upstreams, request).await;
    }
    let mut trail = Trail::default();
    for (name, upstream) in chain(upstreams, request) {
        let Some(upstream) = upstream else {
            trail.failed(name.clone(), Failure::Unknown(name));
            continue;
        };
        if upstream.config().kind == UpstreamKind::Builtin {
            return trail.by_builtin(upstreams, request).await;
        }
        let caller = Caller::new(&upstream, request);
        let result = caller.all(request.tasks).await;
        trail.spent(&upstream, caller.spent());
        match result {
            Ok(outcome) => return Ok(trail.by_upstream(&upstream, outcome)),
            Err(failure) => trail.failed(name, failure),
        }
    }
    match request.settings.on_upstream_failure {
        OnUpstreamFailure::Fail => Err(trail.failure()),
        OnUpstreamFailure::Fallback => trail.by_builtin(upstreams, request).await,
    }
}

/// The upstreams to ask, in order: the session's, then its fallbacks. `None`: not configured.
fn chain(upstreams: &Upstreams, request: &Request<'_>) -> Vec<(String, Option<Arc<Upstream>>)> {
    let named = |name: &String| (name.clone(), upstreams.get(name));
    let first = match request.upstream {
        Some(name) => named(&name.to_owned()),
        None => (upstreams.default_upstream().config().name.clone(), Some(upstreams.default_upstream())),
    };
    let fallbacks = first.1.iter().flat_map(|first| first.config().fallbacks.iter().map(named)).collect::<Vec<_>>();
    std::iter::once(first).chain(fallbacks).collect()
}

/// What has been tried so far, and what it cost.
#[derive(Default)]
struct Trail {
    report: UpstreamReport,
    unpriced: bool,
    failures: Vec<(String, Failure)>,
}

impl Trail {
    fn spent(&mut self, upstream: &Upstream, spent: Spent) {
        let report = &mut self.report;
        report.calls = report.calls.saturating_add(spent.calls);
        report.input_tokens = report.input_tokens.saturating_add(spent.usage.input);
        report.output_tokens = report.output_tokens.saturating_add(spent.usage.output);
        report.cached_tokens = report.cached_tokens.saturating_add(spent.usage.cached);
        report.cost_usd += upstream.config().cost_usd(&spent.usage);
        report.latency_ms = report.latency_ms.saturating_add(spent.latency.as_millis() as u64);
        let used = spent.usage.input > 0 || spent.usage.output > 0;
        self.unpriced |= used && !upstream.config().is_priced;
    }

    fn failed(&mut self, name: String, failure: Failure) {
        let reason = failure.code();
        tracing::warn!(upstream = name, reason, "no summary from the upstream");
        metrics::counter!("contextd_summary_failures_total", "upstream" => name.clone(), "reason" => reason)
            .increment(1);
        self.failures.push((name, failure));
    }

    /// The failure of the only upstream, or of all of them.
    fn failure(mut self) -> Failure {
        match self.failures.pop() {
            Some((_, only)) if self.failures.is_empty() => only,
            last => Failure::All(self.failures.into_iter().chain(last).collect()),
        }
    }

    /// The upstream that was wanted, and why it was not the one.
    fn fallback(&self) -> Fallback {
        match self.failures.first() {
            None => Fallback::default(),
            Some((name, failure)) => {
                Fallback { used: true, from: Some(name.clone()), reason: Some(failure.code().to_owned()) }
            }
        }
    }

    fn by_upstream(self, upstream: &Upstream, outcome: SummaryOutcome) -> SummaryOutcome {
        let fallback = self.fallback();
        let config = upstream.config();
        let report = UpstreamReport {
            name: Some(config.name.clone()),
            model: Some(config.model.clone()),
            prefix_reused: outcome.upstream.prefix_reused,
            ..self.report
        };
        SummaryOutcome { upstream: report, fallback, unpriced: self.unpriced, ..outcome }
    }

    async fn by_builtin(self, upstreams: &Upstreams, request: &Request<'_>) -> Result<SummaryOutcome, Failure> {
        let texts = builtin(upstreams, request).await?;
        let fallback = self.fallback();
        let name = fallback.used.then(|| BUILTIN.to_owned());
        let upstream = UpstreamReport { name, ..self.report };
        let unpriced = self.unpriced;
        Ok(SummaryOutcome { upstream, fallback, unpriced, builtin: true, ..outcome(request.tasks, texts) })
    }
}

/// The built-in summariser writes to measure: its summary leaves the compaction worth doing.
async fn builtin(upstreams: &Upstreams, request: &Request<'_>) -> Result<Vec<String>, Failure> {
    let allowance = Allowance::new(request.replaced_tokens, request.settings.summary_reserve());
    let mut texts = Vec::new();
    for task in request.tasks {
        let share = allowance.share(task.part, request.tasks.len());
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

#[cfg(test)]
mod tests;
