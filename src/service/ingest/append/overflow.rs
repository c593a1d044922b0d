//! Consequences of a failed model call: whether the context was too long, and whether to try again.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::tokens::overflow::{is_context_overflow, named_window};
use crate::service::compaction::{self, CompactionRef, Status, Trigger};
use crate::service::core::error::Result;
use crate::service::core::head::{Head, OverflowTry, RefusedWindow};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::{compactions as rows, sessions};

/// What a `provider_error` came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Overflow {
    /// The text says that the context was too long for the model.
    pub recognised: bool,
    /// Ask the model once more, with the context as it is once `compaction_id` has ended.
    pub retry: bool,
    pub reason: OverflowReason,
    pub compaction_id: Option<Uuid>,
}

/// Why to try again, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverflowReason {
    /// The error is another one; whether to try again is not said here.
    NotOverflow,
    /// The context is smaller already.
    Compacted,
    /// A compaction has been started, or was under way.
    Compacting,
    /// It failed again although nothing came after the last try.
    AlreadyTried,
    /// System prompt and tools alone fill the window.
    FixedOverhead,
    /// No job can be queued now.
    QueueFull,
}

impl Service {
    /// Compacts after an overflow, whatever the guard says, once for each failure. The head is written where it changes.
    pub(super) async fn after_error(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        error: &str,
    ) -> Result<(Overflow, Option<CompactionRef>)> {
        let refuse =
            |recognised, reason, compaction_id| (Overflow { recognised, retry: false, reason, compaction_id }, None);
        if !is_context_overflow(error) {
            return Ok(refuse(false, OverflowReason::NotOverflow, None));
        }
        let named = named_window(error);
        if let Some(window) = named {
            self.learn_window(connection, tenant, head, window).await?;
        }
        let retry = |reason, compaction_id| Overflow { recognised: true, retry: true, reason, compaction_id };
        if let Some(tried) = head.state.overflow {
            let still_runs = match tried.compaction_id {
                Some(id) => rows::status(&mut *connection, tenant.0, id).await?,
                None => None,
            };
            return Ok(match still_runs.as_deref().and_then(|word| word.parse::<Status>().ok()) {
                Some(Status::Queued | Status::Running) => {
                    (retry(OverflowReason::Compacting, tried.compaction_id), None)
                }
                _ => refuse(true, OverflowReason::AlreadyTried, tried.compaction_id),
            });
        }
        if head.state.account.has_no_room(&head.settings) {
            return Ok(refuse(true, OverflowReason::FixedOverhead, None));
        }
        let fresh = head.state.newest.as_ref().filter(|newest| Some(newest.id) == head.row.leaf_id);
        if fresh.is_some_and(|newest| !newest.is_revert) {
            // The call that failed was made with the context from before.
            mark(connection, tenant, head, None).await?;
            return Ok((retry(OverflowReason::Compacted, None), None));
        }
        // Where no window is named, it is smaller than what was refused: by a window that is too large, a compaction would
        // leave everything.
        let refused = head.state.account.tokens(head.settings.estimator).0;
        if named.is_none() && refused < u64::from(head.settings.usable()) {
            self.learn_window(connection, tenant, head, u32::try_from(refused).unwrap_or(u32::MAX)).await?;
        }
        let started = self.start(connection, tenant, head, Trigger::Overflow).await?;
        let live = match started {
            Some(started) => Some(started.id),
            None => rows::live(&mut *connection, tenant.0, head.session_id).await?.map(|live| live.id),
        };
        let Some(id) = live else { return Ok(refuse(true, OverflowReason::QueueFull, None)) };
        mark(connection, tenant, head, Some(id)).await?;
        let landed = started.is_some_and(|started| started.status == Status::Succeeded);
        let reason = if landed { OverflowReason::Compacted } else { OverflowReason::Compacting };
        Ok((retry(reason, Some(id)), started))
    }
}

impl Service {
    /// Remembers the window that a refusal shows, for this session and its model.
    async fn learn_window(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        window: u32,
    ) -> Result<()> {
        let learnt = RefusedWindow { window, model: head.model.clone() };
        if head.state.refused_window.as_ref() == Some(&learnt) {
            return Ok(());
        }
        head.state.refused_window = Some(learnt);
        let row = sessions::head(&mut *connection, tenant.0, head.session_id).await?;
        if let Some(row) = row {
            head.settings = self.inner.settings.resolve(&row.settings, head.state.talked(head.model.as_deref()))?;
        }
        compaction::save(connection, tenant, head).await
    }
}

async fn mark(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &mut Head,
    compaction_id: Option<Uuid>,
) -> Result<()> {
    head.state.overflow = Some(OverflowTry { compaction_id });
    compaction::save(connection, tenant, head).await
}
