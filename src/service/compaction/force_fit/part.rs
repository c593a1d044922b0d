//! What of a context may be cut, and how far.

use crate::domain::model::compaction::ElidedPart;
use crate::domain::settings::Settings;
use crate::domain::tokens::accounting::Account;
use crate::service::compaction::work::CompactionWork;

/// A summary message says nothing in less, and takes no more where that is all there is; in tokens.
pub(super) const LEAST_SUMMARY: u64 = 400;

/// Tokens left of a result at least, by `Force`; each is for where the one before is not enough.
pub(super) const SMALLEST: [u32; 3] = [120, 40, 12];

/// A tool result that is shown, or the calls or words of an answer, and to how many tokens it is cut.
pub(super) struct KeptResult {
    pub part: ElidedPart,
    /// Empty for calls and words: all of the answer.
    pub call_id: String,
    pub original: u32,
    pub tokens: u32,
    /// Of these tokens, those that can't go.
    pub whole: u32,
    pub goal: u64,
}

impl KeptResult {
    /// The tokens that can go.
    pub fn loose(&self) -> u32 {
        self.tokens.saturating_sub(self.whole)
    }
}

/// How far shortening goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Force {
    /// Long results keep their ends.
    Ends,
    /// A marker is enough.
    Markers,
    /// So many are small that their markers alone are too many: a word stands for each.
    Words,
}

/// Share of what system prompt and tools leave of the usable window, in percent, that kept messages and summary may take: the
/// rest is room for some turns.
const TAKEN_PERCENT: u64 = 60;

/// The size that a context is brought to, in tokens.
pub(super) fn target(account: &Account, settings: &Settings) -> u64 {
    let usable = u64::from(settings.usable());
    let overhead = account.overhead(settings.estimator).min(usable);
    overhead + (usable - overhead) * TAKEN_PERCENT / 100
}

/// What the record of what is left out is to have, whatever is kept beside it: at most a fifth of the usable window.
pub(super) fn least_record(settings: &Settings, work: &CompactionWork) -> u64 {
    work.record.as_ref().map_or(0, |record| record.room.min(u64::from(settings.usable()) / 5))
}
