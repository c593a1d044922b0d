//! Appending: the one way in for a transcript.
//!
//! The common case, new items behind the leaf, is one guarded statement on the head kept in memory. Items with
//! a tree of their own (pi files) and appends elsewhere than at the leaf go through a transaction that works the
//! leaf's state out again from its path.

mod items;
mod overflow;
mod request;
mod rows;

use std::sync::Arc;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::background::{FreeingLoad, LargeValue};
use crate::domain::compaction::strategy::counts;
use crate::domain::model::format::Format;
use crate::domain::settings::Settings;
use crate::domain::tokens::accounting::{FillState, Snapshot};
use crate::families;
use crate::service::chapters::{self, is_requested};
use crate::service::compaction::carry::carry;
use crate::service::compaction::committing::committing;
use crate::service::compaction::{self, CompactionRef, Settled, Trigger};
use crate::service::core::acknowledgement::Proof;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::group_commit::{Failed, OneWrite};
use crate::service::core::handles::OpenedHandles;
use crate::service::core::head::{Ahead, Head, SessionState};
use crate::service::core::heads::SessionTransaction;
use crate::service::core::idempotency::{self, Outcome, seal};
use crate::service::core::lanes::Lane;
use crate::service::core::offload::{in_place, is_bulky};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::events;
use crate::service::ingest::returned_context::LeafAnswer;
use crate::service::path::view::{self, ReadMode};
use crate::service::rebuild::Context;
use crate::store::entries::{self, GuardedWrite, Write};
use crate::store::path::Leaf;
use crate::store::queue;
use crate::store::sessions::HeadRow;
use crate::store::transaction;
use items::ReadItem;
use rows::{PlannedRows, Planner};

pub(super) use items::in_order;
pub use overflow::OverflowReason;
pub(super) use request::bytes;
pub use request::{Append, Appended, AppendedEntry, Warning, WarningCode};

/// How often the head in memory, or as it was just read, is trusted before the row is locked.
const OPTIMISTIC_TRIES: usize = 3;

impl Service {
    /// Appends. Where the context is wanted in a format, it comes with the answer, and both are of the same moment.
    ///
    /// # Errors
    /// Those of [`Service::append`]; those of [`Service::rebuild`] once the items are stored.
    pub async fn append_returning(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        append: Append,
        wanted: Option<Format>,
    ) -> Result<(Appended, Option<Context>)> {
        let mut appended = self.append(tenant, session_id, append).await?;
        count_landed(appended.entries.len());
        let Appended { leaf_id, snapshot, compaction, .. } = &mut appended;
        let answer = LeafAnswer { leaf_id, snapshot, compaction };
        let context = self.context_left(tenant, session_id, wanted, answer).await?;
        Ok((appended, context))
    }

    /// Appends items to a session.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` and `HandleRefused` with pointers into the body, `LeafMoved`, `OutcomeUnknown`, `QueueFull`
    /// never (a compaction that can't be queued does not hold up an append).
    pub async fn append(&self, tenant: Tenant, session_id: Uuid, append: Append) -> Result<Appended> {
        let append = Arc::new(append);
        let opened = self.inner.handles.open(tenant, append.format, &append, |append| &append.items).await?;
        let slot = self.inner.cached_heads.slot(tenant, session_id);
        let mut cached = slot.lock().await;
        let lane = match is_bulky(&append.items) {
            true => Some(self.inner.bulk_lanes.enter(tenant).await?),
            false => None,
        };
        let mut read = None;
        for _ in 0..OPTIMISTIC_TRIES {
            let head = match cached.take() {
                // A compaction, a move of the leaf or another process may have been there since.
                Some(head) if check_expected(&head, &append).is_ok() => head,
                _ => self.inner.heads.read(self.pool(), tenant, session_id).await?,
            };
            check_expected(&head, &append)?;
            let items = items::read(Arc::clone(&append), Arc::clone(&head.settings), opened.clone()).await?;
            let plan = || Planner::new(&head, &append, &items).linear(&items);
            let planned = in_place(items::load(&append, &items), plan).await?;
            read = Some((items, Arc::clone(&head.settings)));
            let Some(planned) = planned else { break };
            match committing(self.write_linear(tenant, head, &append, planned, lane.as_ref())).await? {
                Tried::Landed(appended, head) => {
                    *cached = head;
                    self.inner.feed.touch(tenant, session_id);
                    return Ok(appended);
                }
                Tried::Stale => {}
                Tried::Locked => break,
            }
        }
        let (items, read_with) = read.context("an append without a try")?;
        let read = Read { items, with: read_with, opened };
        let appended = committing(self.append_locked(tenant, session_id, &append, read)).await?;
        self.inner.feed.touch(tenant, session_id);
        Ok(appended)
    }

