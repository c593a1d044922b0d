//! Making a context fit that must be handed out now: what is kept of it is shortened too, where a summary of the rest
//! is not enough or there is no rest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use super::elide::Elided;
use super::outline::elision_outline;
use super::{Decision, Material};
use crate::domain::compaction::{ElidedPart, Elision, ElisionKind, Reason};
use crate::domain::entry::EntryHead;
use crate::domain::mask;
use crate::domain::message::{Block, ToolResult};
use crate::domain::settings::Strategy;
use crate::domain::shape::ShapeKind;
use crate::domain::summary::Allowance;
use crate::domain::view::ViewItem;
use crate::service::error::Result;
use crate::service::history::message_of;
use crate::service::tool_calls::join;
use crate::store::entries::StoredEntry;
use crate::store::path::Segment;

/// What the context is brought down to, in percent of the usable window: with room for some turns.
const TARGET_PERCENT: u64 = 60;
/// What is left of a result at least, in tokens.
const SMALLEST: u32 = 300;
/// Framing and file lists of a summary message, roughly.
const FRAME_TOKENS: u64 = 200;

/// A tool result that is shown, and to how many tokens it is cut.
struct Shown {
    call_id: String,
    original: u32,
    tokens: u32,
    goal: u64,
}

/// The results of a context that are cut down, on their way past.
pub(crate) struct Squeeze {
    material: Arc<Material>,
    /// By place on the path.
    wanted: HashMap<usize, Vec<Shown>>,
    cut: Vec<Elision>,
}

impl Squeeze {
    /// What has to be cut down besides. `None`: nothing, or nothing can be.
    pub(crate) fn of(material: &Arc<Material>, decision: &std::result::Result<Decision, Reason>) -> Option<Squeeze> {
        let heads = &material.loaded.heads;
        let wanted = match decision {
            Ok(decision) => {
                let outline = &decision.outline;
                let anchors: HashSet<Uuid> = outline.anchors.iter().map(|anchor| anchor.id).collect();
                let is_kept = |head: &EntryHead| head.depth >= outline.first_kept.depth || anchors.contains(&head.id);
                let kept = heads.iter().enumerate().filter(|(_, head)| head.is_visible() && is_kept(head));
                let kept: Vec<usize> = kept.map(|(index, _)| index).collect();
                let allowance = Allowance::new(decision.replaced_tokens, material.settings.summary_reserve());
                let summary = u64::from(allowance.body) + 2 * u64::from(allowance.appendix) + FRAME_TOKENS;
                to_cut(material, &kept, &outline.elisions, summary)
            }
            Err(Reason::NothingToCompact | Reason::NoValidCutPoint | Reason::AlreadyCompacted) => {
                let shown: Vec<usize> = material.loaded.view().iter().filter_map(entry_index).collect();
                let summary = material.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
                to_cut(material, &shown, present(material), summary)
            }
            Err(_) => HashMap::new(),
        };
        (!wanted.is_empty()).then(|| Squeeze { material: material.clone(), wanted, cut: Vec::new() })
    }

    /// Where the items are that have to be read.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let mut places: Vec<usize> = self.wanted.keys().copied().collect();
        places.sort_unstable();
        join(places.into_iter().map(|index| self.material.loaded.segment(index)))
    }

    /// Takes in the next entry, in path order.
    pub(crate) fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let place = self.material.loaded.place_of(stored);
        let Some(wanted) = place.and_then(|index| self.wanted.get(&index)) else { return Ok(()) };
        let Some(message) = message_of(stored)? else { return Ok(()) };
        for shown in wanted {
            let is_it = |result: &&ToolResult| result.tool_call_id == shown.call_id;
            if let Some(result) = message.tool_results().find(is_it) {
                self.cut.extend(cut_down(&self.material, stored.entry.head.id, result, shown));
            }
        }
        Ok(())
    }

    /// The decision with what was cut.
    pub(crate) fn finish(
        self,
        decision: std::result::Result<Decision, Reason>,
    ) -> std::result::Result<Decision, Reason> {
        let count = u32::try_from(self.cut.len()).unwrap_or(u32::MAX);
        if let Ok(mut decision) = decision {
            let outline = &mut decision.outline;
            outline.pruned = outline.pruned.saturating_add(count);
            outline.elisions = mask::merge(&outline.elisions, &self.cut);
            return Ok(decision);
        }
        let previous = present(&self.material);
        let merged = mask::merge(previous, &self.cut);
        let freed = freed(&merged).saturating_sub(freed(previous));
        let elided = Elided { merged, pruned: count, masked_results: 0, freed, mask_freed: freed };
        let decision = elision_outline(&self.material, elided)?;
        Ok(Decision { strategy: Strategy::Truncate, ..decision })
    }
}

