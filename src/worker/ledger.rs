//! Keeps account of upstreams' calls in the database: each call when it ends, refused texts, and which upstream this
//! process leaves alone.

use std::time::Duration;

use chrono::TimeDelta;
use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::PgPool;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::llm::{CallLedger, EndedCall, RefusedAnswer};
use crate::service::core::clock;
use crate::store::breakers;
use crate::store::refused_texts::{self, RefusedRow};
use crate::store::upstream_calls::{self, NewCall};

/// Pauses between tries to write.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];
/// How long a call's end waits for its row; it is written all the same.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that is kept of a refused text, bytes.
const MOST_TEXT: usize = 64 << 10;

/// The account of this process's calls.
pub struct CallBook {
    pool: PgPool,
    process: Uuid,
}

impl CallBook {
    pub fn new(pool: PgPool) -> CallBook {
        CallBook { pool, process: clock::new_id() }
    }
}

impl CallLedger for CallBook {
    fn record(&self, call: EndedCall) -> BoxFuture<'static, ()> {
        let (pool, tenant, call) = (self.pool.clone(), call.context.tenant, row(call));
        kept("a call", move || {
            let (pool, call) = (pool.clone(), call.clone());
            async move { upstream_calls::insert(&pool, tenant, &call).await }
        })
    }

    fn refused(&self, answer: RefusedAnswer) -> BoxFuture<'static, ()> {
        let RefusedAnswer { context, upstream, model, reason, text } = answer;
        let Some((session_id, compaction_id)) = context.session.zip(context.compaction) else {
            return async {}.boxed();
        };
        // PostgreSQL's texts have no NUL.
        let text = text.replace('\0', "\u{fffd}");
        let head = &text[..text.floor_char_boundary(MOST_TEXT)];
        let is_cut = head.len() < text.len();
        let (reason, text, at) = (reason.to_owned(), head.to_owned(), clock::now());
        let row = RefusedRow { compaction_id, session_id, upstream, model, reason, text, is_cut, at };
        let (pool, tenant) = (self.pool.clone(), context.tenant);
        kept("a refused text", move || {
            let (pool, row) = (pool.clone(), row.clone());
            async move { refused_texts::keep(&pool, tenant, &row).await }
        })
    }

    fn rests(&self, upstream: &str, rest: Option<Duration>) -> BoxFuture<'static, ()> {
        let (pool, process, upstream) = (self.pool.clone(), self.process, upstream.to_owned());
        let until = rest.map(|rest| clock::now() + TimeDelta::from_std(rest).unwrap_or(TimeDelta::days(1)));
        kept("a breaker", move || {
            let (pool, upstream) = (pool.clone(), upstream.clone());
            async move {
                match until {
                    Some(until) => breakers::rest(&pool, &upstream, process, until).await,
                    None => breakers::close(&pool, &upstream, process).await,
                }
            }
        })
    }
}

/// Writes on a task of its own, which goes on whoever waits.
fn kept<F, W>(what: &'static str, write: F) -> BoxFuture<'static, ()>
where
    F: Fn() -> W + Send + 'static,
    W: Future<Output = sqlx::Result<()>> + Send + 'static,
{
    // Without a runtime the process is at its end.
    let Ok(runtime) = Handle::try_current() else { return async {}.boxed() };
    let written = runtime.spawn(async move {
        for pause in PAUSES {
            let Err(error) = write().await else { return };
            tracing::warn!(%error, "{what} was not kept yet");
            sleep(pause).await;
        }
        if let Err(error) = write().await {
            tracing::error!(%error, "{what} was not kept: it is missing in `stats`");
        }
    });
    async move { drop(timeout(PATIENCE, written).await) }.boxed()
}

fn row(call: EndedCall) -> NewCall {
    let EndedCall { context, upstream, model, outcome, usage, cost, took } = call;
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    NewCall {
        id: clock::new_id(),
        session_id: context.session,
        compaction_id: context.compaction,
        upstream,
        model,
        at: clock::now(),
        outcome,
        is_error: outcome != "ok",
        took_ms: i64::try_from(took.as_millis()).unwrap_or(i64::MAX),
        input_tokens: whole(usage.input),
        output_tokens: whole(usage.output),
        cached_tokens: whole(usage.cached),
        cache_write_tokens: whole(usage.cache_write),
        nano_usd: cost.billionths(),
    }
}
