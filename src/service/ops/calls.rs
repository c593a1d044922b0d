//! What is kept of calls of models: for how long, and what of it can be read.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::tenant::Tenant;
use crate::store::{breakers, compactions, refused_texts, upstream_calls};

/// How long a call's row is kept; its day's sums stay.
const KEEP_CALLS: TimeDelta = TimeDelta::days(90);
/// How long a refused text can be read.
const KEEP_TEXTS: TimeDelta = TimeDelta::days(7);
/// Tenants that are read at a time.
const TENANTS: i64 = 500;

/// The calls that were made for tenants, as they are kept. Cheap to clone.
#[derive(Clone)]
pub struct ModelCalls {
    pub(crate) pool: PgPool,
}

/// The newest text of a model that was refused as a compaction's summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct RefusedText {
    pub compaction_id: Uuid,
    pub session_id: Uuid,
    pub upstream: String,
    pub model: String,
    /// Why: a word of `docs/CODES.md`, under "Refused summaries".
    pub reason: String,
    /// As the model wrote it, 64 KiB at most.
    pub text: String,
    /// There was more of it.
    pub truncated: bool,
    pub refused_at: DateTime<Utc>,
    /// From then on it can't be read any more.
    pub expires_at: DateTime<Utc>,
}

impl ModelCalls {
    pub fn new(pool: PgPool) -> ModelCalls {
        ModelCalls { pool }
    }

    /// The newest text that was refused as this compaction's summary within the last seven days.
    ///
    /// # Errors
    /// `NotFound`: there is no such compaction, or no such text of it.
    pub async fn refused_text(&self, tenant: Tenant, compaction_id: Uuid) -> Result<RefusedText> {
        if let Some(text) = self.find_refused_text(tenant, compaction_id).await? {
            return Ok(text);
        }
        compactions::get(&self.pool, tenant.0, compaction_id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        Err(ServiceError::NotFound("refused text"))
    }

    /// As [`ModelCalls::refused_text`]; `None`: there is none.
    ///
    /// # Errors
    /// The database's.
    pub async fn find_refused_text(&self, tenant: Tenant, compaction_id: Uuid) -> Result<Option<RefusedText>> {
        let since = clock::now() - KEEP_TEXTS;
        let row = refused_texts::get(&self.pool, tenant.0, compaction_id, since).await?;
        Ok(row.map(|row| RefusedText {
            compaction_id: row.compaction_id,
            session_id: row.session_id,
            upstream: row.upstream,
            model: row.model,
            reason: row.reason,
            text: row.text,
            truncated: row.is_cut,
            refused_at: row.at,
            expires_at: row.at + KEEP_TEXTS,
        }))
    }

    /// Forgets what is too old, tenant by tenant, in batches.
    ///
    /// # Errors
    /// The database's.
    pub async fn purge(&self) -> Result<u64> {
        let now = clock::now();
        breakers::purge(&self.pool, now).await?;
        let (mut all, mut after) = (0, Uuid::nil());
        loop {
            let tenants = upstream_calls::tenants(&self.pool, after, TENANTS).await?;
            for tenant in &tenants {
                all += upstream_calls::purge(&self.pool, *tenant, now - KEEP_CALLS).await?;
                all += upstream_calls::purge_texts(&self.pool, *tenant, now - KEEP_TEXTS).await?;
            }
            match tenants.last() {
                Some(last) => after = *last,
                None => return Ok(all),
            }
        }
    }
}
