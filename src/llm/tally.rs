//! Requests, tokens and time that calls took, failed ones included.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::account::CallAccount;
use super::usage::TokenUsage;
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_text;
use crate::domain::tokens::nano_usd::NanoUsd;

/// A reported figure above so many windows can't be true.
const WINDOWS: u64 = 16;

/// Requests, tokens and time of several calls on one account. A call adds to it as it goes, so what failed or was dropped
/// counts too.
#[derive(Default)]
pub struct Tally {
    spent: Mutex<Spent>,
    account: CallAccount,
}

/// The sums of a [`Tally`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: u32,
    pub usage: TokenUsage,
    pub cost: NanoUsd,
    pub latency: Duration,
}

impl Tally {
    pub fn on(account: CallAccount) -> Tally {
        Tally { spent: Mutex::default(), account }
    }

    pub fn account(&self) -> &CallAccount {
        &self.account
    }

    pub fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn call(&self) {
        self.add(|spent| spent.calls = spent.calls.saturating_add(1));
    }

    pub(super) fn usage(&self, usage: &TokenUsage, cost: NanoUsd) {
        self.add(|spent| {
            spent.usage.input = spent.usage.input.saturating_add(usage.input);
            spent.usage.output = spent.usage.output.saturating_add(usage.output);
            spent.usage.cached = spent.usage.cached.saturating_add(usage.cached);
            spent.usage.cache_write = spent.usage.cache_write.saturating_add(usage.cache_write);
            spent.cost = spent.cost.plus(cost);
        });
    }

    pub(super) fn took(&self, time: Duration) {
        self.add(|spent| spent.latency = spent.latency.saturating_add(time));
    }

    fn add(&self, change: impl FnOnce(&mut Spent)) {
        change(&mut self.spent.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The reported usage, with an estimate for each figure that is missing or can't be: an upstream that reports
/// nothing is not free.
pub(super) fn plausible(reported: TokenUsage, window: u32, prompt: &[&str], answer: &str) -> TokenUsage {
    let bound = u64::from(window).saturating_mul(WINDOWS);
    let estimate = |texts: &[&str]| texts.iter().map(|text| u64::from(count_text(Estimator::Pi, text))).sum::<u64>();
    let figure = |reported: u64, texts: &[&str]| {
        let can_be = reported > 0 && reported <= bound;
        if can_be { reported } else { estimate(texts) }
    };
    let input = figure(reported.input, prompt);
    let output = figure(reported.output, &[answer]);
    let cached = if reported.cached <= input { reported.cached } else { 0 };
    let cache_write = if reported.cache_write <= input - cached { reported.cache_write } else { 0 };
    TokenUsage { input, output, cached, cache_write }
}
