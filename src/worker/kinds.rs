//! Work of each kind of job.

use super::handler::{Handler, JobOutcome};
use super::jobs::Jobs;
use super::{branch_summary, compaction};
use crate::service::compaction::Committed;
use crate::service::core::error::ServiceError;
use crate::service::core::tenant::Tenant;
use crate::store::queue::{Job, JobKind};

/// A new kind of job gets a variant of [`JobKind`] and an arm here.
impl Handler for Jobs {
    async fn run(&self, job: &Job) -> JobOutcome {
        let ended = match job.kind {
            JobKind::Compact => compaction::run(self, job).await,
            JobKind::Depart => branch_summary::run(self, job).await,
            JobKind::Recount => self.service.recount(Tenant(job.tenant), job.session_id, job.proof()).await,
        };
        match ended {
            Ok(Committed::Done) => JobOutcome::Done,
            Ok(Committed::LeaseLost) => JobOutcome::LeaseLost,
            Ok(Committed::Replan) => JobOutcome::Retry("the session changed meanwhile".to_owned()),
            Err(error) => retry(&error),
        }
    }
}

/// The client's sentence goes to the job, the cause to the log.
fn retry(error: &ServiceError) -> JobOutcome {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, "a job failed");
    JobOutcome::Retry(error.to_string())
}
