//! Masking: old tool results give way to a marker. The originals stay in their entries, so it can be undone, and the
//! agent can page one back in by its call id.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::context::elision::{occurrences, result_tokens};
use crate::context::pairing;
use crate::context::placeholder::{marker, replaced};
use crate::context::view::ViewItem;
use crate::context::whole::WholeTraffic;
use crate::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::model::entry::EntryMeta;
use crate::settings::{Estimator, Settings};

/// Plan of a masking: what it would do to a view.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MaskPlan {
    /// New elisions only; see [`crate::context::elision::merge`].
    pub elisions: Vec<Elision>,
    pub tokens_freed: u64,
    pub results: u32,
}

/// Results that stay as they are, by entry and call.
pub type SparedResults = HashSet<(Uuid, String)>;

/// What results say in brief, the longest text first, and how many tokens may be spent on that altogether.
#[derive(Debug, Default)]
pub struct BriefResults {
    pub told: HashMap<(Uuid, String), Vec<String>>,
    pub room: u64,
    /// A result stays as it is where masking it would free fewer tokens.
    pub least_gain: u32,
}

/// The rooms that one result is told in, in brief, in quarter tokens, and the most that is shown of it with its marker.
pub const BRIEF_ROOMS: [usize; 2] = [120, 48];
const MOST_BRIEF_TOKENS: u32 = 112;

/// Plans the masking of every result older than the newest `keep_recent_results` of the view, newest last.
///
/// Pinned entries stay as they are. Results that are masked already are left alone, so planning on the outcome gives an empty plan. Nothing is
/// masked that would not free tokens, or if all of it together frees less than `min_gain_tokens`.
pub fn plan(view: &[ViewItem], path: &[EntryMeta], settings: &Settings) -> MaskPlan {
    plan_without(view, path, settings, &SparedResults::new(), &BriefResults::default())
}

/// The same without the results that are spared. What a result says in brief stands before its marker while there is room,
/// the newest first: a marker alone tells an agent that it has looked, and nothing of what it saw.
pub fn plan_without(
    view: &[ViewItem],
    path: &[EntryMeta],
    settings: &Settings,
    spared: &SparedResults,
    brief: &BriefResults,
) -> MaskPlan {
    let shown = shown_results(view, path);
    let old = shown.len().saturating_sub(settings.keep_recent_results as usize);
    let excluded: HashSet<&str> = settings.exclude_tools.iter().map(String::as_str).collect();
    let pinned: HashSet<Uuid> = settings.pinned_entry_ids.iter().copied().collect();
    let (mut plan, mut room) = (MaskPlan::default(), brief.room);
    for result in shown.iter().take(old).rev() {
        let excluded = pinned.contains(&result.entry_id) || result.name.is_some_and(|name| excluded.contains(name));
        let is_spared = || spared.contains(&(result.entry_id, result.call_id.to_owned()));
        if result.marked || excluded || result.ambiguous || is_spared() {
            continue;
        }
        let marker = marker(result.call_id, result.original_tokens);
        let marked = result_tokens(settings.estimator, result.call_id, &marker);
        if marked + brief.least_gain.max(1) <= result.shown_tokens {
            let told = result.told_briefly(brief, settings.estimator);
            let told = told.filter(|(_, after)| {
                after + brief.least_gain <= result.shown_tokens && u64::from(after.saturating_sub(marked)) <= room
            });
            let (text, after) = told.map_or((None, marked), |(text, after)| (Some(text.to_owned()), after));
            room = room.saturating_sub(u64::from(after.saturating_sub(marked)));
            plan.tokens_freed += u64::from(result.shown_tokens - after);
            plan.results += 1;
            plan.elisions.push(Elision {
                entry_id: result.entry_id,
                tool_call_id: result.call_id.to_owned(),
                kind: if text.is_some() { ElisionKind::Replace } else { ElisionKind::Mask },
                part: ElidedPart::Result,
                tokens_before: result.original_tokens,
                tokens_after: after,
                same_as: None,
                keep_chars: None,
                text,
            });
        }
    }
    plan.elisions.reverse();
    if plan.tokens_freed < u64::from(settings.min_gain_tokens) {
        return MaskPlan::default();
    }
    plan
}

struct MaskableResult<'a> {
    entry_id: Uuid,
    call_id: &'a str,
    name: Option<&'a str>,
    original_tokens: u32,
    shown_tokens: u32,
    /// Nothing but a marker is shown already.
    marked: bool,
    /// Another result of the same entry has the same call id: an elision could not tell them apart.
    ambiguous: bool,
}

impl MaskableResult<'_> {
    /// What it says in brief and the size of that with its marker, where it is much smaller than what is shown.
    fn told_briefly<'b>(&self, brief: &'b BriefResults, estimator: Estimator) -> Option<(&'b str, u32)> {
        let texts = brief.told.get(&(self.entry_id, self.call_id.to_owned()))?;
        let mut sized = texts.iter().map(|text| {
            let shown = replaced(self.call_id, text, self.original_tokens);
            (text.as_str(), result_tokens(estimator, self.call_id, &shown))
        });
        sized.find(|(_, after)| *after <= MOST_BRIEF_TOKENS.min(self.shown_tokens / 2))
    }
}

fn shown_results<'a>(view: &'a [ViewItem], path: &'a [EntryMeta]) -> Vec<MaskableResult<'a>> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut shown = Vec::new();
    // What answers no call goes out in no context.
    let unanswered = pairing::unanswered(view, path);
    let whole = WholeTraffic::of(path);
    for item in view {
        let ViewItem::Entry { index, elisions } = item else { continue };
        let Some(head) = path.get(*index) else { continue };
        names.extend(head.shape.calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
        let earlier: HashMap<&str, &Elision> =
            results_of(elisions).map(|elision| (elision.tool_call_id.as_str(), elision)).collect();
        let ids = occurrences(head.shape.results.iter().map(|result| result.call_id.as_str()));
        for (slot, result) in head.shape.results.iter().enumerate() {
            let call_id = result.call_id.as_str();
            if whole.has_result(result) || unanswered.contains(&(*index, slot)) {
                continue;
            }
            let earlier = earlier.get(call_id);
            shown.push(MaskableResult {
                entry_id: head.id,
                call_id,
                name: names.get(call_id).copied(),
                original_tokens: result.tokens,
                shown_tokens: earlier.map_or(result.tokens, |elision| elision.tokens_after),
                marked: earlier.copied().is_some_and(is_marked),
                ambiguous: ids.get(call_id).is_some_and(|count| *count > 1),
            });
        }
    }
    shown
}

/// Returns true if nothing but a marker is shown of a result, or so little more that masking would hardly free a token.
fn is_marked(elision: &Elision) -> bool {
    match elision.kind {
        ElisionKind::Mask | ElisionKind::Drop => true,
        ElisionKind::Replace => elision.tokens_after <= MOST_BRIEF_TOKENS,
        ElisionKind::Truncate | ElisionKind::Duplicate => false,
    }
}

fn results_of(elisions: &[Elision]) -> impl Iterator<Item = &Elision> {
    elisions.iter().filter(|elision| elision.part == ElidedPart::Result)
}

#[cfg(test)]
mod tests;
