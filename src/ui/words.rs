//! What people are told in place of the service's own words.

use crate::domain::compaction::result::Reason;
use crate::domain::model::anti_thrash::TrippedBy;
use crate::domain::model::strategy::Strategy;
use crate::domain::tokens::accounting::Source;
use crate::service::compaction::{Status, Trigger};
use crate::service::core::error::{ConflictCode, ServiceError};

use super::fault::Fault;

/// A count of tokens, as figures are written.
pub fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// What the tokens of a context's parts are.
pub fn measured(source: Source) -> &'static str {
    match source {
        Source::Estimate | Source::UsageRejected => {
            "Tokens are estimated, by the provider's measure where one is known."
        }
        Source::Usage => "Tokens are estimated part by part and brought to the total that the provider reported.",
    }
}

/// Why the guard holds compactions back.
pub fn guard(tripped_by: Option<TrippedBy>) -> &'static str {
    match tripped_by {
        Some(TrippedBy::Cost) => "Compactions cost more than they bring: no more of them until the context has grown",
        Some(TrippedBy::Both) => {
            "Compactions saved too little or cost more than they bring: no more of them until the context has grown"
        }
        Some(TrippedBy::Savings) | None => "Compactions saved too little: no more of them until the context has grown",
    }
}

/// What started a compaction.
pub fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "a call",
        Trigger::Auto => "the context turned red",
        Trigger::Ahead => "prepared ahead",
        Trigger::Chapter => "chapters were closed",
        Trigger::Overflow => "the provider refused the context",
    }
}

/// What a strategy does.
pub fn strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Auto => "masks and prunes first; a model summarises what is left to do",
        Strategy::Mask => "older tool results become placeholders",
        Strategy::Prune => "long results and arguments are cut to head and tail",
        Strategy::Truncate => "the oldest messages go",
        Strategy::Sliding => "the newest messages stay",
        Strategy::Smart => "the oldest messages that matter least go",
        Strategy::Summarize => "the built-in summariser replaces the older part",
        Strategy::LlmSummarize => "a model summarises the older part",
    }
}

/// Why nothing is done, or was.
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::EmptySession => "The session holds no messages yet.",
        Reason::AlreadyCompacted => "Nothing came since the last compaction.",
        Reason::NothingToCompact => "There is nothing that could be left out.",
        Reason::NoValidCutPoint => "There is no place to cut that a provider would accept.",
        Reason::Disabled => "Compaction is switched off for this session.",
        Reason::AntiThrash => {
            "The guard holds it back: the last compactions saved too little, or cost more than they bring."
        }
        Reason::InProgress => "Another compaction is at work.",
        Reason::BelowThreshold => "The context is below the threshold.",
        Reason::LowSavings => "It would have saved too little.",
        Reason::CancelledByHook => "A hook was against it.",
        Reason::WouldGrow => "The context would have grown.",
        Reason::Superseded => "The session moved on meanwhile.",
        Reason::FixedOverhead => "System prompt and tools alone fill the window.",
        Reason::StaleUsage => "What the provider reported is older than the last compaction.",
    }
}

/// Tells if a compaction goes on.
pub fn is_live(status: Status) -> bool {
    matches!(status, Status::Queued | Status::Running)
}

/// A role, or else the type of an entry, in words.
pub fn speaker<'w>(kind: &'w str, role: Option<&'w str>) -> &'w str {
    match (kind, role) {
        ("compaction", _) | (_, Some("compaction_summary")) => "summary",
        ("chapter", _) => "chapter",
        ("branch_summary", _) => "branch summary",
        (_, Some("tool")) => "tool result",
        (_, Some("bash_execution")) => "shell",
        (kind, None) => kind,
        (_, Some(role)) => role,
    }
}

/// What an action says where it could not be done: in words, with the problem's code.
pub fn refused(error: ServiceError) -> Fault {
    let code = code(&error);
    let fault = Fault::from(error);
    match code {
        Some(code) => Fault::new(fault.status, format!("{} ({code})", fault.detail)),
        None => fault,
    }
}

/// The problem's code, as `docs/CODES.md` has it, of what an action may meet.
fn code(error: &ServiceError) -> Option<&'static str> {
    Some(match error {
        ServiceError::NotFound(_) => "not_found",
        ServiceError::Invalid(_) => "validation_failed",
        ServiceError::LeafMoved { .. } => "leaf_moved",
        ServiceError::ContextDoesNotFit { .. } => "context_does_not_fit",
        ServiceError::QueueFull { .. } => "queue_full",
        ServiceError::Conflict { code, .. } => match code {
            ConflictCode::InProgress => "in_progress",
            ConflictCode::NotRevertible => "not_revertible",
            ConflictCode::AlreadyReverted => "already_reverted",
            ConflictCode::NotNewest => "not_newest",
            ConflictCode::NothingChanged => "nothing_changed",
            ConflictCode::NotRetryable => "not_retryable",
            _ => return None,
        },
        _ => return None,
    })
}
