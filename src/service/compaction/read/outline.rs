//! Outline of the context after a compaction: around a new summary, or with results elided and all else as it is.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::result::Reason;
use crate::domain::compaction::strategy::{self, counts};
use crate::domain::context::view::{ViewItem, unchanged_tokens};
use crate::domain::model::compaction::{CompactionRecord, ElidedPart, Elision, ElisionKind, FileLists};
use crate::domain::model::message::{Message, Role};
use crate::domain::model::record_numbers::NumberMarks;
use crate::domain::model::running::RunningRequest;
use crate::domain::model::strategy::Strategy;
use crate::domain::record::RecordSource;
use crate::domain::record::notice::notice;
use crate::domain::settings::Settings;
use crate::domain::summary::{Allowance, SummaryTask, framing};
use crate::domain::tokens;
use crate::domain::tokens::accounting::red_tokens;
use crate::service::compaction::commit::entry::rebase;
use crate::service::compaction::job::{CompactRequest, Trigger};
use crate::service::compaction::plan::{PlannedCompaction, RunningPlace};
use crate::service::compaction::read::elide::{ProposedElisions, changed_entries, unchanged_by};
use crate::service::compaction::read::items::{Kept, ReadItems, ViewReading};
use crate::service::compaction::read::tasks::task;
use crate::service::compaction::work::{CompactionWork, KeptFrom, Outline, RecordTask};
use crate::service::core::error::Result;
use crate::service::hooks::About;
use crate::service::path::view::PathSlice;

/// A summary message says nothing in less, in tokens.
const LEAST_SUMMARY: u64 = 400;

/// The outline of a compaction that leaves summary, cut and anchors as they are.
pub(crate) fn elision_outline(
    planned: &PlannedCompaction,
    elided: ProposedElisions,
) -> std::result::Result<CompactionWork, Reason> {
    if elided.freed == 0 {
        return Err(Reason::NothingToCompact);
    }
    let loaded = &planned.loaded;
    let previous = loaded.record().cloned();
    let first_kept = match loaded.compaction() {
        Some(compaction) => compaction.first_kept.unwrap_or(compaction.index + 1),
        None => 0,
    };
    let anchor_ids: HashSet<Uuid> = previous.iter().flat_map(|record| record.anchors.iter().copied()).collect();
    let anchors = loaded.heads[..first_kept.min(loaded.heads.len())]
        .iter()
        .filter(|head| anchor_ids.contains(&head.id))
        .cloned()
        .collect();
    let before = loaded.elisions();
    let pruned = pruned_results(&elided, before);
    let unchanged = unchanged_by(planned, &elided.merged);
    let first_kept = kept_from(loaded, first_kept).ok_or(Reason::NothingToCompact)?;
    let strategy = if planned.strategy == Strategy::Auto { Strategy::Mask } else { planned.strategy };
    let record = previous.as_ref();
    let outline = Outline {
        first_kept,
        anchors,
        elides_only: true,
        running: None,
        turns: planned.state.turns,
        is_split_turn: false,
        told: None,
        notice: None,
        summarized: 0,
        kept: shown_messages(&loaded.view()),
        messages: planned.state.messages,
        path_tokens: Some(planned.state.account.path_tokens),
        weighty: Vec::new(),
        files: record.map(|record| record.details.clone()).unwrap_or_default(),
        masked: elided.masked_results,
        pruned,
        mask_freed: elided.freed,
        elisions: elided.merged,
        from_caller: record.is_some_and(|record| record.from_hook),
        unchanged,
        given: None,
        previous,
    };
    Ok(work(planned, strategy, outline, None, 0))
}

fn shown_messages(view: &[ViewItem]) -> u64 {
    view.iter().filter(|item| matches!(item, ViewItem::Entry { .. })).count() as u64
}

/// File lists that came with the caller's own summary.
fn caller_files(request: &CompactRequest) -> Option<FileLists> {
    request.summary.as_ref()?;
    serde_json::from_value(request.details.clone()?).ok()
}

