//! Large rows are read and written where they hold up no other request: the thread that is at it hands the others that it
//! answers to another thread first.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Up to here, handing over takes longer than the work.
const SMALL_BYTES: usize = 64 << 10;

/// Does a job of about so much work, in bytes of text. Nothing is handed over where one thread does all.
pub fn in_place<T>(load: usize, job: impl FnOnce() -> T) -> T {
    let shares = || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if load > SMALL_BYTES && shares() { block_in_place(job) } else { job() }
}
