//! Reading the items of a long path without holding them all: a stretch at a time, each let go before the next.

use futures::TryStreamExt;
use futures::stream::BoxStream;
use sqlx::PgConnection;

use crate::service::core::error::Result;
use crate::service::core::offload::aside;
use crate::service::core::tenant::Tenant;
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Segment};

/// A stretch ends where it is this large or this long.
const BYTES: usize = 1 << 20;
const ENTRIES: usize = 500;

/// Takes every whole entry of these segments, in path order, into `state`. The taking leaves the async threads.
pub(crate) async fn fold<S: Send + 'static>(
    connection: &mut PgConnection,
    tenant: Tenant,
    segments: &[Segment],
    mut state: S,
    take: fn(&mut S, &StoredEntry) -> Result<()>,
) -> Result<S> {
    for portion in path::portions(segments) {
        state = fold_all(entries::each(&mut *connection, tenant.0, &portion), state, take).await?;
    }
    Ok(state)
}

/// As [`fold`], of the entries that make calls.
pub(crate) async fn fold_calls<S: Send + 'static>(
    connection: &mut PgConnection,
    tenant: Tenant,
    segments: &[Segment],
    mut state: S,
    take: fn(&mut S, &StoredEntry) -> Result<()>,
) -> Result<S> {
    for portion in path::portions(segments) {
        state = fold_all(entries::with_calls(&mut *connection, tenant.0, &portion, None), state, take).await?;
    }
    Ok(state)
}

/// Takes in a stream of entries.
async fn fold_all<S: Send + 'static>(
    mut entries: BoxStream<'_, sqlx::Result<StoredEntry>>,
    mut state: S,
    take: fn(&mut S, &StoredEntry) -> Result<()>,
) -> Result<S> {
    loop {
        let stretch = next(&mut entries).await?;
        if stretch.is_empty() {
            return Ok(state);
        }
        let job = move || -> Result<S> {
            // By value: an entry is let go as soon as it is taken in.
            stretch.into_iter().try_for_each(|stored| take(&mut state, &stored))?;
            Ok(state)
        };
        state = aside(job).await??;
    }
}

async fn next(entries: &mut BoxStream<'_, sqlx::Result<StoredEntry>>) -> Result<Vec<StoredEntry>> {
    let mut stretch = Vec::new();
    let mut bytes = 0;
    while bytes < BYTES && stretch.len() < ENTRIES {
        let Some(stored) = entries.try_next().await? else { break };
        bytes += stored.entry.item.len();
        stretch.push(stored);
    }
    Ok(stretch)
}
