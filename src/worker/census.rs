//! Counts all sessions and all jobs, page by page and with pauses, so that `/metrics` and `/v1/stats` need not. One process
//! counts at a time; where it falls silent, another goes on.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::pause::{Outage, within};
use crate::backoff::jittered;
use crate::service::core::clock;
use crate::store::censuses::{self, QueueFigures, SessionFigures, Subject};

/// A process that says nothing for this long loses its right to count.
const LEASE: Duration = Duration::from_secs(60);
const RELEASE_WITHIN: Duration = Duration::from_secs(1);

/// How a census is taken.
#[derive(Debug, Clone, Copy)]
pub struct CensusOptions {
    /// Rows that one statement looks at.
    pub page: i64,
    /// The share of one connection's time that counting may take.
    pub share: f64,
    /// The longest pause after a page, whatever it took.
    pub longest_pause: Duration,
    /// At least so long from the end of a census to the next.
    pub rest: Duration,
}

impl Default for CensusOptions {
    fn default() -> CensusOptions {
        CensusOptions { page: 5_000, share: 0.03, longest_pause: Duration::from_secs(10), rest: Duration::from_secs(2) }
    }
}

/// Takes the censuses of a database, beside any number of other processes.
pub struct Census {
    pool: PgPool,
    options: CensusOptions,
    /// Proof of this process's right to count.
    token: Uuid,
}

impl Census {
    pub fn new(pool: PgPool, options: CensusOptions) -> Census {
        Census { pool, options, token: clock::new_id() }
    }

    /// Counts until `stop`, then lets others.
    pub async fn run(self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            ((), ()) = async { tokio::join!(self.keep_counting(Subject::Sessions), self.keep_counting(Subject::Queue)) } => {}
        }
        // Where it can't be said, the lease runs out.
        let _ = within(RELEASE_WITHIN, censuses::release(&self.pool, self.token)).await;
    }

    async fn keep_counting(&self, subject: Subject) {
        let mut outage = Outage::new(match subject {
            Subject::Sessions => "counting sessions",
            Subject::Queue => "counting jobs",
        });
        loop {
            let pause = match self.count(subject).await {
                Ok(_) => {
                    outage.over();
                    jittered(self.options.rest)
                }
                Err(error) => outage.failed(&error),
            };
            sleep(pause).await;
        }
    }

    /// Takes one census. False: another process does.
    ///
    /// # Errors
    /// The database's; what was counted by then is kept as far as tenants were complete.
    pub async fn count(&self, subject: Subject) -> sqlx::Result<bool> {
        match subject {
            Subject::Sessions => self.count_sessions().await,
            Subject::Queue => self.count_jobs().await,
        }
    }

    async fn count_sessions(&self) -> sqlx::Result<bool> {
        let Some(taken_at) = self.hold(Subject::Sessions).await? else { return Ok(false) };
        let mut count = SessionCount { taken_at, ..SessionCount::default() };
        let mut after = (Uuid::nil(), Uuid::nil());
        loop {
            let started = Instant::now();
            let groups = censuses::sessions_page(&self.pool, after, self.options.page).await?;
            let looked_at: i64 = groups.iter().map(|group| group.looked_at).sum();
            for group in &groups {
                count.add(group);
                after = (
                    group.tenant_id,
                    if after.0 == group.tenant_id { after.1.max(group.last_id) } else { group.last_id },
                );
            }
            let is_last = looked_at < self.options.page;
            count.keep(&self.pool, is_last).await?;
            self.pause_after(started).await;
            if is_last {
                return Ok(true);
            }
            if self.hold(Subject::Sessions).await?.is_none() {
                return Ok(false);
            }
        }
    }

    async fn count_jobs(&self) -> sqlx::Result<bool> {
        let Some(taken_at) = self.hold(Subject::Queue).await? else { return Ok(false) };
        let (mut sum, mut oldest) = (QueueFigures::default(), None::<DateTime<Utc>>);
        let mut after = (Uuid::nil(), Uuid::nil());
        loop {
            let started = Instant::now();
            let page = censuses::queue_page(&self.pool, after, self.options.page).await?;
            sum.pending += page.pending;
            sum.running += page.running;
            sum.dead += page.dead;
            oldest = oldest.into_iter().chain(page.oldest_run_at).min();
            if let (Some(tenant), Some(id), true) =
                (page.last_tenant, page.last_id, page.looked_at >= self.options.page)
            {
                after = (tenant, id);
                self.pause_after(started).await;
                if self.hold(Subject::Queue).await?.is_none() {
                    return Ok(false);
                }
                continue;
            }
            sum.oldest_age_seconds = oldest.map_or(0.0, |oldest| seconds_since(oldest, page.now));
            censuses::put(&self.pool, Subject::Queue, taken_at, &[(Uuid::nil(), text(&sum)?)]).await?;
            self.pause_after(started).await;
            return Ok(true);
        }
    }

    async fn hold(&self, subject: Subject) -> sqlx::Result<Option<DateTime<Utc>>> {
        censuses::hold(&self.pool, subject, self.token, LEASE).await
    }

    /// Leaves the database to others for as long as the share wants it.
    async fn pause_after(&self, started: Instant) {
        let pause = started.elapsed().mul_f64((1.0 / self.options.share - 1.0).max(0.0));
        sleep(pause.min(self.options.longest_pause)).await;
    }
}

/// A census of the sessions under way. The walk goes tenant by tenant, so that all but the last one it came to are
/// complete, and may be forgotten here once they are kept.
#[derive(Default)]
struct SessionCount {
    taken_at: DateTime<Utc>,
    total: SessionFigures,
    complete: Vec<(Uuid, SessionFigures)>,
    open: Option<(Uuid, SessionFigures)>,
    /// The last tenant that was kept.
    kept: Uuid,
}

impl SessionCount {
    fn add(&mut self, group: &censuses::SessionGroup) {
        let mut figures = match self.open.take() {
            Some((tenant, figures)) if tenant == group.tenant_id => figures,
            other => {
                self.complete.extend(other);
                SessionFigures::default()
            }
        };
        for sum in [&mut self.total, &mut figures] {
            sum.add(&group.state, group.sessions, group.tokens, group.guard_tripped);
        }
        self.open = Some((group.tenant_id, figures));
    }

    /// Keeps what is complete; at the end everything, the total too.
    async fn keep(&mut self, pool: &PgPool, is_last: bool) -> sqlx::Result<()> {
        if is_last {
            self.complete.extend(self.open.take());
        }
        let mut rows = Vec::with_capacity(self.complete.len() + 1);
        for (tenant, figures) in &self.complete {
            rows.push((*tenant, text(figures)?));
        }
        if is_last {
            rows.push((Uuid::nil(), text(&self.total)?));
        }
        if rows.is_empty() {
            return Ok(());
        }
        censuses::put(pool, Subject::Sessions, self.taken_at, &rows).await?;
        let next = self.open.as_ref().map(|(tenant, _)| *tenant);
        censuses::forget_between(pool, self.kept, next, self.taken_at).await?;
        if let Some((tenant, _)) = self.complete.last() {
            self.kept = *tenant;
        }
        self.complete.clear();
        Ok(())
    }
}

fn text(figures: &impl serde::Serialize) -> sqlx::Result<String> {
    serde_json::to_string(figures).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}

fn seconds_since(then: DateTime<Utc>, now: DateTime<Utc>) -> f64 {
    (now - then).num_milliseconds().max(0) as f64 / 1_000.0
}
