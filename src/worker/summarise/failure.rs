//! Why there is no summary.

use crate::domain::compaction::fallback_reason::FallbackReason;
use crate::domain::summary::verify::RejectReason;
use crate::llm::UpstreamError;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("the upstream `{0}` is not configured")]
    Unknown(String),
    #[error("the upstream failed: {0}")]
    Upstream(#[from] UpstreamError),
    #[error("the upstream's answer was refused: {0}")]
    Rejected(#[from] RejectReason),
    #[error("the upstream's window is too small for this context")]
    DoesNotFit,
    #[error("the summary takes more calls than the upstream's `max_calls`")]
    TooManyCalls,
    #[error("the summary could not be worked on")]
    Aside(#[from] tokio::task::JoinError),
    /// Several were asked, in this order.
    #[error("no upstream gave a summary: {}", list(.0))]
    All(Vec<(String, Failure)>),
}

fn list(failures: &[(String, Failure)]) -> String {
    let each: Vec<String> = failures.iter().map(|(name, failure)| format!("`{name}`: {failure}")).collect();
    each.join("; ")
}

impl Failure {
    /// A stable word for `fallback.reason`.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::Unknown(_) => FallbackReason::UnknownUpstream.into_str(),
            Failure::Upstream(error) => error.code(),
            Failure::Rejected(reason) => reason.code(),
            Failure::DoesNotFit => FallbackReason::ContextOverflow.into_str(),
            Failure::TooManyCalls => FallbackReason::CallLimit.into_str(),
            Failure::Aside(_) => FallbackReason::Internal.into_str(),
            Failure::All(failures) => {
                failures.first().map_or(FallbackReason::Internal.into_str(), |(_, failure)| failure.code())
            }
        }
    }

    pub(super) fn is_overflow(&self) -> bool {
        matches!(self, Failure::Upstream(UpstreamError::ContextOverflow { .. }))
    }
}