/// Results that pruning shows shorter, without those that it showed so `before`.
fn pruned_results(elided: &ProposedElisions, before: &[Elision]) -> u32 {
    let masked: HashSet<_> = elided.masks.iter().map(|mask| (mask.entry_id, mask.tool_call_id.as_str())).collect();
    let by_pruning = |one: &&Elision| {
        let is_masked = one.kind == ElisionKind::Mask || masked.contains(&(one.entry_id, one.tool_call_id.as_str()));
        one.part == ElidedPart::Result && !is_masked
    };
    let count = |elisions: &[Elision]| elisions.iter().filter(by_pruning).count();
    u32::try_from(count(&elided.merged).saturating_sub(count(before))).unwrap_or(u32::MAX)
}

fn kept_from(loaded: &PathSlice, index: usize) -> Option<KeptFrom> {
    let stored = loaded.stored.get(index)?;
    let head = &stored.entry.head;
    if let Some(shown) = loaded.fold_at(index) {
        return Some(KeptFrom {
            id: head.id,
            depth: shown.fold.place,
            path_tokens_before: shown.path_tokens_before,
            path_result_tokens_before: shown.path_result_tokens_before,
        });
    }
    let results: i64 = head.shape.results.iter().map(|result| i64::from(result.tokens)).sum();
    let own = if head.is_visible() { i64::from(head.tokens) } else { 0 };
    Some(KeptFrom {
        id: head.id,
        depth: head.depth,
        path_tokens_before: head.path_tokens - own,
        path_result_tokens_before: stored.path_result_tokens - results,
    })
}

/// Of a plan that keeps nothing after its summary: such a one is never committed.
fn behind_all(loaded: &PathSlice, plan: &Plan) -> Option<KeptFrom> {
    let last = loaded.stored.last().filter(|_| plan.first_kept == loaded.stored.len())?;
    Some(KeptFrom {
        id: Uuid::nil(),
        depth: last.entry.head.depth + 1,
        path_tokens_before: last.entry.head.path_tokens,
        path_result_tokens_before: last.path_result_tokens,
    })
}

