//! The last resort: a context that is larger than the window is not handed out. Where no summary was ready in time, the
//! built-in summariser writes one on the spot; no model is asked and nobody waits for one.

use std::time::Duration;

use anyhow::Context as _;
use uuid::Uuid;

use super::begin::Urgency;
use super::candidate::{Settled, save};
use super::commit::{Committed, Holder};
use super::entry::leave_unrelieved;
use super::{Asked, CompactRequest, CompactionRef, Status, Trigger};
use crate::domain::accounting::Snapshot;
use crate::domain::compaction::Fallback;
use crate::domain::settings::OnUpstreamFailure;
use crate::domain::summary::{Allowance, SummaryPart, builtin};
use crate::service::append::Appended;
use crate::service::error::{Result, ServiceError};
use crate::service::head::Head;
use crate::service::state::{Service, Tenant};
use crate::service::work::{Begin, SummaryOutcome, Work};
use crate::store::{compactions, queue, sessions};

/// `fallback.reason` of such a compaction.
const REASON: &str = "window_full";
/// How often a compaction that somebody else ended first is looked after.
const TRIES: u32 = 3;
/// Before a worker takes the job up, should this process end in the middle.
const HEAD_START: Duration = Duration::from_secs(5);

/// What a context that was made to fit has become.
#[derive(Debug, Clone)]
pub struct Relieved {
    pub compaction: CompactionRef,
    pub snapshot: Snapshot,
    pub leaf_id: Option<Uuid>,
}

impl Service {
    /// Compacts the leaf's context at once where it is larger than the window. `None`: it is not, or the session does
    /// not want it, or nothing can be left out.
    ///
    /// # Errors
    /// `NotFound`; the database's.
    pub async fn relieve(&self, tenant: Tenant, session_id: Uuid) -> Result<Option<Relieved>> {
        for _ in 0..TRIES {
            let (task, mine) = match self.find_relief(tenant, session_id).await? {
                Relief::NotNeeded => return Ok(None),
                Relief::Landed(compaction) => return self.relieved(tenant, session_id, compaction).await,
                Relief::TakeOver(task) => (task, false),
                Relief::New(task) => (task, true),
            };
            let committed = match self.begin(tenant, task.id, Urgency::MustFit).await? {
                Begin::Work(work) => {
                    let (work, outcome) =
                        tokio::task::spawn_blocking(move || write(work)).await.context("a summary")?;
                    self.commit_compaction(&work, outcome, Holder::Seized).await?
                }
                Begin::Ended => {
                    // Its job would find nothing to do.
                    queue::cancel(self.pool(), tenant.0, session_id, task.id).await?;
                    if mine { Committed::Done } else { Committed::LeaseLost }
                }
            };
            // Whoever was at work on it may have ended it meanwhile, in whatever way: look again.
            if committed == Committed::Done {
                let status = compactions::status(self.pool(), tenant.0, task.id).await?;
                let status = status.as_deref().and_then(Status::parse).unwrap_or(Status::Skipped);
                return self.relieved(tenant, session_id, CompactionRef { status, ..task }).await;
            }
        }
        Ok(None)
    }

    /// As [`Service::relieve`], of a session whose size an append has just found.
    pub async fn relieve_after(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        appended: &Appended,
    ) -> Result<Option<Relieved>> {
        match appended.snapshot.tokens > u64::from(appended.snapshot.window) {
            true => self.relieve(tenant, session_id).await,
            false => Ok(None),
        }
    }

    /// Commits the candidate if there is one; else gives the compaction to be carried out here and now: the one that
    /// is waited for, or a new one.
    async fn find_relief(&self, tenant: Tenant, session_id: Uuid) -> Result<Relief> {
        let mut transaction = self.pool().begin().await?;
        let row =
            sessions::lock(&mut *transaction, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        let mut head = self.head_of(&row)?;
        if !head.needs_relief() {
            return Ok(Relief::NotNeeded);
        }
        let relief = match self.settle_ahead(&mut transaction, tenant, &mut head, false).await? {
            Settled::Committed(landed) if !head.needs_relief() => Relief::Landed(landed),
            Settled::Pending(id) => {
                Relief::TakeOver(CompactionRef { id, status: Status::Running, trigger: Trigger::Ahead })
            }
            Settled::Committed(_) | Settled::Gone => {
                match compactions::live(&mut *transaction, tenant.0, session_id).await? {
                    Some(live) => {
                        let trigger = Trigger::parse(&live.trigger).unwrap_or(Trigger::Auto);
                        Relief::TakeOver(CompactionRef { id: live.id, status: Status::Running, trigger })
                    }
                    None => {
                        let (trigger, strategy) = (Trigger::Auto, head.settings.strategy);
                        let asked = Asked { trigger, strategy, delay: HEAD_START, is_urgent: true };
                        let request = CompactRequest::default();
                        match self.enqueue(&mut transaction, tenant, &head, asked, &request).await? {
                            Some(id) => Relief::New(CompactionRef { id, status: Status::Queued, trigger }),
                            None => Relief::NotNeeded,
                        }
                    }
                }
            }
        };
        transaction.commit().await?;
        Ok(relief)
    }

    /// How it came out. What could not be made to fit is not tried again until it has grown.
    async fn relieved(&self, tenant: Tenant, session_id: Uuid, compaction: CompactionRef) -> Result<Option<Relieved>> {
        let mut transaction = self.pool().begin().await?;
        let row =
            sessions::lock(&mut *transaction, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        let mut head = self.head_of(&row)?;
        if head.needs_relief() {
            leave_unrelieved(&mut head.state, &head.settings);
            save(&mut transaction, tenant, &mut head).await?;
            transaction.commit().await?;
        }
        let landed = compaction.status == Status::Succeeded;
        Ok(landed.then(|| Relieved { compaction, snapshot: head.snapshot(), leaf_id: head.row.leaf_id }))
    }
}

/// What there is to be done about a context that is too large.
enum Relief {
    NotNeeded,
    Landed(CompactionRef),
    TakeOver(CompactionRef),
    New(CompactionRef),
}

impl Head {
    /// The context is larger than the window, and the session lets the service do something about it.
    pub(crate) fn needs_relief(&self) -> bool {
        let (tokens, _) = self.state.account.tokens(self.settings.estimator);
        self.settings.enabled
            && self.settings.on_upstream_failure == OnUpstreamFailure::Fallback
            && !self.state.recounting
            && tokens > self.settings.hard_limit()
            && self.state.unrelieved.is_none_or(|size| tokens >= size)
    }
}

/// The summary, by rules alone.
fn write(work: Box<Work>) -> (Box<Work>, SummaryOutcome) {
    let fallback = Fallback { used: true, from: work.upstream.clone(), reason: Some(REASON.to_owned()) };
    let mut outcome = SummaryOutcome { fallback, builtin: !work.summary_tasks.is_empty(), ..SummaryOutcome::default() };
    let allowance = Allowance::new(work.replaced_tokens, work.settings.summary_reserve());
    for task in &work.summary_tasks {
        let most = allowance.share(task.part, work.summary_tasks.len());
        let mut task = task.clone();
        task.max_output_tokens = task.max_output_tokens.min(most);
        let text = Some(builtin::summarise(&task));
        match task.part {
            SummaryPart::TurnPrefix => outcome.turn_prefix = text,
            SummaryPart::History | SummaryPart::Branch => outcome.history = text,
        }
    }
    (work, outcome)
}
