//! The summary message: the summary with all that code adds to it.

use serde::{Deserialize, Serialize};

use crate::domain::compaction::strategy::counts;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::message::{Message, Role};
use crate::domain::record::evidence::WeighedNotes;
use crate::domain::record::evidence::sections;
use crate::domain::record::evidence::told::SummaryEvidence;
use crate::domain::record::{is_record, notice};
use crate::domain::redaction::Redaction;
use crate::domain::summary::identifiers::IdentifierReport;
use crate::domain::summary::{focus, framing};
use crate::domain::tokens;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::{CompactionWork, RecordTask};

/// A summary, framed, and what was measured on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SummaryDraft {
    pub record: CompactionRecord,
    pub identifiers: IdentifierReport,
    /// Of notes that say what they rest on.
    #[serde(default)]
    pub evidence: Option<SummaryEvidence>,
}

/// Notes have one part in so many of a record's room beside them for what they lack.
pub(crate) const BESIDE_SHARE: u64 = 10;

/// Puts the summary message together: body, what it lacks, framing.
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
        return SummaryDraft { record, identifiers: IdentifierReport::default(), evidence: None };
    }
    if counts(work.strategy) && outline.notice.is_none() {
        let identifiers = IdentifierReport::of(&outline.weighty, "", "");
        let record = CompactionRecord {
            elisions: outline.elisions.clone(),
            details: outline.files.clone(),
            given: outline.given.clone(),
            ..CompactionRecord::default()
        };
        return SummaryDraft { record, identifiers, evidence: None };
    }
    let carried = || previous.and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()));
    let body = work.given_summary.clone().or_else(|| outcome.history.clone()).or_else(|| outline.told.clone());
    let body = body.or_else(carried).unwrap_or_default();
    let body = match &outline.notice {
        Some(notice) => notice::append(&body, notice),
        None => body,
    };
    // Whoever wrote it: a model, the caller, a hook, or an earlier compaction that knew fewer rules.
    let redaction = Redaction::of(&work.settings.redact);
    let body = redaction.redact(&body, None).into_owned();
    if outcome.builtin || outline.told.is_some() {
        return framed(work, body, framing::RECORD_PREFIX);
    }
    let is_somebodys = !counts(work.strategy) || work.given_summary.is_some();
    if let Some(record) = work.record.as_ref().filter(|_| is_somebodys) {
        return noted(work, outcome, body, record);
    }
    // What was there before stays, with how much was left out now.
    let prefix = if is_record(&body) { framing::RECORD_PREFIX } else { framing::NOTES_PREFIX };
    framed(work, body, prefix)
}

/// Notes of a model, a caller or a hook, with what they lack beside them. Of a model's, what nothing shows is marked; with
/// the caller's own prompt, and of what was given, it is only counted.
fn noted(work: &CompactionWork, outcome: &SummaryOutcome, body: String, record: &RecordTask) -> SummaryDraft {
    let settings = &work.settings;
    let source = &record.source;
    let path = source.path_numbers();
    let weighed = WeighedNotes::of(&body, sections::of_template(settings.template), &path);
    let had_numbers = work.summary_task.as_ref().is_some_and(|task| task.prompt.is_none() && task.shown.is_none());
    let is_ours = outcome.history.is_some() && work.given_summary.is_none() && had_numbers;
    let body = if is_ours { weighed.marked.clone() } else { body };
    let body = with_focus(body, work, work.allowance().focus());
    let cited = weighed.cited(&path);
    let is_given = work.given_summary.is_some();
    let room = if is_given { beside_given(work, &body, record) } else { record.room / BESIDE_SHARE };
    let beside = source.beside(&body, &cited, room);
    let frame = if is_given { framing::frame_given } else { framing::frame };
    let summary = frame(settings, framing::NOTES_PREFIX, &body, &beside);
    let identifiers = IdentifierReport::of(&work.outline.weighty, &body, &summary);
    let evidence = Some(SummaryEvidence::of(&weighed, &path));
    SummaryDraft { record: summarised(work, summary, body), identifiers, evidence }
}

/// The room for what given notes lack: no writer chose what to tell of the user's requests, so they are told as far as the
/// target goes.
fn beside_given(work: &CompactionWork, body: &str, record: &RecordTask) -> u64 {
    let notes = u64::from(tokens::count_text(work.settings.estimator, body));
    record.target.saturating_sub(notes).max(record.room / BESIDE_SHARE)
}

/// A record stands by itself: all that code could add is quoted in it.
fn framed(work: &CompactionWork, body: String, prefix: &str) -> SummaryDraft {
    let identifiers = IdentifierReport::of(&work.outline.weighty, &body, &body);
    if body.trim().is_empty() {
        // What was left out said nothing: there is nothing to put in its place.
        let record = summarised(work, String::new(), String::new());
        let record = CompactionRecord { summary: None, summary_body: None, summary_tokens: 0, ..record };
        return SummaryDraft { record, identifiers, evidence: None };
    }
    let summary = framing::frame(&work.settings, prefix, &body, "");
    SummaryDraft { record: summarised(work, summary, body), identifiers, evidence: None }
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
        given: outline.given.clone().filter(|_| !outline.from_caller),
        chapters: outline.previous.as_ref().map(|record| record.chapters.clone()).unwrap_or_default(),
        numbers: work.numbers,
        marks: work.marks.clone(),
        ..CompactionRecord::default()
    }
}

/// The body with the passages about the focus topic that it does not quote itself, whoever wrote it.
fn with_focus(body: String, work: &CompactionWork, max_tokens: u32) -> String {
    match work.summary_task.as_ref().and_then(|task| focus::missing(task, &body, max_tokens)) {
        Some(block) => format!("{body}\n\n{block}"),
        None => body,
    }
}
