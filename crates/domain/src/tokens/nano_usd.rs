//! Money.

/// An amount of US dollars in whole billionths. A price makes a fraction of one at most once, where a call is priced;
/// from there on sums are exact, in whatever order and in whatever place they are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NanoUsd(i64);

const BILLION: f64 = 1e9;

impl NanoUsd {
    /// Rounds to the nearest billionth. What is no amount is none.
    pub fn of_usd(usd: f64) -> NanoUsd {
        // A float beyond the range becomes its end, and what is no number 0.
        NanoUsd((usd * BILLION).round() as i64)
    }

    pub fn new(billionths: i64) -> NanoUsd {
        NanoUsd(billionths)
    }

    pub fn billionths(self) -> i64 {
        self.0
    }

    /// The nearest float: equal amounts give equal ones.
    pub fn usd(self) -> f64 {
        self.0 as f64 / BILLION
    }

    #[must_use]
    pub fn plus(self, other: NanoUsd) -> NanoUsd {
        NanoUsd(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_their_order_or_grouping() {
        let parts: Vec<NanoUsd> = (1..=1_000).map(|n| NanoUsd::of_usd(f64::from(n) * 0.000_001_1)).collect();
        let sum = |parts: &mut dyn Iterator<Item = NanoUsd>| parts.fold(NanoUsd::default(), NanoUsd::plus);
        let forward = sum(&mut parts.iter().copied());
        assert_eq!(forward, sum(&mut parts.iter().rev().copied()));
        assert_eq!(forward, sum(&mut parts.chunks(7).map(|part| sum(&mut part.iter().copied()))));
        assert_eq!(NanoUsd::of_usd(forward.usd()), forward);
        for odd in [f64::NAN, 0.0, -0.0] {
            assert_eq!(NanoUsd::of_usd(odd), NanoUsd::default());
        }
        assert_eq!(NanoUsd::of_usd(f64::INFINITY).plus(NanoUsd::new(1)), NanoUsd::new(i64::MAX));
    }
}