/// The outline of a compaction around a new summary. `set_aside`: what results beside it left to its record.
pub(super) fn summary_outline(
    planned: &PlannedCompaction,
    plan: &Plan,
    read: ReadItems,
    elided: ProposedElisions,
    set_aside: u64,
) -> Result<CompactionWork> {
    let ReadItems { reading, originals, source, background } = read;
    let loaded = &planned.loaded;
    let previous = loaded.record().cloned();
    let record = previous.as_ref();
    let ViewReading { records, history, turn_prefix, running: asked, .. } = reading;
    let previous_tokens = record.map_or(0, |record| u64::from(record.summary_tokens));
    let counting = counts(planned.strategy);
    let aim = strategy::aim(&planned.settings, planned.trigger != Trigger::Manual);
    let mut replaced_tokens = plan.tokens_to_summarize + previous_tokens;
    let most = if counting { None } else { most_told(planned, plan, &elided) };
    replaced_tokens = replaced_tokens.min(most.unwrap_or(u64::MAX));
    let has_record = planned.request.summary.is_some()
        || source.as_ref().is_some_and(RecordSource::has_calls)
        || record.is_some_and(|record| record.summary.is_some());
    let notes = counting && (has_record || !strategy::is_narrow(&planned.settings, aim));
    let allowance = Allowance::new(replaced_tokens, planned.settings.summary_reserve());
    let shown = shown_entries(planned, plan);
    let elisions: Vec<Elision> =
        elided.merged.iter().filter(|elision| shown.contains(&elision.entry_id)).cloned().collect();
    let messages = |kept: Vec<Kept>| kept.into_iter().map(|kept| kept.message).collect::<Vec<Message>>();
    let mut told = originals.map_or_else(|| messages(history), |originals| originals.messages);
    told.extend(messages(turn_prefix));
    let source = source.map(Arc::new);
    let task = if counting { None } else { task(planned, allowance, told, source.clone(), replaced_tokens) };
    let task = task.map(|task| SummaryTask { background, ..task });
    let Some(first_kept) = kept_from(loaded, plan.first_kept).or_else(|| behind_all(loaded, plan)) else {
        return Err(anyhow::anyhow!("a plan keeps nothing").into());
    };
    let used = match planned.strategy {
        Strategy::Summarize => Strategy::Summarize,
        _ if counting => planned.strategy,
        _ => Strategy::LlmSummarize,
    };
    let changed = changed_entries(&elisions, loaded.elisions());
    let anchors: HashSet<usize> = plan.anchors.iter().copied().collect();
    let anchored = |index: &usize| anchors.contains(index) && !changed.contains(&loaded.heads[*index].id);
    let stays = |item: &ViewItem| matches!(item, ViewItem::Entry { index, .. } if anchored(index));
    let unchanged = unchanged_tokens(&loaded.heads, &loaded.view(), stays);
    let kept = (plan.kept.len() + plan.anchors.len()) as u64;
    let running_room = running_room(planned, plan, &elided, plan.tokens_to_summarize + previous_tokens);
    let hidden = planned.state.messages.saturating_sub(kept);
    let outline = Outline {
        first_kept,
        anchors: plan.anchors.iter().filter_map(|index| loaded.heads.get(*index)).cloned().collect(),
        elisions,
        elides_only: false,
        running: running(planned, asked, running_room),
        turns: planned.state.turns,
        is_split_turn: plan.is_split_turn,
        told: None,
        notice: notes.then(|| notice(hidden, plan.history.len() as u64)),
        summarized: u32::try_from(plan.history.len() + plan.turn_prefix.len()).unwrap_or(u32::MAX),
        kept,
        messages: planned.state.messages,
        path_tokens: Some(planned.state.account.path_tokens),
        files: caller_files(&planned.request).unwrap_or_else(|| records.files.lists()),
        weighty: records.identifiers.weighty(),
        masked: elided.masked_results,
        pruned: elided.pruned,
        mask_freed: elided.mask_freed,
        from_caller: planned.request.summary.is_some(),
        unchanged,
        given: planned.given(),
        previous,
    };
    let replaced = plan.tokens_to_summarize + previous_tokens;
    let (room, target) = match counting {
        true => {
            let room = room_beside_messages(planned, &outline, aim).max(LEAST_RECORD).min(replaced);
            (room, room)
        }
        false => record_room(planned, &outline, replaced, set_aside),
    };
    let work = work(planned, used, outline, task, replaced_tokens);
    let numbers = source.as_ref().and_then(|source| source.numbers());
    let marks = source.as_ref().map(|source| source.marks()).unwrap_or_default();
    let record = source.map(|source| RecordTask { source, room, target });
    // No summariser is asked where messages are counted out: their record is written with the plan.
    let told = record.as_ref().filter(|_| notes && planned.request.summary.is_none());
    let told = told.and_then(|record| record.written(planned.settings.estimator));
    let work = CompactionWork { outline: Outline { told, ..work.outline }, ..work };
    Ok(CompactionWork { numbers, marks, record, ..work })
}

/// A record may take a fifth of the usable window however much stays beside it: in a small window what the user asked for is
/// worth more than a context that is smaller still.
const LEAST_SHARE: u64 = 5;
/// Of what lies between system prompt and tools and red, a record takes a quarter at most where nobody asked for the
/// compaction: the next one must not be due at once.
const SHARE_BELOW_RED: u64 = 4;
/// A record says nothing in less, in tokens.
const LEAST_RECORD: u64 = 160;
/// Tokens by which a record and its frame may count more together than apart.
const JOINT: u64 = 4;
/// Tokens of the frame around a record, about.
pub(super) const RECORD_FRAME: u64 = 120;

/// What a record may take where messages were counted out to a target: all that they leave of it, and at least the share
/// that was set aside for it.
fn room_beside_messages(planned: &PlannedCompaction, outline: &Outline, aim: u64) -> u64 {
    let settings = &planned.settings;
    let notice = outline.notice.as_deref().unwrap_or_default();
    let frame = framing::frame(settings, framing::RECORD_PREFIX, notice, "");
    let frame = tokens::count_message(settings.estimator, &Message::text(Role::User, frame)).total;
    left_of(planned, outline, aim).saturating_sub(u64::from(frame) + JOINT).max(strategy::record_room(aim))
}

