//! Long strings in the arguments of calls: a file that was written, a patch, a script.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::kept_ends;
use crate::domain::compaction::{ElidedPart, Elision, ElisionKind};
use crate::domain::mask::arguments::{ALWAYS_WHOLE, call_tokens, shorten};
use crate::domain::message::ToolCall;
use crate::domain::settings::{Estimator, Settings};

/// One call in the order of the view.
#[derive(Debug, Clone, Copy)]
pub struct PruneCall<'a> {
    pub entry_id: Uuid,
    pub call: &'a ToolCall,
    /// Its arguments are shown shorter already: left alone.
    pub already_elided: bool,
    /// It belongs to the kept tail: it stays as it is.
    pub in_tail: bool,
}

/// The elisions of arguments that free tokens: strings of more than `max_tool_result_size` characters keep head and
/// tail. Excluded tools and pinned entries stay as they are, and so do calls that share entry and id with another.
pub fn plan_arguments(calls: &[PruneCall<'_>], settings: &Settings, estimator: Estimator) -> Vec<Elision> {
    let excluded: HashSet<&str> = settings.exclude_tools.iter().map(String::as_str).collect();
    let pinned: HashSet<Uuid> = settings.pinned_entry_ids.iter().copied().collect();
    let mut places: HashMap<(Uuid, &str), usize> = HashMap::new();
    calls.iter().for_each(|one| *places.entry((one.entry_id, one.call.id.as_str())).or_default() += 1);
    let stays = |one: &PruneCall<'_>| {
        one.already_elided
            || one.in_tail
            || excluded.contains(one.call.name.as_str())
            || pinned.contains(&one.entry_id)
            || places.get(&(one.entry_id, one.call.id.as_str())) != Some(&1)
    };
    let least = u32::try_from(ALWAYS_WHOLE).unwrap_or(u32::MAX);
    let ends = kept_ends(settings.max_tool_result_size.max(least));
    calls.iter().filter(|one| !stays(one)).filter_map(|one| elide(one, ends, estimator)).collect()
}

fn elide(one: &PruneCall<'_>, ends: (u32, u32), estimator: Estimator) -> Option<Elision> {
    let mut shown = one.call.clone();
    if !shorten(&mut shown, ends.0 as usize, ends.1 as usize) {
        return None;
    }
    let (tokens_before, tokens_after) = (call_tokens(estimator, one.call), call_tokens(estimator, &shown));
    (tokens_after < tokens_before).then(|| Elision {
        entry_id: one.entry_id,
        tool_call_id: one.call.id.clone(),
        kind: ElisionKind::Truncate,
        part: ElidedPart::Arguments,
        tokens_before,
        tokens_after,
        same_as: None,
        keep_chars: Some(ends),
    })
}
