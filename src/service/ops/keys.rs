//! API keys and the tenants they belong to.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::tenant::Tenant;
use crate::store::keys;
use crate::store::transaction;

/// A key's text: this, the tenant's id (32 hex digits), then 64 hex digits of secret.
const PREFIX: &str = "ctxd_";
const TENANT_DIGITS: usize = 32;

/// How long a key that was found valid is not looked up again.
const CACHED_FOR: Duration = Duration::from_secs(10);

/// The tenant that `--dev` works as.
const DEV_TENANT: Uuid = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001);

#[derive(Debug, Clone, Serialize)]
pub struct KeyRow {
    pub tenant: String,
    pub id: Uuid,
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
}

/// API keys, and the tenants that they are of. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    pool: PgPool,
    /// Digests of keys found valid lately; a revoked one works this much longer.
    known: moka::sync::Cache<[u8; 32], ()>,
}

impl Keys {
    pub fn new(pool: PgPool) -> Keys {
        Keys { pool, known: moka::sync::Cache::builder().max_capacity(10_000).time_to_live(CACHED_FOR).build() }
    }

    /// Creates a key for a tenant (made when new) and returns its text, shown this once only.
    pub async fn create(&self, tenant_name: &str, key_name: &str) -> Result<String> {
        let now = clock::now();
        let mut transaction = transaction::begin(&self.pool).await?;
        let tenant = tenant_named(&mut transaction, tenant_name, now).await?;
        let text = format!("{PREFIX}{}{}", tenant.simple(), clock::secret());
        keys::insert_key(&mut *transaction, tenant, clock::new_id(), key_name, &digest(&text), now).await?;
        transaction.commit().await?;
        Ok(text)
    }

    /// The tenant of that name, made when new: for the operator's command line only.
    pub async fn tenant_named(&self, name: &str) -> Result<Uuid> {
        let mut connection = self.pool.acquire().await?;
        tenant_named(&mut connection, name, clock::now()).await
    }

    /// Every key of every tenant, without the secrets.
    pub async fn list(&self) -> Result<Vec<KeyRow>> {
        Ok(keys::all(&self.pool).await?.into_iter().map(shown).collect())
    }

    pub async fn revoke(&self, id: Uuid) -> Result<()> {
        let revoked = keys::revoke(&self.pool, id, clock::now()).await?;
        if revoked { Ok(()) } else { Err(ServiceError::NotFound("key")) }
    }

    /// The tenant of a key; `None` for an unknown or revoked one.
    pub async fn authenticate(&self, key: &str) -> Result<Option<Tenant>> {
        let Some(tenant) = tenant_in(key) else { return Ok(None) };
        let hash = digest(key);
        if self.known.get(&hash).is_some() {
            return Ok(Some(Tenant(tenant)));
        }
        if !keys::is_valid(&self.pool, tenant, &hash).await? {
            return Ok(None);
        }
        self.known.insert(hash, ());
        Ok(Some(Tenant(tenant)))
    }

    /// As [`Keys::authenticate`], with the key's id, and always looked up.
    pub async fn identify(&self, key: &str) -> Result<Option<(Tenant, Uuid)>> {
        let Some(tenant) = tenant_in(key) else { return Ok(None) };
        let id = keys::live_id(&self.pool, tenant, &digest(key)).await?;
        Ok(id.map(|id| (Tenant(tenant), id)))
    }

    /// Tells if the tenant has this key and it was not revoked; always looked up.
    pub async fn is_live(&self, tenant: Tenant, id: Uuid) -> Result<bool> {
        Ok(keys::is_live(&self.pool, tenant.0, id).await?)
    }

    /// The tenant's keys, the newest first, without the secrets; `most` at most.
    pub async fn of_tenant(&self, tenant: Tenant, most: i64) -> Result<Vec<KeyRow>> {
        Ok(keys::of_tenant(&self.pool, tenant.0, most).await?.into_iter().map(shown).collect())
    }

    /// The tenant that `--dev` works as, made when it is not there.
    pub async fn dev_tenant(&self) -> Result<Tenant> {
        keys::insert_tenant(&self.pool, DEV_TENANT, "dev", clock::now()).await?;
        Ok(Tenant(DEV_TENANT))
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

/// The tenant that a key's text names.
fn tenant_in(key: &str) -> Option<Uuid> {
    Uuid::try_parse(key.strip_prefix(PREFIX)?.get(..TENANT_DIGITS)?).ok()
}

fn shown(row: keys::StoredKey) -> KeyRow {
    let keys::StoredKey { tenant, id, name, created_at, revoked_at } = row;
    KeyRow { tenant, id, name, created_at, revoked_at }
}

fn digest(key: &str) -> [u8; 32] {
    *blake3::hash(key.as_bytes()).as_bytes()
}
