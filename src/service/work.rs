//! The work of one compaction: what is to be summarised, and what the context becomes around the summary.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::compactions::{CompactRequest, Trigger};
use super::error::Result;
use super::head::SessionState;
use super::history::message_of;
use super::plan::{file_lists, plan_on};
use super::state::Tenant;
use super::view::Loaded;
use crate::domain::accounting::{fill_state, is_ahead_due};
use crate::domain::compaction::FillState;
use crate::domain::compaction::{CompactionRecord, Elision, ElisionKind, Fallback, FileLists, Reason, UpstreamReport};
use crate::domain::entry::EntryHead;
use crate::domain::guard::savings_pct;
use crate::domain::identifiers;
use crate::domain::ledger::{self, Ledger};
use crate::domain::mask;
use crate::domain::message::{Block, Message, ToolResult};
use crate::domain::prepare::Plan;
use crate::domain::prune::{self, PruneItem};
use crate::domain::settings::{Settings, Strategy};
use crate::domain::summary::{SummaryPart, SummaryTask};
use crate::domain::view::ViewItem;

/// Shares of the reserve that bound a summary of the history and of a split turn's beginning, in percent.
const HISTORY_SHARE: u64 = 80;
const TURN_PREFIX_SHARE: u64 = 50;

/// Where a claimed compaction stands.
pub enum Begin {
    /// It has ended already, or was skipped just now: there is nothing to do.
    Ended,
    Work(Box<Work>),
}

/// Everything that a worker needs to carry a compaction out without the database.
#[derive(Serialize, Deserialize)]
pub struct Work {
    pub tenant: Tenant,
    pub session_id: Uuid,
    pub compaction_id: Uuid,
    pub trigger: Trigger,
    /// The session's settings with those of the request.
    pub settings: Settings,
    /// What will be done, and what was asked for.
    pub strategy: Strategy,
    pub requested: Strategy,
    /// None: eliding is enough, or the summary was given. One: the history, or what of a turn comes before the cut.
    /// Two: history first, then the turn's beginning.
    #[serde(skip)]
    pub summary_tasks: Vec<SummaryTask>,
    pub upstream: Option<String>,
    pub given_summary: Option<String>,
    /// Size of what the summary stands for.
    pub replaced_tokens: u64,
    pub(crate) basis: Basis,
    pub(crate) outline: Outline,
}

/// What a summariser gave, per part, and what it took.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SummaryOutcome {
    pub history: Option<String>,
    pub turn_prefix: Option<String>,
    pub upstream: UpstreamReport,
    pub fallback: Fallback,
    /// The built-in summariser wrote it.
    pub builtin: bool,
}

/// What the plan rests on; a commit checks that it still holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Basis {
    pub leaf_id: Option<Uuid>,
    pub newest: Option<Uuid>,
}

/// The new view but for the summary's text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outline {
    pub first_kept: KeptFrom,
    pub anchors: Vec<EntryHead>,
    /// Elisions of anchors and of kept entries.
    pub elisions: Vec<Elision>,
    pub previous: Option<CompactionRecord>,
    /// The summary stays as it is; only tool results are elided.
    pub elides_only: bool,
    pub is_split_turn: bool,
    pub summarized: u32,
    /// Messages shown besides the summary, and all messages on the path, when this was planned.
    pub kept: u64,
    pub messages: u64,
    pub identifiers: Vec<String>,
    pub ledger: Ledger,
    pub files: FileLists,
    pub masked: u32,
    pub pruned: u32,
    pub mask_freed: u64,
    pub from_caller: bool,
}

/// The first kept entry and the path's totals before it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct KeptFrom {
    pub id: Uuid,
    pub depth: i64,
    pub path_tokens_before: i64,
    pub path_result_tokens_before: i64,
}

/// What [`build`] works from.
pub(crate) struct Material<'a> {
    pub loaded: &'a Loaded,
    /// The whole path, where everything is to be summarised again from the originals.
    pub originals: Option<&'a Loaded>,
    pub state: &'a SessionState,
    pub settings: &'a Settings,
    pub request: &'a CompactRequest,
    pub trigger: Trigger,
    pub strategy: Strategy,
}

/// What was decided, before it has ids and a basis.
pub(crate) struct Decision {
    pub tasks: Vec<SummaryTask>,
    pub outline: Outline,
    pub replaced_tokens: u64,
    pub strategy: Strategy,
}

/// The elisions that pruning and masking propose for a view.
struct Elided {
    merged: Vec<Elision>,
    /// By pruning alone: what the summariser reads shorter.
    pruned: Vec<Elision>,
    masked_results: u32,
    freed: u64,
    mask_freed: u64,
}

