//! Getting a summary out of upstreams: one after the other where one fails, with the built-in summariser standing in
//! where the session allows it.

mod answers;
mod caller;
mod calls;
mod failure;
mod judge;
mod request;

use std::sync::Arc;

use crate::domain::compaction::fallback_reason::FallbackReason;
use crate::domain::compaction::result::{Fallback, UpstreamReport};
use crate::domain::settings::OnUpstreamFailure;
use crate::domain::summary::prompt::PROMPT_VERSION;
use crate::domain::summary::{Allowance, SummaryTask, worth};
use crate::domain::tokens::nano_usd::NanoUsd;
use crate::families;
use crate::llm::{BUILTIN, Spent, Upstream, UpstreamKind, Upstreams};
use crate::service::compaction::facts;
use crate::service::compaction::summarise::SummaryOutcome;
use caller::Caller;
use request::{outcome, stands_in};

pub use failure::Failure;
pub use request::Request;

/// Has a summary written by an upstream, or by the built-in summariser.
pub async fn summarise(upstreams: &Upstreams, request: &Request<'_>) -> Result<SummaryOutcome, Failure> {
    let Some(task) = request.task else { return Ok(SummaryOutcome::default()) };
    if request.builtin {
        return Trail::default().by_builtin(upstreams, request, task).await;
    }
    let pays = pays(task, request.replaced_tokens).await?;
    let mut trail = Trail::default();
    for (name, upstream) in chain(upstreams, request) {
        let Some(upstream) = upstream else {
            trail.failed(name.clone(), Failure::Unknown(name));
            continue;
        };
        if upstream.config().kind == UpstreamKind::Builtin {
            // Who names the built-in summariser gets what was asked for.
            let stands_in_for_model = request.wants_model && request.upstream.is_none_or(|asked| asked != name);
            trail.unasked = stands_in_for_model.then(|| stands_in(None, FallbackReason::NoUpstream.into_str()));
            return trail.by_builtin(upstreams, request, task).await;
        }
        if !pays {
            trail.unasked = Some(stands_in(Some(name), FallbackReason::TooSmall.into_str()));
            return trail.by_builtin(upstreams, request, task).await;
        }
        let caller = Caller::new(&upstream, request, upstreams.account().clone());
        let result = caller.written(task).await;
        trail.spent(&upstream, caller.spent());
        match result {
            Ok(outcome) => return Ok(trail.by_upstream(&upstream, outcome)),
            Err(failure) => trail.failed(name, failure),
        }
    }
    match request.settings.on_upstream_failure {
        OnUpstreamFailure::Fail => {
            facts::note(|facts| (facts.upstream, facts.calls) = (trail.first(), Some(trail.report.calls)));
            Err(trail.failure())
        }
        OnUpstreamFailure::Fallback => trail.by_builtin(upstreams, request, task).await,
    }
}

/// Returns true if there is enough to summarise for a model's summary to pay.
async fn pays(task: &SummaryTask, replaced_tokens: u64) -> Result<bool, Failure> {
    let task = task.clone();
    Ok(tokio::task::spawn_blocking(move || worth::pays(&task, replaced_tokens)).await?)
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

/// Record of what has been tried so far, and what it cost.
#[derive(Default)]
struct Trail {
    report: UpstreamReport,
    cost: NanoUsd,
    unpriced: bool,
    failures: Vec<(String, Failure)>,
    /// Why no model was asked, where one was wanted.
    unasked: Option<Fallback>,
}

impl Trail {
    fn spent(&mut self, upstream: &Upstream, spent: Spent) {
        let report = &mut self.report;
        report.calls = report.calls.saturating_add(spent.calls);
        report.input_tokens = report.input_tokens.saturating_add(spent.usage.input);
        report.output_tokens = report.output_tokens.saturating_add(spent.usage.output);
        report.cached_tokens = report.cached_tokens.saturating_add(spent.usage.cached);
        report.cache_write_tokens = report.cache_write_tokens.saturating_add(spent.usage.cache_write);
        self.cost = self.cost.plus(spent.cost);
        report.cost_usd = self.cost.usd();
        report.latency_ms = report.latency_ms.saturating_add(spent.latency.as_millis() as u64);
        let used = spent.usage.input > 0 || spent.usage.output > 0;
        self.unpriced |= used && !upstream.config().is_priced;
    }

    fn failed(&mut self, name: String, failure: Failure) {
        let reason = failure.code();
        tracing::warn!(upstream = name, reason, "no summary from the upstream");
        // Stored settings may name one that the configuration no longer has: no label of ours.
        let label = if matches!(failure, Failure::Unknown(_)) { "unknown".to_owned() } else { name.clone() };
        metrics::counter!(families::COMPACTION_UPSTREAM_FAILURES, "upstream" => label, "reason" => reason).increment(1);
        self.failures.push((name, failure));
    }

    /// The upstream that was wanted, where it has failed.
    fn first(&self) -> Option<String> {
        self.failures.first().map(|(name, _)| name.clone())
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
            None => self.unasked.clone().unwrap_or_default(),
            Some((name, failure)) => stands_in(Some(name.clone()), failure.code()),
        }
    }

    fn by_upstream(self, upstream: &Upstream, outcome: SummaryOutcome) -> SummaryOutcome {
        let (fallback, config) = (self.fallback(), upstream.config());
        tracing::debug!(upstream = config.name, prompt = PROMPT_VERSION, "a summary was written");
        let report = UpstreamReport {
            name: Some(config.name.clone()),
            model: Some(config.model.clone()),
            prefix_reused: outcome.upstream.prefix_reused,
            ..self.report
        };
        SummaryOutcome { upstream: report, fallback, unpriced: self.unpriced, ..outcome }
    }

    async fn by_builtin(
        self,
        upstreams: &Upstreams,
        request: &Request<'_>,
        task: &SummaryTask,
    ) -> Result<SummaryOutcome, Failure> {
        let written = outcome(match written(request).await? {
            Some(record) => record,
            None => builtin(upstreams, request, task).await?,
        });
        let fallback = self.fallback();
        let upstream = UpstreamReport { name: Some(BUILTIN.to_owned()), ..self.report };
        let unpriced = self.unpriced;
        Ok(SummaryOutcome { upstream, fallback, unpriced, builtin: true, ..written })
    }
}

/// The record of a compaction's whole history.
async fn written(request: &Request<'_>) -> Result<Option<String>, Failure> {
    let Some(record) = request.record.cloned() else { return Ok(None) };
    let estimator = request.settings.estimator;
    Ok(tokio::task::spawn_blocking(move || record.written(estimator)).await?)
}

/// The built-in summariser writes to measure: its summary leaves the compaction worth doing.
async fn builtin(upstreams: &Upstreams, request: &Request<'_>, task: &SummaryTask) -> Result<String, Failure> {
    let allowance = Allowance::new(request.replaced_tokens, request.settings.summary_reserve());
    Ok(upstreams.builtin().summarise(&allowance.bounded(task)).await?.text)
}

#[cfg(test)]
mod tests;
