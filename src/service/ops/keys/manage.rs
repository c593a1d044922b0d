//! Making, listing, rotating and revoking keys.

use std::time::Duration;

use anyhow::anyhow;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::text::{self, digest};
use super::{Keys, tenant_named};
use crate::service::core::access::{Scope, Scopes};
use crate::service::core::clock;
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::idempotency::{Outcome, seal_without_secret};
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::store::keys::{self as store, NewKeyRow, StoredKey};
use crate::store::transaction;

/// Keys that a tenant may have, those that were revoked, are over or have been replaced aside.
const MOST: i64 = 1_000;
/// Keys that ended are listed this much longer, in days, and so many of them.
const LISTED_FOR: i64 = 90;
const MOST_ENDED: i64 = 5_000;

/// The latest end that a key may have: RFC 3339 has four digits for a year.
pub const LATEST_END: DateTime<Utc> = match DateTime::from_timestamp(253_402_300_799, 0) {
    Some(end) => end,
    None => DateTime::UNIX_EPOCH,
};

/// The longest name of a key, characters.
pub const MOST_NAME_CHARS: usize = 512;
/// Most requests a minute that a key's limit may allow.
pub const MOST_PER_MINUTE: u32 = 1_000_000;
/// The longest life that is given in days.
pub const MOST_DAYS: u32 = 36_500;
/// How long a rotated key goes on, where nothing is said and at most.
pub const USUAL_GRACE: Duration = Duration::from_secs(24 * 3_600);
pub const LONGEST_GRACE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Whether a key opens anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum KeyStatus {
    Active,
    /// Another key has taken its place; it works until `expires_at`.
    Rotated,
    Expired,
    Revoked,
}

/// How much a key may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyLimits {
    /// At each process of the service; more is 429. Null: no limit.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub requests_per_minute: Option<u32>,
}

/// An API key.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Key {
    pub id: Uuid,
    pub name: String,
    /// What it may do: `admin` includes `write`, and `write` includes `read`.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Scopes,
    pub limits: KeyLimits,
    pub status: KeyStatus,
    pub created_at: DateTime<Utc>,
    /// From then on it opens nothing. Null: it does not end by itself.
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    /// To the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// The key that a rotation has put in its place.
    pub replaced_by: Option<Uuid>,
    /// The key itself, in the answer to its creation and to a rotation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A key and its tenant's name, for the operator's command line.
#[derive(Debug, Clone)]
pub struct KeyRow {
    pub tenant: String,
    pub key: Key,
}

/// A key to be made.
#[derive(Debug, Clone, Default)]
pub struct NewKey {
    pub name: String,
    pub scopes: Scopes,
    pub limits: KeyLimits,
    pub expires_at: Option<DateTime<Utc>>,
}

impl NewKey {
    /// One that reads and writes, without end or limit.
    pub fn named(name: &str) -> NewKey {
        NewKey { name: name.to_owned(), scopes: Scopes::of([Scope::Write]), ..NewKey::default() }
    }
}

impl Keys {
    /// Makes a key that reads and writes for a tenant (made when new) and returns its text: for the operator alone.
    pub async fn create(&self, tenant_name: &str, key_name: &str) -> Result<String> {
        self.create_for(tenant_name, NewKey::named(key_name)).await
    }

    /// The same of any key.
    pub async fn create_for(&self, tenant_name: &str, new: NewKey) -> Result<String> {
        let mut connection = self.pool.acquire().await?;
        let tenant = tenant_named(&mut connection, tenant_name, clock::now()).await?;
        drop(connection);
        let made = self.create_key(Tenant(tenant), new).await?;
        made.key.ok_or_else(|| anyhow!("a new key has no text").into())
    }

    /// Makes a key. The answer is the only one that holds its text.
    ///
    /// # Errors
    /// `Conflict` where the tenant has as many as it may have.
    pub async fn create_key(&self, tenant: Tenant, new: NewKey) -> Result<Key> {
        let now = clock::now();
        let (row, text) = row_of(tenant, new, now);
        let mut transaction = transaction::begin(&self.pool).await?;
        let before = now - TimeDelta::days(LISTED_FOR);
        store::purge(&mut *transaction, tenant.0, before, now, MOST_ENDED).await?;
        let made = insert(&mut transaction, tenant, row, now).await?;
        transaction.commit().await?;
        Ok(Key { key: Some(text), ..made })
    }

    pub async fn key(&self, tenant: Tenant, id: Uuid) -> Result<Key> {
        let row = store::get(&self.pool, tenant.0, id).await?.ok_or(ServiceError::NotFound("key"))?;
        Ok(shown(row, clock::now()))
    }

    /// The tenant's keys, the newest first.
    pub async fn of_tenant(&self, tenant: Tenant, page: PageRequest) -> Result<Page<Key>> {
        let rows = store::list(&self.pool, tenant.0, page.cursor_id()?, page.limit + 1).await?;
        let now = clock::now();
        let keys = rows.into_iter().map(|row| shown(row, now)).collect();
        Ok(Page::cut(keys, page.limit, |key: &Key| key.id.to_string()))
    }

