//! Compactions: asked for, watched, cancelled.

mod begin;
mod candidate;
mod close;
pub(crate) mod commit;
pub(crate) mod entry;
mod force_fit;
mod forecast;
mod hooks_asked;
mod job;
pub mod prepare;
pub(crate) mod report;
mod revert;
pub(crate) mod selection;
pub mod work;

use std::time::Duration;

use anyhow::Context as _;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::context::pairs::pairs;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::strategy::Strategy;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::idempotency::{Outcome, about, seal};
use crate::service::core::page::{PAGE_BYTES, Page, PageRequest};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::compactions::{self, CompactionRow, NewCompaction};
use crate::store::queue::{self, JobKind, NewJob};
use crate::store::sessions;

pub(crate) use candidate::{Settled, save};
pub use close::{ChapterRefused, ChapterWritten, ChaptersWritten, NewChapter};
pub use commit::{Committed, Holder};
pub use force_fit::ForceFitted;
pub(crate) use forecast::Foreseen;
pub use job::{CompactRequest, Compaction, CompactionRef, Status, Trigger};

/// How long those who wait look again after.
const POLL_FROM: Duration = Duration::from_millis(5);
const POLL_TO: Duration = Duration::from_millis(100);

/// A compaction that waits for the end of a turn waits no longer than this.
const LONGEST_TURN: Duration = Duration::from_secs(24 * 60 * 60);

