//! What entries say, for a line about each: read for a page's entries alone, and not of those that are large.

use std::collections::HashMap;

use serde_json::Value;
use uuid::Uuid;

use crate::domain::model::message::{Message, Role};
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::offload::offload;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::message_of;
use crate::store::entries::{self, EntryPlace, StoredEntry};
use crate::store::path::{self, Segment};

/// Entries with more bytes than this are not read for a line.
const ENTRY_BYTES: i64 = 64 << 10;
/// All that are read have so many bytes together at most.
const ALL_BYTES: i64 = 2 << 20;

impl Queries {
    /// The messages of entries of one path, in the native format, by id; of a compaction, its summary. What is not on
    /// hand for little (over 64 KiB, or beyond 2 MiB together) is left out, as is what says nothing.
    pub async fn openings(&self, tenant: Tenant, session_id: Uuid, ids: &[Uuid]) -> Result<HashMap<Uuid, Value>> {
        let ids: Vec<(i64, Uuid)> = ids.iter().map(|id| (clock::seq_of(*id), *id)).collect();
        let mut connection = self.pool.acquire().await?;
        let sessions = path::sessions(&mut connection, tenant.0, session_id).await?;
        let mut places = entries::places(&mut *connection, tenant.0, &sessions, &ids).await?;
        places.sort_by_key(|place| place.depth);
        let sizes = entries::sizes(&mut *connection, tenant.0, &path::join(places.iter().map(segment))).await?;
        let sizes: HashMap<i64, i64> = sizes.into_iter().map(|size| (size.place, size.bytes)).collect();
        let mut left = ALL_BYTES;
        places.retain(|place| {
            let bytes = sizes.get(&place.depth).copied().unwrap_or(i64::MAX);
            let is_read = bytes <= ENTRY_BYTES.min(left);
            left -= if is_read { bytes } else { 0 };
            is_read
        });
        let stored = entries::whole(&mut connection, tenant.0, &path::join(places.iter().map(segment))).await?;
        drop(connection);
        let bytes = stored.iter().map(|one| one.entry.item.len()).sum();
        offload(bytes, move || stored.iter().filter_map(said).collect()).await
    }
}

fn segment(place: &EntryPlace) -> Segment {
    Segment { session_id: place.session_id, branch: place.branch, from: place.depth, to: place.depth }
}

fn said(stored: &StoredEntry) -> Option<(Uuid, Value)> {
    let summary = stored.record.as_deref().and_then(|record| record.summary.clone());
    let message = match summary {
        Some(text) => Some(Message::text(Role::CompactionSummary, text)),
        // An item that can't be read any more has no line here; its own page says why.
        None => message_of(stored).ok().flatten(),
    };
    Some((stored.entry.head.id, serde_json::to_value(message?).ok()?))
}
