//! The one way to a session: read or locked, it is there, or the error is `NotFound`.
//!
//! A row that somebody else holds for long (a recount, a whole transcript at another process) must not take
//! connections from everybody: whoever finds it locked gives its connection back and waits in a lane.

use std::sync::Arc;

use serde_json::{Map, Value};
use sqlx::{PgExecutor, PgPool, Postgres, Transaction};
use uuid::Uuid;

use crate::domain::model::json;
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::{Settings, merge_patch};
use crate::domain::tokens::prices::{Prices, SessionPrices};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::{Head, SessionState};
use crate::service::core::lanes::{Lane, Lanes};
use crate::service::core::settings::SettingsResolver;
use crate::service::core::tenant::Tenant;
use crate::store::sessions::{self, HeadAndSettings, HeadRow, SessionRow};
use crate::store::transaction;

pub(crate) type SessionTransaction = Transaction<'static, Postgres>;

/// Reads and locks sessions, and commits what was done to them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Heads {
    pub(super) pool: PgPool,
    settings: Arc<SettingsResolver>,
    prices: Arc<Prices>,
    /// For those who wait for a session's row.
    lanes: Arc<Lanes>,
}

impl Heads {
    pub fn new(pool: PgPool, settings: Arc<SettingsResolver>, prices: Prices, lanes: Lanes) -> Heads {
        Heads { pool, settings, prices: Arc::new(prices), lanes: Arc::new(lanes) }
    }

    /// Tells if the session is there.
    pub async fn has(&self, executor: impl PgExecutor<'_>, tenant: Tenant, session_id: Uuid) -> Result<bool> {
        Ok(!sessions::versions(executor, tenant.0, &[session_id]).await?.is_empty())
    }

    /// A session's head.
    pub async fn read(&self, executor: impl PgExecutor<'_>, tenant: Tenant, session_id: Uuid) -> Result<Head> {
        self.of_head(session_id, found(sessions::head(executor, tenant.0, session_id).await?)?)
    }

    /// The head, with all of the row.
    pub async fn read_row(
        &self,
        executor: impl PgExecutor<'_>,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<(SessionRow, Head)> {
        self.with_head(found(sessions::get(executor, tenant.0, session_id).await?)?)
    }

    /// As [`Heads::read_row`], with the row locked until the transaction ends.
    pub async fn lock(
        &self,
        executor: impl PgExecutor<'_>,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<(SessionRow, Head)> {
        self.with_head(found(sessions::lock(executor, tenant.0, session_id).await?)?)
    }

    /// A transaction that holds the session's row.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`: too many wait for rows already.
    pub async fn begin_locked(
        &self,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<(SessionTransaction, SessionRow, Head)> {
        let mut work = transaction::begin(&self.pool).await?;
        let (row, head) = match sessions::try_lock(&mut *work, tenant.0, session_id).await? {
            Some(row) => self.with_head(row)?,
            None => {
                let (waiting, _lane) = self.wait_in_lane(work, tenant, session_id).await?;
                work = waiting;
                self.lock(&mut *work, tenant, session_id).await?
            }
        };
        Ok((work, row, head))
    }

    /// As [`Heads::begin_locked`], of the row only the head.
    pub async fn begin_locked_head(&self, tenant: Tenant, session_id: Uuid) -> Result<(SessionTransaction, Head)> {
        let mut work = transaction::begin(&self.pool).await?;
        let row = match sessions::try_lock_head(&mut *work, tenant.0, session_id).await? {
            Some(row) => row,
            None => {
                let (waiting, _lane) = self.wait_in_lane(work, tenant, session_id).await?;
                work = waiting;
                found(sessions::lock_head(&mut *work, tenant.0, session_id).await?)?
            }
        };
        Ok((work, self.of_head(session_id, row)?))
    }

    /// The session's settings with a patch for one call.
    pub async fn settings_with(
        &self,
        executor: impl PgExecutor<'_>,
        tenant: Tenant,
        session_id: Uuid,
        patch: &Map<String, Value>,
    ) -> Result<Settings> {
        Ok(self.read_with(executor, tenant, session_id, patch).await?.1)
    }

    /// A session's head, and its settings with a patch for one call.
    pub async fn read_with(
        &self,
        executor: impl PgExecutor<'_>,
        tenant: Tenant,
        session_id: Uuid,
        patch: &Map<String, Value>,
    ) -> Result<(Head, Settings)> {
        let row = found(sessions::head(executor, tenant.0, session_id).await?)?;
        let merged = merge_patch(&json::parse_object(&row.settings), patch);
        let head = self.of_head(session_id, row)?;
        let settings = self.settings.resolve_map(&merged, head.state.talked(head.model.as_deref()))?;
        Ok((head, settings))
    }

    /// The head of a row as it was just read.
    pub fn of(&self, row: &SessionRow) -> Result<Head> {
        self.head(row.id, row.head.clone(), &row.settings, row.model.clone(), row.parent_session)
    }

    fn with_head(&self, row: SessionRow) -> Result<(SessionRow, Head)> {
        let head = self.of(&row)?;
        Ok((row, head))
    }

    /// The head of a session of which this was just read.
    pub fn of_head(&self, session_id: Uuid, found: HeadAndSettings) -> Result<Head> {
        let HeadAndSettings { head, settings, model, parent_session } = found;
        self.head(session_id, head, &settings, model, parent_session)
    }

    fn head(
        &self,
        session_id: Uuid,
        row: HeadRow,
        settings: &str,
        model: Option<String>,
        parent_session: Option<Uuid>,
    ) -> Result<Head> {
        let mut state = SessionState::read(&row.state)?;
        let settings = self.settings.resolve(settings, state.talked(model.as_deref()))?;
        state.account.upgrade(settings.estimator);
        let prices = self.prices(model.as_deref(), settings.strategy, &settings);
        Ok(Head { session_id, row, state, settings, is_fork: parent_session.is_some(), model, prices })
    }

    /// Prices of a session with this model, for a compaction of this strategy.
    pub fn prices(&self, model: Option<&str>, strategy: Strategy, settings: &Settings) -> SessionPrices {
        self.prices.of_session(model, strategy, settings.upstream.as_deref())
    }

    /// Gives the connection back and comes again with one that may wait. An erased session is not waited for.
    async fn wait_in_lane(
        &self,
        mut work: SessionTransaction,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<(SessionTransaction, Lane)> {
        let is_there = self.has(&mut *work, tenant, session_id).await?;
        work.rollback().await?;
        found(is_there.then_some(()))?;
        let lane = self.lanes.enter(tenant).await?;
        Ok((transaction::begin(&self.pool).await?, lane))
    }
}

fn found<T>(session: Option<T>) -> Result<T> {
    session.ok_or(ServiceError::NotFound("session"))
}
