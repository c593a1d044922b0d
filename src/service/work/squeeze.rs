//! Making a context fit that must be handed out now: what is kept of it is shortened too, where a summary of the rest
//! is not enough or there is no rest.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::elide::Elided;
use super::outline::elision_outline;
use super::{Decision, Material, build};
use crate::domain::compaction::{Elision, ElisionKind, Reason};
use crate::domain::entry::EntryHead;
use crate::domain::mask;
use crate::domain::message::{Block, ToolResult};
use crate::domain::settings::Strategy;
use crate::domain::shape::ShapeKind;
use crate::domain::summary::Allowance;
use crate::domain::view::ViewItem;
use crate::service::error::Result;
use crate::service::history::message_of;

/// What the context is brought down to, in percent of the usable window: with room for some turns.
const TARGET_PERCENT: u64 = 60;
/// What is left of a result at least, in tokens.
const SMALLEST: u32 = 300;
/// Framing and file lists of a summary message, roughly.
const FRAME_TOKENS: u64 = 200;

/// A tool result as it would be shown.
struct Shown<'a> {
    index: usize,
    call_id: &'a str,
    original: u32,
    tokens: u32,
}

/// As [`build`]; what stays is cut down where the context would not fit all the same.
pub(crate) fn build_to_fit(material: &Material<'_>) -> Result<std::result::Result<Decision, Reason>> {
    let heads = &material.loaded.heads;
    match build(material)? {
        Ok(mut decision) => {
            let outline = &mut decision.outline;
            let anchors: HashSet<Uuid> = outline.anchors.iter().map(|anchor| anchor.id).collect();
            let is_kept = |head: &EntryHead| head.depth >= outline.first_kept.depth || anchors.contains(&head.id);
            let kept = indexes(heads, |head| head.is_visible() && is_kept(head));
            let allowance = Allowance::new(decision.replaced_tokens, material.settings.reserve_tokens);
            let summary = u64::from(allowance.body) + 2 * u64::from(allowance.appendix) + FRAME_TOKENS;
            let cut = shorten(material, &kept, &outline.elisions, summary)?;
            outline.pruned = outline.pruned.saturating_add(u32::try_from(cut.len()).unwrap_or(u32::MAX));
            outline.elisions = mask::merge(&outline.elisions, &cut);
            Ok(Ok(decision))
        }
        Err(Reason::NothingToCompact | Reason::NoValidCutPoint | Reason::AlreadyCompacted) => {
            let record = material.loaded.record();
            let previous = record.map(|record| record.elisions.as_slice()).unwrap_or_default();
            let shown: HashSet<usize> = material.loaded.view().iter().filter_map(entry_index).collect();
            let shown: Vec<usize> = (0..heads.len()).filter(|index| shown.contains(index)).collect();
            let summary = record.map_or(0, |record| u64::from(record.summary_tokens));
            let cut = shorten(material, &shown, previous, summary)?;
            let merged = mask::merge(previous, &cut);
            let freed = freed(&merged).saturating_sub(freed(previous));
            let elided = Elided { merged, pruned: Vec::new(), masked_results: 0, freed, mask_freed: freed };
            Ok(elision_outline(&Material { strategy: Strategy::Truncate, ..*material }, elided))
        }
        Err(reason) => Ok(Err(reason)),
    }
}

fn indexes(heads: &[EntryHead], wanted: impl Fn(&EntryHead) -> bool) -> Vec<usize> {
    heads.iter().enumerate().filter(|(_, head)| wanted(head)).map(|(index, _)| index).collect()
}

fn entry_index(item: &ViewItem) -> Option<usize> {
    match item {
        ViewItem::Entry { index, .. } => Some(*index),
        ViewItem::Summary { .. } => None,
    }
}

fn freed(elisions: &[Elision]) -> u64 {
    elisions.iter().map(|elision| u64::from(elision.tokens_before.saturating_sub(elision.tokens_after))).sum()
}