    /// Every key of every tenant: for the operator's command line only.
    pub async fn list(&self) -> Result<Vec<KeyRow>> {
        let now = clock::now();
        let row = |row: StoredKey| KeyRow { tenant: row.tenant.clone(), key: shown(row, now) };
        Ok(store::all(&self.pool).await?.into_iter().map(row).collect())
    }

    /// Makes a key that takes another's place, with its name, scopes, limits and as much time as that was given. The other
    /// goes on for `grace`, or until it would have ended anyhow.
    ///
    /// # Errors
    /// `Conflict` where it was revoked, is over or has been replaced; as [`Keys::create_key`] besides.
    pub async fn rotate(&self, tenant: Tenant, id: Uuid, grace: Duration) -> Result<Key> {
        let now = clock::now();
        let mut transaction = transaction::begin(&self.pool).await?;
        let old = store::lock(&mut *transaction, tenant.0, id).await?.ok_or(ServiceError::NotFound("key"))?;
        let old = shown(old, now);
        if old.status != KeyStatus::Active {
            let detail = format!("the key is {}; only an active one can be rotated", old.status.into_str());
            return Err(ServiceError::Conflict { code: ConflictCode::KeyNotActive, detail });
        }
        let expires_at = old.expires_at.map(|end| later(now, end - old.created_at));
        let new = NewKey { name: old.name, scopes: old.scopes, limits: old.limits, expires_at };
        let (row, text) = row_of(tenant, new, now);
        let hash = store::replace(&mut *transaction, tenant.0, id, row.id, now + grace).await?;
        let made = insert(&mut transaction, tenant, row, now).await?;
        transaction.commit().await?;
        self.forget(&hash);
        Ok(Key { key: Some(text), ..made })
    }

    /// Ends a key; one that was revoked before stays so.
    pub async fn revoke_key(&self, tenant: Tenant, id: Uuid) -> Result<()> {
        match store::revoke(&self.pool, tenant.0, id, clock::now()).await? {
            Some(hash) => self.forget(&hash),
            None => drop(self.key(tenant, id).await?),
        }
        Ok(())
    }

    /// Ends a key of any tenant: for the operator's command line only.
    pub async fn revoke(&self, id: Uuid) -> Result<()> {
        let tenant = self.tenant_of(id).await?;
        self.revoke_key(tenant, id).await
    }

    /// Whose a key is: for the operator's command line only.
    pub async fn tenant_of(&self, id: Uuid) -> Result<Tenant> {
        store::tenant_of(&self.pool, id).await?.map(Tenant).ok_or(ServiceError::NotFound("key"))
    }
}

/// The end of a time that begins now, before the year 10000 in any case.
fn later(now: DateTime<Utc>, time: TimeDelta) -> DateTime<Utc> {
    now.checked_add_signed(time).map_or(LATEST_END, |end| end.min(LATEST_END))
}

/// What is stored of a new key, and its text.
fn row_of(tenant: Tenant, new: NewKey, now: DateTime<Utc>) -> (NewKeyRow, String) {
    let text = text::new(tenant.0);
    let row = NewKeyRow {
        id: clock::new_id(),
        name: new.name,
        hash: digest(&text).to_vec(),
        scopes: new.scopes.iter().map(|scope| scope.into_str().to_owned()).collect(),
        requests_per_minute: new.limits.requests_per_minute.and_then(|limit| i32::try_from(limit).ok()),
        created_at: now,
        expires_at: new.expires_at,
    };
    (row, text)
}

/// Adds a key. An equal request under the same idempotency key is told it too, without its text, which is kept nowhere.
async fn insert(connection: &mut PgConnection, tenant: Tenant, row: NewKeyRow, now: DateTime<Utc>) -> Result<Key> {
    if !store::insert(connection, tenant.0, &row, MOST).await? {
        let detail = format!("a tenant may have {MOST} keys; revoke one first");
        return Err(ServiceError::Conflict { code: ConflictCode::TooManyKeys, detail });
    }
    let stored = store::get(&mut *connection, tenant.0, row.id).await?;
    let stored = stored.ok_or_else(|| anyhow!("key {} was not stored", row.id))?;
    let made = shown(stored, now);
    seal_without_secret(connection, Outcome::Created, &made).await?;
    Ok(made)
}

/// Without its text.
fn shown(row: StoredKey, now: DateTime<Utc>) -> Key {
    let status = match (row.revoked_at, row.expires_at, row.replaced_by) {
        (Some(_), _, _) => KeyStatus::Revoked,
        (_, Some(end), _) if end <= now => KeyStatus::Expired,
        (_, _, Some(_)) => KeyStatus::Rotated,
        _ => KeyStatus::Active,
    };
    let requests_per_minute = row.requests_per_minute.and_then(|limit| u32::try_from(limit).ok());
    Key {
        id: row.id,
        name: row.name,
        scopes: Scopes::of(row.scopes.iter().filter_map(|word| word.parse().ok())),
        limits: KeyLimits { requests_per_minute },
        status,
        created_at: row.created_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
        last_used_at: row.last_used_at,
        replaced_by: row.replaced_by,
        key: None,
    }
}
