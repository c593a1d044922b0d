//! Holding a session's row.
//!
//! A row that somebody else holds for long (a recount, a whole transcript at another process) must not take
//! connections from everybody: whoever finds it locked gives its connection back and waits in a lane.

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use crate::service::core::error::{Result, ServiceError};
use crate::service::core::lanes::Lane;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::sessions::{self, HeadAndSettings, SessionRow};

pub(crate) type SessionTransaction = Transaction<'static, Postgres>;

impl Service {
    /// A transaction that holds the session's row.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`: too many wait for rows already.
    pub(crate) async fn locked(&self, tenant: Tenant, session_id: Uuid) -> Result<(SessionTransaction, SessionRow)> {
        let mut work = self.pool().begin().await?;
        if let Some(row) = sessions::try_lock(&mut *work, tenant.0, session_id).await? {
            return Ok((work, row));
        }
        let (mut work, _lane) = self.wait_in_lane(work, tenant, session_id).await?;
        let row = sessions::lock(&mut *work, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        Ok((work, row))
    }

    /// As [`Service::locked`], of the row what an append needs.
    pub(crate) async fn locked_head(
        &self,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<(SessionTransaction, HeadAndSettings)> {
        let mut work = self.pool().begin().await?;
        if let Some(row) = sessions::try_lock_head(&mut *work, tenant.0, session_id).await? {
            return Ok((work, row));
        }
        let (mut work, _lane) = self.wait_in_lane(work, tenant, session_id).await?;
        let row =
            sessions::lock_head(&mut *work, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        Ok((work, row))
    }

    /// Gives the connection back and comes again with one that may wait. An erased session is not waited for.
    async fn wait_in_lane(
        &self,
        mut work: SessionTransaction,
        tenant: Tenant,
        session_id: Uuid,
    ) -> Result<(SessionTransaction, Lane)> {
        let found = sessions::versions(&mut *work, tenant.0, &[session_id]).await?;
        work.rollback().await?;
        if found.is_empty() {
            return Err(ServiceError::NotFound("session"));
        }
        let lane = self.inner.row_lanes.enter(tenant).await?;
        Ok((self.pool().begin().await?, lane))
    }
}
