//! Stage 4 of a compaction, summarise: what is asked of whom. Models are asked by the worker, with no connection held;
//! hooks and the rules here.

pub(crate) mod hooks;

use serde::{Deserialize, Serialize};

use crate::domain::compaction::fallback_reason::FallbackReason;
use crate::domain::compaction::result::{Fallback, UpstreamReport};
use crate::domain::hook::HookReport;
use crate::service::compaction::work::CompactionWork;
use crate::store::compactions::CompactionRow;

/// Summary by a summariser, and what it took.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SummaryOutcome {
    pub history: Option<String>,
    pub upstream: UpstreamReport,
    pub fallback: Fallback,
    /// The built-in summariser wrote it.
    pub builtin: bool,
    /// An upstream without a price was asked, so what it cost is not known.
    pub unpriced: bool,
    /// Reports of the hooks on the compaction.
    #[serde(default)]
    pub hooks: Vec<HookReport>,
}

impl SummaryOutcome {
    /// The same with what all calls of the compaction came to, where an account was kept of them.
    pub(crate) fn charged(&self, compaction: &CompactionRow) -> SummaryOutcome {
        let mut outcome = self.clone();
        if let Some(spent) = compaction.spent.spending() {
            outcome.upstream.charge(&spent);
        }
        outcome
    }

    /// Returns the cost of the summary in US dollars, where it is known.
    pub fn cost_usd(&self) -> Option<f64> {
        (!self.unpriced).then_some(self.upstream.cost_usd)
    }
}

/// The summary, by rules alone: where there is no time for a model, and in forecasts.
pub(super) fn by_rules(work: &CompactionWork) -> SummaryOutcome {
    let reason = Some(FallbackReason::WindowFull.to_string());
    let fallback = Fallback { used: true, from: work.upstream.clone(), reason };
    let builtin = work.summary_task.is_some();
    let upstream = if builtin { UpstreamReport::builtin() } else { UpstreamReport::default() };
    let history = work.summary_task.as_ref().and_then(|task| match &work.record {
        Some(record) => record.written(work.settings.estimator),
        None => Some(work.allowance().bounded(task).record()),
    });
    SummaryOutcome { history, fallback, upstream, builtin, ..SummaryOutcome::default() }
}
