//! From the call that leaves a branch to the summary of it: asked of a worker, waited for, and written by rules
//! where it does not come in time.

use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;
use uuid::Uuid;

use super::{BranchSummaryDraft, BranchSummaryWork, BranchWriter, Left, Navigate, PendingBranchSummary, json_text};
use crate::domain::compaction::fallback_reason::FallbackReason;
use crate::domain::compaction::result::{Fallback, UpstreamReport};
use crate::domain::settings::OnUpstreamFailure;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::summarise::hooks::check;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::navigation::hooks_asked::Offered;
use crate::store::branch_summaries;
use crate::store::queue::{self, JobKind, NewJob};
use crate::store::transaction;
use crate::trace;

const POLL_FROM: Duration = Duration::from_millis(5);
const POLL_TO: Duration = Duration::from_millis(100);

impl Service {
    /// Has the branch summarised that a move to the target would leave.
    pub(super) async fn leave(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        navigate: &Navigate,
        offered: Option<&Offered>,
        deadline: Instant,
    ) -> Result<Left> {
        let leaf_id = self.inner.heads.read(self.pool(), tenant, session_id).await?.row.leaf_id;
        let pending = PendingBranchSummary::of(navigate, leaf_id);
        if pending.target_id == leaf_id || !self.has_something_to_tell(tenant, session_id, &pending).await? {
            if let Some(offered) = offered {
                offered.leave_unused(self.hooks(), tenant, "nothing is left that a summary could tell").await;
            }
            return Ok(Left { leaf_id, drafted: None });
        }
        if let Some(offered) = offered
            && let Some(draft) = self.take_given(tenant, session_id, &pending, offered).await?
        {
            return Ok(Left { leaf_id, drafted: Some((clock::new_id(), draft)) });
        }
        let id = self.ask_worker(tenant, session_id, &pending).await?;
        let draft = match self.wait_for_draft(tenant, session_id, id, deadline).await? {
            Some(draft) => draft,
            None => self.write_without_model(tenant, session_id, id, pending).await?,
        };
        Ok(Left { leaf_id, drafted: Some((id, draft)) })
    }

    /// A hook's summary, unless it is none or larger than what it replaces.
    async fn take_given(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        pending: &PendingBranchSummary,
        offered: &Offered,
    ) -> Result<Option<BranchSummaryDraft>> {
        let Some(work) = self.plan_branch_summary(tenant, session_id, clock::new_id(), pending.clone()).await? else {
            return Ok(None);
        };
        let given = &offered.given;
        if let Err(fault) = check(given, work.replaced_tokens, &work.settings).await? {
            offered.refuse(self.hooks(), tenant, &fault).await?;
            return Ok(None);
        }
        offered.take(self.hooks(), tenant).await;
        let outcome = SummaryOutcome { history: Some(given.summary.clone()), ..SummaryOutcome::default() };
        let details = given.details.clone().and_then(|details| serde_json::from_value(details).ok());
        let mut draft = work.draft(outcome, BranchWriter::Hook);
        draft.details = details.unwrap_or(draft.details);
        Ok(Some(draft))
    }

    async fn ask_worker(&self, tenant: Tenant, session_id: Uuid, pending: &PendingBranchSummary) -> Result<Uuid> {
        let mut transaction = transaction::begin(self.pool()).await?;
        if queue::live(&mut *transaction, tenant.0).await? >= self.options().max_queued_jobs {
            return Err(ServiceError::QueueFull { retry_after: 5 });
        }
        let id = clock::new_id();
        branch_summaries::ask(&mut *transaction, tenant.0, session_id, id, &json_text(pending)?, clock::now()).await?;
        let job = NewJob {
            id: clock::new_id(),
            session_id,
            kind: JobKind::Depart,
            compaction_id: None,
            delay: Duration::ZERO,
            max_attempts: self.options().max_attempts,
            cause: trace::current(),
        };
        queue::enqueue(&mut transaction, tenant.0, &job).await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// `None`: it did not come in time.
    async fn wait_for_draft(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        id: Uuid,
        deadline: Instant,
    ) -> Result<Option<BranchSummaryDraft>> {
        let mut pause = POLL_FROM;
        loop {
            let row = branch_summaries::get(self.pool(), tenant.0, session_id).await?;
            let Some(row) = row.filter(|row| row.id == id) else {
                // Erased meanwhile?
                self.inner.heads.read(self.pool(), tenant, session_id).await?;
                let detail = "a newer navigation of this session has taken the place of this one".to_owned();
                return Err(ServiceError::Conflict { code: ConflictCode::NavigationSuperseded, detail });
            };
            if let Some(draft) = row.draft {
                return Ok(Some(serde_json::from_str(&draft).context("a stored draft")?));
            }
            if let Some(error) = row.error {
                return Err(failed(&error));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            tokio::time::sleep_until(deadline.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(POLL_TO);
        }
    }

    /// The built-in summariser's, where the session allows it to stand in.
    async fn write_without_model(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        id: Uuid,
        pending: PendingBranchSummary,
    ) -> Result<BranchSummaryDraft> {
        let Some(work) = self.plan_branch_summary(tenant, session_id, id, pending).await? else {
            return Err(ServiceError::NotFound("session"));
        };
        if work.settings.on_upstream_failure == OnUpstreamFailure::Fail {
            return Err(failed("the summary was not ready in time"));
        }
        Ok(tokio::task::spawn_blocking(move || by_rules(&work)).await.context("a summary")?)
    }
}

fn by_rules(work: &BranchSummaryWork) -> BranchSummaryDraft {
    let reason = Some(FallbackReason::Timeout.to_string());
    let fallback = Fallback { used: true, from: work.upstream.clone(), reason };
    let upstream = UpstreamReport::builtin();
    let mut outcome = SummaryOutcome { fallback, upstream, builtin: true, ..SummaryOutcome::default() };
    outcome.history = work.record.written(work.settings.estimator);
    work.draft(outcome, BranchWriter::Service)
}

fn failed(detail: &str) -> ServiceError {
    ServiceError::Conflict {
        code: ConflictCode::SummaryFailed,
        detail: format!("the branch was not summarised: {detail}"),
    }
}
