//! The compaction job: the stages of a compaction from its plan to its commit. The database is used before and after the
//! summary, never during it.

use super::jobs::Jobs;
use super::summarise::{Request, summarise};
use crate::domain::compaction::result::Reason;
use crate::domain::model::strategy::Strategy;
use crate::domain::summary::identifiers;
use crate::domain::summary::prefix::SessionPrefix;
use crate::service::compaction::Committed;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::store::queue::{self, Completed, Job};
use crate::store::transaction;

/// A plan that no longer holds is made anew once.
const PLANS: u32 = 2;

/// Carries out the compaction of a job.
///
/// # Errors
/// The database's; the queue tries again.
pub async fn run(jobs: &Jobs, job: &Job) -> Result<Committed> {
    let Some(compaction_id) = job.compaction_id else { return end(jobs, job).await };
    let (service, tenant) = (&jobs.service, Tenant(job.tenant));
    for plan in 1..=PLANS {
        let Some(mut live) = service.live_compaction(tenant, compaction_id).await? else { return end(jobs, job).await };
        let Some(planned) = service.plan_compaction(&mut live).await? else { return end(jobs, job).await };
        let Some(work) = service.read_compaction(&mut live, planned).await? else { return end(jobs, job).await };
        let Some(work) = service.summarise_by_hooks(&mut live, work).await? else { return end(jobs, job).await };
        let prefix = prefix(jobs, &work).await?;
        let committed = match summarise(&jobs.upstreams, &request(&work, prefix.as_ref())).await {
            Ok(outcome) => {
                note(&work, &outcome);
                service.commit_compaction(&work, outcome, job.proof()).await?
            }
            Err(failure) => service.fail_compaction(&work, &failure.to_string(), job.proof()).await?,
        };
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

pub(super) fn request<'a>(work: &'a CompactionWork, prefix: Option<&'a SessionPrefix>) -> Request<'a> {
    Request {
        tasks: &work.summary_tasks,
        settings: &work.settings,
        builtin: work.strategy == Strategy::Summarize || work.summary_tasks.is_empty(),
        wants_model: work.strategy == Strategy::LlmSummarize,
        upstream: work.upstream.as_deref(),
        replaced_tokens: work.replaced_tokens,
        words: identifiers::needed(&work.outline.identifiers),
        prefix,
    }
}

/// The session's own context, where the upstream that will be asked takes it.
async fn prefix(jobs: &Jobs, work: &CompactionWork) -> Result<Option<SessionPrefix>> {
    let upstream = match &work.upstream {
        Some(name) => jobs.upstreams.get(name),
        None => Some(jobs.upstreams.default_upstream()),
    };
    let as_said = work.summary_tasks.iter().all(|task| task.shown.is_none());
    let wanted = as_said && work.strategy != Strategy::Summarize && !work.summary_tasks.is_empty();
    let Some(upstream) = upstream.filter(|upstream| wanted && upstream.config().reuse_prefix) else { return Ok(None) };
    let config = upstream.config();
    match config.kind.format() {
        Some(format) => jobs.service.session_prefix(work, format, &config.model).await,
        None => Ok(None),
    }
}

/// Adds to the job's log line what it was about. Nothing of the transcript.
fn note(work: &CompactionWork, outcome: &SummaryOutcome) {
    let span = tracing::Span::current();
    span.record("trigger", work.trigger.into_str());
    span.record("upstream", outcome.upstream.name.as_deref());
    span.record("fallback", outcome.fallback.reason.as_deref());
    span.record("replaced_tokens", work.replaced_tokens);
    span.record("summaries", work.summary_tasks.len());
}
