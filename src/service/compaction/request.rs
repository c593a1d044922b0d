//! Stage 1 of a compaction, request: what a call asks for, or an append finds due, as a job in the queue.

use std::time::Duration;

use anyhow::Context as _;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::model::strategy::Strategy;
use crate::domain::summary::verify;
use crate::service::compaction::ahead::{Settled, save};
use crate::service::compaction::caller_cut::cut_fault;
use crate::service::compaction::committing::committing;
use crate::service::compaction::job::{CompactRequest, Compaction, CompactionRef, Status, Trigger};
use crate::service::compaction::status::show;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::head::{Ahead, Head};
use crate::service::core::idempotency::{Outcome, seal};
use crate::service::core::offload::offload;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::view::{ReadMode, ViewOrigin, load_view};
use crate::store::compactions::{self, NewCompaction};
use crate::store::queue::{self, JobKind, NewJob};
use crate::store::sessions;
use crate::store::transaction;
use crate::trace;

/// A compaction that waits for the end of a turn waits no longer than this.
const LONGEST_TURN: Duration = Duration::from_secs(24 * 60 * 60);

/// How long nothing starts by itself after a compaction whose attempts were all spent.
const REST_AFTER_DEATH: Duration = Duration::from_secs(60);

/// Refuses a caller's summary that is none.
async fn check_summary(summary: &str) -> Result<()> {
    let text = summary.to_owned();
    let checked = offload(text.len(), move || verify::check_given(&text)).await?;
    checked.map_err(|reason| ServiceError::invalid("/summary", reason.to_string()))
}

impl Service {
    /// Queues a compaction, or returns the one that is live. With `wait`, returns when it has ended or the time is up.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `LeafMoved`, `QueueFull`.
    pub async fn compact(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        request: CompactRequest,
        wait: Option<Duration>,
    ) -> Result<Compaction> {
        if let Some(summary) = &request.summary {
            check_summary(summary).await?;
        }
        let queued = committing(self.queue(tenant, session_id, request)).await?;
        match wait {
            Some(wait) => self.wait_for(tenant, queued.id, wait).await,
            None => Ok(queued),
        }
    }

