//! The places from which a context rests on a compaction, and what it left there.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::context::timeline::{Bend, base_of};
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::tokens::accounting::{Base, Snapshot};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::tenant::Tenant;
use crate::store::entries;
use crate::store::path::{self, Segment};
use crate::store::timeline::{JobRow, MarkRow};

/// Records that are read of compactions that left no snapshot: those that came with a transcript, and reverts.
const MOST_RECORDS: usize = 200;

/// The compactions of a path, ascending, each with what it left.
pub(super) async fn bends(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    compactions: &[&MarkRow],
    jobs: &[JobRow],
    head: &Head,
) -> Result<Vec<Bend>> {
    let snapshots = snapshots_after(jobs);
    let bare: Vec<&MarkRow> = compactions.iter().copied().filter(|mark| !snapshots.contains_key(&mark.id)).collect();
    let bare = bare.get(bare.len().saturating_sub(MOST_RECORDS)..).unwrap_or_default();
    let records = records(connection, tenant, path, bare).await?;
    let kept = kept_before(connection, tenant, path, &records).await?;
    let mut bends: Vec<Bend> = Vec::with_capacity(compactions.len());
    let mut places: HashMap<Uuid, usize> = HashMap::new();
    for mark in compactions {
        let record = records.get(&mark.id);
        let reverted = record.and_then(|record| record.reverts);
        let base = match (reverted, snapshots.get(&mark.id)) {
            // What was in force before the one that it takes back, and all that came since.
            (Some(reverted), _) => places
                .get(&reverted)
                .and_then(|place| bends.get(place.checked_sub(1)?))
                .map(|bend| bend.base)
                .unwrap_or_default(),
            (None, Some(snapshot)) => base_of(snapshot, mark.path_tokens, mark.path_result_tokens),
            (None, None) => stated(mark, record.and_then(|record| kept.get(&record.first_kept_entry_id))),
        };
        places.insert(mark.id, bends.len());
        bends.push(Bend { depth: mark.depth, base });
    }
    // Of the newest one the session itself knows.
    if let (Some(last), Some(newest)) = (bends.last_mut(), &head.state.newest)
        && last.depth == newest.depth
    {
        last.base = head.state.account.base;
    }
    Ok(bends)
}

/// What a compaction left of which only the entry is known: its summary and, where that is on the path, what it kept.
fn stated(mark: &MarkRow, kept: Option<&(i64, i64)>) -> Base {
    let (tokens, results) = kept.copied().unwrap_or((mark.path_tokens, mark.path_result_tokens));
    Base {
        path_tokens: mark.path_tokens,
        path_result_tokens: mark.path_result_tokens,
        summary: i64::from(mark.tokens),
        tool_results: mark.path_result_tokens - results,
        messages: (mark.path_tokens - tokens) - (mark.path_result_tokens - results),
        ..Base::default()
    }
}

/// The snapshots that compactions left, by the entry of the compaction. One that can't be read is none.
fn snapshots_after(jobs: &[JobRow]) -> HashMap<Uuid, Snapshot> {
    let left = |job: &JobRow| Some((job.entry_id()?, serde_json::from_str(job.snapshot_after.as_deref()?).ok()?));
    jobs.iter().filter_map(left).collect()
}

async fn records(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    marks: &[&MarkRow],
) -> Result<HashMap<Uuid, Box<CompactionRecord>>> {
    let depths: Vec<(i64, i64)> = marks.iter().map(|mark| (mark.depth, mark.depth)).collect();
    let stored = entries::heads(connection, tenant.0, &path::clip(path, &depths)).await?;
    Ok(stored.into_iter().filter_map(|stored| Some((stored.entry.head.id, stored.record?))).collect())
}

/// The path's totals up to what these records keep, by the id that they name it with.
async fn kept_before(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    records: &HashMap<Uuid, Box<CompactionRecord>>,
) -> Result<HashMap<String, (i64, i64)>> {
    let named: Vec<&str> = records.values().map(|record| record.first_kept_entry_id.as_str()).collect();
    let ids = named.iter().filter_map(|name| Uuid::parse_str(name).ok());
    let ids: Vec<(i64, Uuid)> = ids.map(|id| (clock::seq_of(id), id)).collect();
    let sources: Vec<String> = named.iter().filter(|name| !name.is_empty()).map(|name| (*name).to_owned()).collect();
    let sessions = path::sessions_of(path);
    let by_id = entries::places(&mut *connection, tenant.0, &sessions, &ids).await?;
    let by_source = entries::places_by_source(&mut *connection, tenant.0, &sessions, &sources).await?;
    let by_id = by_id.into_iter().map(|place| (place.id.to_string(), place));
    let found = by_source.into_iter().chain(by_id);
    let on_path = found.filter(|(_, place)| path::holds(path, place.session_id, place.branch, place.depth));
    // Itself included: one message more or less of what is kept.
    Ok(on_path.map(|(name, place)| (name, (place.path_tokens, place.path_result_tokens))).collect())
}
