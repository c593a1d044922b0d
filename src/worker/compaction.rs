//! The compaction job: the stages of a compaction from its plan to its commit. The database is used before and after the
//! summary, never during it.

use uuid::Uuid;

use super::jobs::Jobs;
use super::summarise::{Failure, Request, summarise};
use crate::domain::compaction::result::Reason;
use crate::domain::model::strategy::Strategy;
use crate::domain::summary::prefix::SessionPrefix;
use crate::llm::CallContext;
use crate::service::compaction::plan::LiveCompaction;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::service::compaction::{Committed, Fitted, facts};
use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::store::queue::{self, Completed, Job};
use crate::store::transaction;
use crate::trace::stage;

/// A compaction, and the summary for it.
type Summarised = (Box<CompactionWork>, std::result::Result<SummaryOutcome, Failure>);

/// A plan that no longer holds is made anew once.
const PLANS: u32 = 2;

/// Carries out the compaction of a job.
///
/// # Errors
/// The database's; the queue tries again.
pub async fn run(jobs: &Jobs, job: &Job) -> Result<Committed> {
    let Some(compaction_id) = job.compaction_id else { return end(jobs, job).await };
    let ended = async {
        let ended = carry_out(jobs, job, compaction_id).await;
        if ended.is_err() {
            facts::note(|facts| (facts.status, facts.error) = (None, Some("internal")));
        }
        ended
    };
    facts::observed(Some((job.session_id, compaction_id)), ended).await
}

async fn carry_out(jobs: &Jobs, job: &Job, compaction_id: Uuid) -> Result<Committed> {
    let (service, tenant) = (&jobs.service, Tenant(job.tenant));
    for plan in 1..=PLANS {
        let Some(mut live) = service.live_compaction(tenant, compaction_id).await? else { return end(jobs, job).await };
        let planned = stage("plan", service.plan_compaction(&mut live)).await?;
        let Some(planned) = planned else { return end(jobs, job).await };
        if planned.must_fit() {
            let fitted = stage("plan", service.plan_to_fit(tenant, compaction_id)).await?;
            let Some(fitted) = fitted else { return end(jobs, job).await };
            return stage("commit", service.commit_compaction(&fitted.work, fitted.outcome, job.proof())).await;
        }
        let may_fit = planned.may_fit() && live.leaves_the_choice();
        let read = stage("read", service.read_compaction(&mut live, planned)).await?;
        let Some(work) = read else { return end(jobs, job).await };
        let summarised = stage("summarise", summarised(jobs, &mut live, work)).await?;
        let Some((work, outcome)) = summarised else { return end(jobs, job).await };
        let fitted = if may_fit { tighter(jobs, &work, &outcome).await? } else { None };
        if let Some(fitted) = fitted {
            return stage("commit", service.commit_compaction(&fitted.work, fitted.outcome, job.proof())).await;
        }
        let committed = stage("commit", commit(jobs, job, &work, outcome)).await?;
        match committed {
            Committed::Replan if plan == PLANS => {
                return service.skip_compaction(&work, Reason::Superseded, job.proof()).await;
            }
            Committed::Replan => {}
            Committed::Done | Committed::LeaseLost => return Ok(committed),
        }
    }
    Ok(Committed::Replan)
}

/// Has the summary written: by hooks, else by an upstream or the built-in summariser. `None`: hooks want none.
async fn summarised(jobs: &Jobs, live: &mut LiveCompaction, work: Box<CompactionWork>) -> Result<Option<Summarised>> {
    let Some(work) = jobs.service.summarise_by_hooks(live, work).await? else { return Ok(None) };
    let prefix = prefix(jobs, &work).await?;
    let upstreams = jobs.upstreams.on_behalf_of(on_behalf_of(&work));
    let outcome = summarise(&upstreams, &request(&work, prefix.as_ref())).await;
    Ok(Some((work, outcome)))
}

/// A compaction that leaves less, where this one would leave a context larger than the window, or would be refused because
/// the context is that large already: whoever asks, or waits for it, gets what the next rebuild would.
async fn tighter(
    jobs: &Jobs,
    work: &CompactionWork,
    outcome: &std::result::Result<SummaryOutcome, Failure>,
) -> Result<Option<Fitted>> {
    let Ok(outcome) = outcome else { return Ok(None) };
    let Some(left) = jobs.service.left_above_window(work, outcome).await? else { return Ok(None) };
    let fitted = stage("plan", jobs.service.plan_tighter(work.tenant, work.compaction_id)).await?;
    Ok(fitted.filter(|fitted| fitted.tokens < left))
}

async fn commit(
    jobs: &Jobs,
    job: &Job,
    work: &CompactionWork,
    outcome: std::result::Result<SummaryOutcome, Failure>,
) -> Result<Committed> {
    match outcome {
        Ok(outcome) => jobs.service.commit_compaction(work, outcome, job.proof()).await,
        Err(failure) => {
            facts::note(|facts| facts.error = Some(failure.code()));
            jobs.service.fail_compaction(work, &failure.to_string(), job.proof()).await
        }
    }
}

/// Nothing is needed any more; nor is the job.
pub(super) async fn end(jobs: &Jobs, job: &Job) -> Result<Committed> {
    let mut transaction = transaction::begin(jobs.service.pool()).await?;
    let completed = queue::complete(&mut transaction, job.tenant, job.proof()).await?;
    transaction.commit().await?;
    Ok(match completed {
        Completed::Done | Completed::Rerun => Committed::Done,
        Completed::LeaseLost => Committed::LeaseLost,
    })
}

/// A transcript that is not stored has no session.
pub(super) fn on_behalf_of(work: &CompactionWork) -> CallContext {
    let known = |id: Uuid| (!id.is_nil()).then_some(id);
    CallContext { tenant: work.tenant.0, session: known(work.session_id), compaction: known(work.compaction_id) }
}

pub(super) fn request<'a>(work: &'a CompactionWork, prefix: Option<&'a SessionPrefix>) -> Request<'a> {
    Request {
        task: work.summary_task.as_ref(),
        settings: &work.settings,
        builtin: work.strategy == Strategy::Summarize || work.summary_task.is_none(),
        // `auto` is content with whoever writes by default.
        wants_model: work.requested == Strategy::LlmSummarize,
        upstream: work.upstream.as_deref(),
        record: work.record.as_ref(),
        replaced_tokens: work.replaced_tokens,
        prefix,
    }
}

/// The session's own context, where the upstream that will be asked takes it.
async fn prefix(jobs: &Jobs, work: &CompactionWork) -> Result<Option<SessionPrefix>> {
    let upstream = match &work.upstream {
        Some(name) => jobs.upstreams.get(name),
        None => Some(jobs.upstreams.default_upstream()),
    };
    let as_said = work.summary_task.as_ref().is_some_and(|task| task.shown.is_none());
    let wanted = as_said && work.strategy != Strategy::Summarize;
    let Some(upstream) = upstream.filter(|upstream| wanted && upstream.config().reuse_prefix) else { return Ok(None) };
    let config = upstream.config();
    match config.kind.format() {
        Some(format) => jobs.service.session_prefix(work, format, &config.model).await,
        None => Ok(None),
    }
}
