//! How much room a target leaves for messages.

use crate::domain::settings::Settings;
use crate::domain::summary::{Allowance, framing};
use crate::domain::tokens::accounting::{Account, red_tokens};
use crate::domain::tokens::count_text;

/// Tags, headings and the notice of a summary message, in tokens, on the safe side.
const FRAME_TOKENS: u64 = 100;

/// How large the messages that stay may be, in tokens as counted on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomForKept {
    /// Tokens that are aimed at.
    pub target: u64,
    /// Tokens that rounding up to whole units may reach; at least the target.
    pub limit: u64,
}

impl RoomForKept {
    /// Computes the room that the target leaves beside system prompt, tools and the summary message, whose body is
    /// `carried` over. It is kept strictly. An `automatic` compaction aims low enough for the next one to be far away.
    pub fn of(account: &Account, settings: &Settings, carried: &str, automatic: bool) -> RoomForKept {
        let reserved = reserved(settings, carried, automatic).unwrap_or(0);
        RoomForKept::beside(account, settings, reserved, automatic)
    }

    /// Computes the room that the target leaves beside system prompt, tools and a summary message of this size.
    pub fn beside(account: &Account, settings: &Settings, summary: u64, automatic: bool) -> RoomForKept {
        let estimate = account.estimate_of(aim(settings, automatic), settings.estimator);
        let fixed = u64::from(account.system) + u64::from(account.tools) + summary;
        let target = estimate.saturating_sub(fixed);
        RoomForKept { target, limit: target }
    }
}

/// The most that the summary message may take. `None`: the target is for the messages alone.
pub fn reserved(settings: &Settings, carried: &str, automatic: bool) -> Option<u64> {
    let aim = aim(settings, automatic);
    let most = || {
        frame_tokens(settings)
            + u64::from(count_text(settings.estimator, carried))
            + Allowance::new(most_replaced(aim), settings.summary_reserve()).behind_body()
    };
    (!is_narrow(settings, aim)).then(most)
}

/// Returns true if the mere frame of a summary message would take more than a quarter of the target: then the target
/// is for the messages, and a summary message that has to be comes on top.
pub fn is_narrow(settings: &Settings, aim: u64) -> bool {
    frame_tokens(settings) > aim / 4
}

fn frame_tokens(settings: &Settings) -> u64 {
    let prefix = settings.compaction_prefix.as_deref().unwrap_or(framing::DEFAULT_PREFIX);
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

/// One sixteenth below the size at which the next compaction would save too little.
pub fn worthwhile(settings: &Settings) -> u64 {
    (red_tokens(settings) * (100.0 - settings.min_savings_pct) / 100.0 * 15.0 / 16.0) as u64
}

/// The span that the ledger and the other records of a counting strategy are measured by: they stand in the way of the
/// messages that the target leaves room for.
pub fn most_replaced(aim: u64) -> u64 {
    aim / 2
}
