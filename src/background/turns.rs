//! How long a thread's turns on a processor are. Linux (6.12 and newer) lets a thread that asks for short ones have its first
//! turn sooner when it wakes up: it does not wait for the end of another thread's.
#![allow(unsafe_code)]

use nix::libc;

/// In nanoseconds; the least that Linux gives.
const SHORT: u64 = 100_000;
/// Stands for the usual length.
const USUAL: u64 = 0;

/// For threads that answer requests, which need little at a time.
pub fn take_short_turns() {
    set(SHORT);
}

/// For a thread that was started by one with short turns, whose length it has inherited.
pub fn take_usual_turns() {
    set(USUAL);
}

fn set(nanoseconds: u64) {
    let mut attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let attributes: *mut libc::sched_attr = &raw mut attributes;
    // SAFETY: both calls get this thread (0) and a structure of the size that they are told, which outlives them; the kernel
    // reads and writes nothing else.
    let done = unsafe {
        let length = u64::from((*attributes).size);
        libc::syscall(libc::SYS_sched_getattr, 0, attributes, length, 0) == 0 && {
            (*attributes).sched_runtime = nanoseconds;
            libc::syscall(libc::SYS_sched_setattr, 0, attributes, 0) == 0
        }
    };
    if !done {
        tracing::debug!("a thread's turns stay as they are");
    }
}