    /// One guarded statement, shared with other sessions' appends; with a compaction to start, one transaction.
    async fn write_linear(
        &self,
        tenant: Tenant,
        mut head: Head,
        append: &Append,
        planned: PlannedRows,
        lane: Option<&Lane>,
    ) -> Result<Tried> {
        let load = planned.entries.freeing_load();
        let behind = in_place(load, || put_behind(tenant, &mut head, append, planned)).await??;
        let _lane = match lane.is_none() && behind.write.is_large() {
            true => Some(self.inner.bulk_lanes.enter(tenant).await?),
            false => None,
        };
        if behind.is_plain(append) && !idempotency::is_keyed() {
            return self.write_plain(head, behind).await;
        }
        let mut work = transaction::begin(self.pool()).await?;
        match entries::try_write(&mut *work, tenant.0, &behind.write.as_write()).await? {
            GuardedWrite::Landed => {}
            GuardedWrite::Stale => return Ok(Tried::Stale),
            GuardedWrite::Locked => return Ok(Tried::Locked),
        }
        let appended = self.finish_behind(&mut work, tenant, &mut head, append, behind).await?;
        self.seal_and_commit(work, tenant, &head, &appended).await?;
        Ok(Tried::Landed(appended, Some(head)))
    }

    /// The usual append, which needs nothing but its own rows.
    async fn write_plain(&self, head: Head, behind: Behind) -> Result<Tried> {
        let Behind { write, appended, .. } = behind;
        let tenant = write.tenant;
        let proof = proof_of(&appended);
        let outcome = match write.is_large() {
            true => self.inner.group_commit.write_alone(self.pool(), &write).await,
            false => self.inner.group_commit.write(self.pool(), write).await,
        };
        match outcome {
            Ok(GuardedWrite::Landed) => Ok(Tried::Landed(appended, Some(head))),
            Ok(GuardedWrite::Stale) => Ok(Tried::Stale),
            Ok(GuardedWrite::Locked) => Ok(Tried::Locked),
            Err(Failed::RolledBack(error)) => Err(error),
            Err(Failed::InDoubt) => match proof {
                Some(proof) if self.inner.heads.has_landed(tenant, head.session_id, proof).await? => {
                    Ok(Tried::Landed(appended, None))
                }
                // To append nothing twice does no harm.
                _ => Ok(Tried::Stale),
            },
        }
    }

    /// The general case, under the session's row lock.
    async fn append_locked(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        append: &Arc<Append>,
        read: Read,
    ) -> Result<Appended> {
        let (mut work, mut head) = self.inner.heads.begin_locked_head(tenant, session_id).await?;
        check_expected(&head, append)?;
        let items = if head.settings.estimator == read.with.estimator {
            read.items
        } else {
            items::read(Arc::clone(append), Arc::clone(&head.settings), read.opened).await?
        };
        let appended = self.write_tree(&mut work, tenant, &mut head, append, items).await?;
        self.seal_and_commit(work, tenant, &head, &appended).await?;
        Ok(appended)
    }

    async fn seal_and_commit(
        &self,
        mut work: SessionTransaction,
        tenant: Tenant,
        head: &Head,
        appended: &Appended,
    ) -> Result<()> {
        seal(&mut work, Outcome::Created, appended).await?;
        self.inner.heads.commit(work, tenant, head.session_id, proof_of(appended)).await
    }

    /// Appends to a head whose row is locked. `opened`: the handles among the items. `chained`: the items follow the leaf
    /// one by one, whatever parents they name.
    pub(super) async fn append_to(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        append: Append,
        opened: OpenedHandles,
        chained: bool,
    ) -> Result<Appended> {
        let append = Arc::new(append);
        let mut items = items::read(Arc::clone(&append), Arc::clone(&head.settings), opened).await?;
        if chained {
            items.iter_mut().for_each(|item| item.parent = items::Parent::Previous);
        }
        self.write_tree(connection, tenant, head, &append, items).await
    }

