//! Erasing many sessions at once, by what they are.
//!
//! Each is hidden in a transaction of its own, after another look at it: what has changed so that it no longer fits stays.
//! So whatever ends a call in the middle leaves sessions that are erased and sessions that are not; the former are emptied
//! by the task that the call began, or by a worker, and the same call again goes on with the latter.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::StreamExt;
use serde::Serialize;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Erasure, hide};
use crate::domain::model::metadata::MetadataValue;
use crate::service::core::error::Result;
use crate::service::core::idempotency::{Outcome, seal};
use crate::service::core::tenant::Tenant;
use crate::service::sessions::find::{Place, SessionOrder, Wanted, find};
use crate::store::session_looks::{Among, Conditions};
use crate::store::{sessions, transaction};

/// A call looks for sessions so long, hides them so long, and then waits so long until they are emptied.
const LOOKING: Duration = Duration::from_secs(15);
const HIDING: Duration = Duration::from_secs(30);
const EMPTYING: Duration = Duration::from_secs(30);
/// Sessions of one call that are emptied at a time, so that there is a place left for others.
const AT_A_TIME: usize = 2;
/// Sessions that one search finds, where they are only counted.
const COUNTED: i64 = 10_000;

/// Which sessions: those that are all of what is named; nothing named, all.
#[derive(Debug, Clone, Default)]
pub struct EraseFilter {
    /// In place of all sessions, these; or those of these external ids.
    pub ids: Option<Vec<Uuid>>,
    pub external_ids: Option<Vec<String>>,
    /// `green`, `yellow` or `red`.
    pub state: Option<String>,
    pub metadata: Vec<MetadataValue>,
    pub updated_before: Option<DateTime<Utc>>,
    pub created_before: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
pub struct EraseRequest {
    pub filter: EraseFilter,
    /// Most sessions that are erased.
    pub limit: i64,
    /// Only counts them, and not only up to the limit.
    pub dry_run: bool,
    /// `next_cursor` of the call before.
    pub after: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Erased {
    /// Sessions that were found, the newest first.
    pub matched: i64,
    /// Those of them that are erased: no call finds them any more. One that no longer fitted when its turn came is not.
    pub erased: i64,
    /// Not all sessions were looked at: the same call again, with `next_cursor` as `after`, goes on.
    pub more: bool,
    pub next_cursor: Option<String>,
}

impl Erased {
    fn of(matched: i64, erased: i64, next: Option<Place>) -> Erased {
        Erased { matched, erased, more: next.is_some(), next_cursor: next.map(|place| place.to_string()) }
    }
}

impl EraseFilter {
    fn wanted(self) -> Wanted {
        let EraseFilter { ids, external_ids, state, metadata, updated_before, created_before } = self;
        let among = match (ids, external_ids) {
            (Some(ids), _) => Among::Ids(ids),
            (None, Some(names)) => Among::ExternalIds(names),
            (None, None) => Among::All,
        };
        let conditions = Conditions { fill_state: state, updated_before, created_before, ..Conditions::default() };
        Wanted::new(among, conditions, metadata, SessionOrder::Created)
    }
}

impl Erasure {
    /// The longest that a call of [`Erasure::erase_many`] takes by its own wish.
    pub const LONGEST: Duration = Duration::from_secs(LOOKING.as_secs() + HIDING.as_secs() + EMPTYING.as_secs());

    /// Erases the sessions that fit, the newest first, as [`Erasure::erase`] does each. It ends at the limit or when its
    /// time is over, and tells where to go on. A caller that goes away stops it between two sessions.
    ///
    /// # Errors
    /// `Invalid` for a cursor that is none; the database's. Sessions erased before the error stay so.
    pub async fn erase_many(&self, tenant: Tenant, request: EraseRequest) -> Result<Erased> {
        let EraseRequest { filter, limit, dry_run, after } = request;
        let read = |cursor: &str| Place::read(cursor, SessionOrder::Created, "/after");
        let place = after.as_deref().map(read).transpose()?;
        let wanted = filter.wanted();
        if dry_run {
            let (matched, next) = self.search(tenant, &wanted, place, None, |_| {}).await?;
            return Ok(Erased::of(matched, 0, next));
        }
        let mut ids = Vec::new();
        let (_, next) = self.search(tenant, &wanted, place, Some(limit), |found| ids.extend(found)).await?;
        self.erase_each(tenant, &wanted, &ids, next).await
    }

