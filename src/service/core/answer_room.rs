//! Room for large answers: so many bytes are read, written and waiting to be taken at once, by all tenants and by one.
//! An answer for which there is none is refused before anything of it is read, instead of filling the memory with what
//! slow readers leave.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::service::core::error::{Result, ServiceError};
use crate::service::core::tenant::Tenant;

/// An answer of fewer bytes is not counted: it is gone before the next one is asked for.
pub const UNCOUNTED: usize = 256 << 10;
/// Of all answers that are counted; one larger answer is let through where there is no other.
const MOST: usize = 128 << 20;
/// Of those of one tenant, where it has more than one.
const MOST_OF_TENANT: usize = 64 << 20;
/// Seconds that a refused client is to wait.
const RETRY_AFTER: u64 = 1;

/// Whoever waits does so no longer, and looks again after so long.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    by_tenant: HashMap<Tenant, usize>,
}

/// Room that an answer has, until it is dropped.
#[derive(Debug)]
pub struct AnswerRoom {
    tenant: Tenant,
    bytes: usize,
}

fn with<T>(job: impl FnOnce(&mut Taken) -> T) -> T {
    let mut taken: MutexGuard<'_, Option<Taken>> = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    job(taken.get_or_insert_default())
}

impl AnswerRoom {
    /// Room for an answer of about so many bytes; `None` for one that is not counted.
    ///
    /// # Errors
    /// `TooManyBytes`: there is none now.
    pub fn take(tenant: Tenant, bytes: usize) -> Result<Option<AnswerRoom>> {
        if bytes <= UNCOUNTED {
            return Ok(None);
        }
        let is_taken = with(|taken| {
            let of_tenant = taken.by_tenant.get(&tenant).copied().unwrap_or(0);
            // One that is larger than a share has to be possible too, and one that is larger than all there is.
            let of_tenant_fits = of_tenant == 0 || of_tenant.saturating_add(bytes) <= MOST_OF_TENANT;
            let fits = taken.bytes == 0 || of_tenant_fits && taken.bytes.saturating_add(bytes) <= MOST;
            if fits {
                taken.bytes = taken.bytes.saturating_add(bytes);
                taken.by_tenant.insert(tenant, of_tenant.saturating_add(bytes));
            }
            fits
        });
        match is_taken {
            true => Ok(Some(AnswerRoom { tenant, bytes })),
            false => Err(ServiceError::TooManyBytes { retry_after: RETRY_AFTER }),
        }
    }

    /// As [`AnswerRoom::take`], for what was paid for already, by a change or a model's call: it waits for its room.
    ///
    /// # Errors
    /// `TooManyBytes`: there was none for long.
    pub async fn wait(tenant: Tenant, bytes: usize) -> Result<Option<AnswerRoom>> {
        let until = Instant::now() + LONGEST_WAIT;
        loop {
            match AnswerRoom::take(tenant, bytes) {
                Err(ServiceError::TooManyBytes { .. }) if Instant::now() < until => sleep(BETWEEN_LOOKS).await,
                taken => return taken,
            }
        }
    }

    /// So many of its bytes were taken by the client.
    pub fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        with(|taken| {
            taken.bytes = taken.bytes.saturating_sub(bytes);
            let left = taken.by_tenant.get(&self.tenant).map_or(0, |of_tenant| of_tenant.saturating_sub(bytes));
            match left {
                0 => taken.by_tenant.remove(&self.tenant),
                left => taken.by_tenant.insert(self.tenant, left),
            };
        });
    }
}

impl Drop for AnswerRoom {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// One test, because the room is the process's.
    #[test]
    fn room_is_bounded_for_one_tenant_and_for_all() {
        let [one, two, three] = [1, 2, 3].map(|n| Tenant(Uuid::from_u128(n)));
        assert!(AnswerRoom::take(one, UNCOUNTED).unwrap().is_none());
        let mut largest = AnswerRoom::take(one, 2 * MOST).unwrap().unwrap();
        assert!(AnswerRoom::take(two, 2 * UNCOUNTED).is_err(), "all is taken");
        largest.give_back(2 * MOST - MOST_OF_TENANT);
        assert!(AnswerRoom::take(one, 2 * UNCOUNTED).is_err(), "all that one tenant may have is taken");
        let second = AnswerRoom::take(two, MOST_OF_TENANT).unwrap();
        assert!(AnswerRoom::take(three, 2 * UNCOUNTED).is_err(), "all is taken by two");
        drop((largest, second));
        assert!(AnswerRoom::take(three, MOST).unwrap().is_some(), "one may be larger than a share");
        assert!(with(|taken| taken.bytes == 0 && taken.by_tenant.is_empty()), "nothing is left of it");
    }
}
