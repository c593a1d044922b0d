//! Tasks of a summariser.

use crate::domain::model::message::Message;
use crate::domain::redaction::Redaction;
use crate::domain::summary::verify::orders;
use crate::domain::summary::{Allowance, SummaryPart, SummaryTask};
use crate::service::compaction::plan::PlannedCompaction;

/// Shares of the reserve that bound a summary of the history and of a split turn's beginning, in percent.
const HISTORY_SHARE: u64 = 80;
const TURN_PREFIX_SHARE: u64 = 50;

/// Lists the tasks of a summariser: the history where there is any, and the beginning of a split turn. Neither is asked
/// for more than its share of what the summary may take.
pub(super) fn tasks(
    planned: &PlannedCompaction,
    allowance: Allowance,
    history: Vec<Message>,
    turn_prefix: Vec<Message>,
) -> Vec<SummaryTask> {
    if !planned.asks() {
        return Vec::new();
    }
    let previous = planned
        .loaded
        .record()
        .filter(|_| !planned.afresh())
        .and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()))
        // What got in before it was looked for goes no further.
        .map(|summary| orders::without(&summary, &[]).into_owned())
        .map(|summary| Redaction::of(&planned.settings.redact).redact(&summary, None).into_owned())
        .filter(|summary| !summary.is_empty());
    let mut tasks = Vec::new();
    if !history.is_empty() {
        tasks.push(task(planned, SummaryPart::History, previous, history));
    }
    if !turn_prefix.is_empty() {
        tasks.push(task(planned, SummaryPart::TurnPrefix, None, turn_prefix));
    }
    allowance.asked(tasks)
}

fn task(
    planned: &PlannedCompaction,
    part: SummaryPart,
    previous: Option<String>,
    messages: Vec<Message>,
) -> SummaryTask {
    let settings = &planned.settings;
    let share = if part == SummaryPart::TurnPrefix { TURN_PREFIX_SHARE } else { HISTORY_SHARE };
    let bound = u32::try_from(u64::from(settings.summary_reserve()) * share / 100).unwrap_or(u32::MAX).max(1);
    SummaryTask {
        part,
        template: settings.template,
        prompt: settings.prompt.clone(),
        previous,
        messages: messages.into(),
        shown: None,
        focus_topic: settings.focus_topic.clone(),
        instructions: settings.instructions.clone(),
        max_output_tokens: settings.summary_max_tokens.map_or(bound, |most| most.min(bound)),
        correction: None,
    }
}
