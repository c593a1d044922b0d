//! What compactions still call by its old name; goes with them.

use std::sync::Arc;

use serde_json::{Map, Value};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::settings::Settings;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::heads::SessionTransaction;
use crate::service::core::lanes::Lane;
use crate::service::core::state::{Inner, Service};
use crate::service::core::tenant::Tenant;
use crate::store::sessions::SessionRow;

impl Inner {
    pub fn resolve(&self, patch: &str, model: Option<&str>) -> Result<Arc<Settings>> {
        self.settings.resolve(patch, model)
    }

    pub fn resolve_map(&self, patch: &Map<String, Value>, model: Option<&str>) -> Result<Settings> {
        self.settings.resolve_map(patch, model)
    }
}

impl Service {
    pub(crate) async fn head_on(&self, on: &mut PgConnection, tenant: Tenant, session_id: Uuid) -> Result<Head> {
        self.inner.heads.read(on, tenant, session_id).await
    }

    pub(crate) async fn session_row(&self, tenant: Tenant, session_id: Uuid) -> Result<SessionRow> {
        Ok(self.inner.heads.read_row(self.pool(), tenant, session_id).await?.0)
    }

    pub(crate) async fn locked(&self, tenant: Tenant, session_id: Uuid) -> Result<(SessionTransaction, SessionRow)> {
        let (work, row, _) = self.inner.heads.begin_locked(tenant, session_id).await?;
        Ok((work, row))
    }

    pub(crate) fn head_of(&self, row: &SessionRow) -> Result<Head> {
        self.inner.heads.of(row)
    }

    pub(crate) async fn commit(
        &self,
        work: SessionTransaction,
        tenant: Tenant,
        session_id: Uuid,
        proof: Option<Proof>,
    ) -> Result<()> {
        self.inner.heads.commit(work, tenant, session_id, proof).await
    }

    pub(crate) async fn check_named(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        before: &Settings,
        given: &Map<String, Value>,
    ) -> Result<()> {
        self.inner.settings.check_named(connection, tenant, session_id, before, given).await
    }

    pub(crate) async fn turn(&self, tenant: Tenant) -> Result<Lane> {
        self.inner.long_reads.turn(tenant).await
    }
}