/// Decides what a compaction of this material does. The inner error is the reason to do nothing.
pub(crate) fn build(material: &Material<'_>) -> Result<std::result::Result<Decision, Reason>> {
    let messages = read_messages(material.loaded)?;
    let plan = plan_on(material.loaded, material.settings, material.request.first_kept_entry_id);
    if let Err(reason @ (Reason::AlreadyCompacted | Reason::EmptySession)) = plan {
        return Ok(Err(reason));
    }
    let elided = elide(material, &messages, plan.as_ref().ok());
    if elides_only(material, plan.as_ref().ok(), &elided) {
        return Ok(elision_outline(material, elided));
    }
    match plan {
        Ok(plan) => summary_outline(material, &messages, &plan, elided).map(Ok),
        Err(reason) => Ok(Err(reason)),
    }
}

fn read_messages(loaded: &Loaded) -> Result<HashMap<usize, Message>> {
    let mut messages = HashMap::new();
    for (index, stored) in loaded.stored.iter().enumerate() {
        if stored.entry.head.is_visible()
            && let Some(message) = message_of(stored)?
        {
            messages.insert(index, message);
        }
    }
    Ok(messages)
}

fn elide(material: &Material<'_>, messages: &HashMap<usize, Message>, plan: Option<&Plan>) -> Elided {
    let view = material.loaded.view();
    let previous = material.loaded.record().map(|record| record.elisions.as_slice()).unwrap_or_default();
    let prunes = material.strategy == Strategy::Prune
        || (material.settings.tool_prune_before_summarise && material.strategy != Strategy::Mask);
    let pruned = if prunes { prune_plan(material, messages, &view, plan) } else { Vec::new() };
    let masks = matches!(material.strategy, Strategy::Auto | Strategy::Mask);
    let mask =
        if masks { mask::plan(&view, &material.loaded.heads, material.settings) } else { mask::MaskPlan::default() };
    let merged = mask::merge(&mask::merge(previous, &pruned), &mask.elisions);
    let size = |elisions: &[Elision]| -> u64 {
        elisions.iter().map(|e| u64::from(e.tokens_before.saturating_sub(e.tokens_after))).sum()
    };
    let freed = size(&merged).saturating_sub(size(previous));
    Elided { freed, pruned, masked_results: mask.results, mask_freed: mask.tokens_freed, merged }
}

fn prune_plan(
    material: &Material<'_>,
    messages: &HashMap<usize, Message>,
    view: &[ViewItem],
    plan: Option<&Plan>,
) -> Vec<Elision> {
    let heads = &material.loaded.heads;
    let end = heads.last().map_or(0, |head| head.path_tokens);
    let recent = i64::from(material.settings.keep_recent_tokens);
    let in_tail = |index: usize| match plan {
        Some(plan) => index >= plan.first_kept,
        None => end - heads[index].path_tokens < recent,
    };
    let names: HashMap<&str, &str> =
        heads.iter().flat_map(|head| &head.shape.calls).map(|call| (call.id.as_str(), call.name.as_str())).collect();
    let mut texts: Vec<(usize, &ToolResult, u32, bool, String)> = Vec::new();
    for item in view {
        let ViewItem::Entry { index, elisions } = item else { continue };
        let Some(message) = messages.get(index) else { continue };
        for (result, known) in message.tool_results().zip(&heads[*index].shape.results) {
            if result.content.iter().all(|block| matches!(block, Block::Text { .. })) {
                let already = elisions.iter().any(|elision| elision.tool_call_id == known.call_id);
                texts.push((*index, result, known.tokens, already, result.plain_text()));
            }
        }
    }
    let items: Vec<PruneItem<'_>> = texts
        .iter()
        .map(|(index, result, tokens, already_elided, text)| PruneItem {
            entry_id: heads[*index].id,
            call_id: &result.tool_call_id,
            name: names.get(result.tool_call_id.as_str()).copied().unwrap_or_default(),
            text,
            tokens: *tokens,
            already_elided: *already_elided,
            in_tail: in_tail(*index),
        })
        .collect();
    prune::plan(&items, material.settings, material.settings.estimator)
}

