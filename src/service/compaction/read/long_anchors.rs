//! The user's first message where it fills the window and something else was asked since: a demonstration, a document. It
//! stays as it was said wherever there is room; where there is none for what was asked and done, or for what the user says
//! now, it stands by its beginning and its end.

use std::collections::HashSet;

use uuid::Uuid;

use crate::domain::context::elision;
use crate::domain::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::message::Message;
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_message;
use crate::service::compaction::plan::{PlannedCompaction, RunningPlace};

/// Shares of the usable window: a message that takes more than half of it, and leaves less than a sixteenth beside the system
/// prompt and the other anchors, is cut to an eighth. Where less is left beside the user's kept messages too, which are never
/// cut, one that takes more than a fifth is.
const LONG_SHARE: u32 = 2;
const LONG_SHARE_BESIDE_KEPT: u32 = 5;
const LEAST_ROOM_SHARE: u32 = 16;
const CUT_SHARE: u32 = 8;

/// Their places. The request that the agent is working on stays whole, as does what was pinned.
pub(super) fn long_anchors(planned: &PlannedCompaction) -> HashSet<usize> {
    let Some(plan) = planned.replaces().filter(|_| !planned.hands_over) else { return HashSet::new() };
    let settings = &planned.settings;
    let tokens_at = |index: &usize| planned.loaded.heads.get(*index).map_or(0, |head| u64::from(head.tokens));
    let running = match planned.running() {
        Some(RunningPlace::Stands(id)) => Some(id),
        Some(RunningPlace::Carried(running)) => Some(running.entry_id),
        Some(RunningPlace::At(_)) | None => None,
    };
    let fixed = u64::try_from(planned.state.account.fixed()).unwrap_or(0);
    let stays = fixed + plan.anchors.iter().map(tokens_at).sum::<u64>();
    let kept = planned.loaded.heads.iter().skip(plan.first_kept).filter(|head| head.has_users_words(&settings.agents));
    let kept: u64 = kept.map(|head| u64::from(words_of(head))).sum();
    let most = u64::from(settings.usable() - settings.usable() / LEAST_ROOM_SHARE);
    let share = if stays > most {
        LONG_SHARE
    } else if stays + kept > most {
        LONG_SHARE_BESIDE_KEPT
    } else {
        return HashSet::new();
    };
    let cut: HashSet<Uuid> = planned.loaded.elisions().iter().map(|elision| elision.entry_id).collect();
    let is_long = |index: &usize| {
        let head = planned.loaded.heads.get(*index).filter(|head| head.is_by_user(&settings.agents));
        head.is_some_and(|head| {
            let is_whole = Some(head.id) == running || settings.pinned_entry_ids.contains(&head.id);
            let is_plain = head.starts_turn() && !cut.contains(&head.id);
            !is_whole && is_plain && head.tokens > settings.usable() / share
        })
    };
    plan.anchors.iter().copied().filter(is_long).collect()
}

/// Tokens of a user's message without the results beside it: those may be cut.
fn words_of(head: &EntryMeta) -> u32 {
    head.tokens.saturating_sub(head.shape.results.iter().map(|result| result.tokens).sum())
}

/// Its texts by head and tail. `None`: it is hardly text that makes it long.
pub(super) fn cut_anchor(planned: &PlannedCompaction, entry_id: Uuid, message: &Message) -> Option<Elision> {
    let estimator = planned.settings.estimator;
    let goal = planned.settings.usable() / CUT_SHARE;
    let whole = tokens_of(estimator, message);
    let chars = message.plain_text().chars().count() as u64;
    let mut keep = u32::try_from(chars * u64::from(goal) / u64::from(whole.max(1))).unwrap_or(u32::MAX);
    let tokens_before = planned.loaded.heads.iter().find(|head| head.id == entry_id).map_or(whole, |head| head.tokens);
    while keep > 0 {
        let elision = Elision {
            entry_id,
            tool_call_id: String::new(),
            kind: ElisionKind::Truncate,
            part: ElidedPart::Words,
            tokens_before,
            tokens_after: 0,
            same_as: None,
            keep_chars: Some((keep - keep / 3, keep / 3)),
            text: None,
        };
        let mut shown = message.clone();
        elision::apply(&mut shown, std::slice::from_ref(&elision));
        let tokens_after = tokens_of(estimator, &shown);
        if tokens_after <= goal {
            return Some(Elision { tokens_after, ..elision });
        }
        keep /= 2;
    }
    None
}

fn tokens_of(estimator: Estimator, message: &Message) -> u32 {
    count_message(estimator, message).total
}
