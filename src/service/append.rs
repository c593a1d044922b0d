//! Appending: the one way in for a transcript.
//!
//! The common case, new items behind the leaf, is one guarded statement on the head kept in memory. Items with
//! a tree of their own (pi files) and appends elsewhere than at the leaf go through a transaction that works the
//! leaf's state out again from its path.

mod group;
mod items;
mod overflow;
mod rows;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::chapters::is_requested;
use super::compactions::{self, CompactionRef, Settled, Trigger};
use super::error::{Result, ServiceError};
use super::head::{Ahead, Head, SessionState};
use super::idempotency::{self, Outcome, seal};
use super::state::{Service, Tenant};
use super::view::{self, Read};
use crate::domain::accounting::{Snapshot, is_ahead_due};
use crate::domain::compaction::FillState;
use crate::domain::format::Format;
use crate::domain::settings::Settings;
use crate::domain::strategy::counts;
use crate::store::entries::{self, Write};
use crate::store::path::Leaf;
use crate::store::queue;
use crate::store::sessions::{self, HeadRow};
pub(crate) use group::GroupCommit;
use group::OneWrite;
use items::ReadItem;
pub use overflow::{Overflow, OverflowReason};
use rows::{Planned, Planner};

/// How often a lost race against another process is tried again before the row is locked.
const OPTIMISTIC_TRIES: usize = 3;

/// What is appended. All items land, in order, or none.
#[derive(Debug, Clone)]
pub struct Append {
    pub format: Format,
    pub items: Vec<Box<RawValue>>,
    /// The entry to append under; the leaf when absent.
    pub parent_id: Option<Uuid>,
    /// Refuse unless this is the leaf; `Some(None)`: unless the session is empty.
    pub expected_leaf_id: Option<Option<Uuid>>,
    /// The provider's own usage object for the newest answer.
    pub usage: Option<Value>,
    /// The text of a failed model call.
    pub provider_error: Option<String>,
}

/// What an append did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Appended {
    pub entries: Vec<AppendedEntry>,
    pub leaf_id: Option<Uuid>,
    pub snapshot: Snapshot,
    /// The compaction that this append started, or committed where it was prepared ahead, if any.
    pub compaction: Option<CompactionRef>,
    pub warnings: Vec<Warning>,
    /// What follows from `provider_error`; only where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AppendedEntry {
    pub id: Uuid,
    pub source_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    pub tokens: u32,
}

/// Something about an accepted item that the client should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Warning {
    /// A stable word: `orphan_tool_result`, `usage_ignored`.
    pub code: &'static str,
    /// Pointer to the item in the request.
    pub pointer: String,
    pub detail: String,
}

impl Service {
    /// Appends items to a session.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` with pointers into the body, `LeafMoved`, `QueueFull` never (a compaction that can't be
    /// queued does not hold up an append).
    pub async fn append(&self, tenant: Tenant, session_id: Uuid, append: Append) -> Result<Appended> {
        let slot = self.inner.heads.slot(tenant, session_id);
        let mut cached = slot.lock().await;
        let append = Arc::new(append);
        for attempt in 0..=OPTIMISTIC_TRIES {
            let head = match cached.take() {
                // A compaction, a move of the leaf or another process may have been there since.
                Some(head) if check_expected(&head, &append).is_ok() => head,
                _ => self.inner.load_head(self.pool(), tenant, session_id).await?,
            };
            check_expected(&head, &append)?;
            let items = items::read(Arc::clone(&append), Arc::clone(&head.settings)).await?;
            let plan = Planner::new(&head, &append, &items);
            let planned = match plan.linear(&items) {
                Some(planned) if attempt < OPTIMISTIC_TRIES => planned,
                _ => return self.append_locked(tenant, session_id, &append, items, &head.settings).await,
            };
            if let Some((appended, head)) = self.write_linear(tenant, head, &append, planned).await? {
                *cached = Some(head);
                self.inner.feed.touch(tenant, session_id);
                return Ok(appended);
            }
        }
        Err(ServiceError::Internal(anyhow::anyhow!("append tries exhausted")))
    }

