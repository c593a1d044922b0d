//! Compactions prepared ahead: kept with their row while the agent goes on, committed at red, dropped where they no
//! longer fit.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::compaction::result::Reason;
use crate::domain::compaction::strategy::room_below_red;
use crate::domain::settings::Settings;
use crate::domain::tokens::accounting::red_tokens;
use crate::service::compaction::commit::{
    CommitOutcome, CommitThreshold, ReadyCompaction, evaluate, finish_skipped, json_text, write_head,
};
use crate::service::compaction::facts;
use crate::service::compaction::job::{CompactionRef, Status, Trigger};
use crate::service::core::error::Result;
use crate::service::core::head::{Ahead, Head, SessionState};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::compactions::{self, CompactionRow};
use crate::store::entries;
use crate::store::path::{Leaf, Segment};
use crate::trace;

/// Outcome of settling a compaction prepared ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// There is none any more: the normal path runs.
    Gone,
    /// It is still being made.
    Pending(Uuid),
    Committed(CompactionRef),
}

impl Service {
    /// Keeps a finished compaction until the context is red. One that would not be worth it even now is refused.
    pub(super) async fn keep_candidate(
        &self,
        connection: &mut PgConnection,
        head: &mut Head,
        ready: &ReadyCompaction<'_>,
    ) -> Result<CommitOutcome> {
        let work = &ready.work;
        if let Some(reason) = evaluate(head, work, &ready.draft, CommitThreshold::MinSavings).refused {
            let (tokens, _) = head.state.account.tokens(head.settings.estimator);
            head.state.guard.record(tokens, tokens, head.state.messages, &head.settings);
            return Ok(CommitOutcome::Refused(reason));
        }
        if !compactions::keep_candidate(&mut *connection, work.tenant.0, work.compaction_id, &json_text(ready)?).await?
        {
            return Ok(CommitOutcome::HasEnded);
        }
        head.state.ahead = Some(Ahead { compaction_id: work.compaction_id, ready: true, wanted: false });
        save(connection, work.tenant, head).await?;
        let (trigger, strategy) = (work.trigger.into_str(), work.strategy.into_str());
        facts::note_committed(move |facts| {
            (facts.status, facts.trigger, facts.strategy) = (Some("prepared"), Some(trigger), Some(strategy));
        });
        Ok(CommitOutcome::Done)
    }

    /// Commits what was prepared ahead, now that it is needed. What no longer fits is dropped, and what is still being
    /// made is committed when it is ready and the context is red, or in any case if somebody waits (`wanted`). The
    /// caller holds the session's row and `head` is as it stands there.
    pub(crate) async fn settle_ahead(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
        wanted: bool,
    ) -> Result<Settled> {
        let Some(ahead) = head.state.ahead else { return Ok(Settled::Gone) };
        let row = compactions::get(&mut *connection, tenant.0, ahead.compaction_id).await?;
        let Some(row) = row.filter(is_live) else {
            head.state.ahead = None;
            save(connection, tenant, head).await?;
            return Ok(Settled::Gone);
        };
        if !row.prepared {
            if wanted && !ahead.wanted {
                head.state.ahead = Some(Ahead { wanted: true, ..ahead });
                save(connection, tenant, head).await?;
            }
            return Ok(Settled::Pending(row.id));
        }
        let reason = match self.fitting_candidate(connection, tenant, head, row.id).await? {
            None => Reason::Superseded,
            Some(candidate) if !wanted && is_used_up(&mut *connection, tenant, head, &candidate).await? => {
                Reason::Superseded
            }
            Some(candidate) => {
                let ids = Some((head.session_id, row.id));
                let commit = self.apply(connection, head, &row, &candidate, CommitThreshold::MinSavings);
                match facts::observed(ids, trace::stage("commit", commit)).await? {
                    CommitOutcome::Done => {
                        let landed = CompactionRef { id: row.id, status: Status::Succeeded, trigger: Trigger::Ahead };
                        return Ok(Settled::Committed(landed));
                    }
                    CommitOutcome::Refused(reason) => reason,
                    CommitOutcome::HasEnded => Reason::Superseded,
                }
            }
        };
        finish_skipped(connection, tenant, &head.state, &head.settings, &row, reason, None).await?;
        head.state.ahead = None;
        save(connection, tenant, head).await?;
        Ok(Settled::Gone)
    }

