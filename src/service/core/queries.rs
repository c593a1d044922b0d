//! Reading sessions; nothing is changed.

use sqlx::PgPool;

use crate::service::core::heads::Heads;
use crate::service::core::long_reads::LongReads;
use crate::service::core::state::Service;

/// Reads what sessions hold. Cheap to clone.
#[derive(Clone)]
pub struct Queries {
    pub(crate) pool: PgPool,
    pub(crate) heads: Heads,
    pub(crate) long_reads: LongReads,
}

impl Service {
    /// The readers of the same sessions.
    pub fn queries(&self) -> Queries {
        let inner = &self.inner;
        Queries { pool: inner.pool.clone(), heads: inner.heads.clone(), long_reads: inner.long_reads.clone() }
    }
}
