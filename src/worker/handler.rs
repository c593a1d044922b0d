//! Handler that does the work of one job, and how it leaves the job.

use std::future::Future;

use crate::store::queue::Job;

/// Does the work of one job. Dropping the future must be safe at any point: the work is then done again.
pub trait Handler: Send + Sync + 'static {
    fn run(&self, job: &Job) -> impl Future<Output = JobOutcome> + Send;
}

/// How a handler left its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobOutcome {
    /// Finished, in the transaction that wrote the result.
    Done,
    /// The lease was lost; nothing was written.
    LeaseLost,
    /// Nothing was written; try again later. The sentence is shown to clients.
    Retry(String),
}
