//! Facts of a compaction, for the span and the one log line that tell of it: figures and words, nothing of the transcript.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use crate::domain::compaction::result::CompactionResult;
use crate::service::compaction::committing;
use crate::service::compaction::job::Trigger;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::trace::{Beginning, KeyValue, Span, SpanKind};

tokio::task_local! {
    static CURRENT: CollectedFacts;
}

/// What is known of a compaction, or of a branch's summary.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub trigger: Option<&'static str>,
    pub strategy: Option<&'static str>,
    /// `succeeded`, `skipped`, `failed`, or `prepared`: written, and kept until the context is red.
    pub status: Option<&'static str>,
    pub skip_reason: Option<&'static str>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
    pub savings_pct: Option<f64>,
    pub upstream: Option<String>,
    pub model: Option<String>,
    pub calls: Option<u32>,
    /// Why another than the upstream that was wanted wrote the summary.
    pub fallback: Option<String>,
    /// The failure's code.
    pub error: Option<&'static str>,
}

/// Facts as they are noted by the work within [`CollectedFacts::of`]. Cheap to clone; all clones hold the same.
#[derive(Debug, Clone, Default)]
pub struct CollectedFacts(Arc<Mutex<Facts>>);

impl CollectedFacts {
    /// Does work and collects what it notes.
    pub fn of<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.clone(), Box::pin(work))
    }

    pub fn get(&self) -> Facts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Notes facts of the compaction at hand; nobody may be collecting them.
pub fn note(change: impl FnOnce(&mut Facts)) {
    let _ = CURRENT.try_with(|facts| facts.note(change));
}

/// As [`note`], once they are committed.
pub(crate) fn note_committed(change: impl FnOnce(&mut Facts) + Send + 'static) {
    if let Ok(facts) = CURRENT.try_with(Clone::clone) {
        committing::tell(move || facts.note(change));
    }
}

/// Notes who wrote the summary.
pub fn note_summary(outcome: &SummaryOutcome) {
    note(|facts| {
        let report = &outcome.upstream;
        (facts.upstream, facts.model) = (report.name.clone(), report.model.clone());
        facts.calls = Some(report.calls);
        facts.fallback.clone_from(&outcome.fallback.reason);
    });
}

/// Notes how a compaction ended, once that is committed.
pub(crate) fn note_result(trigger: Option<Trigger>, status: &'static str, result: &CompactionResult) {
    let report = &result.upstream;
    let ended = Facts {
        trigger: trigger.map(|trigger| trigger.into_str()),
        strategy: Some(result.strategy_used.into_str()),
        status: Some(status),
        skip_reason: result.skip_reason.map(|reason| reason.into_str()),
        tokens_before: Some(result.tokens_before),
        tokens_after: Some(result.tokens_after),
        savings_pct: Some(result.savings_pct),
        upstream: report.name.clone(),
        model: report.model.clone(),
        calls: Some(report.calls),
        fallback: result.fallback.reason.clone(),
        error: None,
    };
    note_committed(move |facts| *facts = Facts { trigger: ended.trigger.or(facts.trigger), ..ended });
}

/// Carries a compaction out within its span. A transcript that is not stored has neither id nor session.
pub fn observed<F: Future>(ids: Option<(Uuid, Uuid)>, work: F) -> impl Future<Output = F::Output> + use<F> {
    observed_boxed(ids, Box::pin(work))
}

async fn observed_boxed<F: Future>(ids: Option<(Uuid, Uuid)>, work: Pin<Box<F>>) -> F::Output {
    let span = Span::child(|| {
        let attributes = ids.into_iter().flat_map(|(session_id, compaction_id)| {
            let conversation = KeyValue::new("gen_ai.conversation.id", session_id.to_string());
            [KeyValue::new("contextd.compaction.id", compaction_id.to_string()), conversation]
        });
        Beginning::new("compaction", SpanKind::Internal, attributes.collect())
    });
    let facts = CURRENT.try_with(Clone::clone).unwrap_or_default();
    let done = span.within(facts.of(work)).await;
    committing::at_end(move |has_landed| {
        span.set(|| attributes(&facts.get()));
        if let Some(error) = facts.get().error.or((!has_landed).then_some("internal")) {
            span.fail(error);
        }
    });
    done
}

fn attributes(facts: &Facts) -> Vec<KeyValue> {
    let word = |name: &'static str, word: Option<&'static str>| word.map(|word| KeyValue::new(name, word));
    let text = |name: &'static str, text: &Option<String>| text.clone().map(|text| KeyValue::new(name, text));
    let figure = |name: &'static str, figure: Option<u64>| {
        figure.map(|figure| KeyValue::new(name, i64::try_from(figure).unwrap_or(i64::MAX)))
    };
    // The convention wants it where it is true, and nowhere else.
    let landed = (facts.status == Some("succeeded")).then(|| KeyValue::new("gen_ai.conversation.compacted", true));
    [
        word("contextd.compaction.trigger", facts.trigger),
        word("contextd.compaction.strategy", facts.strategy),
        word("contextd.compaction.outcome", facts.status),
        word("contextd.compaction.skip_reason", facts.skip_reason),
        figure("contextd.compaction.tokens_before", facts.tokens_before),
        figure("contextd.compaction.tokens_after", facts.tokens_after),
        facts.savings_pct.map(|saved| KeyValue::new("contextd.compaction.saved_pct", saved)),
        text("contextd.compaction.upstream", &facts.upstream),
        figure("contextd.compaction.calls", facts.calls.map(u64::from)),
        text("contextd.compaction.fallback_reason", &facts.fallback),
        landed,
    ]
    .into_iter()
    .flatten()
    .collect()
}
