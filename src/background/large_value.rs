//! Values of many parts: to free them takes about as long as to go through them, and so does not happen on a thread that
//! answers requests.

use std::ops::{Deref, DerefMut};

use super::{let_go, stands_back};

/// Up to here, handing over takes longer than to free it.
const SMALL_BYTES: usize = 256 << 10;

/// A value that may be one of many parts.
pub trait FreeingLoad: Default + Send + 'static {
    /// The work of freeing it, in bytes as all work is counted. The length of a text makes no work, the number of texts does.
    fn freeing_load(&self) -> usize;
}

/// A value that is freed where it holds nobody up, wherever it goes out of use.
#[derive(Debug, Clone, Default)]
pub struct LargeValue<T: FreeingLoad>(T);

impl<T: FreeingLoad> From<T> for LargeValue<T> {
    fn from(value: T) -> Self {
        LargeValue(value)
    }
}

impl<T: FreeingLoad> Deref for LargeValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FreeingLoad> DerefMut for LargeValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: FreeingLoad> Drop for LargeValue<T> {
    fn drop(&mut self) {
        if !stands_back() && self.0.freeing_load() > SMALL_BYTES {
            let_go(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::{self, ThreadId};

    use super::*;
    use crate::background::beside;

    #[derive(Default)]
    struct Watched {
        load: usize,
        told: Option<mpsc::Sender<ThreadId>>,
    }

    impl FreeingLoad for Watched {
        fn freeing_load(&self) -> usize {
            self.load
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            if let Some(told) = &self.told {
                told.send(thread::current().id()).unwrap();
            }
        }
    }

    #[test]
    fn what_takes_long_to_free_is_freed_elsewhere() {
        let (told, freed) = mpsc::channel();
        let large = |load| LargeValue::from(Watched { load, told: Some(told.clone()) });
        let here = thread::current().id();
        drop(large(SMALL_BYTES));
        assert_eq!(freed.recv().unwrap(), here, "a small one at once");
        drop(large(SMALL_BYTES + 1));
        assert_ne!(freed.recv().unwrap(), here);
        let there = beside(0, || {
            drop(large(SMALL_BYTES + 1));
            thread::current().id()
        });
        assert_eq!(freed.recv().unwrap(), there, "who stands back frees it at once");
    }
}
