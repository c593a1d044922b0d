//! How many requests a key may make: a bucket for each key that has a limit, in this process alone. Several replicas
//! together let through as many times the limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

const MINUTE: Duration = Duration::from_secs(60);
/// Buckets that are kept. One that was left alone for a minute is full again, and need not be.
const BUCKETS: u64 = 100_000;

/// A key has made as many requests as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimited {
    /// Requests within a minute.
    pub limit: u32,
    /// Seconds until the next one is let through.
    pub retry_after: u64,
}

#[derive(Clone)]
pub struct RateLimits(moka::sync::Cache<Uuid, Arc<Mutex<Bucket>>>);

/// A minute's requests at most, filled up evenly.
struct Bucket {
    left: f64,
    at: Instant,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits(moka::sync::Cache::builder().max_capacity(BUCKETS).time_to_idle(2 * MINUTE).build())
    }
}

impl RateLimits {
    pub fn take(&self, key: Uuid, limit: u32) -> Result<(), RateLimited> {
        self.take_at(key, limit, Instant::now())
    }

    fn take_at(&self, key: Uuid, limit: u32, now: Instant) -> Result<(), RateLimited> {
        let full = f64::from(limit.max(1));
        let bucket = self.0.get_with(key, || Arc::new(Mutex::new(Bucket { left: full, at: now })));
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let per_second = full / MINUTE.as_secs_f64();
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * per_second).min(full);
        bucket.at = now.max(bucket.at);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        // Between 1 and 60: the limit is at least one a minute.
        let retry_after = ((1.0 - bucket.left) / per_second).ceil().max(1.0) as u64;
        Err(RateLimited { limit, retry_after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_requests_at_once_then_one_after_the_other() {
        let (rates, key, now) = (RateLimits::default(), Uuid::from_u128(1), Instant::now());
        for _ in 0..6 {
            assert_eq!(rates.take_at(key, 6, now), Ok(()));
        }
        assert_eq!(rates.take_at(key, 6, now), Err(RateLimited { limit: 6, retry_after: 10 }));
        assert_eq!(rates.take_at(Uuid::from_u128(2), 6, now), Ok(()), "another key has its own");
        let later = now + Duration::from_millis(9_100);
        assert_eq!(rates.take_at(key, 6, later), Err(RateLimited { limit: 6, retry_after: 1 }));
        assert_eq!(rates.take_at(key, 6, now + Duration::from_millis(10_001)), Ok(()));
        let much_later = now + 100 * MINUTE;
        let taken = (0..20).filter(|_| rates.take_at(key, 6, much_later).is_ok()).count();
        assert_eq!(taken, 6, "no more than a minute's are saved up");
    }
}
