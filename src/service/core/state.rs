//! The service itself and what its use cases share.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use sqlx::PgPool;

use crate::domain::tokens::prices::Prices;
use crate::service::core::digests::DigestCache;
use crate::service::core::feed::Feed;
use crate::service::core::group_commit::GroupCommit;
use crate::service::core::handles::Handles;
use crate::service::core::head::HeadCache;
use crate::service::core::heads::Heads;
use crate::service::core::hooks::{HookOptions, Hooks};
use crate::service::core::lanes::Lanes;
use crate::service::core::long_reads::LongReads;
use crate::service::core::paths::PathCache;
use crate::service::core::settings::SettingsResolver;

/// Of the pool's connections, one in so many may wait for a row, and one in so many may carry a large write.
const ROW_LANES: u32 = 4;
const BULK_LANES: u32 = 8;
const READ_LANES: u32 = 4;

/// The use cases that change sessions and rebuild their contexts. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub pool: PgPool,
    pub options: Options,
    pub settings: Arc<SettingsResolver>,
    pub hooks: Hooks,
    pub handles: Handles,
    pub heads: Heads,
    pub cached_heads: Arc<HeadCache>,
    pub group_commit: GroupCommit,
    /// For writes that take the database long.
    pub bulk_lanes: Lanes,
    pub long_reads: LongReads,
    pub digests: DigestCache,
    pub paths: PathCache,
    pub feed: Arc<Feed>,
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
        let one_in = |share: u32| Lanes::new((pool.options().get_max_connections() / share) as usize);
        let settings = Arc::new(SettingsResolver::new(options.settings.clone(), options.upstreams.clone()));
        let inner = Inner {
            hooks: Hooks::new(pool.clone(), options.hooks.clone()),
            handles: Handles::new(pool.clone()),
            heads: Heads::new(pool.clone(), Arc::clone(&settings), options.prices.clone(), one_in(ROW_LANES)),
            cached_heads: Arc::default(),
            group_commit: GroupCommit::default(),
            bulk_lanes: one_in(BULK_LANES),
            long_reads: LongReads::new(pool.clone(), one_in(READ_LANES)),
            digests: DigestCache::default(),
            paths: PathCache::default(),
            feed: Arc::default(),
            settings,
            options,
            pool,
        };
        Service { inner: Arc::new(inner) }
    }

    pub fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    pub fn hooks(&self) -> &Hooks {
        &self.inner.hooks
    }
}
