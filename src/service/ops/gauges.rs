//! Figures about everything at once, read when the metrics are scraped.

use crate::service::core::error::Result;
use crate::service::ops::readiness::Health;
use crate::store::gauges as store;

/// Sessions and tokens by fill state, and how full the queue is.
#[derive(Debug, Clone, Default)]
pub struct Gauges {
    pub sessions: Vec<store::StateRow>,
    pub queue: store::QueueRow,
}

impl Health {
    pub async fn gauges(&self) -> Result<Gauges> {
        let sessions = store::states(&self.pool).await?;
        let queue = store::queue(&self.pool).await?;
        Ok(Gauges { sessions, queue })
    }
}