/// What a record may take, in estimated tokens: what the target leaves beside all that stays; where that is little, a part
/// of what it stands for, and always less than that. Then what the target leaves, for notes that stand as they were given.
fn record_room(planned: &PlannedCompaction, outline: &Outline, replaced: u64, set_aside: u64) -> (u64, u64) {
    let settings = &planned.settings;
    let aim = strategy::record_aim(&planned.state.account, settings);
    let left = left_of(planned, outline, aim).saturating_sub(RECORD_FRAME);
    // What the copy of a request takes beyond its share comes out of what tells of the work.
    let running = outline.running.as_ref().map_or(0, |running| running.tokens);
    let beyond = u64::from(running.saturating_sub(settings.usable() / RUNNING_SHARE));
    let least = least_record(planned, replaced);
    let shrunk = least.saturating_sub(beyond).max(least_beside_running(planned, replaced));
    let target = left.max(set_aside).max(shrunk).min(replaced.saturating_sub(RECORD_FRAME));
    let most = settings.summary_max_tokens.map_or(u64::MAX, u64::from);
    (target.min(replaced * 4 / 5).min(most), target)
}

/// What a record has at least for what it replaces, in estimated tokens.
pub(super) fn least_record(planned: &PlannedCompaction, replaced: u64) -> u64 {
    let PlannedCompaction { settings, state, .. } = planned;
    let least = (replaced / 2).min(u64::from(settings.usable()) / LEAST_SHARE);
    if planned.trigger == Trigger::Manual {
        return least;
    }
    let below_red = strategy::room_below_red(&state.account, settings);
    least.min((below_red / SHARE_BELOW_RED).max(LEAST_RECORD))
}

/// What a target leaves beside all that stays, in estimated tokens.
fn left_of(planned: &PlannedCompaction, outline: &Outline, target: u64) -> u64 {
    let estimator = planned.settings.estimator;
    let mut state = planned.state.clone();
    let summary_tokens = outline.running.as_ref().map_or(0, |running| running.tokens);
    let (elisions, running) = (outline.elisions.clone(), outline.running.clone());
    let bare = CompactionRecord { elisions, running, summary_tokens, ..CompactionRecord::default() };
    rebase(&mut state, outline, &bare);
    let (rest, _) = state.account.tokens(estimator);
    state.account.estimate_of_part(target.saturating_sub(rest), estimator)
}

/// The span that the summary of a compaction that nobody asked for is measured by, where the window is small: what it says
/// must not leave the context so large that the next is due at once.
fn most_told(planned: &PlannedCompaction, plan: &Plan, elided: &ProposedElisions) -> Option<u64> {
    if planned.trigger == Trigger::Manual {
        return None;
    }
    let (account, kept) = (&planned.state.account, kept_tokens(planned, plan, elided));
    let aim = account.estimate_of(strategy::worthwhile(&planned.settings), planned.settings.estimator);
    Some(Allowance::most_replaced(aim.saturating_sub(kept).max(LEAST_SUMMARY)))
}

/// Entries that stand behind the summary or as anchors.
pub(super) fn shown_entries(planned: &PlannedCompaction, plan: &Plan) -> HashSet<Uuid> {
    let shown = plan.anchors.iter().chain(&plan.kept);
    shown.filter_map(|index| Some(planned.loaded.heads.get(*index)?.id)).collect()
}

/// Estimated tokens of all that stands beside a summary once it is committed.
pub(super) fn kept_tokens(planned: &PlannedCompaction, plan: &Plan, elided: &ProposedElisions) -> u64 {
    let shown = shown_entries(planned, plan);
    let freed = elided.merged.iter().filter(|elision| shown.contains(&elision.entry_id)).map(Elision::freed);
    let freed = u64::try_from(freed.sum::<i64>()).unwrap_or(0);
    let fixed = u64::try_from(planned.state.account.fixed()).unwrap_or(0);
    (fixed + plan.tokens_kept).saturating_sub(freed) + before_red(planned)
}