    async fn write_tree(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        append: &Append,
        items: LargeValue<Vec<ReadItem>>,
    ) -> Result<Appended> {
        let session_id = head.session_id;
        // What follows the leaf needs no look at its path, however long that is.
        let load = items::load(append, &items);
        let put = || {
            let planned = Planner::new(head, append, &items).linear(&items);
            planned.map(|planned| put_behind(tenant, head, append, planned)).transpose()
        };
        if let Some(behind) = in_place(load, put).await?? {
            // The database may take its time.
            drop(items);
            if !entries::write(&mut *connection, tenant.0, &behind.write.as_write()).await? {
                return Err(anyhow::anyhow!("the head of a locked session has moved").into());
            }
            return self.finish_behind(connection, tenant, head, append, behind).await;
        }
        let planned = Planner::new(head, append, &items).tree(connection, tenant, &items).await?;
        drop(items);
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
        let mut loaded = view::load_path(connection, tenant, leaf, head.is_plain(), ReadMode::Heads).await?;
        // What ends with the very end of what a compaction covers is shown without it; what goes on from there has it again.
        let was_tip = before.leaf_is_tip;
        let (auto_retry_at, unrelieved) = (before.auto_retry_at, before.unrelieved);
        let (unrelieved_at, retell) = (before.unrelieved_at, before.retell);
        let left = before.newest.clone();
        let leaf_is_tip = planned.state.leaf_is_tip;
        let account = planned.state.account;
        head.state = view::state_of_path(&loaded, fixed, SessionState { leaf_is_tip, account, ..before });
        head.state.account.judge_placed(&head.settings);
        let goes_on = leaf_before.is_none_or(|leaf| loaded.heads.iter().any(|entry| entry.id == leaf));
        let carried = match goes_on && was_tip {
            true => None,
            false => carry(connection, tenant, head, &mut loaded, left.as_ref(), true).await?,
        };
        let (carried, branches) = carried.map_or_else(Default::default, |one| (vec![one.entry], one.branches));
        head.state.auto_retry_at = auto_retry_at;
        head.state.retell = retell.filter(|_| goes_on && carried.is_empty());
        // Another branch may well be made to fit.
        head.state.unrelieved = unrelieved.filter(|_| goes_on);
        head.state.unrelieved_at = unrelieved_at.filter(|_| goes_on);
        if head.state.end_wait() {
            queue::make_due(connection, tenant.0, session_id).await?;
        }
        head.row.version = version + 1;
        self.check_candidate(connection, tenant, head).await?;
        let AppendEffect { snapshot, trigger, turned } = settle_head(head, append, planned.now)?;
        let (head_row, now) = (&head.row, planned.now);
        let rest =
            Write { session_id, version: version + 1, head: head_row, entries: &carried, branches: &branches, now };
        entries::write(&mut *connection, tenant.0, &rest).await?;
        head.row.version += 1;
        if turned {
            events::record_snapshot(connection, tenant, session_id, &snapshot).await?;
        }
        let appended = answer((&planned.entries, &planned.places), head, snapshot, planned.warnings);
        let appended = self.follow_up(connection, tenant, head, append, trigger, appended).await?;
        if is_requested(&snapshot_before, &appended.snapshot) {
            chapters::request(connection, tenant, head).await?;
        }
        Ok(appended)
    }
}

/// Items of an append as they were read, and with which settings.
struct Read {
    items: LargeValue<Vec<ReadItem>>,
    with: Arc<Settings>,
    opened: OpenedHandles,
}

/// How a try at an append went.
#[expect(clippy::large_enum_variant, reason = "one at a time, and taken apart at once")]
enum Tried {
    /// With the head as it is now, where that is known.
    Landed(Appended, Option<Head>),
    /// The head was stale.
    Stale,
    /// Somebody else holds the session's row.
    Locked,
}

/// Items that follow the leaf, planned and not written yet; the head is already as it will be.
struct Behind {
    write: OneWrite,
    appended: Appended,
    trigger: Option<Trigger>,
    turned: bool,
    turn_ends: bool,
    /// The agent is to be asked for chapters now.
    asks: bool,
}

impl Behind {
    /// Nothing else is to be written with it.
    fn is_plain(&self, append: &Append) -> bool {
        let follows = self.trigger.is_some() || self.turned || self.turn_ends || self.asks;
        !follows && append.provider_error.is_none()
    }
}

/// Puts planned items behind the leaf.
fn put_behind(tenant: Tenant, head: &mut Head, append: &Append, planned: PlannedRows) -> Result<Behind> {
    let (version, before) = (head.row.version, head.snapshot());
    head.row = planned.row;
    head.state = planned.state;
    let turn_ends = head.state.end_wait();
    let AppendEffect { snapshot, trigger, turned } = settle_head(head, append, planned.now)?;
    let appended = answer((&planned.entries, &planned.places), head, snapshot, planned.warnings);
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
    Ok(Behind { write, appended, trigger, turned, turn_ends, asks })
}

impl Service {
    /// Does what follows from items that were just written, in the same transaction.
    async fn finish_behind(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        append: &Append,
        behind: Behind,
    ) -> Result<Appended> {
        let Behind { appended, trigger, turned, turn_ends, asks, .. } = behind;
        if turned {
            events::record_snapshot(&mut *connection, tenant, head.session_id, &appended.snapshot).await?;
        }
        let appended = self.follow_up(&mut *connection, tenant, head, append, trigger, appended).await?;
        if asks {
            chapters::request(&mut *connection, tenant, head).await?;
        }
        if turn_ends {
            queue::make_due(connection, tenant.0, head.session_id).await?;
        }
        Ok(appended)
    }
}

