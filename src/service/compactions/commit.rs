//! Ending a compaction: commit, skip or fail.
//!
//! Every ending is one short transaction that takes the session's row first, checks the lease and that the plan
//! still holds, and writes all or nothing.

use anyhow::Context as _;
use sqlx::PgConnection;
use uuid::Uuid;

use super::entry::{advance, compaction_entry, draft, hold_off, new_branch, rebase};
use super::report::{Measured, blank, count_end, elapsed, observe, result};
use super::{Status, Trigger, word};
use crate::domain::compaction::Reason;
use crate::domain::settings::{Settings, Strategy};
use crate::domain::verify;
use crate::service::clock;
use crate::service::error::Result;
use crate::service::head::{Head, Newest};
use crate::service::state::{Service, Tenant};
use crate::service::view::{self};
use crate::service::work::{SummaryOutcome, Work};
use crate::store::compactions::{self, CompactionRow, Ending};
use crate::store::entries::{self, Write};
use crate::store::path;
use crate::store::queue::{self, Completed, LeaseProof};
use crate::store::sessions;

/// How an ending went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    Done,
    /// Another worker has the job, or it was cancelled: nothing was written.
    LeaseLost,
    /// The context has changed in a way that the plan does not fit: nothing was written.
    Replan,
}

impl Service {
    /// Writes a finished compaction.
    ///
    /// # Errors
    /// The database's; nothing is written then.
    pub async fn commit_compaction(
        &self,
        work: &Work,
        outcome: SummaryOutcome,
        lease: LeaseProof,
    ) -> Result<Committed> {
        let draft = draft(work, &outcome);
        let mut transaction = self.pool().begin().await?;
        let Some(open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        let Ended { mut row, mut head, compaction } = open;
        if !self.still_holds(&mut transaction, work, &head).await? {
            return Ok(Committed::Replan);
        }
        let (before, _) = head.state.account.tokens(head.settings.estimator);
        let estimated_before = head.state.account.estimated();
        // It was let through because the guard re-armed itself, so the guard is to count from there.
        head.state.guard.admit(before, head.state.messages, &head.settings);
        let mut draft = draft;
        let entry = compaction_entry(&head, work, &mut draft, before);
        let mut state = head.state.clone();
        rebase(&mut state, &work.outline, &draft.record);
        let after = state.snapshot(&head.settings);
        let estimated_after = state.account.estimated();
        let grows = verify::check_growth(before, after.tokens).is_err() || estimated_after >= estimated_before;
        let kept = work.outline.kept + head.state.messages.saturating_sub(work.outline.messages);
        let now = clock::now();
        let duration_ms = elapsed(&compaction, now);
        if grows {
            head.state.guard.record(before, before, head.state.messages, &head.settings);
            self.write_skip(
                &mut transaction,
                work.tenant,
                row,
                head,
                &compaction,
                Reason::WouldGrow,
                Some((work, &outcome)),
            )
            .await?;
            transaction.commit().await?;
            return Ok(Committed::Done);
        }
        state.guard.record(before, after.tokens, state.messages, &head.settings);
        state.auto_retry_at = None;
        state.newest = Some(Newest {
            id: entry.head.id,
            depth: entry.head.depth,
            first_kept_depth: Some(work.outline.first_kept.depth),
            anchor_depths: work.outline.anchors.iter().map(|anchor| anchor.depth).collect(),
            is_revert: false,
        });
        let branch = new_branch(&head, entry.branch);
        let snapshot = advance(&mut head, state, &entry)?;
        row.head = head.row;
        let entry_id = entry.head.id;
        let write = Write {
            session_id: work.session_id,
            version: row.head.version,
            head: &row.head,
            entries: &[entry],
            branches: &branch,
            now,
        };
        entries::write(&mut *transaction, work.tenant.0, &write).await?;
        let price = row.model.as_deref().and_then(|model| self.options().prices.of_model(model));
        let input_price = price.map(|price| price.input);
        let measured =
            Measured { entry_id: Some(entry_id), before, snapshot, kept, reason: None, duration_ms, input_price };
        let result = result(work, &outcome, Some(&draft), measured);
        let strategy = word(&result.strategy_used)?;
        observe(&result, work.trigger, "succeeded");
        let text = serde_json::to_string(&result).context("a result as JSON")?;
        let ending = Ending {
            status: Status::Succeeded.as_str(),
            strategy: Some(&strategy),
            error: None,
            result: Some(&text),
            now,
        };
        if !compactions::finish(&mut *transaction, work.tenant.0, work.compaction_id, &ending).await? {
            return Ok(Committed::LeaseLost);
        }
        transaction.commit().await?;
        Ok(Committed::Done)
    }

    /// Ends a compaction without doing it, for a reason.
    pub async fn skip_compaction(&self, work: &Work, reason: Reason, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = self.pool().begin().await?;
        let Some(open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        self.write_skip(&mut transaction, work.tenant, open.row, open.head, &open.compaction, reason, None).await?;
        transaction.commit().await?;
        Ok(Committed::Done)
    }

    /// Ends a compaction that could not be carried out; the context is as it was.
    pub async fn fail_compaction(&self, work: &Work, message: &str, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = self.pool().begin().await?;
        let Some(mut open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        hold_off(&mut open.head.state, &open.head.settings);
        open.head.state.write_to(&mut open.row.head, &open.head.settings)?;
        sessions::update(&mut *transaction, work.tenant.0, &open.row, clock::now()).await?;
        let ending = Ending {
            status: Status::Failed.as_str(),
            strategy: None,
            error: Some(&message.replace('\0', "")),
            result: None,
            now: clock::now(),
        };
        compactions::finish(&mut *transaction, work.tenant.0, work.compaction_id, &ending).await?;
        transaction.commit().await?;
        count_end("failed", work.strategy, work.trigger);
        Ok(Committed::Done)
    }

    /// Locks session and job. `None`: the lease is lost, or the compaction has ended.
    async fn open_ending(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        compaction_id: Uuid,
        lease: LeaseProof,
    ) -> Result<Option<Ended>> {
        let Some(row) = sessions::lock(&mut *connection, tenant.0, session_id).await? else { return Ok(None) };
        if queue::complete(&mut *connection, tenant.0, lease).await? == Completed::LeaseLost {
            return Ok(None);
        }
        let Some(compaction) = compactions::get(&mut *connection, tenant.0, compaction_id).await? else {
            return Ok(None);
        };
        let head = self.head_of(&row)?;
        Ok(Some(Ended { row, head, compaction }))
    }

    async fn still_holds(&self, connection: &mut PgConnection, work: &Work, head: &Head) -> Result<bool> {
        if head.state.newest.as_ref().map(|newest| newest.id) != work.basis.newest {
            return Ok(false);
        }
        let Some(leaf_id) = work.basis.leaf_id.filter(|id| Some(*id) != head.row.leaf_id) else { return Ok(true) };
        let place = view::place(connection, work.tenant, head.session_id, leaf_id).await?;
        let segments = path::segments(connection, work.tenant.0, head.leaf(), head.is_plain()).await?;
        Ok(path::holds(&segments, place.session_id, place.branch, place.depth))
    }

    pub(super) async fn skip_unplanned(
        &self,
        tenant: Tenant,
        compaction: &CompactionRow,
        settings: &Settings,
        reason: Reason,
    ) -> Result<()> {
        let mut transaction = self.pool().begin().await?;
        let Some(row) = sessions::lock(&mut *transaction, tenant.0, compaction.session_id).await? else {
            return Ok(());
        };
        let mut head = self.head_of(&row)?;
        head.settings = std::sync::Arc::new(settings.clone());
        self.write_skip(&mut transaction, tenant, row, head, compaction, reason, None).await?;
        transaction.commit().await?;
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one caller's worth of context each; a struct would only rename them"
    )]
    async fn write_skip(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        mut row: sessions::SessionRow,
        mut head: Head,
        compaction: &CompactionRow,
        reason: Reason,
        tried: Option<(&Work, &SummaryOutcome)>,
    ) -> Result<()> {
        if matches!(
            reason,
            Reason::NothingToCompact
                | Reason::NoValidCutPoint
                | Reason::FixedOverhead
                | Reason::WouldGrow
                | Reason::LowSavings
        ) {
            hold_off(&mut head.state, &head.settings);
        }
        let own = self.inner.resolve(&row.settings, row.model.as_deref())?;
        head.state.write_to(&mut row.head, &own)?;
        let now = clock::now();
        sessions::update(&mut *connection, tenant.0, &row, now).await?;
        let snapshot = head.state.snapshot(&head.settings);
        let requested: Strategy = serde_json::from_value(serde_json::Value::String(compaction.strategy.clone()))
            .context("a stored strategy")?;
        let measured = Measured {
            entry_id: None,
            before: snapshot.tokens,
            kept: head.state.messages,
            snapshot,
            reason: Some(reason),
            duration_ms: elapsed(compaction, now),
            input_price: None,
        };
        let mut result = blank(requested, measured);
        if let Some((_, outcome)) = tried {
            result.upstream = outcome.upstream.clone();
            result.fallback = outcome.fallback.clone();
            result.net.summary_cost_usd = outcome.upstream.cost_usd;
        }
        count_end("skipped", requested, Trigger::parse(&compaction.trigger).unwrap_or(Trigger::Manual));
        let text = serde_json::to_string(&result).context("a result as JSON")?;
        let ending = Ending { status: Status::Skipped.as_str(), strategy: None, error: None, result: Some(&text), now };
        compactions::finish(&mut *connection, tenant.0, compaction.id, &ending).await?;
        Ok(())
    }
}

/// What an ending has in hand.
struct Ended {
    row: sessions::SessionRow,
    head: Head,
    compaction: CompactionRow,
}
