//! What a compaction came to, in figures: small columns beside its result, for statistics.

use sqlx::PgExecutor;
use uuid::Uuid;

use crate::domain::compaction::result::{BUILTIN, CompactionResult};

/// Notes the figures of a compaction that has just ended, in the transaction that ends it.
pub async fn note_figures(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    result: &CompactionResult,
) -> sqlx::Result<()> {
    let figures = Figures::of(result);
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    sqlx::query(
        "UPDATE compactions SET skip_reason = $3, tokens_shed = $4, calls_before = $5, cost_usd = $6, saved_usd = $7,
            upstream = coalesce($8, upstream), model = $9, calls = $10, failed = $11, input_tokens = $12, output_tokens = $13,
            cached_tokens = $14, latency_ms = $15, cache_usd = $16
         WHERE tenant_id = $1 AND id = $2",
    )
    .bind(tenant)
    .bind(id)
    .bind(figures.skip_reason)
    .bind(whole(result.tokens_saved))
    .bind(whole(result.calls_before))
    .bind(figures.cost_usd)
    .bind(figures.saved_usd)
    .bind(figures.upstream)
    .bind(&result.upstream.model)
    .bind(i32::try_from(result.upstream.calls).unwrap_or(i32::MAX))
    .bind(figures.failed)
    .bind(whole(result.upstream.input_tokens))
    .bind(whole(result.upstream.output_tokens))
    .bind(whole(result.upstream.cached_tokens))
    .bind(whole(result.upstream.latency_ms))
    .bind(result.net.cache_cost_usd)
    .execute(executor)
    .await?;
    Ok(())
}

/// What of a result has to be worked out.
struct Figures<'a> {
    skip_reason: Option<&'static str>,
    /// Of the summary, and of what the provider's prompt cache lost.
    cost_usd: f64,
    /// By each later call of the model; `None`: a price is not known.
    saved_usd: Option<f64>,
    /// Who was asked: where another stood in, the one that failed. `None`: no model.
    upstream: Option<&'a str>,
    failed: bool,
}

impl Figures<'_> {
    fn of(result: &CompactionResult) -> Figures<'_> {
        let cost_usd = result.net.summary_cost_usd + result.net.cache_cost_usd.unwrap_or(0.0);
        let by_call = result.net.break_even_turns.filter(|calls| *calls > 0.0).map(|calls| cost_usd / calls);
        let failed = result.fallback.from.as_deref().filter(|_| result.fallback.used);
        Figures {
            skip_reason: result.skip_reason.map(Into::into),
            cost_usd,
            saved_usd: by_call.filter(|_| result.net.cache_cost_usd.is_some()),
            upstream: failed.or(result.upstream.name.as_deref()).filter(|name| *name != BUILTIN),
            failed: failed.is_some(),
        }
    }
}
