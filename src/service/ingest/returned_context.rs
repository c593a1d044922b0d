//! The context that a call leaves, in the answer that says what it has stored.

use metrics::counter;
use uuid::Uuid;

use crate::domain::model::format::Format;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::CompactionRef;
use crate::service::core::error::Result;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::append::{Append, Appended};
use crate::service::ingest::transcript::{Put, PutTranscript};
use crate::service::rebuild::{Context, Rebuild, Rebuilt};
use crate::store::compactions;

/// The part of an answer that is about the leaf.
struct LeafAnswer<'a> {
    leaf_id: &'a mut Option<Uuid>,
    snapshot: &'a mut Snapshot,
    compaction: &'a mut Option<CompactionRef>,
}

impl Service {
    /// Appends. Where the context is wanted in a format, it comes with the answer, and both are of the same moment.
    ///
    /// # Errors
    /// Those of [`Service::append`]; those of [`Service::rebuild`] once the items are stored.
    pub async fn append_returning(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        append: Append,
        wanted: Option<Format>,
    ) -> Result<(Appended, Option<Context>)> {
        let mut appended = self.append(tenant, session_id, append).await?;
        count(appended.entries.len());
        let Appended { leaf_id, snapshot, compaction, .. } = &mut appended;
        let answer = LeafAnswer { leaf_id, snapshot, compaction };
        let context = self.context_left(tenant, session_id, wanted, answer).await?;
        Ok((appended, context))
    }

    /// Takes a whole transcript, and answers as [`Service::append_returning`] does.
    ///
    /// # Errors
    /// Those of [`Service::put_transcript`]; those of [`Service::rebuild`] once what is new is stored.
    pub async fn put_transcript_returning(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        put: PutTranscript,
        wanted: Option<Format>,
    ) -> Result<(Put, Option<Context>)> {
        let mut put = self.put_transcript(tenant, session_id, put).await?;
        count(put.appended);
        let Put { leaf_id, snapshot, compaction, .. } = &mut put;
        let answer = LeafAnswer { leaf_id, snapshot, compaction };
        let context = self.context_left(tenant, session_id, wanted, answer).await?;
        Ok((put, context))
    }

    /// The leaf's context, and the answer brought to its moment: making the context fit may have moved the leaf.
    async fn context_left(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        wanted: Option<Format>,
        answer: LeafAnswer<'_>,
    ) -> Result<Option<Context>> {
        let Some(format) = wanted else { return Ok(None) };
        let rebuild = Rebuild { format, leaf_id: None, max_tokens: None };
        let Rebuilt { context, snapshot, relieved } = self.rebuild_at(tenant, session_id, rebuild).await?;
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

/// Counts one call whose items have landed.
fn count(entries: usize) {
    counter!("contextd_appends_total").increment(1);
    counter!("contextd_entries_appended_total").increment(entries as u64);
}
