//! Stage 5 of a compaction, commit: the entry behind the leaf, the head, the result. Or it is skipped, or has failed.
//!
//! Every ending is one short transaction that takes the session's row first, checks the lease and that the plan
//! still holds, and writes all or nothing.

pub(crate) mod draft;
pub(crate) mod entry;
mod holds;
pub(crate) mod report;

use std::borrow::Cow;
use std::collections::HashSet;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::compaction::guard::savings_pct;
use crate::domain::compaction::pays;
use crate::domain::compaction::result::{CompactionResult, Reason};
use crate::domain::hook::Event;
use crate::domain::model::fold::ShownFold;
use crate::domain::model::strategy::Strategy;
use crate::domain::redaction::Redaction;
use crate::domain::settings::Settings;
use crate::domain::summary::verify;
use crate::domain::tokens::accounting::{FillState, fill_state};
use crate::domain::tokens::prices::{ContextChange, net};
use crate::service::compaction::committing::{self, committing};
use crate::service::compaction::facts;
use crate::service::compaction::job::{Status, Trigger};
use crate::service::compaction::plan::LiveCompaction;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::service::core::clock;
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::head::{Head, Newest, SessionState};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::{self, About};
use crate::store::compactions::{self, CompactionRow, Ending};
use crate::store::entries::{self, NewBranch, NewEntry, Write};
use crate::store::queue::{self, Completed, LeaseProof};
use crate::store::transaction;
use crate::store::{rebuilds, sessions};
use draft::{SummaryDraft, draft};
use entry::{advance, compaction_entry, hold_off, new_branch, rebase, rest};
use report::{Measured, blank, count_end, elapsed, observe, observe_skip, observe_wait, result};

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
    /// Writes a finished compaction. One that was prepared ahead of red is kept until then.
    ///
    /// # Errors
    /// The database's; nothing is written then.
    pub async fn commit_compaction(
        &self,
        work: &CompactionWork,
        outcome: SummaryOutcome,
        holder: impl Into<Holder>,
    ) -> Result<Committed> {
        committing(self.commit(work, outcome, holder.into())).await
    }

    async fn commit(&self, work: &CompactionWork, outcome: SummaryOutcome, holder: Holder) -> Result<Committed> {
        let mut outcome = SummaryOutcome { hooks: work.hooks.clone(), ..outcome };
        if outcome.builtin {
            self.hooks().note_unshown(work.tenant, &mut outcome.hooks).await;
        }
        let draft = draft(work, &outcome);
        let mut transaction = transaction::begin(self.pool()).await?;
        let Some(mut open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, holder).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        let ready = ReadyCompaction {
            work: Cow::Borrowed(work),
            outcome: Cow::Borrowed(&outcome),
            draft: Cow::Borrowed(&draft),
        };
        let Some(ready) = self.on_leafs_path(&mut transaction, ready, &open.head).await? else {
            return Ok(Committed::Replan);
        };
        facts::note_summary(&outcome);
        let landed = if is_early(work, &open.head) {
            self.keep_candidate(&mut transaction, &mut open.head, &ready).await?
        } else {
            let worth = CommitThreshold::of(work, &open.head);
            self.apply(&mut transaction, &mut open.head, &open.compaction, &ready, worth).await?
        };
        match landed {
            CommitOutcome::Done => {}
            CommitOutcome::HasEnded => return Ok(Committed::LeaseLost),
            CommitOutcome::Refused(reason) => {
                let tried = Some(&outcome);
                self.write_skip(&mut transaction, work.tenant, open.row, open.head, &open.compaction, reason, tried)
                    .await?;
            }
        }
        transaction.commit().await?;
        Ok(Committed::Done)
    }

    /// Commits a finished compaction behind the leaf, within the caller's transaction, which holds the session's row.
    /// The plan must hold. Refused: nothing is written, and the guard in `head` has counted it.
    pub(crate) async fn apply(
        &self,
        connection: &mut PgConnection,
        head: &mut Head,
        compaction: &CompactionRow,
        ready: &ReadyCompaction<'_>,
        worth: CommitThreshold,
    ) -> Result<CommitOutcome> {
        let ReadyCompaction { work, outcome, draft } = ready;
        let outcome = &outcome.charged(compaction);
        let before = head.snapshot();
        let calls_before = head.state.account.growth().calls;
        // It was let through because the guard re-armed itself, so the guard is to count from there.
        head.state.guard.admit(before.tokens, head.state.messages, &head.settings);
        let Evaluation { entry, mut state, rewritten, refused } = evaluate(head, work, draft, worth);
        if let Some(reason) = refused {
            // Somebody who asked is told why there was nothing to gain, and that is all.
            if work.trigger != Trigger::Manual && !work.retells {
                head.state.guard.record(before.tokens, before.tokens, head.state.messages, &head.settings);
            }
            return Ok(CommitOutcome::Refused(reason));
        }
        let asked = match head.row.leaf_id.filter(|_| !head.state.answered) {
            Some(leaf) => rebuilds::shows(&mut *connection, work.tenant.0, head.session_id, leaf).await?,
            None => false,
        };
        state.account.take_place_of(&head.state.account, asked);
        let tokens_after = state.snapshot(&head.settings).tokens;
        let change = ContextChange { shed: before.tokens.saturating_sub(tokens_after), rewritten };
        let net = net(change, outcome.cost_usd(), &head.prices.sent);
        // Somebody who asks for a compaction knows why.
        let is_loss = matches!(work.trigger, Trigger::Auto | Trigger::Ahead)
            && pays::is_loss(&head.state.account, net.break_even_turns, &head.prices);
        if !work.retells {
            state.guard.record_weighed(before.tokens, tokens_after, is_loss, state.messages, &head.settings);
        }
        state.auto_retry_at = None;
        rest(&mut state, work, &head.settings);
        state.unrelieved = None;
        state.nothing_at = None;
        state.chapters_rest = None;
        state.ahead = None;
        let now = clock::now();
        let red_for = head.state.red_since.map(|since| now - since).unwrap_or_default();
        state.newest = Some(newest_behind(head, work, &entry));
        state.note_fill(state.snapshot(&head.settings).state, now);
        let kept = work.outline.kept + head.state.messages.saturating_sub(work.outline.messages);
        let branch = new_branch(head, entry.branch);
        let entry_id = entry.head.id;
        let snapshot = advance(head, state, &entry)?;
        write_head(connection, work.tenant, head, &[entry], &branch).await?;
        let snapshots = [json_text(&before)?, json_text(&snapshot)?];
        let measured = Measured {
            entry_id: Some(entry_id),
            before: before.tokens,
            snapshot,
            kept,
            reason: None,
            duration_ms: elapsed(compaction, now),
        };
        let result = CompactionResult { calls_before, ..result(work, outcome, draft, measured, net) };
        let text = json_text(&result)?;
        let ending = Ending {
            status: Status::Succeeded.into_str(),
            strategy: Some(result.strategy_used.into_str()),
            error: None,
            result: Some(&text),
            snapshots: Some((&snapshots[0], &snapshots[1])),
            now,
        };
        if !compactions::finish(&mut *connection, work.tenant.0, work.compaction_id, &ending).await? {
            return Ok(CommitOutcome::HasEnded);
        }
        if let Some(evidence) = &draft.evidence {
            let evidence = json_text(evidence)?;
            compactions::keep_evidence(&mut *connection, work.tenant.0, work.compaction_id, &evidence).await?;
        }
        compactions::note_figures(&mut *connection, work.tenant.0, work.compaction_id, &result).await?;
        let about = About { tenant: work.tenant, session_id: work.session_id, compaction_id: Some(work.compaction_id) };
        let mut data = serde_json::json!({ "trigger": work.trigger, "result": result });
        Redaction::of(&work.settings.redact).redact_json(&mut data);
        hooks::announce(&mut *connection, about, Event::AfterCompact, &data).await?;
        let trigger = work.trigger;
        facts::note_result(Some(trigger), "succeeded", &result);
        committing::tell(move || {
            observe(&result, trigger, "succeeded");
            observe_wait(trigger, red_for);
        });
        Ok(CommitOutcome::Done)
    }

    /// Ends a compaction without doing it, for a reason.
    pub async fn skip_compaction(&self, work: &CompactionWork, reason: Reason, lease: LeaseProof) -> Result<Committed> {
        committing(self.skip(work, reason, lease)).await
    }

    async fn skip(&self, work: &CompactionWork, reason: Reason, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = transaction::begin(self.pool()).await?;
        let Some(open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease.into()).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        let tried = SummaryOutcome { hooks: work.hooks.clone(), ..SummaryOutcome::default() };
        self.write_skip(&mut transaction, work.tenant, open.row, open.head, &open.compaction, reason, Some(&tried))
            .await?;
        transaction.commit().await?;
        Ok(Committed::Done)
    }

    /// Ends a compaction that could not be carried out; the context is as it was.
    pub async fn fail_compaction(&self, work: &CompactionWork, message: &str, lease: LeaseProof) -> Result<Committed> {
        let mut transaction = transaction::begin(self.pool()).await?;
        let Some(mut open) =
            self.open_ending(&mut transaction, work.tenant, work.session_id, work.compaction_id, lease.into()).await?
        else {
            return Ok(Committed::LeaseLost);
        };
        open.head.state.forget_ahead(work.compaction_id);
        hold_off(&mut open.head.state, &open.head.settings);
        open.head.state.write_to(&mut open.row.head, &open.head.settings)?;
        sessions::update(&mut *transaction, work.tenant.0, &open.row, clock::now()).await?;
        let ending = Ending {
            status: Status::Failed.into_str(),
            strategy: None,
            error: Some(&message.replace('\0', "")),
            result: None,
            snapshots: None,
            now: clock::now(),
        };
        compactions::finish(&mut *transaction, work.tenant.0, work.compaction_id, &ending).await?;
        transaction.commit().await?;
        count_end("failed", work.strategy, work.trigger);
        facts::note(|facts| {
            facts.status = Some(Status::Failed.into_str());
            (facts.trigger, facts.strategy) = (Some(work.trigger.into_str()), Some(work.strategy.into_str()));
        });
        Ok(Committed::Done)
    }

    /// Locks session and job. `None`: the lease is lost, or the compaction has ended.
    async fn open_ending(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        session_id: Uuid,
        compaction_id: Uuid,
        holder: Holder,
    ) -> Result<Option<Ended>> {
        let locked = self.inner.heads.lock(&mut *connection, tenant, session_id).await.optional()?;
        let Some((row, head)) = locked else { return Ok(None) };
        match holder {
            Holder::Lease(lease) => {
                if queue::complete(&mut *connection, tenant.0, lease).await? == Completed::LeaseLost {
                    return Ok(None);
                }
            }
            // Without a job there is nothing left to hold; whether the compaction has ended, its row says.
            Holder::Seized => {
                queue::cancel(&mut *connection, tenant.0, session_id, compaction_id).await?;
            }
        }
        let Some(compaction) = compactions::get(&mut *connection, tenant.0, compaction_id).await? else {
            return Ok(None);
        };
        Ok(Some(Ended { row, head, compaction }))
    }

    /// Ends a compaction for which there is no work, for a reason.
    pub(crate) async fn skip_live(&self, live: &LiveCompaction, settings: &Settings, reason: Reason) -> Result<()> {
        committing(self.skip_without_work(live, settings, reason)).await
    }

    async fn skip_without_work(&self, live: &LiveCompaction, settings: &Settings, reason: Reason) -> Result<()> {
        let tried = SummaryOutcome { hooks: live.reports.clone(), ..SummaryOutcome::default() };
        let mut transaction = transaction::begin(self.pool()).await?;
        let locked = self.inner.heads.lock(&mut *transaction, live.tenant, live.row.session_id).await.optional()?;
        let Some((row, mut head)) = locked else { return Ok(()) };
        head.settings = std::sync::Arc::new(settings.clone());
        self.write_skip(&mut transaction, live.tenant, row, head, &live.row, reason, Some(&tried)).await?;
        transaction.commit().await?;
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one caller's worth of context each; a struct would only rename them"
    )]
    pub(crate) async fn write_skip(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        mut row: sessions::SessionRow,
        mut head: Head,
        compaction: &CompactionRow,
        reason: Reason,
        tried: Option<&SummaryOutcome>,
    ) -> Result<()> {
        head.state.forget_ahead(compaction.id);
        if matches!(
            reason,
            Reason::NothingToCompact
                | Reason::NoValidCutPoint
                | Reason::FixedOverhead
                | Reason::WouldGrow
                | Reason::LowSavings
                | Reason::CancelledByHook
        ) {
            hold_off(&mut head.state, &head.settings);
        }
        if matches!(reason, Reason::NothingToCompact | Reason::NoValidCutPoint) {
            head.state.nothing_at = Some(head.state.messages);
        }
        let own = self.inner.settings.resolve(&row.settings, head.state.talked(row.model.as_deref()))?;
        head.state.write_to(&mut row.head, &own)?;
        sessions::update(&mut *connection, tenant.0, &row, clock::now()).await?;
        finish_skipped(connection, tenant, &head.state, &head.settings, compaction, reason, tried).await
    }
}