/// How long nothing starts by itself after a compaction whose attempts were all spent.
const REST_AFTER_DEATH: Duration = Duration::from_secs(60);

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
        let mut transaction = self.pool().begin().await?;
        let head = self.head_on(&mut transaction, tenant, session_id).await?;
        if request.expected_leaf_id.is_some_and(|expected| Some(expected) != head.row.leaf_id) {
            return Err(ServiceError::LeafMoved { leaf_id: head.row.leaf_id });
        }
        let settings = self.session_settings(&mut transaction, tenant, session_id, &request.patch()).await?;
        self.check_named(&mut transaction, tenant, session_id, &head.settings, &request.settings).await?;
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
        self.commit(transaction, tenant, session_id, Some(Proof::Compaction(id))).await?;
        match wait {
            Some(wait) => self.wait_for(tenant, id, wait).await,
            None => Ok(queued),
        }
    }

    pub async fn compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        let row = compactions::get(self.pool(), tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        show(row)
    }

    /// A session's compactions, newest first.
    pub async fn compactions(&self, tenant: Tenant, session_id: Uuid, page: PageRequest) -> Result<Page<Compaction>> {
        let mut connection = self.pool().acquire().await?;
        self.head_on(&mut connection, tenant, session_id).await?;
        let (before, most) = (page.cursor_id()?, page.limit + 1);
        let (rows, found) = compactions::list(&mut connection, tenant.0, session_id, before, most, PAGE_BYTES).await?;
        let shown = rows.into_iter().map(show).collect::<Result<Vec<_>>>()?;
        Ok(Page::of(shown, found, page.limit, |compaction| compaction.id.to_string()))
    }

    /// Cancels a compaction that has not ended; an ended one is returned as it is.
    pub async fn cancel_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Compaction> {
        let mut transaction = self.pool().begin().await?;
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
        let session = sessions::lock(&mut *transaction, tenant.0, row.session_id).await?;
        queue::cancel(&mut *transaction, tenant.0, row.session_id, id).await?;
        let cancelled = compactions::finish(&mut *transaction, tenant.0, id, &ending).await?;
        // Somebody did not want it: the next append is not to start the same again.
        let by_itself = row.trigger != Trigger::Manual.into_str();
        if let Some(mut session) = session.filter(|_| cancelled && by_itself) {
            let mut head = self.head_of(&session)?;
            head.state.forget_ahead(id);
            entry::hold_off(&mut head.state, &head.settings);
            head.state.write_to(&mut session.head, &head.settings)?;
            sessions::update(&mut *transaction, tenant.0, &session, clock::now()).await?;
        }
        let ended =
            compactions::get(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("compaction"))?;
        let ended = show(ended)?;
        seal(&mut transaction, Outcome::Done, &ended).await?;
        transaction.commit().await?;
        Ok(ended)
    }

    async fn wait_for(&self, tenant: Tenant, id: Uuid, wait: Duration) -> Result<Compaction> {
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
    async fn enqueue(
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
        };
        queue::enqueue(connection, tenant.0, &job).await?;
        Ok(Some(id))
    }

    /// What a call does with a compaction that is prepared ahead: takes it over as its own, ready or not, where it asks
    /// for nothing else; drops it where it does.
    async fn take_ahead(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        request: &CompactRequest,
        waits: bool,
    ) -> Result<Option<Uuid>> {
        let row =
            sessions::lock(&mut *connection, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        let mut head = self.head_of(&row)?;
        let Some(ahead) = head.state.ahead else { return Ok(None) };
        if request.is_plain(head.settings.strategy) && !waits {
            return Ok(match self.settle_ahead(connection, tenant, &mut head, true).await? {
                Settled::Committed(landed) => Some(landed.id),
                Settled::Pending(id) => Some(id),
                Settled::Gone => None,
            });
        }
        queue::cancel(&mut *connection, tenant.0, session_id, ahead.compaction_id).await?;
        head.state.ahead = Some(crate::service::core::head::Ahead { ready: true, ..ahead });
        self.drop_candidate(connection, tenant, &mut head.state, &head.settings).await?;
        candidate::save(connection, tenant, &mut head).await?;
        Ok(None)
    }

    /// Whether the running turn is still open; then the append that closes it makes the compaction due.
    async fn await_turn_end(&self, connection: &mut PgConnection, tenant: Tenant, session_id: Uuid) -> Result<bool> {
        let mut row =
            sessions::lock(&mut *connection, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        let mut head = self.head_of(&row)?;
        if head.state.turn_is_closed() {
            return Ok(false);
        }
        head.state.awaits_turn_end = true;
        head.state.write_to(&mut row.head, &head.settings)?;
        sessions::update(connection, tenant.0, &row, clock::now()).await?;
        Ok(true)
    }

    /// Has the session's tokens counted again in the background.
    pub(crate) async fn enqueue_recount(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<()> {
        let job = NewJob {
            id: clock::new_id(),
            session_id,
            kind: JobKind::Recount,
            compaction_id: None,
            delay: Duration::ZERO,
            max_attempts: self.options().max_attempts,
        };
        queue::enqueue(connection, tenant.0, &job).await?;
        Ok(())
    }

    /// The caller's cut must lie in the context and may not part a call from its result.
    async fn check_first_kept(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        first_kept: Uuid,
    ) -> Result<()> {
        let from = crate::service::path::view::ViewOrigin {
            leaf: head.leaf(),
            plain: head.is_plain(),
            newest: head.state.newest.clone(),
        };
        let loaded = crate::service::path::view::load_view(
            connection,
            tenant,
            &from,
            crate::service::path::view::ReadMode::Heads,
        )
        .await?;
        match cut_fault(&loaded.heads, first_kept) {
            Some(fault) => Err(ServiceError::invalid("/first_kept_entry_id", fault)),
            None => Ok(()),
        }
    }
}

/// Why a context can't be cut before this entry.
pub(crate) fn cut_fault(heads: &[EntryMeta], first_kept: Uuid) -> Option<&'static str> {
    let Some(cut) = heads.iter().position(|head| head.id == first_kept) else {
        return Some("is not an entry of the context");
    };
    if heads.get(cut).is_some_and(|head| head.shape.in_chapter) {
        return Some("would part a chapter from what it keeps");
    }
    let heads: Vec<&EntryMeta> = heads.iter().collect();
    let parted = pairs(&heads).into_iter().any(|(call, result)| call < cut && cut <= result);
    parted.then_some("would part a tool call from its result")
}

/// What is queued, why and for when.
struct NewCompactionJob {
    trigger: Trigger,
    strategy: Strategy,
    delay: Duration,
    /// Queued however full the queue is: whoever queues it carries it out at once.
    is_urgent: bool,
}

fn show(row: CompactionRow) -> Result<Compaction> {
    let id = row.id;
    Ok(read(row).with_context(|| format!("compaction {id} as stored"))?)
}

fn read(row: CompactionRow) -> anyhow::Result<Compaction> {
    let unknown = |column: &str| anyhow::anyhow!("`{column}` is an unknown word");
    let snapshot = |text: Option<String>| -> anyhow::Result<Option<Snapshot>> {
        text.map(|text| serde_json::from_str(&text)).transpose().context("`snapshot_before` or `snapshot_after`")
    };
    Ok(Compaction {
        id: row.id,
        session_id: row.session_id,
        status: row.status.parse().map_err(|_| unknown("status"))?,
        trigger: row.trigger.parse().map_err(|_| unknown("trigger"))?,
        strategy: row.strategy.parse().map_err(|_| unknown("strategy"))?,
        attempts: row.attempts,
        error: row.error,
        result: row.result.map(|text| serde_json::from_str(&text)).transpose().context("`result`")?,
        created_at: row.created_at,
        started_at: row.started_at,
        finished_at: row.finished_at,
        reverted_at: row.reverted_at,
        prepared: row.prepared,
        snapshot_before: snapshot(row.snapshot_before)?,
        snapshot_after: snapshot(row.snapshot_after)?,
    })
}
