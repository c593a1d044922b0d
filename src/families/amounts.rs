//! Counters of money, in billionths of a US dollar: the recorder's counters have no fractions, and floats do not add up.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

static COSTS: Mutex<BTreeMap<String, i64>> = Mutex::new(BTreeMap::new());

/// Adds to what an upstream's calls cost.
pub fn add_cost(upstream: &str, nano_usd: i64) {
    // A counter never goes back.
    let nano_usd = nano_usd.max(0);
    let mut costs = lock();
    match costs.get_mut(upstream) {
        Some(sum) => *sum = sum.saturating_add(nano_usd),
        None => drop(costs.insert(upstream.to_owned(), nano_usd)),
    }
}

/// What each upstream's calls have cost in the life of this process.
pub fn costs() -> BTreeMap<String, i64> {
    lock().clone()
}

fn lock() -> MutexGuard<'static, BTreeMap<String, i64>> {
    COSTS.lock().unwrap_or_else(PoisonError::into_inner)
}