/// Elisions over `present` ones that bring the entries at `kept`, with a summary of this size, down to the target: the
/// largest results first, each only as far as needed.
fn shorten(material: &Material<'_>, kept: &[usize], present: &[Elision], summary: u64) -> Result<Vec<Elision>> {
    let results = shown_results(material, kept, present);
    let heads = &material.loaded.heads;
    let ids: HashSet<Uuid> = kept.iter().filter_map(|index| heads.get(*index)).map(|head| head.id).collect();
    let whole: u64 = kept.iter().filter_map(|index| heads.get(*index)).map(|head| u64::from(head.tokens)).sum();
    let elided: Vec<Elision> = present.iter().filter(|elision| ids.contains(&elision.entry_id)).cloned().collect();
    let account = &material.state.account;
    let fixed = u64::from(account.system) + u64::from(account.tools);
    let mut over = (fixed + summary + whole.saturating_sub(freed(&elided))).saturating_sub(target(material));
    let mut cut = Vec::new();
    for result in results {
        if over == 0 || result.tokens <= 2 * SMALLEST {
            break;
        }
        let goal = u64::from(result.tokens).saturating_sub(over).max(u64::from(SMALLEST));
        if let Some(elision) = cut_down(material, &result, goal)? {
            over = over.saturating_sub(u64::from(result.tokens.saturating_sub(elision.tokens_after)));
            cut.push(elision);
        }
    }
    Ok(cut)
}

/// The target in estimated tokens, which is what entries are counted in.
fn target(material: &Material<'_>) -> u64 {
    let account = &material.state.account;
    let (tokens, _) = account.tokens(material.settings.estimator);
    let target = u64::from(material.settings.usable()) * TARGET_PERCENT / 100;
    target * u64::try_from(account.estimated()).unwrap_or(0) / tokens.max(1)
}

/// The results that may be shortened, largest first.
fn shown_results<'a>(material: &Material<'a>, kept: &[usize], present: &[Elision]) -> Vec<Shown<'a>> {
    let heads = &material.loaded.heads;
    let names: HashMap<&str, &str> =
        heads.iter().flat_map(|head| &head.shape.calls).map(|call| (call.id.as_str(), call.name.as_str())).collect();
    let excluded: HashSet<&str> = material.settings.exclude_tools.iter().map(String::as_str).collect();
    let pinned: HashSet<Uuid> = material.settings.pinned_entry_ids.iter().copied().collect();
    let elided: HashMap<(Uuid, &str), &Elision> =
        present.iter().map(|elision| ((elision.entry_id, elision.tool_call_id.as_str()), elision)).collect();
    let mut results = Vec::new();
    for index in kept {
        let Some(head) = heads.get(*index).filter(|head| !pinned.contains(&head.id)) else { continue };
        for result in head.shape.results.iter().filter(|result| result.kind == ShapeKind::Function) {
            let call_id = result.call_id.as_str();
            if names.get(call_id).is_some_and(|name| excluded.contains(name)) {
                continue;
            }
            let tokens = elided.get(&(head.id, call_id)).map_or(result.tokens, |elision| elision.tokens_after);
            results.push(Shown { index: *index, call_id, original: result.tokens, tokens });
        }
    }
    results.sort_by_key(|result| std::cmp::Reverse(result.tokens));
    results
}

/// Head and tail of a result, of about `goal` tokens; a marker where there is more to it than text.
fn cut_down(material: &Material<'_>, shown: &Shown<'_>, goal: u64) -> Result<Option<Elision>> {
    let Some(stored) = material.loaded.stored.get(shown.index) else { return Ok(None) };
    let Some(message) = message_of(stored)? else { return Ok(None) };
    let is_it = |result: &&ToolResult| result.tool_call_id == shown.call_id;
    let Some(result) = message.tool_results().find(is_it) else { return Ok(None) };
    let (text, keep_chars) = if result.content.iter().all(|block| matches!(block, Block::Text { .. })) {
        let text = result.plain_text();
        let chars = text.chars().count() as u64;
        let keep = u32::try_from(chars * goal / u64::from(shown.original.max(1)) * 9 / 10).unwrap_or(u32::MAX);
        let (head, tail) = (keep - keep / 3, keep / 3);
        match mask::truncated(shown.call_id, &text, head as usize, tail as usize) {
            Some(text) => (text, Some((head, tail))),
            None => return Ok(None),
        }
    } else {
        (mask::marker(shown.call_id, shown.original), None)
    };
    let tokens_after = mask::result_tokens(material.settings.estimator, shown.call_id, &text);
    Ok((tokens_after < shown.tokens).then(|| Elision {
        entry_id: stored.entry.head.id,
        tool_call_id: shown.call_id.to_owned(),
        kind: if keep_chars.is_some() { ElisionKind::Truncate } else { ElisionKind::Mask },
        tokens_before: shown.original,
        tokens_after,
        same_as: None,
        keep_chars,
    }))
}
