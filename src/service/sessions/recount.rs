//! Counting a session again under another estimator: every own entry once, in the background.
//!
//! Entries are counted in stretches, in the order of their arrival, so that a parent's totals are there before its
//! children's. No lock is held while a stretch is counted; how far it got stands with the job, whose next attempt goes on
//! from there. What is appended meanwhile is counted by the new estimator, and its totals are set right when its turn
//! comes. Only the end is under the session's row lock.
//!
//! Entries that a fork shares with its origin keep the counts of the origin's estimator; they are not this session's.
//! Where they change, the fork's own totals, which go on from theirs, are worked out again too.

mod elided;
mod settle;

use std::collections::HashMap;
use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::model::entry::Entry;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::message::{Message, Role};
use crate::domain::settings::{Estimator, Pictures};
use crate::domain::tokens;
use crate::service::compaction::Committed;
use crate::service::core::clock;
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::offload::offload;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::message_of;
use crate::store::entries::{self, Recount, StoredEntry};
use crate::store::path;
use crate::store::queue::{self, JobKind, LeaseProof, NewJob};
use crate::store::transaction;
use crate::trace;

/// A stretch ends where it is this long or this large.
const ENTRIES: i64 = 500;
const BYTES: i64 = 4 << 20;

/// How a session's entries are counted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// By this estimator, with pictures in the way of the session's model where that is known, as they are counted when
    /// they are appended.
    By(Estimator, Option<Pictures>),
    /// Only the totals: those that they go on from have changed.
    TotalsAlone,
}

impl Service {
    /// Has the session's tokens counted again in the background.
    pub(super) async fn enqueue_recount(
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
            cause: trace::current(),
        };
        queue::enqueue(connection, tenant.0, &job).await?;
        Ok(())
    }

    /// Counts every entry of the session again and works the leaf's state out anew.
    ///
    /// # Errors
    /// The database's; the next attempt goes on where this one ended.
    pub async fn recount(&self, tenant: Tenant, session_id: Uuid, lease: LeaseProof) -> Result<Committed> {
        let Some(head) = self.inner.heads.read(self.pool(), tenant, session_id).await.optional()? else {
            // Erased, and its jobs with it.
            return Ok(Committed::LeaseLost);
        };
        let (estimator, pictures) = (head.settings.estimator, head.settings.pictures);
        let mark = queue::progress(self.pool(), tenant.0, lease).await?;
        let mut after = mark.and_then(|mark| parse_mark(&mark, estimator)).unwrap_or(-1);
        loop {
            loop {
                let how = How::By(estimator, pictures);
                let mut transaction = transaction::begin(self.pool()).await?;
                let Some(upto) = recount_stretch(&mut transaction, tenant, session_id, how, after).await? else {
                    break;
                };
                // The job's row comes last: until then its lease can be renewed. Without the lease nothing is written.
                let mark = mark_of(upto, estimator);
                if !queue::note_progress(&mut *transaction, tenant.0, lease, &mark).await? {
                    return Ok(Committed::LeaseLost);
                }
                transaction.commit().await?;
                after = upto;
            }
            if let Some(ended) = self.settle_recount(tenant, session_id, lease, estimator, after).await? {
                return Ok(ended);
            }
        }
    }

    /// Brings the totals of forks in line that go on from those of a session just counted. A fork that is erased has no
    /// job any more, but others may have grown from it.
    async fn recount_forks(&self, tenant: Tenant, session_id: Uuid) -> Result<Vec<Uuid>> {
        let mut connection = self.pool().acquire().await?;
        let mut live = Vec::new();
        let mut next = path::forks(&mut connection, tenant.0, session_id).await?;
        drop(connection);
        while let Some(fork) = next.pop() {
            if self.inner.heads.has(self.pool(), tenant, fork).await? {
                live.push(fork);
                continue;
            }
            let mut connection = self.pool().acquire().await?;
            let mut after = -1;
            while let Some(upto) = recount_stretch(&mut connection, tenant, fork, How::TotalsAlone, after).await? {
                after = upto;
            }
            next.extend(path::forks(&mut connection, tenant.0, fork).await?);
        }
        Ok(live)
    }
}

/// Counts one stretch behind `after` and gives the `seq` of its last entry. `None`: there is nothing behind.
async fn recount_stretch(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    how: How,
    after: i64,
) -> Result<Option<i64>> {
    let counted = count_stretch(&mut *connection, tenant, session_id, how, after).await?;
    let Some(upto) = counted.last().map(|counted| counted.seq) else { return Ok(None) };
    entries::recount(connection, tenant.0, session_id, &counted).await?;
    Ok(Some(upto))
}