/// What comes to the kept tail of a compaction that is prepared ahead before it is committed, in estimated tokens.
pub(super) fn before_red(planned: &PlannedCompaction) -> u64 {
    let PlannedCompaction { state, settings, .. } = planned;
    let (tokens, _) = state.account.tokens(settings.estimator);
    let left = (red_tokens(settings) as u64).saturating_sub(tokens);
    if planned.trigger == Trigger::Ahead { state.account.estimate_of_part(left, settings.estimator) } else { 0 }
}

/// Of the usable window a record has a tenth at least beside a long request.
const LEAST_BESIDE_RUNNING: u64 = 10;

/// What a record has beside a request however long that is, in estimated tokens.
fn least_beside_running(planned: &PlannedCompaction, replaced: u64) -> u64 {
    least_record(planned, replaced).min(u64::from(planned.settings.usable()) / LEAST_BESIDE_RUNNING)
}

/// Share of the usable window that the copy of a running request may always take, and the one that it may take while all
/// that stands beside it leaves so much of it, in hundredths; and the least in which it says something, in tokens.
const RUNNING_SHARE: u32 = 4;
const MOST_RUNNING: u32 = 2;
const BESIDE_RUNNING: u64 = 70;
const LEAST_RUNNING: u32 = 120;

/// What the copy of a running request may take: what it asks for is worth more than how it was worked on until now.
fn running_room(planned: &PlannedCompaction, plan: &Plan, elided: &ProposedElisions, replaced: u64) -> u32 {
    let usable = planned.settings.usable();
    let beside = kept_tokens(planned, plan, elided) + least_beside_running(planned, replaced) + RECORD_FRAME;
    let left = (u64::from(usable) * BESIDE_RUNNING / 100).saturating_sub(beside);
    u32::try_from(left).unwrap_or(u32::MAX).clamp(usable / RUNNING_SHARE, usable / MOST_RUNNING)
}

/// The running request as the new view shows it, in so much room.
fn running(planned: &PlannedCompaction, asked: Option<(Uuid, String)>, room: u32) -> Option<RunningRequest> {
    let estimator = planned.settings.estimator;
    let most = planned.settings.usable() / MOST_RUNNING;
    let counted = |running: RunningRequest| {
        let tokens = tokens::count_message(estimator, &running.message()).total;
        RunningRequest { tokens, ..running }
    };
    match planned.running()? {
        _ if room < LEAST_RUNNING => None,
        RunningPlace::Stands(id) => Some(counted(RunningRequest::still(id))),
        RunningPlace::Carried(running) => Some(counted(running)).filter(|running| running.tokens <= most),
        RunningPlace::At(_) => {
            let (id, said) = asked?;
            let mut chars = said.chars().count();
            loop {
                let copy = counted(RunningRequest::copy(id, &said, chars));
                if copy.tokens <= room || chars < 16 {
                    return Some(copy).filter(|copy| copy.tokens <= room);
                }
                chars = (chars as u64 * u64::from(room) * 9 / 10 / u64::from(copy.tokens)) as usize;
            }
        }
    }
}

fn work(
    planned: &PlannedCompaction,
    strategy: Strategy,
    outline: Outline,
    summary_task: Option<SummaryTask>,
    replaced_tokens: u64,
) -> CompactionWork {
    let About { tenant, session_id, compaction_id } = planned.about;
    CompactionWork {
        tenant,
        session_id,
        compaction_id: compaction_id.unwrap_or_default(),
        trigger: planned.trigger,
        // What there was room for just then is no setting.
        settings: Settings { keep_recent_tokens: planned.wanted_tail, ..planned.settings.clone() },
        strategy,
        requested: planned.strategy,
        summary_task,
        record: None,
        numbers: None,
        marks: NumberMarks::default(),
        upstream: planned.settings.upstream.clone(),
        given_summary: planned.request.summary.clone(),
        replaced_tokens,
        hooks: Vec::new(),
        retells: planned.request.retells,
        basis: planned.basis.clone(),
        outline,
    }
}
