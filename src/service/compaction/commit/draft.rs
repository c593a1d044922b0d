//! The summary message: the summary with all that code adds to it.

use serde::{Deserialize, Serialize};

use crate::domain::compaction::strategy::{counts, notice};
use crate::domain::model::compaction::{CompactionRecord, FileLists};
use crate::domain::model::message::{Message, Role};
use crate::domain::summary::identifiers::IdentifierReport;
use crate::domain::summary::verify::orders;
use crate::domain::summary::{Allowance, SummaryMessage, focus, framing, identifiers};
use crate::domain::tokens;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::{CompactionWork, Outline};

/// A summary, framed, and what was measured on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SummaryDraft {
    pub record: CompactionRecord,
    pub identifiers: IdentifierReport,
}

/// Puts the summary message together: body, open tasks, the user's words, restored identifiers, file lists, tool ledger, framing.
pub(crate) fn draft(work: &CompactionWork, outcome: &SummaryOutcome) -> SummaryDraft {
    let mut draft = written(work, outcome);
    if let Some(running) = &work.outline.running {
        draft.record.summary_tokens += running.tokens;
        draft.record.running = Some(running.clone());
    }
    draft
}

fn written(work: &CompactionWork, outcome: &SummaryOutcome) -> SummaryDraft {
    let outline = &work.outline;
    let previous = outline.previous.as_ref();
    if outline.elides_only {
        let mut record = previous.cloned().unwrap_or_default();
        record.elisions = outline.elisions.clone();
        return SummaryDraft { record, identifiers: IdentifierReport::default() };
    }
    if counts(work.strategy) && outline.notice.is_none() {
        let expected = identifiers::expected(&outline.identifiers, work.allowance().identifiers);
        let identifiers = identifiers::check("", &expected).1;
        let record = CompactionRecord {
            elisions: outline.elisions.clone(),
            details: outline.files.clone(),
            identifiers: outline.identifiers.clone(),
            todos: outline.todos.clone(),
            ..CompactionRecord::default()
        };
        return SummaryDraft { record, identifiers };
    }
    let carried = previous.and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()));
    let history = work
        .given_summary
        .clone()
        .or_else(|| outcome.history.clone())
        .or_else(|| outline.told.clone())
        .or(carried.map(|text| orders::without(&text, &[]).into_owned()));
    let body = match (history, &outcome.turn_prefix) {
        (Some(history), Some(prefix)) => framing::merge_split(&history, prefix),
        (Some(history), None) => history,
        (None, Some(prefix)) => prefix.clone(),
        (None, None) => String::new(),
    };
    let body = match &outline.notice {
        Some(notice) => notice::append(&body, notice),
        None => body,
    };
    let allowance = work.allowance();
    if outcome.builtin || outline.told.is_some() {
        return recorded(work, body, allowance);
    }
    let body = with_focus(body, work, allowance.focus());
    let Outline { ledger, files, identifiers, todos, recalled, .. } = outline;
    let summary =
        SummaryMessage { body: &body, ledger, files, identifiers, todos, recalled }.text(&work.settings, allowance);
    let expected = identifiers::expected(&outline.identifiers, allowance.identifiers);
    let (_, mut report) = identifiers::check(&body, &expected);
    // What stands in the file lists and the ledger was put back by code as well.
    report.restored = identifiers::check(&summary, &expected).1.kept.saturating_sub(report.kept);
    SummaryDraft { record: summarised(work, summary, body), identifiers: report }
}

/// A record stands by itself: all that code could add is quoted in it.
fn recorded(work: &CompactionWork, body: String, allowance: Allowance) -> SummaryDraft {
    let outline = &work.outline;
    let summary = framing::frame(&work.settings, framing::RECORD_PREFIX, &body, None, &FileLists::default(), "");
    let expected = identifiers::expected(&outline.identifiers, allowance.identifiers);
    let report = identifiers::check(&body, &expected).1;
    SummaryDraft { record: summarised(work, summary, body), identifiers: report }
}

/// The record of a compaction with this summary message and this body of it.
fn summarised(work: &CompactionWork, summary: String, body: String) -> CompactionRecord {
    let outline = &work.outline;
    let counted = tokens::count_message(work.settings.estimator, &Message::text(Role::User, summary.as_str()));
    CompactionRecord {
        anchors: outline.anchors.iter().map(|anchor| anchor.id).collect(),
        summary: Some(summary),
        summary_body: Some(body),
        elisions: outline.elisions.clone(),
        summary_tokens: counted.total,
        details: outline.files.clone(),
        from_hook: outline.from_caller,
        identifiers: outline.identifiers.clone(),
        todos: outline.todos.clone(),
        chapters: outline.previous.as_ref().map(|record| record.chapters.clone()).unwrap_or_default(),
        ledger: outline.ledger.clone(),
        numbers: work.numbers,
        ..CompactionRecord::default()
    }
}

/// The body with the passages about the focus topic that it does not quote itself, whoever wrote it.
fn with_focus(body: String, work: &CompactionWork, max_tokens: u32) -> String {
    match focus::missing(&work.summary_tasks, &body, max_tokens) {
        Some(block) => format!("{body}\n\n{block}"),
        None => body,
    }
}
