//! Whether the service can work: the database answers and its schema is this binary's.

use super::error::Result;
use super::state::Service;
use crate::store;

/// Why requests can't be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// `contextd migrate` has not been run for this version.
    SchemaOutdated,
}

impl Service {
    /// Asks the database; an error means that it is not reachable.
    pub async fn readiness(&self) -> Result<Readiness> {
        let applied: Option<i64> = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
            .fetch_one(self.pool())
            .await?;
        let latest = store::MIGRATIONS.iter().map(|migration| migration.version).max();
        Ok(if applied >= latest { Readiness::Ready } else { Readiness::SchemaOutdated })
    }
}

#[cfg(test)]
impl Service {
    /// A service whose database is not there: whatever reaches it fails.
    pub fn without_database() -> Service {
        let pool = sqlx::postgres::PgPoolOptions::new()
            .acquire_timeout(std::time::Duration::from_millis(200))
            .connect_lazy("postgres://nobody@127.0.0.1:1/none")
            .unwrap();
        Service::new(pool, super::state::Options::default())
    }
}
