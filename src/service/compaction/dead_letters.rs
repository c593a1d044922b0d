//! Compactions that failed: done again, or forgotten.

use chrono::{DateTime, Utc};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::service::compaction::job::{Compaction, Status};
use crate::service::compaction::status::show;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::idempotency::{Outcome, about, seal};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::compactions::{self, dead_letters};
use crate::store::queue::{self, JobKind, NewJob};
use crate::store::transaction;
use crate::trace;

/// Failed compactions that one call forgets at most.
const MOST_PURGED: i64 = 1_000;

/// Which failed compactions are forgotten: all that are all of what is named.
#[derive(Debug, Clone, Default)]
pub struct PurgeRequest {
    pub session_id: Option<Uuid>,
    /// Failed before this time.
    pub before: Option<DateTime<Utc>>,
}

/// How many failed compactions were forgotten, and whether another call would find more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Purged {
    pub purged: i64,
    pub more: bool,
}

impl Service {
    /// Queues a failed compaction again, its attempts unspent; from then on its trigger is `manual`. One that is queued
    /// or at work already is returned as it is.
    ///
    /// # Errors
    /// `NotFound`; `QueueFull`; `Conflict`: it has not failed, or the session has another one at work.
    pub async fn retry_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        let mut transaction = transaction::begin(self.pool()).await?;
        let find = async |connection: &mut sqlx::PgConnection| -> Result<Compaction> {
            show(compactions::get(connection, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?)
        };
        let session_id = find(&mut transaction).await?.session_id;
        about(session_id);
        // In the order of a commit, session first.
        self.inner.heads.lock(&mut *transaction, tenant, session_id).await?;
        let found = find(&mut transaction).await?;
        if !matches!(found.status, Status::Queued | Status::Running) {
            if found.status != Status::Failed {
                return Err(refused("only a compaction that failed can be tried again"));
            }
            if queue::live(&mut *transaction, tenant.0).await? >= self.options().max_queued_jobs {
                return Err(ServiceError::QueueFull { retry_after: 5 });
            }
            if !dead_letters::requeue(&mut *transaction, tenant.0, session_id, id).await? {
                return Err(refused("the session has another compaction at work"));
            }
            let job = NewJob {
                id: clock::new_id(),
                session_id,
                kind: JobKind::Compact,
                compaction_id: Some(id),
                delay: Duration::ZERO,
                max_attempts: self.options().max_attempts,
                cause: trace::current(),
            };
            queue::enqueue(&mut transaction, tenant.0, &job).await?;
        }
        let queued = find(&mut transaction).await?;
        seal(&mut transaction, Outcome::Accepted, &queued).await?;
        transaction.commit().await?;
        Ok(queued)
    }

    /// Forgets failed compactions, the oldest first, 1,000 at most. The sessions are as they were.
    ///
    /// # Errors
    /// `NotFound` where a session is named that is not there.
    pub async fn purge_compactions(&self, tenant: Tenant, request: PurgeRequest) -> Result<Purged> {
        let mut transaction = transaction::begin(self.pool()).await?;
        if let Some(session_id) = request.session_id {
            self.inner.heads.read(&mut *transaction, tenant, session_id).await?;
        }
        let PurgeRequest { session_id, before } = request;
        let purged = dead_letters::purge(&mut *transaction, tenant.0, session_id, before, MOST_PURGED).await?;
        let purged = Purged { purged, more: purged == MOST_PURGED };
        seal(&mut transaction, Outcome::Done, &purged).await?;
        transaction.commit().await?;
        Ok(purged)
    }
}

fn refused(detail: &str) -> ServiceError {
    ServiceError::Conflict { code: ConflictCode::NotRetryable, detail: detail.to_owned() }
}
