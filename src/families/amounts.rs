//! Counters of amounts, which are no whole numbers: the recorder's counters are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

static COSTS: Mutex<BTreeMap<String, f64>> = Mutex::new(BTreeMap::new());

/// Adds to what an upstream's calls cost.
pub fn add_cost(upstream: &str, usd: f64) {
    if !(usd.is_finite() && usd >= 0.0) {
        return;
    }
    let mut costs = lock();
    match costs.get_mut(upstream) {
        Some(sum) => *sum += usd,
        None => drop(costs.insert(upstream.to_owned(), usd)),
    }
}

/// What each upstream's calls have cost in the life of this process.
pub fn costs() -> BTreeMap<String, f64> {
    lock().clone()
}

fn lock() -> MutexGuard<'static, BTreeMap<String, f64>> {
    COSTS.lock().unwrap_or_else(PoisonError::into_inner)
}