    /// One guarded statement, shared with other sessions' appends; with a compaction to start, one transaction.
    /// `None`: the head was stale.
    async fn write_linear(
        &self,
        tenant: Tenant,
        mut head: Head,
        append: &Append,
        planned: Planned,
    ) -> Result<Option<(Appended, Head)>> {
        let (version, before) = (head.row.version, head.snapshot());
        head.row = planned.row;
        head.state = planned.state;
        let turn_ends = head.state.end_wait();
        let Standing { snapshot, trigger, turned } = self.settle_head(&mut head, append, planned.now)?;
        let appended = answer(&planned.entries, &head, snapshot, planned.warnings);
        let write = OneWrite {
            tenant,
            session_id: head.session_id,
            version,
            head: head.row.clone(),
            entries: planned.entries,
            branches: planned.branches,
            now: planned.now,
        };
        head.row.version = version + 1;
        let asks = is_requested(&before, &appended.snapshot);
        let follows = trigger.is_some() || append.provider_error.is_some() || turn_ends || turned || asks;
        let is_plain = !follows && !idempotency::is_keyed();
        let appended = if is_plain {
            if !self.inner.group_commit.write(self.pool(), write).await? {
                return Ok(None);
            }
            appended
        } else {
            let mut transaction = self.pool().begin().await?;
            if !entries::write(&mut *transaction, tenant.0, &write.as_write()).await? {
                return Ok(None);
            }
            if turned {
                self.record_snapshot(&mut transaction, tenant, head.session_id, &appended.snapshot).await?;
            }
            let appended = self.follow_up(&mut transaction, tenant, &mut head, append, trigger, appended).await?;
            if asks {
                self.request_chapters(&mut transaction, tenant, &head).await?;
            }
            if turn_ends {
                queue::hurry(&mut transaction, tenant.0, head.session_id).await?;
            }
            seal(&mut transaction, Outcome::Created, &appended).await?;
            transaction.commit().await?;
            appended
        };
        Ok(Some((appended, head)))
    }

    /// The general case, under the session's row lock.
    async fn append_locked(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        append: &Arc<Append>,
        items: Vec<ReadItem>,
        read_with: &Settings,
    ) -> Result<Appended> {
        let mut transaction = self.pool().begin().await?;
        let row =
            sessions::lock(&mut *transaction, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        let mut head = Head {
            session_id,
            state: SessionState::read(&row.head.state)?,
            settings: self.inner.resolve(&row.settings, row.model.as_deref())?,
            is_fork: row.parent_session.is_some(),
            model: row.model,
            row: row.head,
        };
        check_expected(&head, append)?;
        let items = if head.settings.estimator == read_with.estimator {
            items
        } else {
            items::read(Arc::clone(append), Arc::clone(&head.settings)).await?
        };
        let appended = self.write_tree(&mut transaction, tenant, &mut head, append, &items).await?;
        seal(&mut transaction, Outcome::Created, &appended).await?;
        transaction.commit().await?;
        self.inner.feed.touch(tenant, session_id);
        Ok(appended)
    }

    /// Appends to a head whose row is locked. `chained`: the items follow the leaf one by one, whatever parents they
    /// name.
    pub(super) async fn append_to(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        append: Append,
        chained: bool,
    ) -> Result<Appended> {
        let append = Arc::new(append);
        let mut items = items::read(Arc::clone(&append), Arc::clone(&head.settings)).await?;
        if chained {
            items.iter_mut().for_each(|item| item.parent = items::Parent::Previous);
        }
        self.write_tree(connection, tenant, head, &append, &items).await
    }

    async fn write_tree(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        append: &Append,
        items: &[ReadItem],
    ) -> Result<Appended> {
        let session_id = head.session_id;
        let planned = Planner::new(head, append, items).tree(connection, tenant, items).await?;
        let (version, leaf_before) = (head.row.version, head.row.leaf_id);
        let (before, fixed) = (head.state.clone(), (head.state.account.system, head.state.account.tools));
        let snapshot_before = head.snapshot();
        head.row = planned.row;
        entries::write(
            &mut *connection,
            tenant.0,
            &Write {
                session_id,
                version,
                head: &head.row,
                entries: &planned.entries,
                branches: &planned.branches,
                now: planned.now,
            },
        )
        .await?;
        for new in &planned.labels {
            entries::set_label(&mut *connection, tenant.0, new.session_id, new.seq, new.label.as_deref()).await?;
        }
        let leaf = Leaf { session_id, branch: head.row.leaf_branch, depth: head.row.leaf_depth };
        let loaded = view::load_path(connection, tenant, leaf, head.is_plain(), Read::Heads).await?;
        let (auto_retry_at, unrelieved) = (before.auto_retry_at, before.unrelieved);
        let leaf_is_tip = planned.state.leaf_is_tip;
        head.state = view::state_of_path(&loaded, fixed, SessionState { leaf_is_tip, ..before });
        head.state.auto_retry_at = auto_retry_at;
        // Another branch may well be made to fit.
        let goes_on = loaded.heads.iter().any(|entry| Some(entry.id) == leaf_before);
        head.state.unrelieved = unrelieved.filter(|_| goes_on);
        if head.state.end_wait() {
            queue::hurry(connection, tenant.0, session_id).await?;
        }
        head.row.version = version + 1;
        self.check_candidate(connection, tenant, head).await?;
        let Standing { snapshot, trigger, turned } = self.settle_head(head, append, planned.now)?;
        let no_more =
            Write { session_id, version: version + 1, head: &head.row, entries: &[], branches: &[], now: planned.now };
        entries::write(&mut *connection, tenant.0, &no_more).await?;
        head.row.version += 1;
        if turned {
            self.record_snapshot(connection, tenant, session_id, &snapshot).await?;
        }
        let appended = answer(&planned.entries, head, snapshot, planned.warnings);
        let appended = self.follow_up(connection, tenant, head, append, trigger, appended).await?;
        if is_requested(&snapshot_before, &appended.snapshot) {
            self.request_chapters(connection, tenant, head).await?;
        }
        Ok(appended)
    }
}

/// What an append has made of the head.
struct Standing {
    snapshot: Snapshot,
    /// The compaction that should follow.
    trigger: Option<Trigger>,
    /// The fill state is another one than before.
    turned: bool,
}

impl Service {
    /// Brings the head's columns in line with its state, and says what should follow.
    fn settle_head(&self, head: &mut Head, append: &Append, now: DateTime<Utc>) -> Result<Standing> {
        let snapshot = head.state.snapshot(&head.settings);
        head.state.note_fill(snapshot.state, now);
        let trigger = trigger(&head.state, &snapshot, &head.settings, append);
        let before = head.row.fill_state.clone();
        head.state.write_to(&mut head.row, &head.settings)?;
        Ok(Standing { snapshot, trigger, turned: before != head.row.fill_state })
    }

