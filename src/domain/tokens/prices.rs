//! Prices of tokens, as the operator has said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the compaction is worth: tokens no longer sent each turn against the summary's cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct NetReport {
    pub tokens_shed_per_turn: u64,
    pub summary_cost_usd: f64,
    /// Turns after which the summary has paid for itself at the session model's input price, 0 where it cost nothing;
    /// `null` without prices or savings.
    pub break_even_turns: Option<f64>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
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

    /// Of a session's model: that of an upstream which asks the same model.
    pub fn of_model(&self, model: &str) -> Option<Price> {
        let same = |priced: &&Priced| priced.model.as_deref() == Some(model);
        self.upstreams.values().filter(same).find_map(|priced| priced.price)
    }
}

/// Reports the worth of a compaction: `shed` tokens are no longer sent each turn, at `input_price` US dollars per
/// million. `cost_usd` of `None`: an upstream without a price was asked.
pub fn net(shed: u64, cost_usd: Option<f64>, input_price: Option<f64>) -> NetReport {
    let saved_per_turn = input_price.map(|price| shed as f64 * price / 1e6).filter(|saved| *saved > 0.0);
    let break_even_turns = match cost_usd {
        _ if shed == 0 => None,
        // Whatever a token costs: what cost nothing has paid for itself.
        Some(cost) if cost <= 0.0 => Some(0.0),
        Some(cost) => saved_per_turn.map(|saved| cost / saved),
        None => None,
    };
    NetReport { tokens_shed_per_turn: shed, summary_cost_usd: cost_usd.unwrap_or(0.0), break_even_turns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_pays_for_itself_by_what_is_no_longer_sent() {
        let turns = |shed, cost, price| net(shed, cost, price).break_even_turns;
        assert_eq!(turns(50_000, Some(0.05), Some(0.5)), Some(2.0));
        assert_eq!(turns(50_000, Some(0.0), None), Some(0.0));
        assert_eq!(turns(50_000, Some(0.05), None), None);
        assert_eq!(turns(50_000, Some(0.05), Some(0.0)), None);
        assert_eq!(turns(50_000, None, Some(0.5)), None);
        assert_eq!(turns(0, Some(0.0), Some(0.5)), None);
        assert_eq!(net(7, Some(0.05), None).summary_cost_usd, 0.05);
    }

    #[test]
    fn prices_are_found_by_upstream_and_by_model() {
        let priced =
            |model: &str, input| Priced { model: Some(model.to_owned()), price: Some(Price { input, output: 1.0 }) };
        let free = Priced { model: Some("m".into()), price: None };
        let prices = Prices {
            upstreams: [("a".to_owned(), priced("m", 0.5)), ("b".to_owned(), free)].into(),
            default: Some("a".into()),
        };
        let input = |price: Option<Price>| price.map(|price| price.input);
        assert_eq!(input(prices.of_upstream(None)), Some(0.5));
        assert_eq!(input(prices.of_upstream(Some("b"))), None);
        assert_eq!(input(prices.of_upstream(Some("builtin"))), Some(0.0));
        assert_eq!((input(prices.of_model("m")), input(prices.of_model("n"))), (Some(0.5), None));
        assert_eq!(Prices::default().of_upstream(None), Some(Price::default()));
    }
}
