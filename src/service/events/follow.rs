//! The one task of a process that looks for new events: woken by notifications and by the process's own appends, and
//! often enough without either.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Events, live};
use crate::service::core::error::{Optional as _, Result, ServiceError};
use crate::service::core::feed::{Live, TenantNews, TenantState};
use crate::service::core::tenant::Tenant;
use crate::store::listen::listen;
use crate::store::{events, sessions};

/// How long an event waits at most that no notification announces.
const POLL: Duration = Duration::from_secs(1);
/// Between two looks: snapshots of a busy session come at most this often.
const BREATH: Duration = Duration::from_millis(100);
/// After a lost connection.
const PAUSE: Duration = Duration::from_secs(2);
/// Tenants looked after at the same time.
const AT_ONCE: usize = 4;
/// A look that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(30);

impl Events {
    /// Feeds this process's event streams until `stop`, then ends them.
    pub async fn follow(self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            never = self.look_after_streams() => match never {},
            never = self.hear_of_events() => match never {},
        }
        self.feed.close();
    }

    async fn look_after_streams(&self) -> Infallible {
        let feed = &self.feed;
        let mut is_out = false;
        let mut next_poll = Instant::now() + POLL;
        loop {
            let _ = timeout_at(next_poll, feed.woken()).await;
            if next_poll <= Instant::now() {
                feed.announce(None);
                next_poll = Instant::now() + POLL;
            }
            let due = stream::iter(feed.take_due());
            let looks = due.map(|(tenant, watched)| self.look(tenant, watched)).buffer_unordered(AT_ONCE);
            let failures = looks.filter_map(async |looked| looked.err()).collect::<Vec<_>>().await;
            match failures.first() {
                Some(error) if !is_out => {
                    let cause = std::error::Error::source(error).map(ToString::to_string);
                    tracing::warn!(%error, cause, "new events can't be looked for; trying on");
                    is_out = true;
                }
                Some(_) => {}
                None => is_out = false,
            }
            sleep(BREATH).await;
        }
    }

    async fn look(&self, tenant: Tenant, watched: TenantState) -> Result<()> {
        let found = timeout(PATIENCE, self.find(tenant, &watched)).await;
        let late = |_| ServiceError::Internal(anyhow::anyhow!("looking for events took too long"));
        self.feed.tell(tenant, &watched, &found.map_err(late)??);
        Ok(())
    }

    /// Sessions first: whatever led to a snapshot is then among the events.
    async fn find(&self, tenant: Tenant, watched: &TenantState) -> Result<TenantNews> {
        let ids: Vec<Uuid> = watched.sessions.keys().copied().collect();
        let mut found = TenantNews::default();
        if !ids.is_empty() {
            for (id, version) in sessions::versions(&self.pool, tenant.0, &ids).await? {
                let is_known = watched.sessions.get(&id).is_some_and(|known| *known >= version);
                let live = if is_known { None } else { self.live_snapshot(tenant, id).await? };
                found.sessions.insert(id, live);
            }
        }
        found.last_position = events::place(&self.pool, tenant.0).await?.last_position;
        if let Some(seen) = watched.seen.filter(|seen| *seen < found.last_position) {
            found.changed = HashMap::from_iter(events::changed(&self.pool, tenant.0, seen).await?);
        }
        Ok(found)
    }

    async fn live_snapshot(&self, tenant: Tenant, session_id: Uuid) -> Result<Option<Arc<Live>>> {
        // Where it was erased since, the next look says so.
        let head = self.heads.read(&self.pool, tenant, session_id).await.optional()?;
        head.map(|head| live(&head).map(Arc::new)).transpose()
    }

    async fn hear_of_events(&self) -> Infallible {
        loop {
            if let Ok(mut listener) = listen(&self.pool, events::CHANNEL).await {
                loop {
                    let tenant = match listener.try_recv().await {
                        Ok(Some(notification)) => notification.payload().parse().ok().map(Tenant),
                        // The connection was lost and made again, with events perhaps announced meanwhile.
                        Ok(None) => None,
                        Err(_) => break,
                    };
                    self.feed.announce(tenant);
                }
            }
            sleep(PAUSE).await;
        }
    }
}
