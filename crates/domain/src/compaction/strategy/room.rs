//! How much room a target leaves for messages.

use crate::settings::Settings;
use crate::summary::framing;
use crate::tokens::accounting::{Account, red_tokens};
use crate::tokens::count_text;

/// Tags, headings and the notice of a summary message, in tokens, on the safe side.
const FRAME_TOKENS: u64 = 100;
/// The record of what is left out may take a quarter of the target.
const RECORD_SHARE: u64 = 4;

/// How large the messages that stay may be, in tokens as counted on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomForKept {
    /// Tokens that are aimed at.
    pub target: u64,
    /// Tokens that rounding up to whole units may reach; at least the target.
    pub limit: u64,
}

impl RoomForKept {
    /// Computes the room that the target leaves beside system prompt, tools and the summary message with its record. It is
    /// kept strictly. An `automatic` compaction aims low enough for the next one to be far away.
    pub fn of(account: &Account, settings: &Settings, automatic: bool) -> RoomForKept {
        let aim = aim(settings, automatic);
        let estimate = account.estimate_of(aim, settings.estimator);
        let summary = if is_narrow(settings, aim) { 0 } else { frame_tokens(settings) + record_room(aim) };
        let target = estimate.saturating_sub(fixed(account) + summary);
        RoomForKept { target, limit: target }
    }
}

/// What the record of the messages that are left out may take of the target.
pub fn record_room(aim: u64) -> u64 {
    aim / RECORD_SHARE
}

/// Returns true if the mere frame of a summary message would take more than a quarter of the target: then the target
/// is for the messages, and a summary message that has to be comes on top.
pub fn is_narrow(settings: &Settings, aim: u64) -> bool {
    frame_tokens(settings) > aim / 4
}

fn frame_tokens(settings: &Settings) -> u64 {
    let prefix = settings.compaction_prefix.as_deref().unwrap_or(framing::RECORD_PREFIX);
    FRAME_TOKENS + u64::from(count_text(settings.estimator, prefix))
}

/// The context size to shrink to.
pub fn aim(settings: &Settings, automatic: bool) -> u64 {
    let target = u64::from(settings.target());
    if !automatic {
        return target;
    }
    target.min(worthwhile(settings))
}

/// Estimated tokens that lie between system prompt and tools, posted or not, and red: all that a conversation can have.
pub fn room_below_red(account: &Account, settings: &Settings) -> u64 {
    account.estimate_of(red_tokens(settings) as u64, settings.estimator).saturating_sub(fixed(account))
}

/// Estimated tokens of system prompt and tools.
fn fixed(account: &Account) -> u64 {
    u64::from(account.system) + u64::from(account.tools)
}

/// The size that a record brings the context to, in tokens. Where system prompt and tools take much of the window, half of
/// what lies between them and red: what is left for the conversation is then small, and all of it is needed.
pub fn record_aim(account: &Account, settings: &Settings) -> u64 {
    let red = red_tokens(settings) as u64;
    let below_red = account.part(room_below_red(account, settings), settings.estimator);
    let half = red.saturating_sub(below_red / 2);
    let aim = u64::from(settings.record_target());
    if settings.target_tokens.is_some() { aim } else { aim.max(half) }
}

/// The size that results may fill the context to, in tokens: this share of the window, in per cent. The next compaction still
/// has something to save.
pub fn results_aim(account: &Account, settings: &Settings, share: u64) -> u64 {
    let share = u64::from(settings.context_window) * share / 100;
    share.min(worthwhile(settings)).max(record_aim(account, settings))
}

/// How much of the newest context a summary leaves verbatim, in estimated tokens: what is asked for, as far as there is room.
pub fn most_kept(account: &Account, settings: &Settings) -> u32 {
    settings.keep_recent_tokens.min(u32::try_from(room_for_tail(account, settings)).unwrap_or(u32::MAX))
}

/// What a summary may leave verbatim, in estimated tokens: as much as a record leaves that has its quarter of what lies below
/// red in the size that is aimed at, and always as much as that quarter.
pub fn room_for_tail(account: &Account, settings: &Settings) -> u64 {
    let quarter = room_below_red(account, settings) / 4;
    let aimed = account.estimate_of(record_aim(account, settings), settings.estimator).saturating_sub(fixed(account));
    aimed.saturating_sub(quarter).max(quarter)
}

/// One sixteenth below the size at which the next compaction would save too little.
pub fn worthwhile(settings: &Settings) -> u64 {
    (red_tokens(settings) * (100.0 - settings.min_savings_pct) / 100.0 * 15.0 / 16.0) as u64
}
