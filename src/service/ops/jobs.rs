//! What waits in the queue, what is at work, and what was given up.

use crate::service::core::error::Result;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::store::queue::listed::{self, ListedJob};
use crate::store::stats::MOST_JOBS;

/// Jobs of one list.
const MOST: usize = 100;

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum JobStatus {
    Pending,
    Running,
    /// All attempts are spent.
    Dead,
}

/// The jobs of one status, the longest due first.
#[derive(Debug, Clone)]
pub struct Jobs {
    pub items: Vec<ListedJob>,
    /// There are more than are listed.
    pub more: bool,
}

impl Queries {
    /// A tenant's jobs of one status, 100 at most, among the 100,000 that statistics count.
    pub async fn jobs(&self, tenant: Tenant, status: JobStatus) -> Result<Jobs> {
        let most = MOST as i64 + 1;
        let mut items = listed::listed(&self.pool, tenant.0, status.into_str(), MOST_JOBS, most).await?;
        let more = items.len() > MOST;
        items.truncate(MOST);
        Ok(Jobs { items, more })
    }
}
