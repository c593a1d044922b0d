//! The upstreams that are configured, as far as a tenant may know of them. Who calls them hands this in: it is above the
//! service.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::ops::calls::ModelCalls;
use crate::store::breakers::{self, RestRow};

/// Knows the configured upstreams.
pub trait UpstreamCatalogue: Send + Sync {
    /// All of them, by name.
    fn upstreams(&self) -> Vec<UpstreamInfo>;
}

/// A list that does not change.
impl UpstreamCatalogue for Vec<UpstreamInfo> {
    fn upstreams(&self) -> Vec<UpstreamInfo> {
        self.clone()
    }
}

/// A model that may be asked for summaries. No key, no header and no path of its address is told.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct UpstreamInfo {
    /// What the setting `upstream` names.
    pub name: String,
    /// `builtin`, `openai`, `openai_responses` or `anthropic`.
    pub kind: &'static str,
    /// Asked by sessions that name none.
    pub is_default: bool,
    pub model: Option<String>,
    /// Where it is, with the port where that is not the usual one; null for the builtin.
    pub host: Option<String>,
    /// In tokens; null for the builtin, which has no bound.
    pub context_window: Option<u32>,
    pub limits: UpstreamLimits,
    /// Upstreams that are asked in this order where this one gives no summary.
    pub fallbacks: Vec<String>,
    /// Null: nobody has said.
    pub prices: Option<UpstreamPrices>,
    pub breaker: Breaker,
}

/// Limits of the calls of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct UpstreamLimits {
    /// For one attempt, in milliseconds.
    pub timeout_ms: u64,
    /// Calls at a time.
    pub max_concurrency: usize,
    /// Attempts after the first.
    pub max_retries: u32,
    /// Attempts that may start within any minute.
    pub requests_per_minute: Option<u32>,
    /// Of one answer, in tokens.
    pub max_output_tokens: Option<u32>,
    /// For one summary.
    pub max_calls: u32,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct UpstreamPrices {
    pub input_per_mtok: f64,
    pub output_per_mtok: f64,
    /// Of input read from the prompt cache; null: as other input.
    pub cached_per_mtok: Option<f64>,
    /// Of input written to it; null: by the model's name.
    pub cache_write_per_mtok: Option<f64>,
}

/// Whether an upstream is called or left alone after many failures: `open` where any process of the service leaves it
/// alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Breaker {
    pub state: BreakerState,
    /// Until all of them try it again; null where none leaves it alone.
    pub retry_after_ms: Option<u64>,
}

impl Breaker {
    /// With what the processes have noted of themselves.
    fn of_all(self, row: Option<&RestRow>, now: DateTime<Utc>) -> Breaker {
        let Some(row) = row else { return self };
        let rest = u64::try_from((row.rests_until - now).num_milliseconds()).unwrap_or(0);
        let retry_after_ms = Some(self.retry_after_ms.unwrap_or(0).max(rest));
        Breaker { state: BreakerState::Open, retry_after_ms }
    }
}

impl ModelCalls {
    /// The same upstreams, each with the breakers of all processes.
    ///
    /// # Errors
    /// The database's.
    pub async fn with_breakers(&self, upstreams: Vec<UpstreamInfo>) -> Result<Vec<UpstreamInfo>> {
        let now = clock::now();
        let resting = breakers::resting(&self.pool, now).await?;
        let of_all = |one: UpstreamInfo| {
            let breaker = one.breaker.of_all(resting.iter().find(|row| row.upstream == one.name), now);
            UpstreamInfo { breaker, ..one }
        };
        Ok(upstreams.into_iter().map(of_all).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    Closed,
    Open,
}
