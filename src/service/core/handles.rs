//! Sealed handles as they come in and go out, and the keys of each tenant, which all replicas share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::value::RawValue;
use sqlx::PgPool;

use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::format::Format;
use crate::domain::model::handle::{self, FoundHandle, HandleFault, SealingKey};
use crate::service::core::clock;
use crate::service::core::error::{FieldError, Result, ServiceError};
use crate::service::core::offload::{offload, size};
use crate::service::core::tenant::Tenant;
use crate::store::sealing_keys;

const CACHED: u64 = 10_000;
/// How long until a newer key seals.
const CACHED_FOR: Duration = Duration::from_secs(600);
/// Keys that are tried, the newest of a tenant.
const MOST_KEYS: i64 = 16;
/// Different handles in one call: a conversation has one, or few.
const MOST_HANDLES: usize = 100;

/// The keys of a tenant, the newest first.
type TenantKeys = Arc<[SealingKey]>;

/// Seals handles and opens them. Cheap to clone.
#[derive(Clone)]
pub struct Handles {
    pool: PgPool,
    keys: moka::sync::Cache<Tenant, TenantKeys>,
}

/// Records of the handles among some items, by the handle's text.
#[derive(Debug, Clone, Default)]
pub struct OpenedHandles(Arc<HashMap<String, CompactionRecord>>);

impl OpenedHandles {
    /// The record that an item seals. `None`: it is no handle.
    pub fn record(&self, item: &str) -> Option<&CompactionRecord> {
        if self.0.is_empty() { None } else { self.0.get(&handle::handle_of(item)?) }
    }
}

impl Handles {
    pub fn new(pool: PgPool) -> Handles {
        let keys = moka::sync::Cache::builder().max_capacity(CACHED).time_to_live(CACHED_FOR).build();
        Handles { pool, keys }
    }

    /// Seals a compaction's record for the tenant that asked for it.
    ///
    /// # Errors
    /// The database's, where the tenant's keys have to be read.
    pub async fn seal(&self, tenant: Tenant, record: CompactionRecord) -> Result<String> {
        let keys = self.keys(tenant).await?;
        let key = keys.first().cloned().context("a tenant without a sealing key")?;
        let bytes = record.summary.as_ref().map_or(0, String::len);
        let seal = move || handle::seal(&record, tenant.0, &key, clock::nonce());
        Ok(offload(bytes, seal).await?.context("sealing a handle")?)
    }

    /// Opens the handles among the items of a request. Formats other than Responses have none.
    ///
    /// # Errors
    /// `HandleRefused` with the pointers `/items/{n}/encrypted_content`; the database's.
    pub async fn open<R: Send + Sync + 'static>(
        &self,
        tenant: Tenant,
        format: Format,
        request: &Arc<R>,
        items: fn(&R) -> &[Box<RawValue>],
    ) -> Result<OpenedHandles> {
        if format != Format::OpenaiResponses {
            return Ok(OpenedHandles::default());
        }
        let request = Arc::clone(request);
        let bytes = size(items(&request));
        let found = offload(bytes, move || handle::found(items(&request).iter().map(|item| item.get()))).await?;
        if found.is_empty() {
            return Ok(OpenedHandles::default());
        }
        let keys = self.keys_for(tenant, &found).await?;
        let bytes = found.iter().map(|one| one.text.len()).sum();
        offload(bytes, move || open_all(tenant, &keys, found)).await?
    }

    /// The tenant's keys, read again where one of these was sealed with another: it may be new.
    async fn keys_for(&self, tenant: Tenant, found: &[FoundHandle]) -> Result<TenantKeys> {
        let keys = self.keys(tenant).await?;
        let is_known = |id: u32| keys.iter().any(|key| key.id == id);
        if found.iter().filter_map(|one| handle::key_of(&one.text).ok()).all(is_known) {
            return Ok(keys);
        }
        self.keys.invalidate(&tenant);
        self.keys(tenant).await
    }

    /// The tenant's keys; the first is made when it is needed.
    async fn keys(&self, tenant: Tenant) -> Result<TenantKeys> {
        if let Some(keys) = self.keys.get(&tenant) {
            return Ok(keys);
        }
        let mut stored = sealing_keys::list(&self.pool, tenant.0, MOST_KEYS).await?;
        if stored.is_empty() {
            sealing_keys::insert_first(&self.pool, tenant.0, &clock::random_key(), clock::now()).await?;
            stored = sealing_keys::list(&self.pool, tenant.0, MOST_KEYS).await?;
        }
        let key = |stored: &sealing_keys::StoredSecret| {
            Some(SealingKey { id: u32::try_from(stored.id).ok()?, secret: stored.secret.as_slice().try_into().ok()? })
        };
        let keys: TenantKeys = stored.iter().filter_map(key).collect();
        self.keys.insert(tenant, Arc::clone(&keys));
        Ok(keys)
    }
}

fn open_all(tenant: Tenant, keys: &[SealingKey], found: Vec<FoundHandle>) -> Result<OpenedHandles> {
    let (mut opened, mut refused) = (HashMap::new(), Vec::new());
    for FoundHandle { place, text } in found {
        if opened.contains_key(&text) {
            continue;
        }
        let pointer = format!("/items/{place}/encrypted_content");
        if opened.len() + refused.len() == MOST_HANDLES {
            let detail = format!("is one handle more than the {MOST_HANDLES} that a call may hold");
            return Err(ServiceError::HandleRefused(vec![FieldError { pointer, detail }]));
        }
        match handle::open(&text, tenant.0, keys) {
            Ok(record) => _ = opened.insert(text, record),
            Err(fault) => refused.push(refusal(pointer, fault)),
        }
    }
    if refused.is_empty() { Ok(OpenedHandles(Arc::new(opened))) } else { Err(ServiceError::HandleRefused(refused)) }
}

fn refusal(pointer: String, fault: HandleFault) -> FieldError {
    FieldError { pointer, detail: fault.to_string() }
}
