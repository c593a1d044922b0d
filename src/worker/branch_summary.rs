//! The job that summarises a branch before it is left. The call that asked waits for the draft.

use uuid::Uuid;

use super::compaction::end;
use super::jobs::Jobs;
use super::summarise::{Request, summarise};
use crate::domain::model::strategy::Strategy;
use crate::llm::CallContext;
use crate::service::compaction::{Committed, facts};
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::tenant::Tenant;
use crate::service::navigation::{BranchSummaryDraft, BranchSummaryWork, BranchWriter};
use crate::store::queue::Job;
use crate::trace::stage;

/// Writes the summary that the session's newest pending branch summary asks for.
///
/// # Errors
/// The database's; the queue tries again.
pub async fn run(jobs: &Jobs, job: &Job) -> Result<Committed> {
    let begun = jobs.service.begin_branch_summary(Tenant(job.tenant), job.session_id).await.optional()?;
    let Some(work) = begun.flatten() else { return end(jobs, job).await };
    let drafted = draft(jobs, (Tenant(job.tenant), job.session_id), &work).await;
    jobs.service.end_branch_summary(&work, drafted.as_ref().map_err(Clone::clone), job.proof()).await
}

async fn draft(
    jobs: &Jobs,
    (tenant, session): (Tenant, Uuid),
    work: &BranchSummaryWork,
) -> std::result::Result<BranchSummaryDraft, String> {
    let request = Request {
        record: Some(&work.record),
        task: Some(&work.task),
        settings: &work.settings,
        builtin: work.settings.strategy == Strategy::Summarize,
        wants_model: work.settings.strategy == Strategy::LlmSummarize,
        upstream: work.upstream.as_deref(),
        replaced_tokens: work.replaced_tokens,
        prefix: None,
    };
    let context = CallContext { tenant: tenant.0, session: Some(session), compaction: None };
    let upstreams = jobs.upstreams.on_behalf_of(context);
    let outcome = stage("summarise", summarise(&upstreams, &request)).await.map_err(|failure| {
        facts::note(|facts| facts.error = Some(failure.code()));
        failure.to_string()
    })?;
    facts::note_summary(&outcome);
    Ok(work.draft(outcome, BranchWriter::Service))
}
