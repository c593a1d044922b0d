//! Compactions as clients see them: read, listed, waited for, cancelled.

use std::time::Duration;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::domain::compaction::result::{CompactionResult, Reason};
use crate::domain::model::strategy::Strategy;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::commit::entry::hold_off;
use crate::service::compaction::commit::report::count_end;
use crate::service::compaction::job::{Compaction, Status, Trigger};
use crate::service::core::clock;
use crate::service::core::error::{Optional as _, Result, ServiceError};
use crate::service::core::idempotency::{Outcome, about, seal};
use crate::service::core::page::{PAGE_BYTES, Page, PageRequest};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::compactions::{self, CompactionRow};
use crate::store::transaction;
use crate::store::{queue, sessions};
use crate::trace::{Beginning, KeyValue, Span, SpanKind};

/// How long those who wait look again after.
const POLL_FROM: Duration = Duration::from_millis(5);
const POLL_TO: Duration = Duration::from_millis(100);

/// Which compactions a list has: those that are all of what is named.
#[derive(Debug, Clone, Default)]
pub struct CompactionFilter {
    pub session_id: Option<Uuid>,
    pub status: Option<Status>,
    pub trigger: Option<Trigger>,
    /// The strategy that ran, or is to run.
    pub strategy: Option<Strategy>,
    /// Why it was skipped.
    pub skip_reason: Option<Reason>,
    /// Who was asked for the summary; where another stood in, the one that failed.
    pub upstream: Option<String>,
    /// Asked for at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Whether it is written and waits for the context to turn red.
    pub prepared: Option<bool>,
}

impl CompactionFilter {
    fn stored(self) -> compactions::CompactionFilter {
        compactions::CompactionFilter {
            session_id: self.session_id,
            status: self.status.map(Into::into),
            trigger: self.trigger.map(Into::into),
            strategy: self.strategy.map(Into::into),
            skip_reason: self.skip_reason.map(Into::into),
            upstream: self.upstream,
            since: self.since,
            prepared: self.prepared,
        }
    }
}

impl Service {
    pub async fn compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        let row = compactions::get(self.pool(), tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        show(row)
    }

    /// A session's compactions, newest first.
    pub async fn compactions(&self, tenant: Tenant, session_id: Uuid, page: PageRequest) -> Result<Page<Compaction>> {
        let filter = CompactionFilter { session_id: Some(session_id), ..CompactionFilter::default() };
        self.compactions_like(tenant, filter, page).await
    }

    /// The tenant's compactions that fit, newest first.
    ///
    /// # Errors
    /// `NotFound` where a session is named that is not there.
    pub async fn compactions_like(
        &self,
        tenant: Tenant,
        filter: CompactionFilter,
        page: PageRequest,
    ) -> Result<Page<Compaction>> {
        let mut connection = self.pool().acquire().await?;
        if let Some(session_id) = filter.session_id {
            self.inner.heads.read(&mut *connection, tenant, session_id).await?;
        }
        let (before, most) = (page.cursor_id()?, page.limit + 1);
        let filter = filter.stored();
        let (rows, found) = compactions::list(&mut connection, tenant.0, &filter, before, most, PAGE_BYTES).await?;
        let shown = rows.into_iter().map(show).collect::<Result<Vec<_>>>()?;
        Ok(Page::of(shown, found, page.limit, |compaction| compaction.id.to_string()))
    }

    /// Cancels a compaction that has not ended; an ended one is returned as it is.
    pub async fn cancel_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        let mut transaction = transaction::begin(self.pool()).await?;
        let row =
            compactions::get(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        about(row.session_id);
        let ending = compactions::Ending {
            status: Status::Cancelled.into_str(),
            strategy: None,
            error: None,
            result: None,
            snapshots: None,
            now: clock::now(),
        };
        // In the order of a commit, session first: whoever has the job then decides how the compaction ends.
        let locked = self.inner.heads.lock(&mut *transaction, tenant, row.session_id).await.optional()?;
        queue::cancel(&mut *transaction, tenant.0, row.session_id, id).await?;
        let cancelled = compactions::finish(&mut *transaction, tenant.0, id, &ending).await?;
        // Somebody did not want it: the next append is not to start the same again.
        let by_itself = row.trigger != Trigger::Manual.into_str();
        if let Some((mut session, mut head)) = locked.filter(|_| cancelled && by_itself) {
            head.state.forget_ahead(id);
            hold_off(&mut head.state, &head.settings);
            head.state.write_to(&mut session.head, &head.settings)?;
            sessions::update(&mut *transaction, tenant.0, &session, clock::now()).await?;
        }
        let ended =
            compactions::get(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        let ended = show(ended)?;
        seal(&mut transaction, Outcome::Done, &ended).await?;
        transaction.commit().await?;
        if cancelled {
            count_end(ended.status.into_str(), ended.strategy, ended.trigger);
        }
        Ok(ended)
    }

    /// A compaction once it has ended, or as it is when the time is up.
    pub async fn wait_for(&self, tenant: Tenant, id: Uuid, wait: Duration) -> Result<Compaction> {
        let span = Span::child(|| {
            let id = KeyValue::new("contextd.compaction.id", id.to_string());
            Beginning::new("wait for compaction", SpanKind::Internal, vec![id])
        });
        span.within(self.waited_for(tenant, id, wait)).await
    }

    async fn waited_for(&self, tenant: Tenant, id: Uuid, wait: Duration) -> Result<Compaction> {
        let deadline = tokio::time::Instant::now() + wait;
        let mut pause = POLL_FROM;
        loop {
            let status = compactions::status(self.pool(), tenant.0, id).await?;
            let live = matches!(status.as_deref(), Some("queued" | "running"));
            if !live || tokio::time::Instant::now() >= deadline {
                return self.compaction(tenant, id).await;
            }
            tokio::time::sleep_until(deadline.min(tokio::time::Instant::now() + pause)).await;
            pause = (pause * 5 / 4).min(POLL_TO);
        }
    }
}

pub(super) fn show(row: CompactionRow) -> Result<Compaction> {
    let id = row.id;
    Ok(read(row).with_context(|| format!("compaction {id} as stored"))?)
}

fn read(row: CompactionRow) -> anyhow::Result<Compaction> {
    let unknown = |column: &str| anyhow::anyhow!("`{column}` is an unknown word");
    let snapshot = |text: Option<String>| -> anyhow::Result<Option<Snapshot>> {
        text.map(|text| serde_json::from_str(&text)).transpose().context("`snapshot_before` or `snapshot_after`")
    };
    let result: Option<CompactionResult> =
        row.result.map(|text| serde_json::from_str(&text)).transpose().context("`result`")?;
    let spent = row.spent.spending().or_else(|| result.as_ref().map(|result| result.upstream.spending()));
    Ok(Compaction {
        id: row.id,
        session_id: row.session_id,
        status: row.status.parse().map_err(|_| unknown("status"))?,
        trigger: row.trigger.parse().map_err(|_| unknown("trigger"))?,
        strategy: row.strategy.parse().map_err(|_| unknown("strategy"))?,
        attempts: row.attempts,
        error: row.error,
        result,
        spent: spent.unwrap_or_default(),
        created_at: row.created_at,
        started_at: row.started_at,
        finished_at: row.finished_at,
        reverted_at: row.reverted_at,
        prepared: row.prepared,
        snapshot_before: snapshot(row.snapshot_before)?,
        snapshot_after: snapshot(row.snapshot_after)?,
    })
}