    /// Drops a candidate that does not fit the leaf's path. The caller writes the state.
    pub(crate) async fn check_candidate(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &mut Head,
    ) -> Result<()> {
        let Some(ahead) = head.state.ahead.filter(|ahead| ahead.ready) else { return Ok(()) };
        if self.fitting_candidate(connection, tenant, head, ahead.compaction_id).await?.is_some() {
            return Ok(());
        }
        self.drop_candidate(connection, tenant, &mut head.state, &head.settings).await
    }

    /// Ends a ready candidate unused. The caller holds the session's row and writes the state.
    pub(crate) async fn drop_candidate(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        state: &mut SessionState,
        settings: &Settings,
    ) -> Result<()> {
        let Some(ahead) = state.ahead.take_if(|ahead| ahead.ready) else { return Ok(()) };
        let row = compactions::get(&mut *connection, tenant.0, ahead.compaction_id).await?;
        let Some(row) = row.filter(is_live) else { return Ok(()) };
        finish_skipped(connection, tenant, state, settings, &row, Reason::Superseded, None).await
    }

    /// The candidate, if its plan still holds. One that an older version wrote and this one cannot read does not.
    async fn fitting_candidate(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        id: Uuid,
    ) -> Result<Option<ReadyCompaction<'static>>> {
        let Some(text) = compactions::candidate(&mut *connection, tenant.0, id).await? else { return Ok(None) };
        let Ok(candidate) = serde_json::from_str::<ReadyCompaction>(&text) else { return Ok(None) };
        self.on_leafs_path(connection, candidate, head).await
    }
}

/// A compaction of now has to gain one part in so many of the room that is wanted.
const LEAST_GAIN: u64 = 4;

/// Returns true if so much has come since it was planned, the newest message aside, that the next would follow at once: it
/// leaves less room before red than one of now would gain, or less than a quarter where one of now would gain some of it.
async fn is_used_up(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    candidate: &ReadyCompaction<'_>,
) -> Result<bool> {
    let (work, settings) = (&candidate.work, &head.settings);
    let Some(planned_at) = work.outline.path_tokens else { return Ok(false) };
    // What overfills the window takes what is there.
    if head.state.account.exceeds_window(settings) {
        return Ok(false);
    }
    let Leaf { session_id, branch, depth } = head.leaf();
    let newest =
        entries::heads(connection, tenant.0, &[Segment { session_id, branch, from: depth, to: depth }]).await?;
    let newest: i64 = newest.iter().map(|stored| i64::from(stored.entry.head.tokens)).sum();
    let evaluated = evaluate(head, work, &candidate.draft, CommitThreshold::NoGrowth);
    let (left, _) = evaluated.state.account.tokens(settings.estimator);
    let come = u64::try_from(head.state.account.path_tokens - planned_at - newest).unwrap_or(0);
    let gain = head.state.account.part(come, settings.estimator);
    let quarter = head.state.account.part(room_below_red(&head.state.account, settings), settings.estimator) / 4;
    let room = (red_tokens(settings) as u64).saturating_sub(left);
    Ok(room < gain || (room < quarter && gain > quarter / LEAST_GAIN))
}

fn is_live(row: &CompactionRow) -> bool {
    matches!(row.status.parse::<Status>().ok(), Some(Status::Queued | Status::Running))
}

/// Writes the head's state alone.
pub(crate) async fn save(connection: &mut PgConnection, tenant: Tenant, head: &mut Head) -> Result<()> {
    head.state.write_to(&mut head.row, &head.settings)?;
    write_head(connection, tenant, head, &[], &[]).await
}
