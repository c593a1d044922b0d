//! A handed over compaction in the list of the session that keeps it.

use uuid::Uuid;

use super::HandedCompaction;
use crate::domain::compaction::guard::savings_pct;
use crate::domain::compaction::result::CompactionResult;
use crate::service::compaction::commit::json_text;
use crate::service::compaction::commit::report::observe;
use crate::service::compaction::{CompactRequest, Status, Trigger};
use crate::service::core::clock;
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::transcript::Put;
use crate::store::compactions::{self, Ending, NewCompaction};
use crate::store::{transaction, upstream_calls};

impl Service {
    /// Notes a compaction that was handed over and then stored with its conversation. One whose session has gone meanwhile
    /// is not noted.
    ///
    /// # Errors
    /// The database's.
    pub async fn note_handover(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        handed: HandedCompaction,
        put: &Put,
    ) -> Result<()> {
        let HandedCompaction { id, started, before, result } = handed;
        let after = put.snapshot.tokens;
        let result = CompactionResult {
            entry_id: put.newest,
            tokens_after: after,
            tokens_saved: before.tokens.saturating_sub(after),
            savings_pct: savings_pct(before.tokens, after),
            final_state: put.snapshot.state,
            anti_thrash: put.snapshot.anti_thrash.clone(),
            ..result
        };
        let (text, snapshots) = (json_text(&result)?, [json_text(&before)?, json_text(&put.snapshot)?]);
        let new = NewCompaction {
            id,
            session_id,
            trigger: Trigger::Manual.into_str(),
            strategy: result.strategy_used.into_str(),
            request: json_text(&CompactRequest::default())?,
            snapshot: String::new(),
            now: started,
        };
        let status = Status::Succeeded.into_str();
        let ending = Ending {
            status,
            strategy: None,
            error: None,
            result: Some(&text),
            snapshots: Some((&snapshots[0], &snapshots[1])),
            now: clock::now(),
        };
        let mut transaction = transaction::begin(self.pool()).await?;
        if self.inner.heads.lock(&mut *transaction, tenant, session_id).await.optional()?.is_none() {
            return Ok(());
        }
        compactions::insert_ended(&mut *transaction, tenant.0, &new, &ending).await?;
        compactions::note_figures(&mut *transaction, tenant.0, id, &result).await?;
        upstream_calls::adopt(&mut *transaction, tenant.0, session_id, id).await?;
        transaction.commit().await?;
        observe(&result, Trigger::Manual, status);
        Ok(())
    }
}
