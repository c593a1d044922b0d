//! The task of a summariser.

use std::sync::Arc;

use crate::domain::model::message::Message;
use crate::domain::record::{RecordSource, is_record};
use crate::domain::redaction::Redaction;
use crate::domain::summary::{Allowance, SummaryPart, SummaryTask, USUAL_ROOM};
use crate::service::compaction::plan::PlannedCompaction;

/// Share of the reserve that bounds a summary, in percent.
const SHARE: u64 = 80;

/// The one task of a compaction, over all that it replaces: no more is asked for than the summary may take. `None`: there
/// is nothing to summarise.
pub(super) fn task(
    planned: &PlannedCompaction,
    allowance: Allowance,
    messages: Vec<Message>,
    source: Option<Arc<RecordSource>>,
    span_tokens: u64,
) -> Option<SummaryTask> {
    if !planned.asks() || messages.is_empty() {
        return None;
    }
    let settings = &planned.settings;
    let previous = planned
        .loaded
        .record()
        .filter(|_| !planned.afresh())
        .and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()))
        .map(|summary| Redaction::of(&planned.settings.redact).redact(&summary, None).into_owned())
        // A record is told anew.
        .filter(|summary| !summary.is_empty() && !is_record(summary));
    let newer_from = previous.as_ref().and_then(|_| newer_from(planned));
    let bound = u32::try_from(u64::from(settings.summary_reserve()) * SHARE / 100).unwrap_or(u32::MAX).max(1);
    Some(allowance.asked(SummaryTask {
        part: SummaryPart::History,
        template: settings.template,
        prompt: settings.prompt.clone(),
        previous,
        messages: messages.into(),
        source,
        background: None,
        newer_from,
        shown: None,
        room: USUAL_ROOM,
        span_tokens,
        focus_topic: settings.focus_topic.clone(),
        instructions: settings.instructions.clone(),
        max_output_tokens: settings.summary_max_tokens.map_or(bound, |most| most.min(bound)),
        correction: None,
    }))
}

/// Where what the newest compaction kept begins: what comes before it stands in its summary.
fn newer_from(planned: &PlannedCompaction) -> Option<i64> {
    let compaction = planned.loaded.compaction()?;
    let first_kept = compaction.first_kept.unwrap_or(compaction.index + 1);
    planned.loaded.heads.get(first_kept).map(|head| head.depth)
}
