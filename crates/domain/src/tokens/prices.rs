//! Prices of tokens, as the operator has said, and what a compaction is worth at them.

mod cache;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::model::strategy::Strategy;

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
    /// The model's rates are known, not assumed.
    pub is_known: bool,
}

/// Prices that a compaction of a session is weighed at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SessionPrices {
    /// Of what the session sends.
    pub sent: InputPrice,
    /// Of its summaries; `None`: not known.
    pub summary: Option<Price>,
    /// Its summaries are asked of a model, not of the built-in summariser.
    pub asks_model: bool,
}

/// Cost of an answer's token in tokens of input, where nobody has said.
const ANSWER_RATE: f64 = 5.0;

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

    /// Returns true if an upstream, the default one where none is named, asks a model.
    fn is_model(&self, name: Option<&str>) -> bool {
        let priced = name.or(self.default.as_deref()).and_then(|name| self.upstreams.get(name));
        priced.is_some_and(|priced| priced.model.is_some())
    }

    /// Of a session's model: those of an upstream which asks the same model, else the rates of its family.
    pub fn of_model(&self, model: Option<&str>) -> InputPrice {
        let model = model.unwrap_or_default();
        let same = |priced: &&Priced| priced.model.as_deref() == Some(model);
        let price = self.upstreams.values().filter(same).find_map(|priced| priced.price);
        let family = CacheRates::of_family(model);
        let is_known = family.is_some() || price.is_some();
        let family = family.unwrap_or_default();
        let cache = price.map_or(family, |price| family.at(&price));
        InputPrice { input: price.map(|price| price.input), cache, is_known }
    }

    /// Of a session with this model, whose summaries are written by this strategy.
    pub fn of_session(&self, model: Option<&str>, strategy: Strategy, upstream: Option<&str>) -> SessionPrices {
        let asks = matches!(strategy, Strategy::Auto | Strategy::LlmSummarize);
        let summary = if asks { self.of_upstream(upstream) } else { Some(Price::default()) };
        let asks_model = asks && self.is_model(upstream);
        SessionPrices { sent: self.of_model(model), summary, asks_model }
    }
}

impl SessionPrices {
    /// Cost of a summary in tokens of the session's plain input. A price that is not known is taken to be the session's.
    pub fn of_summary(&self, input: u64, output: u64) -> f64 {
        let plain = self.sent.input.filter(|plain| *plain > 0.0);
        match (self.summary, plain) {
            (Some(price), _) if price.cost_usd(input, output) == 0.0 => 0.0,
            (Some(price), Some(plain)) => price.cost_usd(input, output) * 1e6 / plain,
            _ => input as f64 + output as f64 * ANSWER_RATE,
        }
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
    let InputPrice { input, cache, .. } = *price;
    // In tokens of plain input: what the cache makes of each turn's savings, and what it takes once.
    let saved = change.shed as f64 * cache.read;
    let once = cache.rewriting(change.rewritten);
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
mod tests;
