//! The context that a call leaves, in the answer that says what it has stored.

use uuid::Uuid;

use crate::domain::model::format::Format;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::CompactionRef;
use crate::service::core::error::Result;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::rebuild::{Context, Rebuild, Rebuilt};
use crate::store::compactions;

/// The part of an answer that is about the leaf.
pub(super) struct LeafAnswer<'a> {
    pub leaf_id: &'a mut Option<Uuid>,
    pub snapshot: &'a mut Snapshot,
    pub compaction: &'a mut Option<CompactionRef>,
}

impl Service {
    /// The leaf's context, and the answer brought to its moment: making the context fit may have moved the leaf.
    pub(super) async fn context_left(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        wanted: Option<Format>,
        answer: LeafAnswer<'_>,
    ) -> Result<Option<Context>> {
        let Some(format) = wanted else { return Ok(None) };
        let rebuild = Rebuild::of_leaf(format);
        let Rebuilt { context, snapshot, relieved } = self.rebuild_at(tenant, session_id, rebuild, true).await?;
        if relieved.is_some() {
            *answer.compaction = relieved;
        } else if let Some(started) = answer.compaction.as_mut().filter(|_| *answer.leaf_id != context.leaf_id) {
            // A worker was faster than this call.
            let status = compactions::status(self.pool(), tenant.0, started.id).await?;
            started.status = status.as_deref().and_then(|word| word.parse().ok()).unwrap_or(started.status);
        }
        (*answer.leaf_id, *answer.snapshot) = (context.leaf_id, snapshot);
        Ok(Some(context))
    }
}
