//! What a compaction came to, in figures: small columns beside its result, for statistics.

use sqlx::PgExecutor;
use uuid::Uuid;

use crate::domain::compaction::result::{BUILTIN, CompactionResult};

/// Notes the figures of a compaction that has just ended, in the transaction that ends it. Those of its calls are kept up by
/// the calls' own statements.
pub async fn note_figures(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    result: &CompactionResult,
) -> sqlx::Result<()> {
    let figures = Figures::of(result);
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    sqlx::query(
        "UPDATE compactions SET skip_reason = $3, tokens_shed = $4, calls_before = $5, saved_usd = $6,
            upstream = coalesce($7, upstream), cache_usd = $8
         WHERE tenant_id = $1 AND id = $2",
    )
    .bind(tenant)
    .bind(id)
    .bind(figures.skip_reason)
    .bind(whole(result.tokens_saved))
    .bind(whole(result.calls_before))
    .bind(figures.saved_usd)
    .bind(figures.upstream)
    .bind(result.net.cache_cost_usd)
    .execute(executor)
    .await?;
    Ok(())
}

/// What of a result has to be worked out.
struct Figures<'a> {
    skip_reason: Option<&'static str>,
    /// By each later call of the model; `None`: a price is not known.
    saved_usd: Option<f64>,
    /// Who was asked: where another stood in, the one that failed. `None`: no model.
    upstream: Option<&'a str>,
}

impl Figures<'_> {
    fn of(result: &CompactionResult) -> Figures<'_> {
        let cost_usd = result.net.summary_cost_usd + result.net.cache_cost_usd.unwrap_or(0.0);
        let by_call = result.net.break_even_turns.filter(|calls| *calls > 0.0).map(|calls| cost_usd / calls);
        let failed = result.fallback.from.as_deref().filter(|_| result.fallback.used);
        Figures {
            skip_reason: result.skip_reason.map(Into::into),
            saved_usd: by_call.filter(|_| result.net.cache_cost_usd.is_some()),
            upstream: failed.or(result.upstream.name.as_deref()).filter(|name| *name != BUILTIN),
        }
    }
}
