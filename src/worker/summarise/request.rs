//! Request for a summary, and the outcome that its text makes.

use crate::domain::compaction::result::Fallback;
use crate::domain::settings::Settings;
use crate::domain::summary::SummaryTask;
use crate::domain::summary::prefix::SessionPrefix;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::RecordTask;

/// Request for a summary: the task, its settings, and who is to write the summary.
pub struct Request<'a> {
    /// `None`: there is nothing to summarise.
    pub task: Option<&'a SummaryTask>,
    pub settings: &'a Settings,
    /// No upstream is asked.
    pub builtin: bool,
    /// A model was asked for by name of the strategy: that there is none to ask is said.
    pub wants_model: bool,
    /// The upstream's name; `None`: the default one.
    pub upstream: Option<&'a str>,
    /// What code writes where no model does.
    pub record: Option<&'a RecordTask>,
    /// Size of what the task stands for: no summary may be larger.
    pub replaced_tokens: u64,
    /// The session's own context, for upstreams that may be sent it.
    pub prefix: Option<&'a SessionPrefix>,
}

pub(super) fn outcome(text: String) -> SummaryOutcome {
    SummaryOutcome { history: Some(text), ..SummaryOutcome::default() }
}

/// The built-in summariser, or another upstream, in place of `from`.
pub(super) fn stands_in(from: Option<String>, reason: &str) -> Fallback {
    Fallback { used: true, from, reason: Some(reason.to_owned()) }
}
