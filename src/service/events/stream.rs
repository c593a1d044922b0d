//! One stream of events: its place among them, and a page of what comes next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use super::{Events, READY, RESET, SNAPSHOT, StreamEvent, live, recorded};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::feed::{Live, Subscription};
use crate::service::core::tenant::Tenant;
use crate::store::events::{self, Reach};

/// Events read at once: what a stream holds in memory however far its reader is behind.
const PAGE: i64 = 100;
/// A stream ends after this; its client comes back with a key that is looked at again.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// After a failed read.
const PAUSE: Duration = Duration::from_secs(1);
/// When a client that was refused may try again, in seconds.
const RETRY_SECONDS: u64 = 10;

/// The events of a session or of a tenant, one after the other, as long as [`EventStream::next`] gives one.
pub struct EventStream {
    pool: PgPool,
    tenant: Tenant,
    session: Option<Uuid>,
    subscription: Subscription,
    /// The last event read.
    cursor: i64,
    /// News up to here were looked for.
    read_to: i64,
    /// There may be more to read than was told.
    is_behind: bool,
    page: VecDeque<StreamEvent>,
    /// The snapshot found at the beginning, until it is shown, and the version shown last.
    newest: Option<Arc<Live>>,
    shown: i64,
    ends: Instant,
}

impl Events {
    /// Opens a stream of a session's events, or of all the tenant's, behind the event with the id `after`. Without it
    /// the stream begins now. Where events behind `after` are no longer kept, it begins now with a `reset`.
    ///
    /// # Errors
    /// `NotFound`; `TooManyStreams`.
    pub async fn stream(&self, tenant: Tenant, session: Option<Uuid>, after: Option<i64>) -> Result<EventStream> {
        // The snapshot first: what led to it is then among the events.
        let newest = match session {
            None => None,
            Some(id) => Some(Arc::new(live(&self.heads.read(&self.pool, tenant, id).await?)?)),
        };
        let limit = self.max_streams;
        let subscription = self.feed.subscribe(tenant, session, limit);
        let subscription = subscription.ok_or(ServiceError::TooManyStreams { limit, retry_after: RETRY_SECONDS })?;
        let reach = events::place(&self.pool, tenant.0).await?;
        let mut stream = EventStream {
            pool: self.pool.clone(),
            tenant,
            session,
            subscription,
            cursor: reach.last_position,
            read_to: reach.last_position,
            is_behind: false,
            page: VecDeque::new(),
            newest,
            shown: -1,
            ends: Instant::now() + LIFETIME,
        };
        stream.begin(after, reach);
        Ok(stream)
    }
}

impl EventStream {
    /// Puts the stream behind `after`, or its first event into the page where it begins now: what followed `after` is
    /// gone, or `after` never was, or there is none.
    fn begin(&mut self, after: Option<i64>, reach: Reach) {
        let lost = match after {
            Some(after) if after < reach.purged_position => Some("expired"),
            Some(after) if after > reach.last_position => Some("unknown"),
            Some(after) => {
                (self.cursor, self.is_behind) = (after, true);
                return;
            }
            None => None,
        };
        let newest = self.newest.take();
        self.shown = newest.as_ref().map_or(-1, |live| live.version);
        let (kind, data) = match (lost, newest) {
            (Some(reason), newest) => {
                let snapshot = newest.and_then(|live| serde_json::from_str::<Value>(&live.data).ok());
                (RESET, json!({"reason": reason, "session_id": self.session, "snapshot": snapshot}).to_string())
            }
            (None, Some(live)) => (SNAPSHOT, live.data.clone()),
            (None, None) => (READY, "{}".to_owned()),
        };
        self.page.push_back(StreamEvent { id: Some(reach.last_position), kind: kind.to_owned(), data });
    }

    /// The next event. `None`: the stream has ended because the service stops, the session was erased, or it has been
    /// open for an hour.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(event) = self.page.pop_front() {
                return Some(event);
            }
            if self.subscription.is_closed() || self.ends <= Instant::now() {
                return None;
            }
            let goes_on = match self.fill().await {
                Ok(Filled::Some) => true,
                Ok(Filled::Nothing) => self.wait().await,
                Ok(Filled::Ended) => false,
                Err(error) => {
                    tracing::warn!(%error, "events could not be read; trying on");
                    self.pause().await
                }
            };
            if !goes_on {
                return None;
            }
        }
    }

    /// Puts what comes next into the page: recorded events, and when there are none, a new snapshot.
    async fn fill(&mut self) -> Result<Filled> {
        let news = self.subscription.news();
        if news.gone {
            return Ok(Filled::Ended);
        }
        if self.is_behind || self.read_to < news.position {
            let rows = events::page(&self.pool, self.tenant.0, self.session, self.cursor, PAGE).await?;
            self.is_behind = rows.len() as i64 == PAGE;
            self.read_to = self.read_to.max(news.position);
            self.cursor = rows.last().map_or(self.cursor, |last| last.position);
            self.page.extend(rows.into_iter().map(recorded));
            return Ok(Filled::Some);
        }
        let newest = [news.newest, self.newest.take()].into_iter().flatten().max_by_key(|live| live.version);
        match newest.filter(|live| live.version > self.shown) {
            None => Ok(Filled::Nothing),
            Some(live) => {
                self.shown = live.version;
                self.page.push_back(StreamEvent { id: None, kind: SNAPSHOT.to_owned(), data: live.data.clone() });
                Ok(Filled::Some)
            }
        }
    }

    async fn wait(&mut self) -> bool {
        tokio::select! {
            has_news = self.subscription.has_news() => has_news,
            () = sleep_until(self.ends) => false,
        }
    }

    async fn pause(&self) -> bool {
        tokio::select! {
            () = self.subscription.closed() => false,
            () = sleep(PAUSE) => true,
        }
    }
}

/// Outcome of filling a page.
enum Filled {
    Some,
    Nothing,
    Ended,
}
