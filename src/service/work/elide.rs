//! Which tool results a compaction shows shorter, and whether that is all it does.

use std::collections::HashMap;

use super::Material;
use crate::domain::accounting::fill_state;
use crate::domain::compaction::{Elision, FillState};
use crate::domain::guard::savings_pct;
use crate::domain::mask;
use crate::domain::message::{Block, Message, ToolResult};
use crate::domain::prepare::Plan;
use crate::domain::prune::{self, PruneItem};
use crate::domain::settings::Strategy;
use crate::domain::view::ViewItem;
use crate::service::compactions::Trigger;

/// The elisions that pruning and masking propose for a view.
pub(super) struct Elided {
    pub merged: Vec<Elision>,
    /// By pruning alone: what the summariser reads shorter.
    pub pruned: Vec<Elision>,
    pub masked_results: u32,
    pub freed: u64,
    pub mask_freed: u64,
}

pub(super) fn elide(material: &Material<'_>, messages: &HashMap<usize, Message>, plan: Option<&Plan>) -> Elided {
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
pub(super) fn elides_only(material: &Material<'_>, plan: Option<&Plan>, elided: &Elided) -> bool {
    match material.strategy {
        Strategy::Mask | Strategy::Prune => true,
        Strategy::Auto if material.request.summary.is_some() => false,
        // Somebody asked: eliding stands in only where there is nothing to summarise.
        Strategy::Auto if plan.is_none() => elided.freed > 0,
        Strategy::Auto if material.trigger == Trigger::Manual => false,
        Strategy::Auto => {
            let (before, _) = material.state.account.tokens(material.settings.estimator);
            let after = material.state.account.tokens_without(elided.freed, material.settings.estimator);
            elided.freed > 0
                && fill_state(after, material.settings) != FillState::Red
                && savings_pct(before, after) >= material.settings.min_savings_pct
        }
        _ => false,
    }
}
