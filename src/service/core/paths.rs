//! Paths kept in memory between two rebuilds, so that the next one reads only what came since.
//!
//! An entry's words never change, and its counts change only with the estimator, which is part of the key. Whether the
//! session is still there, and where its leaf is, the database is asked every time.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::settings::Estimator;
use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::store::entries::{self, StoredEntry};
use crate::store::path::Segment;

/// Of all paths together.
const CACHED_BYTES: u64 = 24 << 20;
/// A longer path is read anew every time: it would push out a hundred others.
const PATH_BYTES: usize = 4 << 20;
const CACHED_FOR: Duration = Duration::from_secs(120);
/// Bytes that an entry takes beside its item, about.
const ENTRY_BYTES: usize = 512;
/// The same for a call or a result of its shape.
const CALL_BYTES: usize = 96;

type Run = Arc<Vec<Arc<StoredEntry>>>;

/// Where a run of entries begins; it has one entry for every depth from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Start {
    tenant: Tenant,
    estimator: Estimator,
    session_id: Uuid,
    branch: i32,
    depth: i64,
}

/// Runs of entries by where they begin. A view has a few: its anchors and its tail.
pub struct PathCache {
    runs: moka::sync::Cache<Start, Run>,
}

/// The bytes of a path.
#[derive(Debug, Clone, Copy, Default)]
pub struct PathBytes {
    pub known: usize,
    pub unread: usize,
}

impl Default for PathCache {
    fn default() -> Self {
        let weight = |_: &Start, run: &Run| u32::try_from(weight(run)).unwrap_or(u32::MAX);
        let runs = moka::sync::Cache::builder().weigher(weight).max_capacity(CACHED_BYTES).time_to_idle(CACHED_FOR);
        PathCache { runs: runs.build() }
    }
}

impl PathCache {
    /// The whole entries of a path's segments, in path order.
    pub async fn load(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        estimator: Estimator,
        segments: &[Segment],
    ) -> Result<Vec<Arc<StoredEntry>>> {
        let known: Vec<Run> = segments.iter().map(|segment| self.known(start(tenant, estimator, segment))).collect();
        let missing: Vec<Segment> =
            segments.iter().zip(&known).filter_map(|(segment, run)| rest(segment, run)).collect();
        let read = entries::whole(connection, tenant.0, &missing).await?;
        let mut read = read.into_iter().map(Arc::new).peekable();
        let mut path = Vec::new();
        for (segment, run) in segments.iter().zip(known) {
            let wanted = length(segment);
            if run.len() >= wanted {
                path.extend(run.iter().take(wanted).cloned());
                continue;
            }
            let mut longer = run.to_vec();
            while let Some(entry) = read.next_if(|entry| longer.len() < wanted && holds(segment, entry)) {
                longer.push(entry);
            }
            path.extend(longer.iter().cloned());
            self.keep(start(tenant, estimator, segment), length(segment), longer);
        }
        Ok(path)
    }

    /// How much [`PathCache::load`] would give, and have to read.
    pub async fn measure(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        estimator: Estimator,
        segments: &[Segment],
    ) -> Result<PathBytes> {
        let mut bytes = PathBytes::default();
        let mut missing = Vec::new();
        for segment in segments {
            let run = self.known(start(tenant, estimator, segment));
            bytes.known += weight(run.get(..length(segment)).unwrap_or(&run));
            missing.extend(rest(segment, &run));
        }
        bytes.unread = usize::try_from(entries::bytes(connection, tenant.0, &missing).await?).unwrap_or(usize::MAX);
        Ok(bytes)
    }

    fn known(&self, start: Start) -> Run {
        self.runs.get(&start).unwrap_or_default()
    }

    /// A segment that was read with a gap (its session is being erased) is not kept.
    fn keep(&self, start: Start, length: usize, run: Vec<Arc<StoredEntry>>) {
        if run.len() == length && weight(&run) <= PATH_BYTES {
            self.runs.insert(start, Arc::new(run));
        }
    }
}

fn start(tenant: Tenant, estimator: Estimator, segment: &Segment) -> Start {
    Start { tenant, estimator, session_id: segment.session_id, branch: segment.branch, depth: segment.from }
}

fn length(segment: &Segment) -> usize {
    usize::try_from(segment.to - segment.from + 1).unwrap_or(0)
}

/// Returns the part of a segment that lies behind a run. `None`: nothing does.
fn rest(segment: &Segment, run: &Run) -> Option<Segment> {
    let from = segment.from + i64::try_from(run.len()).unwrap_or(i64::MAX);
    (from <= segment.to).then_some(Segment { from, ..*segment })
}

fn holds(segment: &Segment, stored: &StoredEntry) -> bool {
    let depth = stored.entry.head.depth;
    stored.session_id == segment.session_id
        && stored.branch == segment.branch
        && (segment.from..=segment.to).contains(&depth)
}

fn weight(run: &[Arc<StoredEntry>]) -> usize {
    let calls = |stored: &StoredEntry| stored.entry.head.shape.calls.len() + stored.entry.head.shape.results.len();
    run.iter().map(|stored| stored.entry.item.len() + ENTRY_BYTES + CALL_BYTES * calls(stored)).sum()
}