fn mark_of(after: i64, estimator: Estimator) -> String {
    format!("{estimator:?} {after}")
}

/// How far an earlier attempt got, if it counted by the same estimator.
fn parse_mark(mark: &str, estimator: Estimator) -> Option<i64> {
    mark.strip_prefix(&format!("{estimator:?} "))?.parse().ok()
}

/// The new counts of the entries behind `after`: as many as a stretch holds. A compaction is a stretch of its own,
/// because it is counted from entries before it that must have been written.
async fn count_stretch(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    how: How,
    after: i64,
) -> Result<Vec<Recount>> {
    let sizes = entries::sizes_by_seq(&mut *connection, tenant.0, session_id, after, ENTRIES).await?;
    let fit = entries::fill(sizes.iter().map(|size| size.bytes), sizes.len(), BYTES);
    let most = i64::try_from(fit).unwrap_or(ENTRIES);
    let mut stretch = entries::by_seq(&mut *connection, tenant.0, session_id, after, most).await?;
    let first = stretch.iter().position(|stored| stored.record.is_some());
    match first {
        Some(0) => stretch.truncate(1),
        Some(place) => stretch.truncate(place),
        None => {}
    }
    let sessions = path::sessions(connection, tenant.0, session_id).await?;
    if let (How::By(estimator, _), [stored]) = (how, stretch.as_mut_slice())
        && let Some(record) = &mut stored.record
    {
        elided::recount(connection, tenant, &sessions, estimator, record).await?;
    }
    let parents: Vec<Uuid> = stretch.iter().filter_map(|stored| stored.entry.parent_id).collect();
    let totals = entries::totals(connection, tenant.0, &sessions, &parents).await?;
    let bytes = stretch.iter().map(|stored| stored.entry.item.len()).sum();
    offload(bytes, move || count(totals, stretch, how)).await
}

/// New counts by `seq`, parents before children. `totals`: up to their parents.
fn count(mut totals: HashMap<Uuid, (i64, i64)>, stretch: Vec<StoredEntry>, how: How) -> Vec<Recount> {
    let mut counted = Vec::with_capacity(stretch.len());
    for mut stored in stretch {
        let before = stored.entry.parent_id.and_then(|parent| totals.get(&parent).copied()).unwrap_or_default();
        if let How::By(estimator, pictures) = how {
            count_one(&mut stored, estimator, pictures);
        }
        let head = stored.entry.head;
        // A chapter's message enters the context through the view alone, as a compaction's summary does.
        let is_shown = head.kind.holds_message() && head.kind != EntryType::Chapter;
        let results: i64 = head.shape.results.iter().map(|result| i64::from(result.tokens)).sum();
        let added = if is_shown { i64::from(head.tokens) } else { 0 };
        let after = (before.0 + added, before.1 + if head.kind.holds_message() { results } else { 0 });
        totals.insert(head.id, after);
        counted.push(Recount {
            seq: head.seq,
            tokens: head.tokens,
            path_tokens: after.0,
            path_result_tokens: after.1,
            shape: head.shape,
            record: stored.record.map(|record| *record),
        });
    }
    counted
}

/// An item that no longer reads keeps its counts: one such entry does not keep all others from being counted.
fn count_one(stored: &mut StoredEntry, estimator: Estimator, pictures: Option<Pictures>) {
    let message = if stored.entry.head.kind.holds_message() { message_of(stored) } else { Ok(None) };
    match message {
        Ok(Some(message)) => {
            let Entry { source_format, item, .. } = &stored.entry;
            let fresh = tokens::count_item_for(pictures, estimator, *source_format, item, &message);
            for (result, tokens) in stored.entry.head.shape.results.iter_mut().zip(&fresh.results) {
                result.tokens = *tokens;
            }
            stored.entry.head.tokens = fresh.total;
        }
        Ok(None) => {}
        Err(error) => tracing::error!(%error, entry = %stored.entry.head.id, "an entry keeps its old count"),
    }
    if let Some(record) = &mut stored.record {
        let size = |text: &String| tokens::count_message(estimator, &Message::text(Role::User, text.as_str())).total;
        record.summary_tokens = record.summary.as_ref().map_or(0, size);
        if let Some(running) = &mut record.running {
            running.tokens = size(&running.text);
            record.summary_tokens += running.tokens;
        }
        stored.entry.head.tokens = record.summary_tokens;
    }
}
