//! The codes of error answers, and the status of each.

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::service::core::error::ConflictCode;

/// Codes of error answers: stable words to program against.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    ToSchema,
    strum::EnumMessage,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ProblemCode {
    /// The body is not JSON; `line` and `column` say where.
    MalformedJson,
    /// The body is not UTF-8; `offset` says where.
    InvalidUtf8,
    /// The body ended before its time.
    BodyUnreadable,
    /// A sealed handle does not open: it was forged, cut off, or sealed for another tenant or with an unknown key;
    /// `errors` has a pointer to each.
    HandleRefused,
    /// No key, or one that is not known, is over or was revoked.
    Unauthorized,
    /// The key has neither the scope in `needed_scope` nor one that includes it.
    InsufficientScope,
    /// With `--dev`: the Host is not this machine.
    HostNotAllowed,
    /// With `--dev`: another site's page asks.
    OriginNotAllowed,
    /// There is no such thing, or it belongs to somebody else.
    NotFound,
    /// The path does not take this method; `Allow` lists those that it takes.
    MethodNotAllowed,
    /// `Accept` lacks a type that the answer may have.
    NotAcceptable,
    /// `MCP-Protocol-Version` names no version that is spoken here.
    McpVersionUnknown,
    /// The body did not come in time.
    BodyTimeout,
    /// The leaf is another one; `leaf_id` names it.
    LeafMoved,
    /// An equal request is at work right now; `Retry-After` says when to ask again.
    IdempotencyInProgress,
    /// A compaction was just ending; try again.
    InProgress,
    /// The compaction has changed nothing that could be taken back.
    NotRevertible,
    /// It was taken back before.
    AlreadyReverted,
    /// A newer compaction stands on it.
    NotNewest,
    /// There is no summary, and the settings allow no stand-in.
    SummaryFailed,
    /// A hook is against it; `detail` has its reason.
    CancelledByHook,
    /// A newer navigation with a summary came in between.
    NavigationSuperseded,
    /// There are as many hooks as there may be.
    TooManyHooks,
    /// The delivery is on its way, or was too large to be kept.
    NotRedeliverable,
    /// The compaction has not changed a context: it has not ended, was skipped, cancelled or has failed.
    NothingChanged,
    /// The compaction has not failed, or its session has another one at work.
    NotRetryable,
    /// There are as many keys as there may be.
    TooManyKeys,
    /// The key was revoked, has expired or was rotated before.
    KeyNotActive,
    /// The body is larger than `limit` bytes.
    PayloadTooLarge,
    /// The body is not sent as `application/json`.
    UnsupportedMediaType,
    /// The request is not valid; `errors` has a pointer to each fault.
    ValidationFailed,
    /// The body nests deeper than `limit`.
    TooDeep,
    /// More items than `limit`.
    TooManyItems,
    /// What must be kept takes `tokens_needed`, more than `max_tokens`.
    ContextDoesNotFit,
    /// The key was used for another request.
    IdempotencyKeyReused,
    /// Too many jobs wait already; see `Retry-After`.
    QueueFull,
    /// The key has made as many requests as it may within a minute, which are `limit`; see `Retry-After`.
    RateLimited,
    /// As many streams are open as may be; see `Retry-After`.
    TooManyStreams,
    /// A fault of ours; the log has it under this `request_id`.
    InternalError,
    /// The database went away in the middle of the write, which may have landed or not. Sent again with the same
    /// `Idempotency-Key` it acts once.
    OutcomeUnknown,
    /// The database can't be reached; see `Retry-After`.
    Unavailable,
    /// The process is starting or shutting down.
    StartingOrDraining,
    /// The database schema is older than this version.
    SchemaOutdated,
    /// The database takes no changes right now; see `Retry-After`.
    ReadOnly,
    /// The database has no room left.
    StorageFull,
    /// It took too long and was given up; a change may have been made all the same.
    Timeout,
    /// Too many bytes of bodies or answers are held already; see `Retry-After`.
    TooManyBytes,
    /// Too many connections are open; see `Retry-After`.
    TooManyConnections,
    /// The process is shutting down.
    ShuttingDown,
}

impl ProblemCode {
    pub fn status(self) -> StatusCode {
        use ProblemCode::*;
        match self {
            MalformedJson | InvalidUtf8 | BodyUnreadable | HandleRefused | McpVersionUnknown => StatusCode::BAD_REQUEST,
            Unauthorized => StatusCode::UNAUTHORIZED,
            InsufficientScope | HostNotAllowed | OriginNotAllowed => StatusCode::FORBIDDEN,
            NotFound => StatusCode::NOT_FOUND,
            MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            LeafMoved
            | IdempotencyInProgress
            | InProgress
            | NotRevertible
            | AlreadyReverted
            | NotNewest
            | SummaryFailed
            | CancelledByHook
            | NavigationSuperseded
            | TooManyHooks
            | NotRedeliverable
            | NothingChanged
            | NotRetryable
            | TooManyKeys
            | KeyNotActive => StatusCode::CONFLICT,
            PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ValidationFailed | TooDeep | TooManyItems | ContextDoesNotFit | IdempotencyKeyReused => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            QueueFull | RateLimited | TooManyStreams => StatusCode::TOO_MANY_REQUESTS,
            InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            OutcomeUnknown | Unavailable | StartingOrDraining | SchemaOutdated | ReadOnly | StorageFull | Timeout
            | TooManyBytes | TooManyConnections | ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<ConflictCode> for ProblemCode {
    fn from(code: ConflictCode) -> ProblemCode {
        match code {
            ConflictCode::IdempotencyInProgress => ProblemCode::IdempotencyInProgress,
            ConflictCode::InProgress => ProblemCode::InProgress,
            ConflictCode::NotRevertible => ProblemCode::NotRevertible,
            ConflictCode::AlreadyReverted => ProblemCode::AlreadyReverted,
            ConflictCode::NotNewest => ProblemCode::NotNewest,
            ConflictCode::SummaryFailed => ProblemCode::SummaryFailed,
            ConflictCode::CancelledByHook => ProblemCode::CancelledByHook,
            ConflictCode::NavigationSuperseded => ProblemCode::NavigationSuperseded,
            ConflictCode::TooManyHooks => ProblemCode::TooManyHooks,
            ConflictCode::NotRedeliverable => ProblemCode::NotRedeliverable,
            ConflictCode::NothingChanged => ProblemCode::NothingChanged,
            ConflictCode::NotRetryable => ProblemCode::NotRetryable,
            ConflictCode::TooManyKeys => ProblemCode::TooManyKeys,
            ConflictCode::KeyNotActive => ProblemCode::KeyNotActive,
        }
    }
}
