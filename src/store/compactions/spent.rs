//! What a compaction's calls came to: kept up by each call's own statement.

use crate::domain::compaction::result::CompactionSpending;
use crate::domain::tokens::nano_usd::NanoUsd;

/// The columns. Null: no call was made, or it ended before there was an account.
#[derive(Debug, Clone, Copy, Default, sqlx::FromRow)]
pub struct SpentRow {
    pub calls: Option<i32>,
    pub errors: Option<i32>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cached_tokens: Option<i64>,
    pub cache_write_tokens: Option<i64>,
    pub nano_usd: Option<i64>,
}

impl SpentRow {
    /// `None`: no account was kept of its calls.
    pub fn spending(&self) -> Option<CompactionSpending> {
        let cost = NanoUsd::new(self.nano_usd?);
        let count = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
        let tokens = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
        Some(CompactionSpending {
            calls: count(self.calls),
            errors: count(self.errors),
            input_tokens: tokens(self.input_tokens),
            output_tokens: tokens(self.output_tokens),
            cached_tokens: tokens(self.cached_tokens),
            cache_write_tokens: tokens(self.cache_write_tokens),
            cost_usd: cost.usd(),
        })
    }
}
