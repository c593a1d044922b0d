//! The service itself and what its use cases share.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

/// A tenant that a request has proved to be. Every use case takes one; there is no unscoped finder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tenant(pub Uuid);

/// The use cases over one database. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub pool: PgPool,
    pub options: Options,
    pub heads: super::append::HeadCache,
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

impl Default for Options {
    fn default() -> Self {
        Options { settings: Map::new(), max_items: 1_000, max_depth: 64, max_queued_jobs: 10_000, max_attempts: 5 }
    }
}

impl Service {
    pub fn new(pool: PgPool, options: Options) -> Service {
        Service { inner: Arc::new(Inner { pool, options, heads: super::append::HeadCache::new() }) }
    }

    pub fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    pub fn options(&self) -> &Options {
        &self.inner.options
    }
}