/// The row of a compaction that was not carried out.
pub(crate) async fn finish_skipped(
    connection: &mut PgConnection,
    tenant: Tenant,
    state: &SessionState,
    settings: &Settings,
    compaction: &CompactionRow,
    reason: Reason,
    tried: Option<&SummaryOutcome>,
) -> Result<()> {
    let (now, snapshot) = (clock::now(), state.snapshot(settings));
    let requested: Strategy =
        serde_json::from_value(serde_json::Value::String(compaction.strategy.clone())).context("a stored strategy")?;
    let measured = Measured {
        entry_id: None,
        before: snapshot.tokens,
        kept: state.messages,
        snapshot,
        reason: Some(reason),
        duration_ms: elapsed(compaction, now),
    };
    let mut result = blank(requested, measured);
    if let Some(outcome) = tried {
        report::tried(&mut result, outcome);
    }
    if let Some(spent) = compaction.spent.spending() {
        result.upstream.charge(&spent);
        result.net.summary_cost_usd = spent.cost_usd;
    }
    let text = json_text(&result)?;
    let status = Status::Skipped.into_str();
    let ending = Ending { status, strategy: None, error: None, result: Some(&text), snapshots: None, now };
    compactions::finish(&mut *connection, tenant.0, compaction.id, &ending).await?;
    compactions::note_figures(connection, tenant.0, compaction.id, &result).await?;
    let trigger: Option<Trigger> = compaction.trigger.parse().ok();
    facts::note_result(trigger, status, &result);
    committing::tell(move || observe_skip(&result, trigger.unwrap_or(Trigger::Manual), reason));
    Ok(())
}

