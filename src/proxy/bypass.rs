//! Why a request is handed on as it came.

use crate::service::core::error::{ConflictCode, ServiceError};

/// Words of the header `contextd-bypass`: why a request that carries a conversation went on as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumMessage, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum BypassReason {
    /// Nothing names the conversation, and it holds no answer yet that it could be known by.
    NoIdentity,
    /// The request has the conversation's key, but is another one: a title, a topic check.
    SideRequest,
    /// The provider holds a part of the conversation.
    ServerState,
    /// The request asks the provider for a compaction, and none was made here.
    ProviderCompaction,
    /// The body is larger than `limits.max_body_bytes`.
    TooLarge,
    /// The body is compressed, no JSON of this route, too deep, or holds too many items.
    Unreadable,
    /// The service does not take an item of the conversation; the log says which.
    Refused,
    /// Too many requests or bytes are in work.
    Busy,
    /// Our own part took longer than `proxy.timeout_ms`.
    Timeout,
    /// The database can't be reached, or takes no changes.
    Unavailable,
    /// Another request changed the conversation meanwhile.
    Moved,
    /// A fault of ours; the log has it.
    Internal,
}

impl From<ServiceError> for BypassReason {
    fn from(error: ServiceError) -> BypassReason {
        match error {
            ServiceError::Invalid(errors) | ServiceError::HandleRefused(errors) => {
                let first = errors.first().map(|error| format!("{}: {}", error.pointer, error.detail));
                tracing::warn!(error = first, "a conversation can't be stored");
                BypassReason::Refused
            }
            ServiceError::ContextDoesNotFit { .. } => BypassReason::Refused,
            ServiceError::Conflict { code: ConflictCode::SummaryFailed, .. } => BypassReason::ProviderCompaction,
            ServiceError::NotFound(_)
            | ServiceError::NumberNotFound(_)
            | ServiceError::LeafMoved { .. }
            | ServiceError::Conflict { .. } => BypassReason::Moved,
            ServiceError::QueueFull { .. }
            | ServiceError::TooManyBytes { .. }
            | ServiceError::TooManyStreams { .. } => BypassReason::Busy,
            ServiceError::Unavailable(error) => {
                tracing::error!(%error, "the database is not available to the proxy");
                BypassReason::Unavailable
            }
            ServiceError::OutcomeUnknown(_) => BypassReason::Unavailable,
            ServiceError::Internal(error) => {
                tracing::error!(error = format!("{error:#}"), "a conversation could not be stored");
                BypassReason::Internal
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::{EnumMessage, VariantArray};

    use super::*;
    use crate::codes_page::assert_listed;

    #[test]
    fn the_page_lists_every_reason() {
        let meaning = |reason: &BypassReason| reason.get_documentation().unwrap().replace('\n', " ");
        assert_listed("BypassReason", BypassReason::VARIANTS.iter().map(|reason| (*reason, meaning(reason))));
    }
}
