//! When a compaction pays. It costs once: the prompt cache that it breaks and the call that writes its summary. It brings
//! something with every later call: what it sheds is read no more. Sums are in tokens of plain input, so that they can be
//! compared where nobody has said a price.
//!
//! A context that grows costs least where it is compacted each time that carrying what a compaction would shed has cost
//! as much as the compaction does: earlier, the cache is broken too often, later, too much is carried. That is the size of
//! an order that costs as much to place as to keep in stock, and about as flat: at twice the distance the whole bill was
//! 6 % larger, at half of it 2 % smaller.

use crate::compaction::strategy::{aim, counts};
use crate::model::strategy::Strategy;
use crate::settings::Settings;
use crate::summary::Allowance;
use crate::tokens::accounting::{Account, Growth, red_tokens};
use crate::tokens::prices::SessionPrices;

/// A compaction as it is expected: sizes in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expected {
    /// Of the context behind it.
    pub after: u64,
    /// Of that, behind what both contexts begin with.
    pub rewritten: u64,
    /// Read for a summary, and written of it; 0 where none is written.
    pub summary: (u64, u64),
}

impl Expected {
    /// Of the session's strategy, from sizes alone: results masked, a counting strategy's target, or the wanted tail
    /// beside a summary; no less than what the newest compaction left.
    fn of(account: &Account, settings: &Settings) -> Expected {
        let total = size(account);
        let fixed = u64::try_from(account.fixed()).unwrap_or(0);
        match settings.strategy {
            Strategy::Mask | Strategy::Prune => {
                let results = account.path_result_tokens - account.base.path_result_tokens;
                let after = total.saturating_sub(u64::try_from(results).unwrap_or(0));
                Expected { after, rewritten: after.saturating_sub(base(account).max(fixed)), summary: (0, 0) }
            }
            strategy if counts(strategy) => {
                let after = account.estimate_of(aim(settings, true), settings.estimator).max(base(account));
                Expected { after, rewritten: after.saturating_sub(fixed), summary: (0, 0) }
            }
            _ => {
                let tail = u64::from(settings.keep_recent_tokens);
                let replaced = total.saturating_sub(fixed + tail);
                let written = Allowance::new(replaced, settings.summary_reserve()).likely();
                let after = (fixed + tail + written).max(base(account));
                Expected { after, rewritten: after.saturating_sub(fixed), summary: (replaced, written) }
            }
        }
    }

    /// Cost, once.
    fn once(&self, prices: &SessionPrices) -> f64 {
        let (read, written) = self.summary;
        prices.sent.cache.rewriting(self.rewritten) + prices.of_summary(read, written)
    }

    /// Cost of a call on the average, where one such compaction follows the other as soon as it pays.
    fn a_call(&self, prices: &SessionPrices, growth: f64) -> f64 {
        let read = prices.sent.cache.read;
        read * self.after as f64 + (2.0 * self.once(prices) * growth * read).sqrt()
    }
}

/// Returns true if a context of `tokens` is to be compacted though it is not red: it has reached `pays_at`, and carrying
/// what a compaction would shed has cost the calls since the newest one as much as it would cost. One that would save less
/// than the guard wants never pays.
pub fn is_due(account: &Account, tokens: u64, settings: &Settings, prices: &SessionPrices) -> bool {
    let reached = |pays_at: f64| tokens as f64 >= pays_at * f64::from(settings.usable());
    if !settings.pays_at.is_some_and(reached) {
        return false;
    }
    let (total, expected) = (size(account), Expected::of(account, settings));
    let shed = total.saturating_sub(expected.after);
    // Savings are of all, what was never posted with it.
    let unposted = u64::try_from(account.learnt(settings.estimator).unposted).unwrap_or(0);
    let whole = total + account.estimate_of_part(unposted, settings.estimator);
    let enough = shed > 0 && shed as f64 * 100.0 >= settings.min_savings_pct * whole as f64;
    enough && prices.sent.cache.read * carried(account.growth(), shed) >= expected.once(prices)
}

/// Tokens that the calls since the newest compaction have read, all together, of the newest `shed` ones of an even growth.
fn carried(growth: Growth, shed: u64) -> f64 {
    let (grown, shed) = (growth.tokens as f64, shed as f64);
    let a_call = if shed <= grown { shed * shed / (2.0 * grown.max(1.0)) } else { shed - grown / 2.0 };
    a_call * growth.calls as f64
}

/// Returns true if showing results shorter is the right step where a summary could be written instead: with `pays_at` the
/// one that costs less in the long run, else that which makes up for the cache it breaks before the context is red again.
pub fn elides(
    account: &Account,
    settings: &Settings,
    prices: &SessionPrices,
    elided: &Expected,
    summarised: &Expected,
) -> bool {
    let Growth { tokens, calls } = account.growth();
    if calls == 0 || tokens == 0 {
        return true;
    }
    let growth = tokens as f64 / calls as f64;
    if settings.pays_at.is_some() {
        return elided.a_call(prices, growth) <= summarised.a_call(prices, growth);
    }
    let red = account.estimate_of(red_tokens(settings) as u64, settings.estimator);
    let calls_to_red = red.saturating_sub(elided.after) as f64 / growth;
    let shed = size(account).saturating_sub(elided.after) as f64;
    elided.once(prices) <= shed * prices.sent.cache.read * calls_to_red
}

/// Returns true if a compaction of this context costs more than it brings, should the next one come as soon as it comes
/// itself after the one before it. Told only of models whose rates are known.
pub fn is_loss(account: &Account, break_even_turns: Option<f64>, prices: &SessionPrices) -> bool {
    let calls = account.growth().calls as f64;
    prices.sent.is_known && base(account) > 0 && break_even_turns.is_some_and(|turns| turns > calls)
}

fn size(account: &Account) -> u64 {
    u64::try_from(account.estimated()).unwrap_or(0)
}

/// What the newest compaction left; 0 without one.
fn base(account: &Account) -> u64 {
    let base = account.base;
    let left = base.summary + base.messages + base.tool_results;
    if left == 0 { 0 } else { u64::try_from(left + account.fixed()).unwrap_or(0) }
}

#[cfg(test)]
mod tests;