/// Whether eliding alone is what this compaction does.
fn elides_only(material: &Material<'_>, plan: Option<&Plan>, elided: &Elided) -> bool {
    match material.strategy {
        Strategy::Mask | Strategy::Prune => true,
        Strategy::Auto if material.request.summary.is_some() => false,
        // Somebody asked: eliding stands in only where there is nothing to summarise.
        Strategy::Auto if plan.is_none() => elided.freed > 0,
        // The provider found the context too long: how much is too much, our count does not know.
        Strategy::Auto if matches!(material.trigger, Trigger::Manual | Trigger::Overflow) => false,
        Strategy::Auto => {
            let (before, _) = material.state.account.tokens(material.settings.estimator);
            let after = material.state.account.tokens_without(elided.freed, material.settings.estimator);
            let due = fill_state(after, material.settings) == FillState::Red
                || (material.trigger == Trigger::Ahead && is_ahead_due(after, material.settings));
            elided.freed > 0 && !due && savings_pct(before, after) >= material.settings.min_savings_pct
        }
        _ => false,
    }
}

/// The outline of a compaction that leaves summary, cut and anchors as they are.
fn elision_outline(material: &Material<'_>, elided: Elided) -> std::result::Result<Decision, Reason> {
    if elided.freed == 0 {
        return Err(Reason::NothingToCompact);
    }
    let loaded = material.loaded;
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
    let pruned = count_kind(&elided.merged, &previous, |kind| kind != ElisionKind::Mask);
    let first_kept = kept_from(loaded, first_kept).ok_or(Reason::NothingToCompact)?;
    let strategy = if material.strategy == Strategy::Auto { Strategy::Mask } else { material.strategy };
    let record = previous.as_ref();
    let outline = Outline {
        first_kept,
        anchors,
        elides_only: true,
        is_split_turn: false,
        summarized: 0,
        kept: shown_messages(&loaded.view()),
        messages: material.state.messages,
        identifiers: record.map(|record| record.identifiers.clone()).unwrap_or_default(),
        ledger: record.map(|record| record.ledger.clone()).unwrap_or_default(),
        files: record.map(|record| record.details.clone()).unwrap_or_default(),
        masked: elided.masked_results,
        pruned,
        mask_freed: elided.freed,
        elisions: elided.merged,
        from_caller: record.is_some_and(|record| record.from_hook),
        previous,
    };
    Ok(Decision { tasks: Vec::new(), outline, replaced_tokens: 0, strategy })
}

fn shown_messages(view: &[ViewItem]) -> u64 {
    view.iter().filter(|item| matches!(item, ViewItem::Entry { .. })).count() as u64
}

/// File lists that came with the caller's own summary.
fn caller_files(request: &CompactRequest) -> Option<FileLists> {
    request.summary.as_ref()?;
    serde_json::from_value(request.details.clone()?).ok()
}

fn count_kind(merged: &[Elision], previous: &Option<CompactionRecord>, wanted: impl Fn(ElisionKind) -> bool) -> u32 {
    let count = |elisions: &[Elision]| elisions.iter().filter(|elision| wanted(elision.kind)).count();
    let before = previous.as_ref().map_or(0, |record| count(&record.elisions));
    u32::try_from(count(merged).saturating_sub(before)).unwrap_or(u32::MAX)
}

fn kept_from(loaded: &Loaded, index: usize) -> Option<KeptFrom> {
    let stored = loaded.stored.get(index)?;
    let head = &stored.entry.head;
    let results: i64 = head.shape.results.iter().map(|result| i64::from(result.tokens)).sum();
    let own = if head.is_visible() { i64::from(head.tokens) } else { 0 };
    Some(KeptFrom {
        id: head.id,
        depth: head.depth,
        path_tokens_before: head.path_tokens - own,
        path_result_tokens_before: stored.path_result_tokens - results,
    })
}

