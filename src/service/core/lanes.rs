//! Slow work in lanes: what may take long waits in few places, so that what is quick finds a connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::service::core::error::{Result, ServiceError};
use crate::service::core::tenant::Tenant;

/// The longest wait for a lane.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Tenants that are remembered; one that is forgotten in the middle may use a lane more for a while.
const TENANTS: u64 = 4_096;
const REMEMBERED_FOR: Duration = Duration::from_secs(600);

/// A fixed number of lanes, of which one tenant gets no more than its share. A tenant waits for its share first, so in
/// the queue for lanes nobody has more places than that.
#[derive(Debug)]
pub struct Lanes {
    lanes: Arc<Semaphore>,
    share: usize,
    shares: moka::sync::Cache<Tenant, Arc<Semaphore>>,
}

/// A lane, until it is dropped.
#[derive(Debug)]
pub struct Lane {
    _lane: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
}

impl Lanes {
    /// At least one, and half of them, rounded up, for one tenant.
    pub fn new(lanes: usize) -> Lanes {
        let lanes = lanes.max(1);
        Lanes {
            lanes: Arc::new(Semaphore::new(lanes)),
            share: lanes.div_ceil(2),
            shares: moka::sync::Cache::builder().max_capacity(TENANTS).time_to_idle(REMEMBERED_FOR).build(),
        }
    }

    /// Waits for a lane, in the order of arrival.
    ///
    /// # Errors
    /// `Unavailable`: all are taken, and stay so.
    pub async fn enter(&self, tenant: Tenant) -> Result<Lane> {
        self.enter_within(tenant, LONGEST_WAIT).await
    }

    /// As [`Lanes::enter`], with another longest wait.
    pub async fn enter_within(&self, tenant: Tenant, longest: Duration) -> Result<Lane> {
        let share = self.shares.get_with(tenant, || Arc::new(Semaphore::new(self.share)));
        let lanes = Arc::clone(&self.lanes);
        let both = async move {
            let share = share.acquire_owned().await.ok()?;
            Some(Lane { _lane: lanes.acquire_owned().await.ok()?, _share: share })
        };
        let full = || ServiceError::Unavailable(sqlx::Error::PoolTimedOut);
        timeout(longest, both).await.map_err(|_| full())?.ok_or_else(full)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use uuid::Uuid;

    use super::*;

    fn tenant(n: u128) -> Tenant {
        Tenant(Uuid::from_u128(n))
    }

    #[tokio::test]
    async fn one_tenant_never_has_all_lanes() {
        let lanes = Lanes::new(4);
        let _taken = [lanes.enter(tenant(1)).await.unwrap(), lanes.enter(tenant(1)).await.unwrap()];
        assert!(lanes.enter(tenant(1)).now_or_never().is_none());
        assert!(lanes.enter(tenant(2)).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_lane_that_is_left_is_taken_by_the_next() {
        let lanes = Lanes::new(1);
        let taken = lanes.enter(tenant(1)).await.unwrap();
        let mut next = Box::pin(lanes.enter(tenant(2)));
        assert!((&mut next).now_or_never().is_none());
        drop(taken);
        assert!(next.await.is_ok());
    }
}
