//! The evidence of a summary, as it was kept with its compaction.

use anyhow::Context as _;
use uuid::Uuid;

use crate::domain::record::evidence::told::SummaryEvidence;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::compactions;

impl Service {
    /// Each statement of a compaction's summary, with what it cites.
    ///
    /// # Errors
    /// `NotFound`: there is no such compaction, or its summary is a record, which quotes and states nothing.
    pub async fn compaction_evidence(&self, tenant: Tenant, id: Uuid) -> Result<SummaryEvidence> {
        let found = self.find_compaction_evidence(tenant, id).await?;
        found.ok_or(ServiceError::NotFound("evidence"))
    }

    /// As [`Service::compaction_evidence`]; `None`: there is none.
    ///
    /// # Errors
    /// The database's.
    pub async fn find_compaction_evidence(&self, tenant: Tenant, id: Uuid) -> Result<Option<SummaryEvidence>> {
        let kept = compactions::evidence(self.pool(), tenant.0, id).await?;
        let read = kept.map(|kept| serde_json::from_str(&kept).context("stored evidence"));
        Ok(read.transpose()?)
    }
}
