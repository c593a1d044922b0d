//! Token usage as providers report it.

use serde::{Deserialize, Serialize};

/// What a provider said that one answer cost, in tokens. Fields a provider does not have are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportedUsage {
    /// Input tokens that were neither read from nor written to a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The provider's own total, where it gives one that is not 0.
    pub total: Option<u64>,
}

impl ReportedUsage {
    /// The size of the context after this answer: the total where there is one, else the sum of the parts.
    pub fn context_tokens(&self) -> u64 {
        match self.total {
            Some(total) if total > 0 => total,
            _ => {
                self.input.saturating_add(self.output).saturating_add(self.cache_read).saturating_add(self.cache_write)
            }
        }
    }
}
