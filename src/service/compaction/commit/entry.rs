//! The entry that a compaction leaves, and the head behind it.

use std::collections::HashSet;

use uuid::Uuid;

use crate::domain::model::compaction::{CompactionRecord, ElidedPart, Elision};
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::shape::Shape;
use crate::domain::settings::Settings;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::commit::draft::SummaryDraft;
use crate::service::compaction::work::{CompactionWork, Outline};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::head::{CompactionRest, Head, REST_TURNS, SessionState};
use crate::service::path::view;
use crate::store::entries::{NewBranch, NewEntry};

/// After a compaction that could do nothing, the context must grow by this before the next starts by itself.
const RETRY_GROWTH: f64 = 1.1;
/// Part of the window that lies between two compactions that nobody asked for: one in ten.
const REST_SHARE: u32 = 10;

/// The entry behind the newest leaf. Its tokens are the summary's and enter the context through the view alone.
pub(crate) fn compaction_entry(head: &Head, work: &CompactionWork, draft: &mut SummaryDraft, before: u64) -> NewEntry {
    let record = &mut draft.record;
    record.anchors = work.outline.anchors.iter().map(|anchor| anchor.id).collect();
    record.first_kept_entry_id = work.outline.first_kept.id.to_string();
    record.strategy = Some(work.strategy);
    record.tokens_before = before;
    (record.reverts, record.carries) = (None, None);
    record.closes = false;
    // Somebody has asked for something else since.
    if head.state.turns != work.outline.turns {
        record.forget_running();
    }
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
pub(crate) fn advance(head: &mut Head, state: SessionState, entry: &NewEntry) -> Result<Snapshot> {
    head.state = state;
    step_behind(head, entry);
    head.state.write_to(&mut head.row, &head.settings)
}

/// Moves the row behind the entry, which is the tip of its branch then.
pub(crate) fn step_behind(head: &mut Head, entry: &NewEntry) {
    head.row.next_branch += i32::from(!head.state.leaf_is_tip);
    head.row.next_seq += 1;
    head.row.entry_count += 1;
    (head.row.leaf_branch, head.row.leaf_depth) = (entry.branch, entry.head.depth);
    head.row.leaf_id = Some(entry.head.id);
    head.state.leaf_is_tip = true;
}

/// The account of the new view: anchors and kept entries with their elisions, and the summary.
pub(crate) fn rebase(state: &mut SessionState, outline: &Outline, record: &CompactionRecord) {
    let kept = outline.first_kept;
    let anchors: HashSet<Uuid> = outline.anchors.iter().map(|anchor| anchor.id).collect();
    let anchored = view::size_of(outline.anchors.iter(), &record.elisions);
    let freed = |of_result: bool| -> i64 {
        let is_it = |one: &&Elision| (one.part == ElidedPart::Result) == of_result && !anchors.contains(&one.entry_id);
        record.elisions.iter().filter(is_it).map(Elision::freed).sum()
    };
    let (spoken, elided) = (freed(false), freed(true));
    let folds = state.newest.iter().flat_map(|newest| &newest.folds).filter(|shown| shown.fold.place >= kept.depth);
    let (mut all, mut results) = (
        state.account.path_tokens - kept.path_tokens_before,
        state.account.path_result_tokens - kept.path_result_tokens_before,
    );
    for shown in folds {
        all += i64::from(shown.tokens) - shown.hidden_tokens;
        results -= shown.hidden_result_tokens;
    }
    let summary = if record.shows_something() { i64::from(record.summary_tokens) } else { 0 };
    let messages = anchored.messages + all - results - spoken;
    state.account.rebase(summary, messages, anchored.tool_results + results - elided);
    let first_kept = if kept.id.is_nil() { i64::MAX } else { clock::seq_of(kept.id) };
    let anchors: HashSet<i64> = outline.anchors.iter().map(|anchor| anchor.seq).collect();
    state.keep_unpaired(|seq| seq >= first_kept || anchors.contains(&seq), &record.elisions);
}

/// Keeps appends from starting the next compaction until the context has grown.
pub(crate) fn hold_off(state: &mut SessionState, settings: &Settings) {
    state.auto_retry_at = Some(grown(state, settings));
}

/// Notes what must come before the next compaction starts by itself, however near to red this one has left the context: a
/// tenth of the window, and more than the next turn. Much may have come while it was made.
pub(crate) fn rest(state: &mut SessionState, work: &CompactionWork, settings: &Settings) {
    let tokens = state.account.estimated() + i64::from(settings.context_window / REST_SHARE);
    let came = work.outline.path_tokens.map(|planned| (state.account.path_tokens - planned).max(0));
    state.rest = Some(CompactionRest {
        tokens,
        tokens_planned: came.map(|came| tokens - came),
        calls: state.account.path_calls + i64::from(REST_TURNS),
        turns: state.turns + u64::from(REST_TURNS),
    });
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
