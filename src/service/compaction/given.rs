//! What a session has of notes that a caller or a hook gave, where a compaction is made that does not go on from its newest.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::record::given;
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::head::Newest;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::view;
use crate::store::{entries, sessions};

impl Service {
    /// The notes given to the session of this id or external id. `None`: there are none, or no such session yet.
    ///
    /// # Errors
    /// The database's.
    pub async fn given_notes(&self, tenant: Tenant, name: &str) -> Result<Option<String>> {
        let by_id = Uuid::parse_str(name).ok();
        let named = match by_id {
            Some(id) if self.inner.heads.has(self.pool(), tenant, id).await? => Some(id),
            _ => sessions::oldest_named(self.pool(), tenant.0, name).await?,
        };
        let Some(id) = named else { return Ok(None) };
        let Some(head) = self.inner.heads.read(self.pool(), tenant, id).await.optional()? else { return Ok(None) };
        let mut connection = self.pool().acquire().await?;
        given_with(&mut connection, tenant, id, head.state.newest.as_ref()).await
    }
}

/// The notes that the compaction in force knows of.
pub(super) async fn given_with(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    newest: Option<&Newest>,
) -> Result<Option<String>> {
    let Some(newest) = newest else { return Ok(None) };
    let place = view::place(connection, tenant, session_id, newest.id).await?;
    let record = entries::record_at(connection, tenant.0, place.session_id, place.seq).await?;
    Ok(record.as_deref().and_then(given::notes))
}
