//! API keys and the tenants they belong to: who asks, and what the key that was given lets do.

mod manage;
mod rate;
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::service::core::access::{Access, Scope, Scopes};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::store::keys::{self, LiveKey};
use crate::store::{logins, transaction};
use rate::RateLimits;
use text::digest;

pub use manage::{
    Key, KeyLimits, KeyRow, KeyStatus, LATEST_END, LONGEST_GRACE, MOST_DAYS, MOST_NAME_CHARS, MOST_PER_MINUTE, NewKey,
    USUAL_GRACE,
};
pub use rate::RateLimited;
pub use text::tenant_in;

/// How long a key that was found valid is not looked up again.
const CACHED_FOR: Duration = Duration::from_secs(10);
/// How long a key that was found valid is remembered for where the database can't be asked.
const REMEMBERED_FOR: Duration = Duration::from_secs(3_600);
const MOST_REMEMBERED: u64 = 10_000;
/// Wrong keys that are remembered.
const MOST_WRONG: u64 = 100_000;
/// Keys not seen before that are looked up at a time: however many are made up, they take no more of the database.
const LOOKUPS: usize = 4;
/// `last_used_at` is written no more often than this.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// The tenant that `--dev` works as.
const DEV_TENANT: Uuid = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001);

/// API keys, and the tenants that they are of. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    pool: PgPool,
    /// Keys found valid within the last hour, by their digests; for the first ten seconds none is looked up again, so that
    /// one that was revoked or replaced elsewhere works this much longer. What is found out of a key's end takes it out.
    seen: moka::sync::Cache<[u8; 32], Found>,
    /// Keys that were found to be none lately. None of them can be one that is made later: a key's text is drawn when it is
    /// made, from 2^256, and told once it is stored, so nobody can have tried it before.
    wrong: moka::sync::Cache<[u8; 32], ()>,
    /// Room for lookups of keys that were not seen good before.
    lookups: Arc<Semaphore>,
    /// Ids of keys that were found to have ended.
    gone: moka::sync::Cache<Uuid, ()>,
    /// Counts the keys that were ended here.
    forgotten: Arc<AtomicU64>,
    rates: RateLimits,
}

/// A key that is in the database.
#[derive(Debug, Clone, Copy)]
struct Found {
    access: Access,
    expires_at: Option<DateTime<Utc>>,
    at: Instant,
}

impl Keys {
    pub fn new(pool: PgPool) -> Keys {
        let seen = moka::sync::Cache::builder().max_capacity(MOST_REMEMBERED).time_to_live(REMEMBERED_FOR).build();
        let gone = moka::sync::Cache::builder().max_capacity(MOST_REMEMBERED).time_to_live(REMEMBERED_FOR).build();
        let wrong = moka::sync::Cache::builder().max_capacity(MOST_WRONG).time_to_live(CACHED_FOR).build();
        let lookups = Arc::new(Semaphore::new(LOOKUPS));
        Keys { pool, seen, wrong, lookups, gone, forgotten: Arc::default(), rates: RateLimits::default() }
    }

    /// The tenant of that name, made when new: for the operator's command line only.
    pub async fn tenant_named(&self, name: &str) -> Result<Uuid> {
        let mut connection = self.pool.acquire().await?;
        tenant_named(&mut connection, name, clock::now()).await
    }

    /// The tenant that `--dev` works as, made when it is not there.
    pub async fn dev_tenant(&self) -> Result<Tenant> {
        keys::insert_tenant(&self.pool, DEV_TENANT, "dev", clock::now()).await?;
        Ok(Tenant(DEV_TENANT))
    }

    /// Whose a key is and what it lets do; `None` for one that is unknown, over or revoked.
    pub async fn authenticate(&self, key: &str) -> Result<Option<Access>> {
        let Some(tenant) = tenant_in(key) else { return Ok(None) };
        let (hash, now) = (digest(key), clock::now());
        if let Some(found) = self.seen.get(&hash).filter(|found| found.at.elapsed() < CACHED_FOR) {
            return Ok(Some(found.access).filter(|_| found.expires_at.is_none_or(|end| end > now)));
        }
        if self.wrong.contains_key(&hash) {
            return Ok(None);
        }
        let forgotten = self.forgotten.load(Ordering::SeqCst);
        let Some(live) = self.live(tenant, &hash, now).await? else {
            self.seen.invalidate(&hash);
            self.wrong.insert(hash, ());
            return Ok(None);
        };
        let expires_at = live.expires_at;
        let found = Found { expires_at, access: self.used(Tenant(tenant), live, now), at: Instant::now() };
        self.seen.insert(hash, found);
        // One that was ended since it was read is not to come back.
        if self.forgotten.load(Ordering::SeqCst) != forgotten {
            self.drop_from_memory(&hash);
        }
        Ok(Some(found.access))
    }

