//! One call of an upstream from its beginning to its end: counted once, in every place where calls are counted.

use std::time::Instant;

use futures::future::BoxFuture;

use super::account::EndedCall;
use super::config::UpstreamConfig;
use super::metrics;
use super::tally::Tally;
use super::usage::TokenUsage;

/// The outcome of a call whose answer nobody waited for any more.
const ABANDONED: &str = "abandoned";

/// A call, while it is made. Dropped before its end, it counts as abandoned.
pub(super) struct RunningCall<'a> {
    config: &'a UpstreamConfig,
    tally: &'a Tally,
    started: Instant,
    has_ended: bool,
}

impl<'a> RunningCall<'a> {
    pub(super) fn begin(config: &'a UpstreamConfig, tally: &'a Tally) -> RunningCall<'a> {
        tally.call();
        RunningCall { config, tally, started: Instant::now(), has_ended: false }
    }

    /// `outcome`: `ok`, or the error's code.
    pub(super) async fn end(mut self, outcome: &'static str, usage: TokenUsage) {
        if let Some(kept) = self.close(outcome, usage) {
            kept.await;
        }
    }

    fn close(&mut self, outcome: &'static str, usage: TokenUsage) -> Option<BoxFuture<'static, ()>> {
        self.has_ended = true;
        let (config, took) = (self.config, self.started.elapsed());
        let cost = config.cost(&usage);
        metrics::record_attempt(&config.name, outcome, took);
        metrics::record_usage(config, &usage, cost);
        self.tally.usage(&usage, cost);
        let account = self.tally.account();
        account.ledger.as_ref().map(|ledger| {
            ledger.record(EndedCall {
                context: account.context,
                upstream: config.name.clone(),
                model: config.model.clone(),
                outcome,
                usage,
                cost,
                took,
            })
        })
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            drop(self.close(ABANDONED, TokenUsage::default()));
        }
    }
}