    /// Starts what should follow, in the append's own transaction, or commits at once what was prepared for this.
    async fn follow_up(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        append: &Append,
        trigger: Option<Trigger>,
        mut appended: Appended,
    ) -> Result<Appended> {
        if let Some(error) = &append.provider_error {
            let (overflow, compaction) = self.after_error(connection, tenant, head, error).await?;
            appended.overflow = Some(overflow);
            appended.compaction = compaction;
        }
        if let (Some(trigger), None) = (trigger, appended.compaction) {
            appended.compaction = self.start(connection, tenant, head, trigger).await?;
        }
        appended.leaf_id = head.row.leaf_id;
        appended.snapshot = head.snapshot();
        Ok(appended)
    }

    /// Commits what was prepared ahead, or queues a compaction.
    async fn start(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        trigger: Trigger,
    ) -> Result<Option<CompactionRef>> {
        match self.settle_ahead(connection, tenant, head, trigger == Trigger::Overflow).await? {
            Settled::Committed(landed) => return Ok(Some(landed)),
            Settled::Pending(_) => return Ok(None),
            Settled::Gone => {}
        }
        let started = self.enqueue_compaction(connection, tenant, head, trigger).await?;
        if let (Trigger::Ahead, Some(started)) = (trigger, started) {
            head.state.ahead = Some(Ahead { compaction_id: started.id, ready: false, wanted: false });
            compactions::save(connection, tenant, head).await?;
        }
        Ok(started)
    }
}

/// The entries that these items would be in an empty session, and its head then. Each follows the one before it.
pub(super) async fn unsaved(head: &Head, append: Append) -> Result<(Vec<entries::NewEntry>, HeadRow)> {
    let append = Arc::new(append);
    let items = items::read(Arc::clone(&append), Arc::clone(&head.settings)).await?;
    let planned = Planner::new(head, &append, &items).chain(&items);
    Ok((planned.entries, planned.row))
}

fn check_expected(head: &Head, append: &Append) -> Result<()> {
    match append.expected_leaf_id {
        Some(expected) if expected != head.row.leaf_id => Err(ServiceError::LeafMoved { leaf_id: head.row.leaf_id }),
        _ => Ok(()),
    }
}

/// Whether this append should start a compaction by itself, and why.
fn trigger(state: &SessionState, snapshot: &Snapshot, settings: &Settings, append: &Append) -> Option<Trigger> {
    let waits = state.auto_retry_at.is_some_and(|size| snapshot.tokens < size);
    if append.items.is_empty() {
        return None;
    }
    if snapshot.state == FillState::Red {
        let ready = state.ahead.is_some_and(|ahead| ahead.ready);
        return (snapshot.should_compact && (ready || !waits)).then_some(Trigger::Auto);
    }
    // What only counts is done in no time, and chooses best with everything before it.
    let admitted = settings.enabled && !snapshot.anti_thrash.tripped && !waits && !counts(settings.strategy);
    (admitted && state.ahead.is_none() && is_ahead_due(snapshot.tokens, settings)).then_some(Trigger::Ahead)
}

fn answer(entries: &[entries::NewEntry], head: &Head, snapshot: Snapshot, warnings: Vec<Warning>) -> Appended {
    let shown = |entry: &entries::NewEntry| AppendedEntry {
        id: entry.head.id,
        source_id: entry.source_id.clone(),
        kind: entry.head.kind.as_str(),
        role: entry.head.role.map(|role| role.as_str()),
        tokens: entry.head.tokens,
    };
    let entries = entries.iter().map(shown).collect();
    Appended { entries, leaf_id: head.row.leaf_id, snapshot, compaction: None, warnings, overflow: None }
}