fn summary_outline(
    material: &Material<'_>,
    messages: &HashMap<usize, Message>,
    plan: &Plan,
    elided: Elided,
) -> Result<Decision> {
    let loaded = material.loaded;
    let previous = loaded.record().cloned();
    let span: Vec<Message> =
        plan.history.iter().chain(&plan.turn_prefix).filter_map(|index| messages.get(index).cloned()).collect();
    let record = previous.as_ref();
    let mut ledger = record.map(|record| record.ledger.clone()).unwrap_or_default();
    ledger.extend(&ledger::calls(&span));
    let old_identifiers = record.map(|record| record.identifiers.as_slice()).unwrap_or_default();
    let identifiers = identifiers::carry(old_identifiers, identifiers::extract_span(&span));
    let shown: HashSet<Uuid> = plan
        .anchors
        .iter()
        .chain(&plan.kept)
        .filter_map(|index| loaded.heads.get(*index))
        .map(|head| head.id)
        .collect();
    let elisions: Vec<Elision> =
        elided.merged.iter().filter(|elision| shown.contains(&elision.entry_id)).cloned().collect();
    let tasks = tasks(material, messages, plan, &elided.pruned)?;
    let previous_tokens = record.map_or(0, |record| u64::from(record.summary_tokens));
    let Some(first_kept) = kept_from(loaded, plan.first_kept) else {
        return Err(anyhow::anyhow!("a plan keeps nothing").into());
    };
    let strategy = match material.strategy {
        Strategy::Summarize => Strategy::Summarize,
        _ => Strategy::LlmSummarize,
    };
    let outline = Outline {
        first_kept,
        anchors: plan.anchors.iter().filter_map(|index| loaded.heads.get(*index)).cloned().collect(),
        elisions,
        elides_only: false,
        is_split_turn: plan.is_split_turn,
        summarized: u32::try_from(plan.history.len() + plan.turn_prefix.len()).unwrap_or(u32::MAX),
        kept: (plan.kept.len() + plan.anchors.len()) as u64,
        messages: material.state.messages,
        files: caller_files(material.request).unwrap_or_else(|| file_lists(loaded, &span, material.settings)),
        identifiers,
        ledger,
        masked: elided.masked_results,
        pruned: u32::try_from(elided.pruned.len()).unwrap_or(u32::MAX),
        mask_freed: elided.mask_freed,
        from_caller: material.request.summary.is_some(),
        previous,
    };
    Ok(Decision { tasks, outline, replaced_tokens: plan.tokens_to_summarize + previous_tokens, strategy })
}

/// What a summariser is asked: the history where there is any, and the beginning of a split turn.
fn tasks(
    material: &Material<'_>,
    messages: &HashMap<usize, Message>,
    plan: &Plan,
    pruned: &[Elision],
) -> Result<Vec<SummaryTask>> {
    if material.request.summary.is_some() {
        return Ok(Vec::new());
    }
    let mut by_entry: HashMap<Uuid, Vec<Elision>> = HashMap::new();
    for elision in pruned {
        by_entry.entry(elision.entry_id).or_default().push(elision.clone());
    }
    let shortened = |index: &usize| -> Option<Message> {
        let mut message = messages.get(index)?.clone();
        if let Some(elisions) = by_entry.get(&material.loaded.heads[*index].id) {
            mask::apply(&mut message, elisions);
        }
        Some(message)
    };
    let history = match material.originals {
        Some(originals) => original_history(material, originals, plan)?,
        None => plan.history.iter().filter_map(shortened).collect(),
    };
    let previous = material
        .loaded
        .record()
        .filter(|_| material.originals.is_none())
        .and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()))
        .filter(|summary| !summary.is_empty());
    let prefix: Vec<Message> = plan.turn_prefix.iter().filter_map(shortened).collect();
    let mut tasks = Vec::new();
    if !history.is_empty() {
        tasks.push(task(material, SummaryPart::History, previous, history));
    }
    if !prefix.is_empty() {
        tasks.push(task(material, SummaryPart::TurnPrefix, None, prefix));
    }
    Ok(tasks)
}

/// Everything before the cut, from the root on, anchors aside.
fn original_history(material: &Material<'_>, originals: &Loaded, plan: &Plan) -> Result<Vec<Message>> {
    let history_end = plan.turn_prefix.first().copied().unwrap_or(plan.first_kept);
    let end = material.loaded.heads.get(history_end).map_or(i64::MAX, |head| head.depth);
    let anchors: HashSet<Uuid> = plan.anchors.iter().map(|index| material.loaded.heads[*index].id).collect();
    let mut history = Vec::new();
    for stored in &originals.stored {
        let head = &stored.entry.head;
        if head.depth < end && head.is_visible() && !anchors.contains(&head.id) {
            history.extend(message_of(stored)?);
        }
    }
    Ok(history)
}

fn task(material: &Material<'_>, part: SummaryPart, previous: Option<String>, messages: Vec<Message>) -> SummaryTask {
    let settings = material.settings;
    let share = if part == SummaryPart::TurnPrefix { TURN_PREFIX_SHARE } else { HISTORY_SHARE };
    let bound = u32::try_from(u64::from(settings.reserve_tokens) * share / 100).unwrap_or(u32::MAX).max(1);
    SummaryTask {
        part,
        template: settings.template,
        prompt: settings.prompt.clone(),
        previous,
        messages,
        focus_topic: settings.focus_topic.clone(),
        instructions: settings.instructions.clone(),
        max_output_tokens: settings.summary_max_tokens.map_or(bound, |most| most.min(bound)),
    }
}