    /// Looks for sessions until there are `most`, all were looked at, or the time is over.
    async fn search(
        &self,
        tenant: Tenant,
        wanted: &Wanted,
        mut place: Option<Place>,
        most: Option<i64>,
        mut found: impl FnMut(Vec<Uuid>),
    ) -> Result<(i64, Option<Place>)> {
        let end = Instant::now() + LOOKING;
        let mut matched = 0;
        let mut reader = self.long_reads.reader(tenant, i64::MAX).await?;
        loop {
            let limit = most.map_or(COUNTED, |most| most - matched);
            let part = find(reader.on()?, tenant, wanted, place, limit).await?;
            let ids = part.ids();
            matched += ids.len() as i64;
            found(ids);
            place = part.next;
            if place.is_none() || most.is_some_and(|most| matched >= most) || Instant::now() >= end {
                break;
            }
        }
        reader.done();
        Ok((matched, place))
    }

    async fn erase_each(&self, tenant: Tenant, wanted: &Wanted, ids: &[Uuid], next: Option<Place>) -> Result<Erased> {
        let end = Instant::now() + HIDING;
        let (hidden, lines) = mpsc::unbounded_channel();
        let emptied = tokio::spawn(self.clone().empty_lines(tenant, lines));
        let matched = ids.len() as i64;
        let mut answer = Erased::of(matched, 0, next);
        for (place, id) in ids.iter().enumerate() {
            let is_late = Instant::now() >= end;
            let next = if is_late { Some(Place::behind(*id)) } else { next };
            let last = (is_late || place + 1 == ids.len()).then(|| Erased::of(matched, answer.erased + 1, next));
            let is_last = last.is_some();
            if let Some(line) = self.hide_fitting(tenant, *id, wanted, last).await? {
                answer.erased += 1;
                let _ = hidden.send(line);
            }
            if is_last {
                answer = Erased::of(matched, answer.erased, next);
                break;
            }
        }
        drop(hidden);
        // They are hidden for good whatever comes of this; the rest follows.
        let _ = timeout(EMPTYING, emptied).await;
        Ok(answer)
    }

    /// Hides a session that still fits. The answer of the call's last one is sealed with it.
    async fn hide_fitting(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        wanted: &Wanted,
        answer: Option<Erased>,
    ) -> Result<Option<Vec<Uuid>>> {
        let mut transaction = transaction::begin(&self.pool).await?;
        let row = sessions::lock(&mut *transaction, tenant.0, session_id).await?;
        if !row.is_some_and(|row| wanted.admits(&row)) {
            transaction.rollback().await?;
            return Ok(None);
        }
        let line = hide(&mut transaction, tenant, session_id).await?;
        if let Some(answer) = answer {
            seal(&mut transaction, Outcome::Done, &answer).await?;
        }
        transaction.commit().await?;
        self.cached_heads.forget(tenant, session_id);
        self.feed.touch(tenant, session_id);
        Ok(line)
    }

    /// Empties sessions as they are hidden, to the last, also when the call is no longer waited for.
    async fn empty_lines(self, tenant: Tenant, mut lines: UnboundedReceiver<Vec<Uuid>>) {
        let lines = futures::stream::poll_fn(|context| lines.poll_recv(context));
        lines
            .for_each_concurrent(AT_A_TIME, |line| async {
                if let Err(error) = self.empty_line(tenant, line).await {
                    tracing::warn!(%error, tenant = %tenant.0, "a session is erased later");
                }
            })
            .await;
    }
}
