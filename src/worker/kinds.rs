//! What each kind of job does.

use super::handler::{Handler, Outcome};
use super::jobs::Jobs;
use super::{branch_summary, compaction};
use crate::service::compaction::Committed;
use crate::service::core::error::ServiceError;
use crate::service::core::tenant::Tenant;
use crate::store::queue::{Job, Kind};

/// A new kind of job gets a variant of [`Kind`] and an arm here.
impl Handler for Jobs {
    async fn run(&self, job: &Job) -> Outcome {
        let ended = match job.kind {
            Kind::Compact => compaction::run(self, job).await,
            Kind::Depart => branch_summary::run(self, job).await,
            Kind::Recount => self.service.recount(Tenant(job.tenant), job.session_id, job.proof()).await,
        };
        match ended {
            Ok(Committed::Done) => Outcome::Done,
            Ok(Committed::LeaseLost) => Outcome::LeaseLost,
            Ok(Committed::Replan) => Outcome::Retry("the session changed meanwhile".to_owned()),
            Err(error) => retry(&error),
        }
    }
}

/// The client's sentence goes to the job, the cause to the log.
fn retry(error: &ServiceError) -> Outcome {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, "a job failed");
    Outcome::Retry(error.to_string())
}
