//! The service itself and what its use cases share.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::{Result, ServiceError};
use crate::domain::prices::Prices;
use crate::hooks::Client;

/// How long a key that was found valid is not looked up again.
const KEY_CACHE: Duration = Duration::from_secs(10);

/// A tenant that a request has proved to be. Every use case takes one; there is no unscoped finder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tenant(pub Uuid);

/// The use cases over one database. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub pool: PgPool,
    pub options: Options,
    /// Calls hooks.
    pub hooks: Client,
    pub heads: super::head::HeadCache,
    pub group_commit: super::append::GroupCommit,
    pub digests: super::context::DigestCache,
    pub paths: super::context::PathCache,
    pub feed: Arc<super::events::Feed>,
    /// Digests of keys found valid lately; a revoked one works this much longer.
    pub known_keys: moka::sync::Cache<[u8; 32], ()>,
}

/// What the operator decides.
#[derive(Debug, Clone)]
pub struct Options {
    /// Server-wide session settings (names as in the API), under the session's own.
    pub settings: Map<String, Value>,
    /// Most items of one append.
    pub max_items: usize,
    /// Deepest nesting of one item.
    pub max_depth: usize,
    /// Most jobs that may wait, per tenant; more is 429.
    pub max_queued_jobs: i64,
    /// Attempts of a compaction job before it is dead.
    pub max_attempts: i32,
    /// Most event streams that a tenant may have open at this process; more is 429.
    pub max_streams: usize,
    /// What upstreams cost.
    pub prices: Prices,
    pub hooks: HookOptions,
}

/// How hooks are called.
#[derive(Debug, Clone)]
pub struct HookOptions {
    /// Addresses outside of the public internet may be called.
    pub allow_private_networks: bool,
    /// Most hooks of a tenant.
    pub max_hooks: i64,
    /// Attempts of a queued delivery before it counts as failed.
    pub max_attempts: i32,
}

impl Default for HookOptions {
    fn default() -> Self {
        HookOptions { allow_private_networks: false, max_hooks: 50, max_attempts: 8 }
    }
}

/// One page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

/// What part of a list: `limit` 1-200, `after` an earlier page's `next_cursor`.
#[derive(Debug, Clone)]
pub struct PageRequest {
    pub limit: i64,
    pub after: Option<String>,
}

impl PageRequest {
    /// The cursor as an id.
    ///
    /// # Errors
    /// `Invalid` at `after` for anything that no page handed out.
    pub fn cursor_id(&self) -> Result<Option<Uuid>> {
        self.after.as_deref().map(|cursor| Uuid::parse_str(cursor).map_err(|_| bad_cursor())).transpose()
    }

    /// The cursor as a number; see [`PageRequest::cursor_id`].
    pub fn cursor_number(&self) -> Result<Option<i64>> {
        self.after.as_deref().map(|cursor| cursor.parse().map_err(|_| bad_cursor())).transpose()
    }
}

fn bad_cursor() -> ServiceError {
    ServiceError::invalid("/after", "is no cursor that a list handed out")
}

impl<T> Page<T> {
    /// One page of `items`, which hold one more than `limit` where there is a next page.
    pub fn cut(mut items: Vec<T>, limit: i64, cursor: impl Fn(&T) -> String) -> Page<T> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(cursor);
        Page { items, next_cursor }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            settings: Map::new(),
            max_items: 1_000,
            max_depth: 64,
            max_queued_jobs: 10_000,
            max_attempts: 5,
            max_streams: 256,
            prices: Prices::default(),
            hooks: HookOptions::default(),
        }
    }
}

impl Service {
    pub fn new(pool: PgPool, options: Options) -> Service {
        let known_keys = moka::sync::Cache::builder().max_capacity(10_000).time_to_live(KEY_CACHE).build();
        let hooks = Client::new(options.hooks.allow_private_networks);
        let inner = Inner {
            pool,
            hooks,
            options,
            heads: super::head::HeadCache::default(),
            group_commit: super::append::GroupCommit::default(),
            digests: super::context::DigestCache::default(),
            paths: super::context::PathCache::default(),
            feed: Arc::default(),
            known_keys,
        };
        Service { inner: Arc::new(inner) }
    }

    pub fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    pub fn options(&self) -> &Options {
        &self.inner.options
    }
}
