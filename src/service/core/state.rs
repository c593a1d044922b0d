//! The service itself and what its use cases share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use sqlx::PgPool;

use crate::domain::tokens::prices::Prices;
use crate::hooks::Client;
use crate::service::core::digests::DigestCache;
use crate::service::core::feed::Feed;
use crate::service::core::group_commit::GroupCommit;
use crate::service::core::head::HeadCache;
use crate::service::core::health::DatabaseStatus;
use crate::service::core::lanes::Lanes;
use crate::service::core::paths::PathCache;

/// Of the pool's connections, one in so many may wait for a row, and one in so many may carry a large write.
const ROW_LANES: u32 = 4;
const BULK_LANES: u32 = 8;
const READ_LANES: u32 = 4;

/// Erasures at a time in a process: the others wait, so that they leave connections to everybody else.
const ERASURES_AT_A_TIME: usize = 3;
/// How long a key that was found valid is not looked up again.
const KEY_CACHE: Duration = Duration::from_secs(10);

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
    pub heads: HeadCache,
    pub group_commit: GroupCommit,
    /// For those who wait for a session's row.
    pub row_lanes: Lanes,
    /// For writes that take the database long.
    pub bulk_lanes: Lanes,
    /// For those who read a whole path or session.
    pub read_lanes: Lanes,
    pub digests: DigestCache,
    pub paths: PathCache,
    pub feed: Arc<Feed>,
    pub erasures: tokio::sync::Semaphore,
    /// Digests of keys found valid lately; a revoked one works this much longer.
    pub known_keys: moka::sync::Cache<[u8; 32], ()>,
    /// How the database is.
    pub known: DatabaseStatus,
}

/// Options that the operator sets.
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
    /// The upstreams that a session may name; `None`: whatever it likes.
    pub upstreams: Option<BTreeSet<String>>,
    /// Prices of upstreams.
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

impl Default for Options {
    fn default() -> Self {
        Options {
            settings: Map::new(),
            max_items: 1_000,
            max_depth: 64,
            max_queued_jobs: 10_000,
            max_attempts: 5,
            max_streams: 256,
            upstreams: None,
            prices: Prices::default(),
            hooks: HookOptions::default(),
        }
    }
}

impl Service {
    pub fn new(pool: PgPool, options: Options) -> Service {
        let known_keys = moka::sync::Cache::builder().max_capacity(10_000).time_to_live(KEY_CACHE).build();
        let hooks = Client::new(options.hooks.allow_private_networks);
        let one_in = |share: u32| Lanes::new((pool.options().get_max_connections() / share) as usize);
        let inner = Inner {
            row_lanes: one_in(ROW_LANES),
            bulk_lanes: one_in(BULK_LANES),
            read_lanes: one_in(READ_LANES),
            pool,
            hooks,
            options,
            heads: HeadCache::default(),
            group_commit: GroupCommit::default(),
            digests: DigestCache::default(),
            paths: PathCache::default(),
            feed: Arc::default(),
            erasures: tokio::sync::Semaphore::new(ERASURES_AT_A_TIME),
            known_keys,
            known: DatabaseStatus::default(),
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
