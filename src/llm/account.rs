//! On whose account a call is made, and who keeps that account.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use uuid::Uuid;

use super::usage::TokenUsage;
use crate::domain::tokens::nano_usd::NanoUsd;

/// On whose behalf a call is made. A transcript that is not stored has no session, a branch's summary no compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallContext {
    pub tenant: Uuid,
    pub session: Option<Uuid>,
    pub compaction: Option<Uuid>,
}

/// One call that has ended: a request that was sent, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedCall {
    pub context: CallContext,
    pub upstream: String,
    pub model: String,
    /// `ok`, `abandoned`, or the error's code.
    pub outcome: &'static str,
    pub usage: TokenUsage,
    pub cost: NanoUsd,
    pub took: Duration,
}

/// An answer that was refused as a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedAnswer {
    pub context: CallContext,
    pub upstream: String,
    pub model: String,
    /// The code of the refusal.
    pub reason: &'static str,
    pub text: String,
}

/// Keeps account of calls. What is told is written though the future that comes back is dropped; who awaits it finds it
/// written, or given up with a line in the log.
pub trait CallLedger: Send + Sync {
    fn record(&self, call: EndedCall) -> BoxFuture<'static, ()>;

    fn refused(&self, answer: RefusedAnswer) -> BoxFuture<'static, ()>;

    /// How long this process leaves an upstream alone from now on; `None`: it is called again.
    fn rests(&self, upstream: &str, rest: Option<Duration>) -> BoxFuture<'static, ()>;
}

/// An account: whose, and who keeps it. By default nobody's, kept by nobody.
#[derive(Clone, Default)]
pub struct CallAccount {
    pub(super) context: CallContext,
    pub(super) ledger: Option<Arc<dyn CallLedger>>,
}

impl CallAccount {
    /// Keeps an answer that was refused.
    pub async fn refused(&self, upstream: &str, model: &str, reason: &'static str, text: &str) {
        let Some(ledger) = &self.ledger else { return };
        let (context, upstream, model, text) = (self.context, upstream.to_owned(), model.to_owned(), text.to_owned());
        ledger.refused(RefusedAnswer { context, upstream, model, reason, text }).await;
    }

    pub(super) async fn rests(&self, upstream: &str, rest: Option<Duration>) {
        if let Some(ledger) = &self.ledger {
            ledger.rests(upstream, rest).await;
        }
    }
}