    /// Looks a key up; one that was never seen good waits for those before it.
    async fn live(&self, tenant: Uuid, hash: &[u8; 32], now: DateTime<Utc>) -> Result<Option<LiveKey>> {
        let is_new = !self.seen.contains_key(hash);
        let _turn = if is_new { self.lookups.acquire().await.ok() } else { None };
        Ok(keys::live(&self.pool, tenant, hash, now).await?)
    }

    /// What this process knows of a key that it has seen valid within the last hour, which has not ended since as far as it
    /// can tell: for where the database can't be asked.
    pub fn seen_lately(&self, key: &str) -> Option<Access> {
        let found = self.seen.get(&digest(key))?;
        let is_over = found.expires_at.is_some_and(|end| end <= clock::now());
        let is_gone = found.access.key_id.is_some_and(|id| self.gone.contains_key(&id));
        Some(found.access).filter(|_| !is_over && !is_gone)
    }

    /// As [`Keys::authenticate`], and always looked up.
    pub async fn identify(&self, key: &str) -> Result<Option<Access>> {
        let Some(tenant) = tenant_in(key) else { return Ok(None) };
        let now = clock::now();
        let hash = digest(key);
        let live = keys::live(&self.pool, tenant, &hash, now).await?;
        if live.is_none() {
            self.drop_from_memory(&hash);
        }
        Ok(live.map(|live| self.used(Tenant(tenant), live, now)))
    }

    /// The same of a key that is known by its id.
    pub async fn identify_by_id(&self, tenant: Tenant, id: Uuid) -> Result<Option<Access>> {
        let now = clock::now();
        let live = keys::live_by_id(&self.pool, tenant.0, id, now).await?;
        if live.is_none() {
            self.gone.insert(id, ());
        }
        Ok(live.map(|live| self.used(tenant, live, now)))
    }

    /// Ends a login to the pages, which would have held until `ends_at`.
    pub async fn log_out(&self, tenant: Tenant, login: Uuid, ends_at: DateTime<Utc>) -> Result<()> {
        let mut transaction = transaction::begin(&self.pool).await?;
        logins::end(&mut transaction, tenant.0, login, ends_at, clock::now()).await?;
        transaction.commit().await?;
        Ok(())
    }

    pub async fn has_logged_out(&self, tenant: Tenant, login: Uuid) -> Result<bool> {
        Ok(logins::has_ended(&self.pool, tenant.0, login).await?)
    }

    /// Waits until the key is revoked or over; for ever where no key was needed. What lasts longer than a request ends with
    /// it, at most [`CACHED_FOR`] late.
    pub async fn ended(self, access: Access) {
        let Some(id) = access.key_id else { return std::future::pending().await };
        loop {
            tokio::time::sleep(CACHED_FOR).await;
            match keys::live_by_id(&self.pool, access.tenant.0, id, clock::now()).await {
                Ok(Some(_)) => {}
                Ok(None) => return self.gone.insert(id, ()),
                Err(error) => tracing::debug!(%error, "a key could not be looked up; trying on"),
            }
        }
    }

    /// Counts a request against its key's limit.
    ///
    /// # Errors
    /// The key has made as many as it may.
    pub fn admit(&self, access: &Access) -> std::result::Result<(), RateLimited> {
        match (access.key_id, access.requests_per_minute) {
            (Some(key), Some(limit)) => self.rates.take(key, limit),
            _ => Ok(()),
        }
    }

    /// Notes the use of a key beside the request, which does not depend on it.
    fn used(&self, tenant: Tenant, live: LiveKey, now: DateTime<Utc>) -> Access {
        let since = now - NOTED_EVERY;
        if live.last_used_at.is_none_or(|last| last < since) {
            let (pool, id) = (self.pool.clone(), live.id);
            tokio::spawn(async move {
                if let Err(error) = keys::touch(&pool, tenant.0, id, now, since).await {
                    tracing::debug!(%error, "the use of a key was not noted");
                }
            });
        }
        let scopes = live.scopes.iter().filter_map(|word| word.parse::<Scope>().ok());
        let requests_per_minute = live.requests_per_minute.and_then(|limit| u32::try_from(limit).ok());
        Access { tenant, key_id: Some(live.id), scopes: Scopes::of(scopes), requests_per_minute }
    }

    /// The next request under a key is looked up again.
    fn forget(&self, hash: &[u8]) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        if let Ok(hash) = <[u8; 32]>::try_from(hash) {
            self.drop_from_memory(&hash);
        }
    }

    fn drop_from_memory(&self, hash: &[u8; 32]) {
        self.seen.invalidate(hash);
    }
}

async fn tenant_named(connection: &mut PgConnection, name: &str, now: DateTime<Utc>) -> Result<Uuid> {
    if let Some(tenant) = keys::tenant_by_name(&mut *connection, name).await? {
        return Ok(tenant);
    }
    let tenant = clock::new_id();
    keys::insert_tenant(&mut *connection, tenant, name, now).await?;
    Ok(tenant)
}
