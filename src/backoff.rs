//! Exponential back-off with jitter.

use std::time::Duration;

/// `base` doubled for every failure after the first, at most `max`. `failures` counts from 1.
pub fn doubled(base: Duration, max: Duration, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(30);
    base.saturating_mul(1 << doublings).min(max)
}

/// `pause`, give or take a quarter, so that those who wait do not move in step.
pub fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.75..1.25))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_its_bound() {
        let (base, max) = (Duration::from_secs(1), Duration::from_secs(60));
        for (failures, seconds) in [(0, 1.0), (1, 1.0), (2, 2.0), (5, 16.0), (7, 60.0), (u32::MAX, 60.0)] {
            let pause = jittered(doubled(base, max, failures)).as_secs_f64();
            assert!((seconds * 0.75..seconds * 1.25).contains(&pause), "{failures}: {pause}");
        }
    }
}
