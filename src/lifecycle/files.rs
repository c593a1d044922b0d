//! How many files the process may have open: connections are files.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Kept for the embedded database, logs, upstreams, hooks and streams of notifications.
const OTHERS: u64 = 128;

/// Raises the limit as far as the system lets this process, and gives what there is for connections of all kinds.
pub fn raise_limit() -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        if soft < hard {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        }
        Ok(hard)
    });
    let limit = limit.unwrap_or_else(|error| {
        tracing::warn!(%error, "the limit of open files could not be raised");
        getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft)
    });
    usize::try_from(limit.saturating_sub(OTHERS).max(limit / 2)).unwrap_or(usize::MAX)
}