/// By what right a compaction is ended.
#[derive(Debug, Clone, Copy)]
pub enum Holder {
    Lease(LeaseProof),
    /// It is taken from whoever works on it.
    Seized,
}

impl From<LeaseProof> for Holder {
    fn from(lease: LeaseProof) -> Holder {
        Holder::Lease(lease)
    }
}

/// Threshold that a compaction must reach to be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitThreshold {
    NoGrowth,
    /// Nobody asked for it, so it must save as much as the guard wants.
    MinSavings,
    /// It says the same as what stands, by a model: it only must not be red.
    NotRed,
}

impl CommitThreshold {
    /// Of a compaction that has just been written: one that began before red, because it pays, must be worth it.
    fn of(work: &CompactionWork, head: &Head) -> CommitThreshold {
        if work.retells {
            return CommitThreshold::NotRed;
        }
        let began_early = work.trigger == Trigger::Auto && head.snapshot().state != FillState::Red;
        if began_early { CommitThreshold::MinSavings } else { CommitThreshold::NoGrowth }
    }
}

/// How a commit went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    Done,
    Refused(Reason),
    /// Somebody else ended it: roll back.
    HasEnded,
}

/// Session row, head and compaction that an ending works with.
pub(crate) struct Ended {
    pub row: sessions::SessionRow,
    pub head: Head,
    pub compaction: CompactionRow,
}

