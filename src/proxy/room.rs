//! Room for the bodies that the proxy holds: so much in all, and so much for each tenant.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::core::tenant::Tenant;

const KIB: usize = 1 << 10;
/// Tenants that are remembered; one that is forgotten in the middle may hold more for a while.
const TENANTS: u64 = 4_096;
const REMEMBERED_FOR: Duration = Duration::from_secs(600);

/// A number of bytes that may be held.
#[derive(Debug)]
pub struct Room {
    all: Arc<Semaphore>,
    share: usize,
    shares: moka::sync::Cache<Tenant, Arc<Semaphore>>,
}

/// What one request holds, until it is dropped.
#[derive(Debug)]
pub struct Held {
    all: Arc<Semaphore>,
    share: Arc<Semaphore>,
    permits: Vec<OwnedSemaphorePermit>,
    kib: usize,
}

impl Room {
    /// Room for so many bytes, and for those of one tenant.
    pub fn new(bytes: usize, of_tenant: usize) -> Room {
        let kib = |bytes: usize| bytes.div_ceil(KIB).min(Semaphore::MAX_PERMITS);
        Room {
            all: Arc::new(Semaphore::new(kib(bytes))),
            share: kib(of_tenant),
            shares: moka::sync::Cache::builder().max_capacity(TENANTS).time_to_idle(REMEMBERED_FOR).build(),
        }
    }

    /// Nothing yet.
    pub fn enter(&self, tenant: Tenant) -> Held {
        let share = self.shares.get_with(tenant, || Arc::new(Semaphore::new(self.share)));
        Held { all: Arc::clone(&self.all), share, permits: Vec::new(), kib: 0 }
    }
}

impl Held {
    /// Holds a body that has `bytes` by now; false where there is no room.
    pub fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.div_ceil(KIB).saturating_sub(self.kib);
        if more == 0 {
            return true;
        }
        let Ok(permits) = u32::try_from(more) else { return false };
        let take = |from: &Arc<Semaphore>| Arc::clone(from).try_acquire_many_owned(permits).ok();
        let Some((share, all)) = take(&self.share).and_then(|share| Some((share, take(&self.all)?))) else {
            return false;
        };
        for permit in [share, all] {
            match self.permits.iter_mut().find(|held| Arc::ptr_eq(held.semaphore(), permit.semaphore())) {
                Some(held) => held.merge(permit),
                None => self.permits.push(permit),
            }
        }
        self.kib += more;
        true
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn there_is_so_much_for_all_and_for_each() {
        let room = Room::new(10 * KIB, 6 * KIB);
        let mut one = room.enter(Tenant(Uuid::from_u128(1)));
        assert!(one.grow_to(1) && one.grow_to(KIB) && one.grow_to(6 * KIB));
        assert!(!one.grow_to(6 * KIB + 1), "no more for this tenant");
        let mut other = room.enter(Tenant(Uuid::from_u128(2)));
        assert!(other.grow_to(4 * KIB) && !other.grow_to(5 * KIB), "no more for anybody");
        drop(one);
        assert!(other.grow_to(6 * KIB));
    }
}
