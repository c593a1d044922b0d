//! Readiness of the service: the database answers and its schema is this binary's.

use std::sync::{Arc, PoisonError};

use sqlx::PgPool;
use tokio::time::Instant;

use crate::service::core::error::Result;
use crate::service::core::group_commit::GroupCommit;
use crate::service::core::state::Service;
use crate::service::ops::health::{DatabaseHealth, DatabaseStatus, FULL_FOR};
use crate::store;

/// Why requests can't be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// `contextd migrate` has not been run for this version.
    SchemaOutdated,
    /// The database takes no writes.
    ReadOnly,
    /// The database's disk is full.
    StorageFull,
}

/// The database's health: known from looks at it, or asked for. Cheap to clone.
#[derive(Clone)]
pub struct Health {
    pub(super) pool: PgPool,
    pub(super) known: Arc<DatabaseStatus>,
    /// Its statements are given up where the database says nothing any more.
    group_commit: GroupCommit,
}

impl Health {
    pub fn of(service: &Service) -> Health {
        let inner = &service.inner;
        Health { pool: inner.pool.clone(), known: Arc::default(), group_commit: inner.group_commit.clone() }
    }

    /// Asks the database; an error means that it is not reachable.
    pub async fn readiness(&self) -> Result<Readiness> {
        let missing = store::missing_migrations(&self.pool).await?;
        let known = &self.known;
        let is_full =
            known.full.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at.elapsed() < FULL_FOR);
        let health = *known.health.borrow();
        Ok(match health {
            _ if missing > 0 => Readiness::SchemaOutdated,
            DatabaseHealth::StorageFull => Readiness::StorageFull,
            _ if is_full => Readiness::StorageFull,
            DatabaseHealth::ReadOnly => Readiness::ReadOnly,
            DatabaseHealth::Fine | DatabaseHealth::Away | DatabaseHealth::Silent => Readiness::Ready,
        })
    }

    /// Returns false where the database was away when somebody last looked.
    pub fn is_reachable(&self) -> bool {
        !matches!(*self.known.health.borrow(), DatabaseHealth::Away | DatabaseHealth::Silent)
    }

    /// To be told by whoever watches the database.
    pub fn set(&self, health: DatabaseHealth) {
        self.known.health.send_if_modified(|known| {
            let has_changed = *known != health;
            if has_changed {
                tracing::warn!(before = ?known, now = ?health, "the database's health has changed");
            }
            *known = health;
            has_changed
        });
        if health == DatabaseHealth::Silent {
            self.group_commit.cut();
        }
    }

    /// A write failed because the database's disk is full.
    pub fn found_storage_full(&self) {
        *self.known.full.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// The database is at another server: nothing comes from the one before any more.
    pub fn database_has_moved(&self) {
        self.known.moved.notify_waiters();
        self.group_commit.cut();
    }

    /// Returns when what was asked of the database by now gets no answer: it says nothing any more, or it has moved.
    pub async fn silenced(&self) {
        let mut health = self.known.health.subscribe();
        tokio::select! {
            Ok(_) = health.wait_for(|health| *health == DatabaseHealth::Silent) => {}
            () = self.known.moved.notified() => {}
        }
    }
}
