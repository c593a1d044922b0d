//! The places that there are for connections, and who makes room when they are taken.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{counter, gauge};

use super::activity::Activity;
use crate::families;

/// Places beside the usual ones, for connections that come when all of those are being answered.
const SPARE: usize = 64;

/// A bounded number of places.
#[derive(Debug)]
pub struct Places {
    usual: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Admitted {
    places: Arc<Places>,
    number: u64,
    activity: Arc<Activity>,
    is_spare: bool,
}

impl Places {
    pub fn new(usual: usize) -> Places {
        Places { usual, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection: a free one, that of the connection which has waited longest for a request, or a
    /// spare one. `None`: there is none, because all are being answered.
    pub fn admit(self: &Arc<Self>) -> Option<Admitted> {
        let mut taken = self.taken();
        let is_full = taken.connections.len() >= self.usual;
        let is_spare = is_full && !taken.evict();
        if is_spare && taken.connections.len() >= self.usual + SPARE {
            return None;
        }
        let activity = Arc::new(Activity::new());
        taken.next += 1;
        let number = taken.next;
        taken.connections.insert(number, Arc::clone(&activity));
        gauge!(families::HTTP_CONNECTIONS).set(taken.connections.len() as f64);
        Some(Admitted { places: Arc::clone(self), number, activity, is_spare })
    }

    /// Ends the connection that has waited longest for a request.
    pub fn evict(&self) {
        self.taken().evict();
    }
}

impl Taken {
    /// True if there was one. Its place is free at once: it has nothing left to do but to close.
    fn evict(&mut self) -> bool {
        let waiting = self.connections.iter().filter_map(|(number, one)| Some((one.waiting_since()?, *number)));
        let Some((_, number)) = waiting.min() else { return false };
        if let Some(activity) = self.connections.remove(&number) {
            activity.evicted.cancel();
            counter!(families::HTTP_EVICTED).increment(1);
        }
        true
    }
}

impl Admitted {
    /// Returns true if it is a place beyond the usual number.
    pub fn is_spare(&self) -> bool {
        self.is_spare
    }

    pub fn place(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.connections.remove(&self.number);
        gauge!(families::HTTP_CONNECTIONS).set(taken.connections.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_has_waited_longest_makes_room_and_who_is_answered_does_not() {
        let places = Arc::new(Places::new(2));
        let (first, second) = (places.admit().unwrap(), places.admit().unwrap());
        let (answered, _) = first.place().busy();
        let third = places.admit().unwrap();
        assert!(second.place().evicted.is_cancelled());
        assert!(!first.place().evicted.is_cancelled() && !third.is_spare());
        let (also, _) = third.place().busy();
        drop(second);
        let spare: Vec<Admitted> = std::iter::from_fn(|| {
            let admitted = places.admit()?;
            std::mem::forget(admitted.place().busy());
            Some(admitted)
        })
        .collect();
        assert_eq!(spare.len(), SPARE);
        assert!(spare.iter().all(Admitted::is_spare));
        drop((answered, also));
        assert!(!places.admit().unwrap().is_spare(), "an answered connection makes room again");
        assert!(first.place().evicted.is_cancelled());
    }
}
