//! The entry that a compaction leaves, and the head behind it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::compaction::strategy::{counts, notice};
use crate::domain::model::compaction::{CompactionRecord, ElidedPart, Elision};
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::shape::Shape;
use crate::domain::settings::Settings;
use crate::domain::summary::identifiers::IdentifierReport;
use crate::domain::summary::{Allowance, SummaryMessage, focus, framing, identifiers};
use crate::domain::tokens;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::work::stages::{CompactionWork, Outline, SummaryOutcome};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::head::{Head, SessionState};
use crate::service::path::view;
use crate::store::entries::{NewBranch, NewEntry};

/// After a compaction that could do nothing, the context must grow by this before the next starts by itself.
const RETRY_GROWTH: f64 = 1.1;

/// A summary, framed, and what was measured on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SummaryDraft {
    pub record: CompactionRecord,
    pub identifiers: IdentifierReport,
}

/// Puts the summary message together: body, restored identifiers, file lists, tool ledger, framing.
pub(crate) fn draft(work: &CompactionWork, outcome: &SummaryOutcome) -> SummaryDraft {
    let outline = &work.outline;
    let previous = outline.previous.as_ref();
    if outline.elides_only {
        let mut record = previous.cloned().unwrap_or_default();
        record.elisions = outline.elisions.clone();
        return SummaryDraft { record, identifiers: IdentifierReport::default() };
    }
    if counts(work.strategy) && outline.notice.is_none() {
        let identifiers = identifiers::check("", &outline.identifiers).1;
        let record = CompactionRecord {
            elisions: outline.elisions.clone(),
            details: outline.files.clone(),
            identifiers: outline.identifiers.clone(),
            ..CompactionRecord::default()
        };
        return SummaryDraft { record, identifiers };
    }
    let carried = previous.and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()));
    let history = work.given_summary.clone().or_else(|| outcome.history.clone()).or(carried);
    let body = match (history, &outcome.turn_prefix) {
        (Some(history), Some(prefix)) => framing::merge_split(&history, prefix),
        (Some(history), None) => history,
        (None, Some(prefix)) => framing::merge_split("No earlier history.", prefix),
        (None, None) => String::new(),
    };
    let body = match &outline.notice {
        Some(notice) => notice::append(&body, notice),
        None => body,
    };
    let allowance = Allowance::new(work.replaced_tokens, work.settings.summary_reserve());
    let body = with_focus(body, work, allowance.focus());
    let Outline { ledger, files, identifiers, .. } = outline;
    let summary = SummaryMessage { body: &body, ledger, files, identifiers }.text(&work.settings, allowance);
    let (_, mut report) = identifiers::check(&body, &outline.identifiers);
    // What stands in the file lists and the ledger was put back by code as well.
    report.restored = identifiers::check(&summary, &outline.identifiers).1.kept.saturating_sub(report.kept);
    let counted = tokens::count_message(work.settings.estimator, &Message::text(Role::User, summary.as_str()));
    let record = CompactionRecord {
        anchors: outline.anchors.iter().map(|anchor| anchor.id).collect(),
        summary: Some(summary),
        summary_body: Some(body),
        elisions: outline.elisions.clone(),
        summary_tokens: counted.total,
        details: outline.files.clone(),
        from_hook: outline.from_caller,
        identifiers: outline.identifiers.clone(),
        chapters: previous.map(|record| record.chapters.clone()).unwrap_or_default(),
        ledger: outline.ledger.clone(),
        ..CompactionRecord::default()
    };
    SummaryDraft { record, identifiers: report }
}

/// The body with the passages about the focus topic that it does not quote itself, whoever wrote it.
fn with_focus(body: String, work: &CompactionWork, max_tokens: u32) -> String {
    match focus::missing(&work.summary_tasks, &body, max_tokens) {
        Some(block) => format!("{body}\n\n{block}"),
        None => body,
    }
}

/// The entry behind the newest leaf. Its tokens are the summary's and enter the context through the view alone.
pub(crate) fn compaction_entry(head: &Head, work: &CompactionWork, draft: &mut SummaryDraft, before: u64) -> NewEntry {
    let record = &mut draft.record;
    record.anchors = work.outline.anchors.iter().map(|anchor| anchor.id).collect();
    record.first_kept_entry_id = work.outline.first_kept.id.to_string();
    record.strategy = Some(work.strategy);
    record.tokens_before = before;
    record.reverts = None;
    record.closes = false;
    let mut state = head.state.clone();
    rebase(&mut state, &work.outline, record);
    record.tokens_after = state.snapshot(&head.settings).tokens;
    entry_of(head, record.clone())
}

