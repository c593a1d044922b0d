//! Prices of tokens, as the operator has said, and what a compaction is worth at them.

mod cache;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use cache::CacheRates;

/// What the compaction is worth: tokens no longer sent each turn against what it cost once, the summary's calls and the
/// provider's prompt cache, which has to take in anew what the new context does not begin with as the old one did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct NetReport {
    pub tokens_shed_per_turn: u64,
    /// Tokens of the new context behind the beginning that it has in common with the old one.
    #[serde(default)]
    pub tokens_rewritten: u64,
    pub summary_cost_usd: f64,
    /// Cost of writing `tokens_rewritten` to the prompt cache instead of reading them from it; `null` where the price of
    /// the session's model is not known.
    #[serde(default)]
    pub cache_cost_usd: Option<f64>,
    /// Calls of the model after which both costs are made up for, with all input that can be read from the prompt cache
    /// before and after. `null` without savings, or where the summary cost something and one of the prices is not known.
    pub break_even_turns: Option<f64>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Of input read from the prompt cache, and of input written to it; `None`: not said.
    pub cached: Option<f64>,
    pub cache_write: Option<f64>,
}

/// An upstream's model and price; `None`: not known.
#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    pub model: Option<String>,
    pub price: Option<Price>,
}

/// The prices of all upstreams by name.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    pub upstreams: BTreeMap<String, Priced>,
    /// The upstream of sessions that name none; `None`: the builtin.
    pub default: Option<String>,
}

/// Prices of the input that a session's model is sent; those of a model that is not known by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct InputPrice {
    /// US dollars per million tokens; `None`: not known.
    pub input: Option<f64>,
    pub cache: CacheRates,
}

impl Price {
    /// Of one call, in US dollars.
    pub fn cost_usd(&self, input: u64, output: u64) -> f64 {
        (input as f64 * self.input + output as f64 * self.output) / 1e6
    }
}

impl Prices {
    /// Of an upstream, the default one where none is named. What is not configured is done by the builtin, for
    /// nothing.
    pub fn of_upstream(&self, name: Option<&str>) -> Option<Price> {
        let name = name.or(self.default.as_deref());
        match name.and_then(|name| self.upstreams.get(name)) {
            Some(priced) => priced.price,
            None => Some(Price::default()),
        }
    }

    /// Of a session's model: those of an upstream which asks the same model, else the rates of its family.
    pub fn of_model(&self, model: Option<&str>) -> InputPrice {
        let model = model.unwrap_or_default();
        let same = |priced: &&Priced| priced.model.as_deref() == Some(model);
        let price = self.upstreams.values().filter(same).find_map(|priced| priced.price);
        let family = CacheRates::of_family(model);
        InputPrice { input: price.map(|price| price.input), cache: price.map_or(family, |price| family.at(&price)) }
    }
}

/// Change that a compaction makes to the context of every later call, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextChange {
    pub shed: u64,
    pub rewritten: u64,
}

/// Reports the worth of a compaction. `summary_cost_usd` of `None`: an upstream without a price was asked.
pub fn net(change: ContextChange, summary_cost_usd: Option<f64>, price: &InputPrice) -> NetReport {
    let InputPrice { input, cache } = *price;
    // In tokens of plain input: what the cache makes of each turn's savings, and what it takes once.
    let saved = change.shed as f64 * cache.read;
    let once = change.rewritten as f64 * (cache.write - cache.read).max(0.0);
    let summary = match summary_cost_usd {
        Some(cost) if cost > 0.0 => input.filter(|input| *input > 0.0).map(|input| cost * 1e6 / input),
        free => free,
    };
    NetReport {
        tokens_shed_per_turn: change.shed,
        tokens_rewritten: change.rewritten,
        summary_cost_usd: summary_cost_usd.unwrap_or(0.0),
        cache_cost_usd: input.map(|input| once * input / 1e6),
        break_even_turns: summary.filter(|_| saved > 0.0).map(|summary| (summary + once) / saved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNCACHED: CacheRates = CacheRates { read: 1.0, write: 1.0 };

    fn turns(shed: u64, rewritten: u64, cost: Option<f64>, input: Option<f64>, cache: CacheRates) -> Option<f64> {
        net(ContextChange { shed, rewritten }, cost, &InputPrice { input, cache }).break_even_turns
    }

    #[test]
    fn a_summary_pays_for_itself_by_what_is_no_longer_sent() {
        let turns = |shed, cost, price| turns(shed, 20_000, cost, price, UNCACHED);
        assert_eq!(turns(50_000, Some(0.05), Some(0.5)), Some(2.0));
        assert_eq!(turns(50_000, Some(0.0), None), Some(0.0));
        assert_eq!(turns(50_000, Some(0.05), None), None);
        assert_eq!(turns(50_000, Some(0.05), Some(0.0)), None);
        assert_eq!(turns(50_000, None, Some(0.5)), None);
        assert_eq!(turns(0, Some(0.0), Some(0.5)), None);
        let change = ContextChange { shed: 7, rewritten: 0 };
        assert_eq!(net(change, Some(0.05), &InputPrice { input: None, cache: UNCACHED }).summary_cost_usd, 0.05);
    }

    /// 100,000 tokens become 20,000, of which 4,000 stand at the beginning as before. Worked out by hand: each turn read
    /// 80,000 tokens more at a tenth of the price; 16,000 are written for 1.25 instead of read for 0.1.
    #[test]
    fn a_broken_prompt_cache_is_counted() {
        let cache = CacheRates { read: 0.1, write: 1.25 };
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert!(close(turns(80_000, 16_000, Some(0.0), None, cache), 16_000.0 * 1.15 / 8_000.0));
        // A summary for 0.03 dollars, at 3 dollars a million: 10,000 tokens of input.
        assert!(close(turns(80_000, 16_000, Some(0.03), Some(3.0), cache), (10_000.0 + 18_400.0) / 8_000.0));
        let report =
            net(ContextChange { shed: 80_000, rewritten: 16_000 }, Some(0.03), &InputPrice { input: Some(3.0), cache });
        assert!(close(report.cache_cost_usd, 0.0552), "{report:?}");
    }

    #[test]
    fn prices_are_found_by_upstream_and_by_model() {
        let priced = |model: &str, input, cached| {
            let price = Price { input, output: 1.0, cached, cache_write: None };
            Priced { model: Some(model.to_owned()), price: Some(price) }
        };
        let free = Priced { model: Some("m".into()), price: None };
        let claude = priced("claude-x", 4.0, Some(2.0));
        let prices = Prices {
            upstreams: [("a".to_owned(), priced("m", 0.5, None)), ("b".to_owned(), free), ("c".to_owned(), claude)]
                .into(),
            default: Some("a".into()),
        };
        let input = |price: Option<Price>| price.map(|price| price.input);
        assert_eq!(input(prices.of_upstream(None)), Some(0.5));
        assert_eq!(input(prices.of_upstream(Some("b"))), None);
        assert_eq!(input(prices.of_upstream(Some("builtin"))), Some(0.0));
        assert_eq!((prices.of_model(Some("m")).input, prices.of_model(Some("n")).input), (Some(0.5), None));
        assert_eq!(prices.of_model(None).input, None);
        assert_eq!(prices.of_model(Some("claude-x")).cache, CacheRates { read: 0.5, write: 1.25 });
        assert_eq!(Prices::default().of_upstream(None), Some(Price::default()));
    }
}
