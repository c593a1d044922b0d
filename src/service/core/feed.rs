//! The open streams of this process, and what they are woken with: how far the events go and the newest snapshots,
//! never the events themselves. A stream that nobody reads thus holds nothing but its place.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::families;
use crate::service::core::tenant::Tenant;

/// News for a stream.
#[derive(Debug, Clone, Default)]
pub struct FeedUpdate {
    /// Events that concern the stream go at least this far.
    pub position: i64,
    /// The session's newest snapshot; all events that led to it are within `position`.
    pub newest: Option<Arc<Live>>,
    /// The session was erased.
    pub gone: bool,
}

/// A session's snapshot, as the data of an event.
#[derive(Debug)]
pub struct Live {
    pub version: i64,
    pub data: String,
}

/// News of a tenant, found by a look at its tables.
#[derive(Debug, Default)]
pub struct TenantNews {
    /// How far the tenant's events go.
    pub last_position: i64,
    /// Sessions with new events, each with its newest position.
    pub changed: HashMap<Uuid, i64>,
    /// Sessions that are there, with their snapshots where those are new.
    pub sessions: HashMap<Uuid, Option<Arc<Live>>>,
}

/// Progress of a tenant's streams: how far its events were looked at, and the sessions that have streams.
#[derive(Debug, Default)]
pub struct TenantState {
    /// How far its events were looked at; `None`: not yet.
    pub seen: Option<i64>,
    /// Sessions with streams, and the version told last.
    pub sessions: HashMap<Uuid, i64>,
}

#[derive(Debug, Default)]
pub struct Feed {
    topics: Mutex<HashMap<Tenant, TenantTopic>>,
    /// Streams open, so that an append need not take the lock when there are none.
    open: AtomicUsize,
    wake: Notify,
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct TenantTopic {
    streams: HashMap<u64, Stream>,
    next_key: u64,
    watched: TenantState,
    is_due: bool,
}

#[derive(Debug)]
struct Stream {
    session: Option<Uuid>,
    news: watch::Sender<FeedUpdate>,
}

impl Feed {
    /// Counts a stream in. `None`: the tenant has `most` already.
    pub fn subscribe(self: &Arc<Feed>, tenant: Tenant, session: Option<Uuid>, most: usize) -> Option<Subscription> {
        let mut topics = self.topics();
        let topic = topics.entry(tenant).or_default();
        if topic.streams.len() >= most {
            return None;
        }
        let (sender, news) = watch::channel(FeedUpdate::default());
        let key = topic.next_key;
        topic.next_key += 1;
        topic.streams.insert(key, Stream { session, news: sender });
        if let Some(session) = session {
            topic.watched.sessions.entry(session).or_insert(-1);
        }
        topic.is_due = true;
        self.open.fetch_add(1, Ordering::Relaxed);
        metrics::gauge!(families::EVENT_STREAMS).increment(1.0);
        self.wake.notify_one();
        Some(Subscription { feed: Arc::clone(self), tenant, key, news })
    }

    /// Has a tenant looked after because one of its sessions has just changed here.
    pub fn touch(&self, tenant: Tenant, session: Uuid) {
        if self.open.load(Ordering::Relaxed) == 0 {
            return;
        }
        if let Some(topic) = self.topics().get_mut(&tenant)
            && topic.watched.sessions.contains_key(&session)
        {
            topic.is_due = true;
            self.wake.notify_one();
        }
    }

    /// Has a tenant looked after because it has new events; all of them when it is not known which.
    pub fn announce(&self, tenant: Option<Tenant>) {
        let mut topics = self.topics();
        match tenant {
            Some(tenant) => topics.get_mut(&tenant).into_iter().for_each(|topic| topic.is_due = true),
            None => topics.values_mut().for_each(|topic| topic.is_due = true),
        }
        self.wake.notify_one();
    }

    /// Waits for something to look after.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    /// The tenants to look after; each is handed out once.
    pub fn take_due(&self) -> Vec<(Tenant, TenantState)> {
        let mut topics = self.topics();
        let due = topics.iter_mut().filter(|(_, topic)| topic.is_due);
        due.map(|(tenant, topic)| {
            topic.is_due = false;
            (*tenant, TenantState { seen: topic.watched.seen, sessions: topic.watched.sessions.clone() })
        })
        .collect()
    }

    /// Tells a tenant's streams what was found of what was `asked`.
    pub fn tell(&self, tenant: Tenant, asked: &TenantState, found: &TenantNews) {
        let mut topics = self.topics();
        let Some(topic) = topics.get_mut(&tenant) else { return };
        topic.watched.seen = Some(found.last_position);
        for (session, version) in &mut topic.watched.sessions {
            if let Some(Some(live)) = found.sessions.get(session) {
                *version = live.version;
            }
        }
        for stream in topic.streams.values() {
            stream.tell(asked, found);
        }
    }

    /// Ends all streams, now and from now on.
    pub fn close(&self) {
        self.closed.cancel();
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<Tenant, TenantTopic>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn tell(&self, asked: &TenantState, found: &TenantNews) {
        let position = match self.session {
            // Not yet looked at: whatever there is may be news.
            _ if asked.seen.is_none() => Some(found.last_position),
            None => Some(found.last_position),
            Some(session) => found.changed.get(&session).copied(),
        };
        let session = self.session.filter(|session| asked.sessions.contains_key(session));
        let live = session.and_then(|session| found.sessions.get(&session));
        let gone = session.is_some() && live.is_none();
        let newest = live.cloned().flatten();
        self.news.send_if_modified(|news| {
            let further = position.filter(|position| *position > news.position);
            let changed = further.is_some() || newest.is_some() || gone;
            news.position = further.unwrap_or(news.position);
            news.newest = newest.or_else(|| news.newest.take());
            news.gone |= gone;
            changed
        });
    }
}

/// A stream's place in the feed; it is free again when this is dropped.
#[derive(Debug)]
pub struct Subscription {
    feed: Arc<Feed>,
    tenant: Tenant,
    key: u64,
    news: watch::Receiver<FeedUpdate>,
}

impl Subscription {
    /// Returns the update that was told last; from now on it is no news.
    pub fn news(&mut self) -> FeedUpdate {
        self.news.borrow_and_update().clone()
    }

    /// Waits for news. False: the feed has closed.
    pub async fn has_news(&mut self) -> bool {
        tokio::select! {
            biased;
            () = self.feed.closed.cancelled() => false,
            changed = self.news.changed() => changed.is_ok(),
        }
    }

    pub fn is_closed(&self) -> bool {
        self.feed.closed.is_cancelled()
    }

    /// Waits for the end of the feed.
    pub async fn closed(&self) {
        self.feed.closed.cancelled().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut topics = self.feed.topics();
        if let Some(topic) = topics.get_mut(&self.tenant) {
            topic.streams.remove(&self.key);
            let left: HashSet<Uuid> = topic.streams.values().filter_map(|stream| stream.session).collect();
            topic.watched.sessions.retain(|session, _| left.contains(session));
            if topic.streams.is_empty() {
                topics.remove(&self.tenant);
            }
        }
        self.feed.open.fetch_sub(1, Ordering::Relaxed);
        metrics::gauge!(families::EVENT_STREAMS).decrement(1.0);
    }
}

#[cfg(test)]
mod tests;