/// Effect of an append on the head.
struct AppendEffect {
    snapshot: Snapshot,
    /// The compaction that should follow.
    trigger: Option<Trigger>,
    /// The fill state is another one than before.
    turned: bool,
}

/// Brings the head's columns in line with its state, and says what should follow.
fn settle_head(head: &mut Head, append: &Append, now: DateTime<Utc>) -> Result<AppendEffect> {
    if append.is_whole {
        head.state.pass_over_calls();
    }
    let snapshot = head.snapshot();
    head.state.note_fill(snapshot.state, now);
    let trigger = trigger(&head.state, &snapshot, &head.settings, append);
    let before = head.row.fill_state.clone();
    head.state.write_to(&mut head.row, &head.settings)?;
    Ok(AppendEffect { snapshot, trigger, turned: before != head.row.fill_state })
}

impl Service {
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
            Settled::Committed(landed) => {
                // A burst may be too much for it: the next one is made while the agent reads on.
                if head.state.account.exceeds_window(&head.settings) {
                    self.enqueue_compaction(connection, tenant, head, Trigger::Auto).await?;
                }
                return Ok(Some(landed));
            }
            Settled::Pending(_) => return Ok(None),
            Settled::Gone => {}
        }
        let started = self.enqueue_compaction(connection, tenant, head, trigger).await?;
        if let (Trigger::Ahead, Some(started)) = (trigger, started) {
            head.state.ahead = Some(Ahead { compaction_id: started.id, ready: false, wanted: false });
            compaction::save(connection, tenant, head).await?;
        }
        Ok(started)
    }
}

/// The entries that these items would be in an empty session, and its head then. Each follows the one before it.
pub(crate) async fn unsaved(
    head: &Head,
    append: Arc<Append>,
    opened: OpenedHandles,
) -> Result<(LargeValue<Vec<entries::NewEntry>>, HeadRow)> {
    let items = items::read(Arc::clone(&append), Arc::clone(&head.settings), opened).await?;
    let planned = in_place(items::load(&append, &items), || Planner::new(head, &append, &items).chain(&items)).await?;
    Ok((planned.entries, planned.row))
}

/// Counts one call whose items have landed.
pub(super) fn count_landed(entries: usize) {
    metrics::counter!(families::APPENDS).increment(1);
    metrics::counter!(families::ENTRIES).increment(entries as u64);
}

fn proof_of(appended: &Appended) -> Option<Proof> {
    appended.entries.last().map(|entry| Proof::Entry(entry.id))
}

fn check_expected(head: &Head, append: &Append) -> Result<()> {
    match append.expected_leaf_id {
        Some(expected) if expected != head.row.leaf_id => Err(ServiceError::LeafMoved { leaf_id: head.row.leaf_id }),
        _ => Ok(()),
    }
}

/// Returns the trigger of the compaction that this append should start by itself. `None`: it should start none.
fn trigger(state: &SessionState, snapshot: &Snapshot, settings: &Settings, append: &Append) -> Option<Trigger> {
    let waits = state.auto_retry_at.is_some_and(|size| snapshot.tokens < size);
    // What is told again may well be small.
    if append.items.is_empty() || state.retell.is_some() {
        return None;
    }
    let is_due = snapshot.should_compact && !state.rests(settings);
    if snapshot.state == FillState::Red {
        let ready = state.ahead.is_some_and(|ahead| ahead.ready);
        return (is_due && (ready || !waits)).then_some(Trigger::Auto);
    }
    if is_due && !waits {
        return Some(Trigger::Auto);
    }
    // What only counts is done in no time, and chooses best with everything before it.
    let admitted = settings.enabled && !snapshot.anti_thrash.tripped && !waits && !counts(settings.strategy);
    (admitted && state.ahead.is_none() && state.account.is_ahead_due(settings)).then_some(Trigger::Ahead)
}

/// The entries are told in the order of the posted items.
fn answer(
    (entries, places): (&[entries::NewEntry], &[usize]),
    head: &Head,
    snapshot: Snapshot,
    warnings: Vec<Warning>,
) -> Appended {
    let shown = |entry: &entries::NewEntry| AppendedEntry {
        id: entry.head.id,
        source_id: entry.source_id.clone(),
        kind: entry.head.kind.into_str(),
        role: entry.head.role.map(|role| role.into_str()),
        tokens: entry.head.tokens,
    };
    let mut shown: Vec<_> = places.iter().zip(entries.iter().map(shown)).collect();
    shown.sort_by_key(|(place, _)| **place);
    let entries = shown.into_iter().map(|(_, entry)| entry).collect();
    Appended { entries, leaf_id: head.row.leaf_id, snapshot, compaction: None, warnings, overflow: None }
}