/// Elisions that are in force already.
fn present(material: &Material) -> &[Elision] {
    material.loaded.record().map(|record| record.elisions.as_slice()).unwrap_or_default()
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

/// The results to cut so that the entries at `kept`, with a summary of this size, come down to the target: the largest
/// first, each only as far as needed.
fn to_cut(material: &Material, kept: &[usize], present: &[Elision], summary: u64) -> HashMap<usize, Vec<Shown>> {
    let heads = &material.loaded.heads;
    let ids: HashSet<Uuid> = kept.iter().filter_map(|index| heads.get(*index)).map(|head| head.id).collect();
    let whole: u64 = kept.iter().filter_map(|index| heads.get(*index)).map(|head| u64::from(head.tokens)).sum();
    let elided: Vec<Elision> = present.iter().filter(|elision| ids.contains(&elision.entry_id)).cloned().collect();
    let account = &material.state.account;
    let fixed = u64::from(account.system) + u64::from(account.tools);
    let mut over = (fixed + summary + whole.saturating_sub(freed(&elided))).saturating_sub(target(material));
    let mut wanted: HashMap<usize, Vec<Shown>> = HashMap::new();
    for (index, mut shown) in shown_results(material, kept, present) {
        if over == 0 || shown.tokens <= 2 * SMALLEST {
            break;
        }
        shown.goal = u64::from(shown.tokens).saturating_sub(over).max(u64::from(SMALLEST));
        over = over.saturating_sub(u64::from(shown.tokens).saturating_sub(shown.goal));
        wanted.entry(index).or_default().push(shown);
    }
    wanted
}

/// The target in estimated tokens, which is what entries are counted in.
fn target(material: &Material) -> u64 {
    let account = &material.state.account;
    let (tokens, _) = account.tokens(material.settings.estimator);
    let target = u64::from(material.settings.usable()) * TARGET_PERCENT / 100;
    target * u64::try_from(account.estimated()).unwrap_or(0) / tokens.max(1)
}

/// The results that may be shortened, largest first.
fn shown_results(material: &Material, kept: &[usize], present: &[Elision]) -> Vec<(usize, Shown)> {
    let heads = &material.loaded.heads;
    let names: HashMap<&str, &str> =
        heads.iter().flat_map(|head| &head.shape.calls).map(|call| (call.id.as_str(), call.name.as_str())).collect();
    let excluded: HashSet<&str> = material.settings.exclude_tools.iter().map(String::as_str).collect();
    let pinned: HashSet<Uuid> = material.settings.pinned_entry_ids.iter().copied().collect();
    let of_result = present.iter().filter(|elision| elision.part == ElidedPart::Result);
    let elided: HashMap<(Uuid, &str), &Elision> =
        of_result.map(|elision| ((elision.entry_id, elision.tool_call_id.as_str()), elision)).collect();
    let mut results = Vec::new();
    for index in kept {
        let Some(head) = heads.get(*index).filter(|head| !pinned.contains(&head.id)) else { continue };
        for result in head.shape.results.iter().filter(|result| result.kind == ShapeKind::Function) {
            let call_id = result.call_id.as_str();
            if names.get(call_id).is_some_and(|name| excluded.contains(name)) {
                continue;
            }
            let tokens = elided.get(&(head.id, call_id)).map_or(result.tokens, |elision| elision.tokens_after);
            let shown = Shown { call_id: call_id.to_owned(), original: result.tokens, tokens, goal: 0 };
            results.push((*index, shown));
        }
    }
    results.sort_by_key(|(_, shown)| std::cmp::Reverse(shown.tokens));
    results
}

/// Head and tail of a result, of about as many tokens as wanted; a marker where there is more to it than text.
fn cut_down(material: &Material, entry_id: Uuid, result: &ToolResult, shown: &Shown) -> Option<Elision> {
    let (text, keep_chars) = if result.content.iter().all(|block| matches!(block, Block::Text { .. })) {
        let text = result.plain_text();
        let chars = text.chars().count() as u64;
        let keep = u32::try_from(chars * shown.goal / u64::from(shown.original.max(1)) * 9 / 10).unwrap_or(u32::MAX);
        let (head, tail) = (keep - keep / 3, keep / 3);
        (mask::truncated(&shown.call_id, &text, head as usize, tail as usize)?, Some((head, tail)))
    } else {
        (mask::marker(&shown.call_id, shown.original), None)
    };
    let tokens_after = mask::result_tokens(material.settings.estimator, &shown.call_id, &text);
    (tokens_after < shown.tokens).then(|| Elision {
        entry_id,
        tool_call_id: shown.call_id.clone(),
        kind: if keep_chars.is_some() { ElisionKind::Truncate } else { ElisionKind::Mask },
        part: ElidedPart::Result,
        tokens_before: shown.original,
        tokens_after,
        same_as: None,
        keep_chars,
        text: None,
    })
}
