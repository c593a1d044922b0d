//! Request for summaries, and the outcome that the summaries' texts make.

use crate::domain::compaction::result::Fallback;
use crate::domain::settings::Settings;
use crate::domain::summary::prefix::SessionPrefix;
use crate::domain::summary::{SummaryPart, SummaryTask};
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::RecordTask;

/// Request for summaries: the tasks, their settings, and who is to write the summaries.
pub struct Request<'a> {
    pub tasks: &'a [SummaryTask],
    pub settings: &'a Settings,
    /// No upstream is asked.
    pub builtin: bool,
    /// A model was asked for by name of the strategy: that there is none to ask is said.
    pub wants_model: bool,
    /// The upstream's name; `None`: the default one.
    pub upstream: Option<&'a str>,
    /// What code writes where no model does: of all tasks together.
    pub record: Option<&'a RecordTask>,
    /// Size of what all the tasks stand for: no summary may be larger.
    pub replaced_tokens: u64,
    /// Tokens of the user's words that are shown beside the summaries.
    pub words: u32,
    /// The session's own context, for upstreams that may be sent it.
    pub prefix: Option<&'a SessionPrefix>,
}

/// One text for each task, in their order.
pub(super) fn outcome(tasks: &[SummaryTask], texts: Vec<String>) -> SummaryOutcome {
    let mut outcome = SummaryOutcome::default();
    for (task, text) in tasks.iter().zip(texts) {
        match task.part {
            SummaryPart::TurnPrefix => outcome.turn_prefix = Some(text),
            SummaryPart::History | SummaryPart::Branch => outcome.history = Some(text),
        }
    }
    outcome
}

/// The built-in summariser, or another upstream, in place of `from`.
pub(super) fn stands_in(from: Option<String>, reason: &str) -> Fallback {
    Fallback { used: true, from, reason: Some(reason.to_owned()) }
}
