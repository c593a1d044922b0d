//! The last resort: a context that is larger than the window is not handed out. Where no summary was ready in time, the
//! built-in summariser writes one on the spot; no model is asked and nobody waits for one.

mod cuts;
mod part;
mod plans;
mod truncate_kept;

use std::time::Duration;

use uuid::Uuid;

use crate::domain::settings::OnUpstreamFailure;
use crate::service::compaction::ahead::{Settled, save};
use crate::service::compaction::commit::entry::leave_unrelieved;
use crate::service::compaction::commit::{Committed, Holder};
use crate::service::compaction::committing::committing;
use crate::service::compaction::facts;
use crate::service::compaction::job::{CompactRequest, CompactionRef, Status, Trigger};
use crate::service::compaction::request::NewCompactionJob;
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::{compactions, queue};
use crate::trace;

pub(crate) use plans::Fitted;

/// How often a compaction that somebody else ended first is looked after.
const TRIES: u32 = 3;
/// Before a worker takes the job up, should this process end in the middle.
const HEAD_START: Duration = Duration::from_secs(5);

impl Service {
    /// Compacts the leaf's context at once where it is larger than the window. `None`: it is not, or the session does
    /// not want it, or nothing can be left out.
    ///
    /// # Errors
    /// `NotFound`; the database's.
    pub async fn force_fit(&self, tenant: Tenant, session_id: Uuid) -> Result<Option<CompactionRef>> {
        let head = self.inner.heads.read(self.pool(), tenant, session_id).await?;
        // What could not be made to fit is tried again with every message, if there is a chance.
        if !head.needs_force_fit() || !head.has_grown() && !self.could_fit(tenant, &head).await? {
            return Ok(None);
        }
        for _ in 0..TRIES {
            let (task, mine) = match committing(self.find_force_fit(tenant, session_id)).await? {
                ForceFit::NotNeeded => return Ok(None),
                ForceFit::Landed(compaction) => return self.relieved(tenant, session_id, compaction).await,
                ForceFit::TakeOver(task) => (task, false),
                ForceFit::New(task) => (task, true),
            };
            let committed = facts::observed(Some((session_id, task.id)), async {
                match trace::stage("plan", self.plan_to_fit(tenant, task.id)).await? {
                    Some(fitted) => {
                        let commit = self.commit_compaction(&fitted.work, fitted.outcome, Holder::Seized);
                        trace::stage("commit", commit).await
                    }
                    None => {
                        // Its job would find nothing to do.
                        queue::cancel(self.pool(), tenant.0, session_id, task.id).await?;
                        Ok(if mine { Committed::Done } else { Committed::LeaseLost })
                    }
                }
            })
            .await?;
            // Whoever was at work on it may have ended it meanwhile, in whatever way: look again.
            if committed == Committed::Done {
                let status = compactions::status(self.pool(), tenant.0, task.id).await?;
                let status = status.as_deref().and_then(|word| word.parse().ok()).unwrap_or(Status::Skipped);
                return self.relieved(tenant, session_id, CompactionRef { status, ..task }).await;
            }
        }
        Ok(None)
    }

    /// Commits the candidate if there is one; else gives the compaction to be carried out here and now: the one that
    /// is waited for, or a new one.
    async fn find_force_fit(&self, tenant: Tenant, session_id: Uuid) -> Result<ForceFit> {
        let (mut transaction, _, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        if !head.needs_force_fit() {
            return Ok(ForceFit::NotNeeded);
        }
        let found = match self.settle_ahead(&mut transaction, tenant, &mut head, false).await? {
            Settled::Committed(landed) if !head.needs_force_fit() => ForceFit::Landed(landed),
            Settled::Pending(id) => {
                ForceFit::TakeOver(CompactionRef { id, status: Status::Running, trigger: Trigger::Ahead })
            }
            Settled::Committed(_) | Settled::Gone => {
                match compactions::live(&mut *transaction, tenant.0, session_id).await? {
                    Some(live) => {
                        let trigger = live.trigger.parse().unwrap_or(Trigger::Auto);
                        ForceFit::TakeOver(CompactionRef { id: live.id, status: Status::Running, trigger })
                    }
                    None => {
                        let (trigger, strategy) = (Trigger::Auto, head.settings.strategy);
                        let asked = NewCompactionJob { trigger, strategy, delay: HEAD_START, is_urgent: true };
                        let request = CompactRequest::default();
                        match self.enqueue(&mut transaction, tenant, &head, asked, &request).await? {
                            Some(id) => ForceFit::New(CompactionRef { id, status: Status::Queued, trigger }),
                            None => ForceFit::NotNeeded,
                        }
                    }
                }
            }
        };
        transaction.commit().await?;
        Ok(found)
    }

    /// How it came out. What could not be made to fit is not tried again until it has grown.
    async fn relieved(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        compaction: CompactionRef,
    ) -> Result<Option<CompactionRef>> {
        let (mut transaction, _, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        if head.needs_force_fit() {
            leave_unrelieved(&mut head.state, &head.settings);
            save(&mut transaction, tenant, &mut head).await?;
            transaction.commit().await?;
        }
        let landed = compaction.status == Status::Succeeded;
        Ok(landed.then_some(compaction))
    }
}

/// Next step for a context that is too large.
enum ForceFit {
    NotNeeded,
    Landed(CompactionRef),
    TakeOver(CompactionRef),
    New(CompactionRef),
}

impl Head {
    /// An edit has changed what a compaction covers, and its record is to be told again by code.
    pub(crate) fn is_to_retell(&self) -> bool {
        let may = self.settings.on_upstream_failure == OnUpstreamFailure::Fallback && !self.state.recounting;
        self.state.retell.is_some() && may
    }

    /// The context is larger than the window, and the session lets the service do something about it.
    pub(crate) fn needs_force_fit(&self) -> bool {
        self.settings.enabled
            && self.settings.on_upstream_failure == OnUpstreamFailure::Fallback
            && !self.state.recounting
            && self.state.account.exceeds_window(&self.settings)
            && (self.has_grown() || self.state.unrelieved_at.is_none_or(|messages| self.state.messages > messages))
    }

    /// It was not tried yet, or is a good deal larger than it was then.
    fn has_grown(&self) -> bool {
        let (tokens, _) = self.state.account.tokens(self.settings.estimator);
        self.state.unrelieved.is_none_or(|size| tokens >= size)
    }
}
