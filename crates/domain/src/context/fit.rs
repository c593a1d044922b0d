//! Making a context fit a smaller bound for one rebuild: its oldest turns are left out, nothing is stored.

use super::view::{ViewItem, item_tokens};
use crate::context::ties::ties;
use crate::model::entry::EntryMeta;
use crate::model::message::Role;
use crate::settings::Settings;

/// The view without as many of its oldest messages as free `over` tokens, and the tokens freed. System messages, anchors
/// and the summary stay, as does the newest compaction of a provider's own; nothing is parted
/// that is tied together.
///
/// # Errors
/// The most that could be freed, where that is less than `over`.
pub fn fit(path: &[EntryMeta], view: &[ViewItem], over: u64, settings: &Settings) -> Result<(Vec<ViewItem>, u64), u64> {
    let protected = protected(path, view, settings);
    let tail = &view[protected..];
    let heads: Vec<&EntryMeta> = tail.iter().filter_map(|item| head_of(path, item)).collect();
    let mut open_until = 0;
    let mut reach = vec![0; heads.len()];
    for tie in ties(&heads) {
        reach[tie.first] = reach[tie.first].max(tie.last);
    }
    let checkpoint = heads.iter().rposition(|head| head.shape.checkpoint);
    let mut freed = 0;
    let mut most = 0;
    for cut in 1..heads.len() {
        if Some(cut - 1) != checkpoint {
            freed += item_tokens(path, &tail[cut - 1]);
        }
        open_until = open_until.max(reach[cut - 1]);
        let valid = open_until < cut && heads[cut].shape.results.is_empty();
        if !valid {
            continue;
        }
        most = freed;
        if freed >= over {
            let checkpoint = checkpoint.filter(|at| *at < cut).map(|at| &tail[at]);
            let kept = view[..protected].iter().chain(checkpoint).chain(&tail[cut..]).cloned().collect();
            return Ok((kept, freed));
        }
    }
    Err(most)
}

fn head_of<'a>(path: &'a [EntryMeta], item: &ViewItem) -> Option<&'a EntryMeta> {
    match item {
        ViewItem::Entry { index, .. } | ViewItem::Summary { compaction: index } => path.get(*index),
    }
}

/// How many leading steps stay whatever happens.
fn protected(path: &[EntryMeta], view: &[ViewItem], settings: &Settings) -> usize {
    if let Some(summary) = view.iter().position(|item| matches!(item, ViewItem::Summary { .. })) {
        return summary + 1;
    }
    let role = |item: &ViewItem| head_of(path, item).and_then(|head| head.role);
    let system = view.iter().take_while(|item| matches!(role(item), Some(Role::System | Role::Developer))).count();
    let first_user = view.get(system).is_some_and(|item| role(item) == Some(Role::User));
    system + usize::from(first_user && settings.anchor_first_user)
}

#[cfg(test)]
mod tests;