/// A compaction entry with this record, behind the leaf.
pub(crate) fn entry_of(head: &Head, record: CompactionRecord) -> NewEntry {
    let now = clock::now();
    let seq = head.row.next_seq;
    let branch = if head.state.leaf_is_tip { head.row.leaf_branch } else { head.row.next_branch };
    NewEntry {
        head: EntryMeta {
            id: clock::entry_id(now, seq),
            seq,
            depth: head.row.leaf_depth + 1,
            kind: EntryType::Compaction,
            role: None,
            tokens: record.summary_tokens,
            path_tokens: head.state.account.path_tokens,
            usage: None,
            shape: Shape::default(),
        },
        branch,
        parent_id: head.row.leaf_id,
        path_result_tokens: head.state.account.path_result_tokens,
        source_format: Format::Native,
        source_id: None,
        item: item_of(&record),
        record: Some(record),
        created_at: now,
    }
}

/// The item of a compaction entry.
pub(crate) fn item_of(record: &CompactionRecord) -> String {
    let mut item = serde_json::to_value(record).unwrap_or_default();
    if let Some(fields) = item.as_object_mut() {
        fields.insert("type".to_owned(), "compaction".into());
    }
    item.to_string()
}

pub(crate) fn new_branch(head: &Head, branch: i32) -> Vec<NewBranch> {
    if head.state.leaf_is_tip {
        return Vec::new();
    }
    vec![NewBranch {
        branch,
        parent_session: head.session_id,
        parent_branch: head.row.leaf_branch,
        fork_depth: head.row.leaf_depth,
    }]
}

/// Moves the head behind the entry. The version is moved on by the write.
pub(crate) fn advance(head: &mut Head, mut state: SessionState, entry: &NewEntry) -> Result<Snapshot> {
    if !state.leaf_is_tip {
        head.row.next_branch += 1;
        state.leaf_is_tip = true;
    }
    head.row.next_seq += 1;
    head.row.entry_count += 1;
    head.row.leaf_branch = entry.branch;
    head.row.leaf_depth = entry.head.depth;
    head.row.leaf_id = Some(entry.head.id);
    head.state = state;
    head.state.write_to(&mut head.row, &head.settings)
}

/// The account of the new view: anchors and kept entries with their elisions, and the summary.
pub(crate) fn rebase(state: &mut SessionState, outline: &Outline, record: &CompactionRecord) {
    let kept = outline.first_kept;
    let anchors: std::collections::HashSet<Uuid> = outline.anchors.iter().map(|anchor| anchor.id).collect();
    let anchored = view::size_of(outline.anchors.iter(), &record.elisions);
    let freed = |part: ElidedPart| -> i64 {
        let kept = record.elisions.iter().filter(|one| one.part == part && !anchors.contains(&one.entry_id));
        kept.map(Elision::freed).sum()
    };
    let (arguments, elided) = (freed(ElidedPart::Arguments), freed(ElidedPart::Result));
    let folds = state.newest.iter().flat_map(|newest| &newest.folds).filter(|shown| shown.fold.place >= kept.depth);
    let (mut all, mut results) = (
        state.account.path_tokens - kept.path_tokens_before,
        state.account.path_result_tokens - kept.path_result_tokens_before,
    );
    for shown in folds {
        all += i64::from(shown.tokens) - shown.hidden_tokens;
        results -= shown.hidden_result_tokens;
    }
    let summary = if record.summary.is_some() { i64::from(record.summary_tokens) } else { 0 };
    let messages = anchored.messages + all - results - arguments;
    state.account.rebase(summary, messages, anchored.tool_results + results - elided);
}

/// Keeps appends from starting the next compaction until the context has grown.
pub(crate) fn hold_off(state: &mut SessionState, settings: &Settings) {
    state.auto_retry_at = Some(grown(state, settings));
}

/// Lets the context be handed out as large as it is until it has grown.
pub(crate) fn leave_unrelieved(state: &mut SessionState, settings: &Settings) {
    state.unrelieved = Some(grown(state, settings));
    state.unrelieved_at = Some(state.messages);
}

fn grown(state: &SessionState, settings: &Settings) -> u64 {
    let (tokens, _) = state.account.tokens(settings.estimator);
    (tokens as f64 * RETRY_GROWTH).ceil() as u64 + 1
}
