//! Visible part of a path: what its context shows, told from the newest compaction alone.

use std::collections::HashSet;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::model::compaction::{ElidedPart, Elision};
use crate::service::core::error::Result;
use crate::service::core::head::{Head, Newest};
use crate::service::core::tenant::Tenant;
use crate::store::entries;
use crate::store::path::{self, Segment};

pub(super) struct Visible {
    /// `None`: the context is the whole path.
    newest: Option<Newest>,
    shortened: HashSet<(Uuid, String, ElidedPart)>,
}

impl Visible {
    /// At the leaf of a head, whose path this is.
    pub async fn load(connection: &mut PgConnection, tenant: Tenant, head: &Head, path: &[Segment]) -> Result<Visible> {
        let newest = head.state.newest.clone();
        let Some(depth) = newest.as_ref().map(|newest| newest.depth) else {
            return Ok(Visible { newest, shortened: HashSet::new() });
        };
        let stored = entries::heads(connection, tenant.0, &path::clip(path, &[(depth, depth)])).await?;
        let record = stored.into_iter().next().and_then(|stored| stored.record);
        let elisions = record.map(|record| record.elisions).unwrap_or_default();
        let key = |one: Elision| (one.entry_id, one.tool_call_id, one.part);
        Ok(Visible { newest, shortened: elisions.into_iter().map(key).collect() })
    }

    /// Returns true if the context shows the message at this depth, whole or shortened.
    pub fn shows(&self, depth: i64) -> bool {
        let Some(newest) = &self.newest else { return true };
        let kept_from = newest.first_kept_depth.unwrap_or(newest.depth);
        let stands = depth != newest.depth && (depth >= kept_from || newest.anchor_depths.contains(&depth));
        stands && !newest.folds.iter().any(|shown| shown.fold.hides(depth))
    }

    pub fn shortens(&self, entry_id: Uuid, call_id: &str, part: ElidedPart) -> bool {
        !self.shortened.is_empty() && self.shortened.contains(&(entry_id, call_id.to_owned(), part))
    }
}
