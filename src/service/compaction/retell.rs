//! Where an edit changes what a compaction covers or shows shorter, the compaction falls: it is told again from the new
//! path, by code, before anything of it is handed out. It stays the same compaction: no guard counts it and no list has it twice.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::model::strategy::Strategy;
use crate::service::compaction::ahead::save;
use crate::service::compaction::carry::root_of;
use crate::service::compaction::commit::draft::draft;
use crate::service::compaction::commit::entry::{advance, item_of, new_branch, rest};
use crate::service::compaction::commit::{CommitThreshold, Evaluation, evaluate, newest_behind, write_head};
use crate::service::compaction::committing::committing;
use crate::service::compaction::force_fit::Fitted;
use crate::service::compaction::job::{CompactRequest, Trigger};
use crate::service::compaction::request::NewCompactionJob;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;

/// How often a leaf that moves on meanwhile is planned for.
const TRIES: u32 = 3;

impl Service {
    /// Tells the record of a fallen compaction again. True: the leaf is another one now.
    ///
    /// # Errors
    /// `NotFound`; the database's.
    pub(crate) async fn retell(&self, tenant: Tenant, session_id: Uuid) -> Result<bool> {
        for _ in 0..TRIES {
            let head = self.inner.heads.read(self.pool(), tenant, session_id).await?;
            let Some(fallen) = head.state.retell.filter(|_| head.is_to_retell()) else { return Ok(false) };
            let fitted = self.plan_again(tenant, &head, fallen).await?;
            if let Some(told) = committing(self.put_retold(tenant, &head, fitted)).await? {
                return Ok(told);
            }
        }
        Ok(false)
    }

    /// Has a model write its version in the background, where one is to write summaries. The built-in writer would only
    /// say the same again.
    async fn ask_model(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        first_kept: Uuid,
    ) -> Result<()> {
        if !head.prices.asks_model || !head.settings.enabled {
            return Ok(());
        }
        let strategy = Strategy::LlmSummarize;
        let request = CompactRequest {
            strategy: Some(strategy),
            first_kept_entry_id: Some(first_kept),
            retells: true,
            ..CompactRequest::default()
        };
        let new = NewCompactionJob { trigger: Trigger::Auto, strategy, delay: Duration::ZERO, is_urgent: false };
        match self.enqueue(connection, tenant, head, new, &request).await {
            Ok(_) | Err(ServiceError::QueueFull { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes what was told again behind the leaf. `None`: the leaf has moved meanwhile.
    async fn put_retold(&self, tenant: Tenant, planned_at: &Head, fitted: Option<Fitted>) -> Result<Option<bool>> {
        let session_id = planned_at.session_id;
        let (mut transaction, _, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        let Some(fallen) = head.state.retell.filter(|_| head.row.leaf_id == planned_at.row.leaf_id) else {
            return Ok(if head.state.retell.is_none() { Some(false) } else { None });
        };
        head.state.retell = None;
        let told = fitted.and_then(|fitted| {
            let draft = draft(&fitted.work, &fitted.outcome);
            let evaluated = evaluate(&head, &fitted.work, &draft, CommitThreshold::NoGrowth);
            evaluated.refused.is_none().then_some((fitted, evaluated))
        });
        let Some((fitted, Evaluation { mut entry, mut state, .. })) = told else {
            save(&mut transaction, tenant, &mut head).await?;
            transaction.commit().await?;
            return Ok(Some(false));
        };
        if let Some(record) = &mut entry.record {
            record.carries = Some(root_of(&mut transaction, tenant, session_id, fallen).await?);
            entry.item = item_of(record);
        }
        state.newest = Some(newest_behind(&head, &fitted.work, &entry));
        (state.unrelieved, state.nothing_at, state.auto_retry_at) = (None, None, None);
        rest(&mut state, &fitted.work, &head.settings);
        state.note_fill(state.snapshot(&head.settings).state, clock::now());
        let (branches, proof) = (new_branch(&head, entry.branch), Some(Proof::Entry(entry.head.id)));
        advance(&mut head, state, &entry)?;
        write_head(&mut transaction, tenant, &mut head, &[entry], &branches).await?;
        let outline = &fitted.work.outline;
        if !outline.elides_only {
            self.ask_model(&mut transaction, tenant, &head, outline.first_kept.id).await?;
        }
        self.inner.heads.commit(transaction, tenant, session_id, proof).await?;
        self.inner.feed.touch(tenant, session_id);
        Ok(Some(true))
    }
}