/// A compaction on the scales: the entry, the state behind it, and why it is not to be committed.
pub(crate) struct Evaluation {
    pub entry: NewEntry,
    pub state: SessionState,
    /// Tokens of the new context behind what both begin with.
    pub rewritten: u64,
    pub refused: Option<Reason>,
}

/// Evaluates a compaction on the context as it is now, with all that came after the plan.
pub(crate) fn evaluate(head: &Head, work: &CompactionWork, draft: &SummaryDraft, worth: CommitThreshold) -> Evaluation {
    let (before, _) = head.state.account.tokens(head.settings.estimator);
    let mut draft = draft.clone();
    let entry = compaction_entry(head, work, &mut draft, before);
    let mut state = head.state.clone();
    rebase(&mut state, &work.outline, &draft.record);
    let after = state.snapshot(&head.settings).tokens;
    let grows =
        verify::check_growth(before, after).is_err() || state.account.estimated() >= head.state.account.estimated();
    let saves = savings_pct(before, after) >= head.settings.min_savings_pct;
    let refused = match worth {
        CommitThreshold::NotRed => (fill_state(after, &head.settings) == FillState::Red).then_some(Reason::WouldGrow),
        _ if grows => Some(Reason::WouldGrow),
        CommitThreshold::MinSavings if !saves => Some(Reason::LowSavings),
        _ => None,
    };
    let account = &state.account;
    let estimated = u64::try_from(account.estimated() - account.fixed()).unwrap_or(0);
    let rewritten = account.part(estimated.saturating_sub(work.outline.unchanged), head.settings.estimator);
    Evaluation { entry, state, rewritten, refused }
}

