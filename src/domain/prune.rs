//! Pruning: repeated tool results point to their newest copy; long ones and long arguments keep head and tail.

mod arguments;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::compaction::{ElidedPart, Elision, ElisionKind};
use super::mask;
use super::settings::{Estimator, Settings};

pub use arguments::{PruneCall, plan_arguments};

/// One tool result in the order of the view. Give only results that are shown (see [`super::pairing::answered`]) and
/// that are text alone: an image is no duplicate of another because the words beside it are the same.
#[derive(Debug, Clone, Copy)]
pub struct PruneItem<'a> {
    pub entry_id: Uuid,
    pub call_id: &'a str,
    /// The tool's name; empty where it is not known.
    pub name: &'a str,
    pub text: &'a str,
    /// Size of the whole result, as counted on arrival.
    pub tokens: u32,
    /// It is shown shorter already: left alone, and nothing points to it.
    pub already_elided: bool,
    /// It belongs to the kept tail: it may be pointed to, but it stays as it is.
    pub in_tail: bool,
}

/// The elisions that free tokens: duplicates first considered, then length. `max_tool_result_size` is in
/// characters; a longer result keeps two thirds of that from its head and one third from its tail. Pinned entries stay
/// as they are, and so do results that share entry and call id with another: an elision could not tell them apart.
pub fn plan(items: &[PruneItem<'_>], settings: &Settings, estimator: Estimator) -> Vec<Elision> {
    let excluded: HashSet<&str> = settings.exclude_tools.iter().map(String::as_str).collect();
    let pinned: HashSet<Uuid> = settings.pinned_entry_ids.iter().copied().collect();
    let stays = |item: &PruneItem<'_>| {
        item.already_elided || item.in_tail || excluded.contains(item.name) || pinned.contains(&item.entry_id)
    };
    let mut places: HashMap<(Uuid, &str), usize> = HashMap::new();
    items.iter().for_each(|item| *places.entry((item.entry_id, item.call_id)).or_default() += 1);
    let unique = |item: &PruneItem<'_>| places.get(&(item.entry_id, item.call_id)) == Some(&1);
    let mut newest: HashMap<&str, usize> = HashMap::new();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| !item.already_elided) {
        newest.insert(item.text, at);
    }
    items
        .iter()
        .enumerate()
        .filter(|(_, item)| !stays(item) && unique(item))
        .filter_map(|(at, item)| {
            let copy = newest.get(item.text).filter(|&&last| last > at).and_then(|&last| items.get(last));
            // A pointer to its own id would point nowhere.
            let copy = copy.filter(|copy| copy.call_id != item.call_id);
            copy.and_then(|copy| duplicate(item, copy.call_id, estimator))
                .or_else(|| truncate(item, settings.max_tool_result_size, estimator))
        })
        .collect()
}

/// All of these, or none where all together free less than `min_gain_tokens`.
pub fn worthwhile(elisions: Vec<Elision>, settings: &Settings) -> Vec<Elision> {
    let freed: i64 = elisions.iter().map(Elision::freed).sum();
    if freed >= i64::from(settings.min_gain_tokens) { elisions } else { Vec::new() }
}

/// How many characters of head and tail stay of what is longer than `max_chars`.
fn kept_ends(max_chars: u32) -> (u32, u32) {
    let tail = max_chars / 3;
    (max_chars - tail, tail)
}

fn duplicate(item: &PruneItem<'_>, same_as: &str, estimator: Estimator) -> Option<Elision> {
    let shown = mask::duplicate(item.call_id, same_as, item.tokens);
    let elision = elide(item, ElisionKind::Duplicate, &shown, estimator)?;
    Some(Elision { same_as: Some(same_as.to_owned()), ..elision })
}

fn truncate(item: &PruneItem<'_>, max_chars: u32, estimator: Estimator) -> Option<Elision> {
    let (head, tail) = kept_ends(max_chars);
    let shown = mask::truncated(item.call_id, item.text, head as usize, tail as usize)?;
    let elision = elide(item, ElisionKind::Truncate, &shown, estimator)?;
    Some(Elision { keep_chars: Some((head, tail)), ..elision })
}

fn elide(item: &PruneItem<'_>, kind: ElisionKind, shown: &str, estimator: Estimator) -> Option<Elision> {
    let tokens_after = mask::result_tokens(estimator, item.call_id, shown);
    (tokens_after < item.tokens).then(|| Elision {
        entry_id: item.entry_id,
        tool_call_id: item.call_id.to_owned(),
        kind,
        part: ElidedPart::Result,
        tokens_before: item.tokens,
        tokens_after,
        same_as: None,
        keep_chars: None,
    })
}

#[cfg(test)]
mod tests;