    async fn queue(&self, tenant: Tenant, session_id: Uuid, request: CompactRequest) -> Result<Compaction> {
        let mut transaction = transaction::begin(self.pool()).await?;
        let head = self.inner.heads.read(&mut *transaction, tenant, session_id).await?;
        if request.expected_leaf_id.is_some_and(|expected| Some(expected) != head.row.leaf_id) {
            return Err(ServiceError::LeafMoved { leaf_id: head.row.leaf_id });
        }
        let settings = self.inner.heads.settings_with(&mut *transaction, tenant, session_id, &request.patch()).await?;
        self.inner
            .settings
            .check_named(&mut transaction, tenant, session_id, &head.settings, &request.settings)
            .await?;
        if let Some(first_kept) = request.first_kept_entry_id {
            self.check_first_kept(&mut transaction, tenant, &head, first_kept).await?;
        }
        let strategy = request.strategy.unwrap_or(settings.strategy);
        let waits = request.at_turn_end && self.await_turn_end(&mut transaction, tenant, session_id).await?;
        let new = NewCompactionJob {
            trigger: Trigger::Manual,
            strategy,
            delay: if waits { LONGEST_TURN } else { Duration::ZERO },
            is_urgent: false,
        };
        let taken = if head.state.ahead.is_some() {
            self.take_ahead(&mut transaction, tenant, session_id, &request, waits).await?
        } else {
            None
        };
        let started = match taken {
            Some(id) => Some(id),
            None => self.enqueue(&mut transaction, tenant, &head, new, &request).await?,
        };
        let id = match started {
            Some(id) => id,
            None => match compactions::live(&mut *transaction, tenant.0, session_id).await? {
                Some(live) => {
                    if !waits {
                        queue::make_due(&mut transaction, tenant.0, session_id).await?;
                    }
                    live.id
                }
                // It ended between the two looks: the caller's next try starts a new one.
                None => {
                    return Err(ServiceError::Conflict {
                        code: ConflictCode::InProgress,
                        detail: "a compaction was just ending".into(),
                    });
                }
            },
        };
        let queued =
            compactions::get(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        let queued = show(queued)?;
        seal(&mut transaction, Outcome::Accepted, &queued).await?;
        self.inner.heads.commit(transaction, tenant, session_id, Some(Proof::Compaction(id))).await?;
        Ok(queued)
    }

    /// Starts a compaction that an append found due. A full queue does not hold up an append, and one that just died
    /// in the queue is not followed by the next at once.
    pub(crate) async fn enqueue_compaction(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        trigger: Trigger,
    ) -> Result<Option<CompactionRef>> {
        if matches!(trigger, Trigger::Auto | Trigger::Ahead) {
            let (most, since) = (self.options().max_attempts, clock::now() - REST_AFTER_DEATH);
            if compactions::died_lately(&mut *connection, tenant.0, head.session_id, most, since).await? {
                return Ok(None);
            }
        }
        let request = CompactRequest::default();
        let new =
            NewCompactionJob { trigger, strategy: head.settings.strategy, delay: Duration::ZERO, is_urgent: false };
        let queued = self.enqueue(&mut *connection, tenant, head, new, &request).await;
        match queued {
            Ok(None) => {
                queue::make_due(connection, tenant.0, head.session_id).await?;
                Ok(None)
            }
            Ok(id) => Ok(id.map(|id| CompactionRef { id, status: Status::Queued, trigger })),
            Err(ServiceError::QueueFull { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// `None`: the session has a live one already.
    pub(super) async fn enqueue(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        asked: NewCompactionJob,
        request: &CompactRequest,
    ) -> Result<Option<Uuid>> {
        let session_id = head.session_id;
        if !asked.is_urgent && queue::live(&mut *connection, tenant.0).await? >= self.options().max_queued_jobs {
            return Err(ServiceError::QueueFull { retry_after: 5 });
        }
        let id = clock::new_id();
        let new = NewCompaction {
            id,
            session_id,
            trigger: asked.trigger.into_str(),
            strategy: asked.strategy.into_str(),
            request: serde_json::to_string(request).context("a compact request as JSON")?,
            snapshot: serde_json::to_string(&head.snapshot()).context("a snapshot as JSON")?,
            now: clock::now(),
        };
        if !compactions::insert(&mut *connection, tenant.0, &new).await? {
            return Ok(None);
        }
        let job = NewJob {
            id: clock::new_id(),
            session_id,
            kind: JobKind::Compact,
            compaction_id: Some(id),
            delay: asked.delay,
            max_attempts: self.options().max_attempts,
            cause: trace::current(),
        };
        queue::enqueue(connection, tenant.0, &job).await?;
        Ok(Some(id))
    }

    /// Settles a compaction that is prepared ahead when a call comes: the call takes it over as its own, ready or not,
    /// where it asks for nothing else, and drops it where it does.
    async fn take_ahead(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        request: &CompactRequest,
        waits: bool,
    ) -> Result<Option<Uuid>> {
        let (_, mut head) = self.inner.heads.lock(&mut *connection, tenant, session_id).await?;
        let Some(ahead) = head.state.ahead else { return Ok(None) };
        if request.is_plain(head.settings.strategy) && !waits {
            return Ok(match self.settle_ahead(connection, tenant, &mut head, true).await? {
                Settled::Committed(landed) => Some(landed.id),
                Settled::Pending(id) => Some(id),
                Settled::Gone => None,
            });
        }
        queue::cancel(&mut *connection, tenant.0, session_id, ahead.compaction_id).await?;
        head.state.ahead = Some(Ahead { ready: true, ..ahead });
        self.drop_candidate(connection, tenant, &mut head.state, &head.settings).await?;
        save(connection, tenant, &mut head).await?;
        Ok(None)
    }

    /// Returns true if the running turn is still open; then the append that closes it makes the compaction due.
    async fn await_turn_end(&self, connection: &mut PgConnection, tenant: Tenant, session_id: Uuid) -> Result<bool> {
        let (mut row, mut head) = self.inner.heads.lock(&mut *connection, tenant, session_id).await?;
        if head.state.turn_is_closed() {
            return Ok(false);
        }
        head.state.awaits_turn_end = true;
        head.state.write_to(&mut row.head, &head.settings)?;
        sessions::update(connection, tenant.0, &row, clock::now()).await?;
        Ok(true)
    }

    /// The caller's cut must lie in the context and keep the rules of every cut.
    async fn check_first_kept(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        first_kept: Uuid,
    ) -> Result<()> {
        let loaded = load_view(connection, tenant, &ViewOrigin::of(head), ReadMode::Heads).await?;
        match cut_fault(&loaded, &head.settings, first_kept) {
            Some(fault) => Err(ServiceError::invalid("/first_kept_entry_id", fault)),
            None => Ok(()),
        }
    }
}

/// Compaction job to be queued, with its trigger and its delay.
pub(super) struct NewCompactionJob {
    pub trigger: Trigger,
    pub strategy: Strategy,
    pub delay: Duration,
    /// Queued however full the queue is: whoever queues it carries it out at once.
    pub is_urgent: bool,
}
