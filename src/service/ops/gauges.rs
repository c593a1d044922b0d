//! Figures about everything at once, read when the metrics are scraped.

use crate::service::core::error::Result;
use crate::service::ops::readiness::Health;
use crate::store::gauges::{self, StateRow};
use crate::store::queue::{self, Depth};

/// Sessions and tokens by fill state, and how full the queue is.
#[derive(Debug, Clone)]
pub struct Gauges {
    pub sessions: Vec<StateRow>,
    pub queue: Depth,
}

impl Health {
    pub async fn gauges(&self) -> Result<Gauges> {
        let sessions = gauges::states(&self.pool).await?;
        let queue = queue::depth(&self.pool).await?;
        Ok(Gauges { sessions, queue })
    }
}