/// Where the view of a compaction lies whose entry is about to go behind the leaf.
pub(crate) fn newest_behind(head: &Head, work: &CompactionWork, entry: &NewEntry) -> Newest {
    Newest {
        id: entry.head.id,
        depth: entry.head.depth,
        first_kept_depth: Some(work.outline.first_kept.depth),
        anchor_depths: work.outline.anchors.iter().map(|anchor| anchor.depth).collect(),
        is_revert: false,
        folds: folds_behind(head, work),
    }
}

/// The chapters that the new view goes on showing: those behind the cut and those among the anchors.
fn folds_behind(head: &Head, work: &CompactionWork) -> Vec<ShownFold> {
    let anchors: HashSet<Uuid> = work.outline.anchors.iter().map(|anchor| anchor.id).collect();
    let first_kept = work.outline.first_kept.depth;
    let stays = |shown: &&ShownFold| shown.fold.place >= first_kept || anchors.contains(&shown.fold.chapter);
    head.state.newest.iter().flat_map(|newest| &newest.folds).filter(stays).cloned().collect()
}

/// Prepared ahead, and neither is the context due for the next compaction nor does anybody wait for it.
fn is_early(work: &CompactionWork, head: &Head) -> bool {
    let wanted = head.state.ahead.is_some_and(|ahead| ahead.compaction_id == work.compaction_id && ahead.wanted);
    let is_due = head.snapshot().state == FillState::Red && !head.state.rests(&head.settings);
    work.trigger == Trigger::Ahead && !wanted && !is_due
}

/// Writes the head and what comes with it; the session's row is held.
pub(crate) async fn write_head(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &mut Head,
    new: &[NewEntry],
    branches: &[NewBranch],
) -> Result<()> {
    let write = Write {
        session_id: head.session_id,
        version: head.row.version,
        head: &head.row,
        entries: new,
        branches,
        now: clock::now(),
    };
    if !entries::write(connection, tenant.0, &write).await? {
        return Err(anyhow::anyhow!("the head of a locked session has moved").into());
    }
    head.row.version += 1;
    Ok(())
}

pub(crate) fn json_text<T: serde::Serialize>(value: &T) -> Result<String> {
    Ok(serde_json::to_string(value).context("a result as JSON")?)
}

/// A compaction of which only the commit is left; kept as JSON where it was prepared ahead.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReadyCompaction<'a> {
    pub work: Cow<'a, CompactionWork>,
    pub outcome: Cow<'a, SummaryOutcome>,
    pub draft: Cow<'a, SummaryDraft>,
}
