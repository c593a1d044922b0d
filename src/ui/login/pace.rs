//! How fast keys may be tried, by all together. No key can be guessed: this keeps the database from being asked.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong keys at once, and how long each of them counts.
const AT_ONCE: u32 = 20;
const EACH: Duration = Duration::from_millis(500);

/// Until when the wrong keys of late are counted.
#[derive(Debug, Default)]
pub struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// Tells if another key may be tried.
    pub fn admits(&self) -> bool {
        self.admits_at(Instant::now())
    }

    /// A key was wrong.
    pub fn failed(&self) {
        self.failed_at(Instant::now());
    }

    fn admits_at(&self, now: Instant) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_none_or(|until| until.saturating_duration_since(now) < EACH * AT_ONCE)
    }

    fn failed_at(&self, now: Instant) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(until.unwrap_or(now).max(now) + EACH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_keys_are_bounded_and_forgotten() {
        let (pace, now) = (Pace::default(), Instant::now());
        for _ in 0..AT_ONCE {
            assert!(pace.admits_at(now));
            pace.failed_at(now);
        }
        assert!(!pace.admits_at(now));
        assert!(pace.admits_at(now + EACH * 2));
    }
}
