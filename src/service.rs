//! The use cases. The only layer that opens transactions; it cannot see `llm`, so nothing here waits on a model. Hooks are
//! called from here, but never within a transaction and never by an append.

pub mod chapters;
pub mod compaction;
pub mod core;
pub mod events;
pub mod hooks;
pub mod ingest;
pub mod navigation;
pub mod ops;
pub mod path;
pub mod rebuild;
pub mod recall;
pub mod sessions;
pub mod stateless;

use sqlx::PgPool;

use self::core::handles::Handles;
use self::core::hooks::Hooks;
use self::core::idempotency::KeptAnswers;
use self::core::queries::Queries;
use self::core::state::{Options, Service};
use self::events::Events;
use self::ops::calls::ModelCalls;
use self::ops::keys::Keys;
use self::ops::readiness::Health;
use self::sessions::erasure::Erasure;
use self::stateless::Stateless;

/// The use cases over one database, in parts. Each holds what it needs of the pool and of what the process keeps in
/// memory, and can reach nothing else.
pub struct Services {
    pub sessions: Service,
    pub queries: Queries,
    pub erasure: Erasure,
    pub stateless: Stateless,
    pub handles: Handles,
    pub hooks: Hooks,
    pub events: Events,
    pub answers: KeptAnswers,
    pub keys: Keys,
    pub health: Health,
    pub calls: ModelCalls,
}

impl Services {
    pub fn new(pool: PgPool, options: Options) -> Services {
        let sessions = Service::new(pool.clone(), options);
        Services {
            queries: sessions.queries(),
            erasure: Erasure::of(&sessions),
            stateless: Stateless::of(&sessions),
            handles: sessions.inner.handles.clone(),
            hooks: sessions.hooks().clone(),
            events: Events::of(&sessions),
            answers: KeptAnswers::new(pool.clone()),
            calls: ModelCalls::new(pool.clone()),
            keys: Keys::new(pool),
            health: Health::of(&sessions),
            sessions,
        }
    }
}

#[cfg(test)]
impl Services {
    /// Services whose database is not there: whatever reaches it fails.
    pub fn without_database() -> Services {
        let pool = sqlx::postgres::PgPoolOptions::new()
            .acquire_timeout(std::time::Duration::from_millis(200))
            .connect_lazy("postgres://nobody@127.0.0.1:1/none")
            .unwrap();
        Services::new(pool, Options::default())
    }
}
