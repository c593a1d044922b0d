//! What providers charge for input that their prompt cache holds, or takes in.

use super::Price;
use crate::settings::models::of_family;

/// Prices of cached input as shares of the price of plain input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheRates {
    /// Of input read from the cache.
    pub read: f64,
    /// Of input written to it.
    pub write: f64,
}

/// Of a model that is not in the table: most providers read at a tenth, and write for nothing more.
const UNKNOWN_MODEL: CacheRates = CacheRates { read: 0.1, write: 1.0 };

/// Shares for reading and writing, collected from public documentation, without warranty. Keyed as the
/// table of windows is. A cache that is asked for (Anthropic's) is taken for one of five minutes.
const RATES: &[(&str, (f64, f64))] = &[
    // Anthropic
    ("claude", (0.1, 1.25)),
    // OpenAI: without a cache until gpt-4o.
    ("gpt-3.5", (1.0, 1.0)),
    ("gpt-4", (1.0, 1.0)),
    ("gpt-4o", (0.5, 1.0)),
    ("gpt-4.1", (0.25, 1.0)),
    ("gpt-4.5", (0.5, 1.0)),
    ("gpt-5", (0.1, 1.0)),
    ("o1", (0.5, 1.0)),
    ("o3", (0.25, 1.0)),
    ("o3-mini", (0.5, 1.0)),
    ("o4-mini", (0.25, 1.0)),
    ("codex-mini", (0.25, 1.0)),
    // Google
    ("gemini", (0.1, 1.0)),
    ("gemini-1.5", (0.25, 1.0)),
    ("gemini-2.0", (0.25, 1.0)),
    // Others
    ("deepseek", (0.1, 1.0)),
    ("grok", (0.25, 1.0)),
    ("kimi-k2", (0.25, 1.0)),
];

impl Default for CacheRates {
    fn default() -> CacheRates {
        UNKNOWN_MODEL
    }
}

impl CacheRates {
    /// The rates of a model's family, where they are known.
    pub fn of_family(model: &str) -> Option<CacheRates> {
        of_family(RATES, model).map(|(read, write)| CacheRates { read, write })
    }

    /// Cost of writing tokens to the cache that were to be read from it, in tokens of plain input.
    pub fn rewriting(&self, tokens: u64) -> f64 {
        tokens as f64 * (self.write - self.read).max(0.0)
    }

    /// These rates with what is said of a price in their place.
    pub(super) fn at(self, price: &Price) -> CacheRates {
        let share = |said: Option<f64>| said.filter(|_| price.input > 0.0).map(|said| said / price.input);
        CacheRates {
            read: share(price.cached).unwrap_or(self.read),
            write: share(price.cache_write).unwrap_or(self.write),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_family_or_as_said() {
        let rates = |read, write| CacheRates { read, write };
        assert_eq!(CacheRates::of_family("us.anthropic.claude-sonnet-4-5-v1:0"), Some(rates(0.1, 1.25)));
        assert_eq!(CacheRates::of_family("gpt-4o-mini"), Some(rates(0.5, 1.0)));
        assert_eq!((CacheRates::of_family("my-model"), CacheRates::default()), (None, rates(0.1, 1.0)));
        let price = Price { input: 2.0, output: 0.0, cached: None, cache_write: Some(4.0) };
        assert_eq!(rates(0.1, 1.25).at(&price), rates(0.1, 2.0));
        assert_eq!(rates(0.1, 1.25).at(&Price { input: 0.0, ..price }), rates(0.1, 1.25));
    }
}
