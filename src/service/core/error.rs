//! Errors of a use case, as the client should see them; causes go to the log only.

use uuid::Uuid;

pub use crate::store::fault::DatabaseFault;
use crate::store::fault::fault;

/// One invalid field: a JSON pointer into the request body, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    pub pointer: String,
    pub detail: String,
}

/// Reasons of a [`ServiceError::Conflict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictCode {
    IdempotencyInProgress,
    InProgress,
    NotRevertible,
    AlreadyReverted,
    NotNewest,
    SummaryFailed,
    CancelledByHook,
    NavigationSuperseded,
    TooManyHooks,
    NotRedeliverable,
    NothingChanged,
    NotRetryable,
    TooManyKeys,
    KeyNotActive,
}

#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The thing is not there, or belongs to another tenant.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// A number of a record leads nowhere; what there is, in words (404, `not_found`).
    #[error("{0}")]
    NumberNotFound(String),
    /// The body is well-formed JSON but can't be accepted (422, `validation_failed`).
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// A sealed handle among the items does not open (400, `handle_refused`).
    #[error("a sealed handle does not open")]
    HandleRefused(Vec<FieldError>),
    /// `expected_leaf_id` is no longer the leaf (409, `leaf_moved`).
    #[error("the leaf has moved")]
    LeafMoved { leaf_id: Option<Uuid> },
    /// Context that must be kept is larger than `max_tokens` (422, `context_does_not_fit`).
    #[error("the context needs {needed} tokens and {max_tokens} were allowed")]
    ContextDoesNotFit { needed: u64, max_tokens: u64 },
    /// The state of the thing does not allow the call (409).
    #[error("{detail}")]
    Conflict { code: ConflictCode, detail: String },
    /// Too much is waiting already (429 with `Retry-After`, in seconds).
    #[error("the queue is full")]
    QueueFull { retry_after: u64 },
    /// So many bytes of answers are on their way already that there is no room for this one (503 with `Retry-After`, in
    /// seconds).
    #[error("too many bytes of answers are on their way")]
    TooManyBytes { retry_after: u64 },
    /// The tenant has as many event streams open as it may (429 with `Retry-After`, in seconds).
    #[error("too many event streams are open")]
    TooManyStreams { limit: usize, retry_after: u64 },
    /// The database can't do it now, and may later (503 with `Retry-After`).
    #[error("the database is not available")]
    Unavailable(#[source] sqlx::Error),
    /// The database went away in the middle of a write and can't be asked whether it landed (503 with `Retry-After`,
    /// `outcome_unknown`).
    #[error("whether the write has landed is not known: {0}")]
    OutcomeUnknown(String),
    /// Everything else (500): a fault of ours.
    #[error("internal error")]
    Internal(#[source] anyhow::Error),
}

pub type Result<T> = std::result::Result<T, ServiceError>;

/// An outcome that does without the thing.
pub trait Optional<T> {
    /// `None` where the thing is not there.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> Optional<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Err(ServiceError::NotFound(_) | ServiceError::NumberNotFound(_)) => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

impl ServiceError {
    /// One invalid field.
    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> ServiceError {
        ServiceError::Invalid(vec![FieldError { pointer: pointer.into(), detail: detail.into() }])
    }

    /// The same error, its pointers into the body changed.
    pub fn with_pointers(self, change: impl Fn(&str) -> String) -> ServiceError {
        let changed = |errors: Vec<FieldError>| -> Vec<FieldError> {
            let change = |error: FieldError| FieldError { pointer: change(&error.pointer), ..error };
            errors.into_iter().map(change).collect()
        };
        match self {
            ServiceError::Invalid(errors) => ServiceError::Invalid(changed(errors)),
            ServiceError::HandleRefused(errors) => ServiceError::HandleRefused(changed(errors)),
            other => other,
        }
    }
}

/// Names the fault of the database, where it is not available.
pub fn cause(error: &sqlx::Error) -> DatabaseFault {
    fault(error).unwrap_or(DatabaseFault::Unavailable)
}

/// Names what is gone where a row belongs to nothing: the session was erased, or the hook removed, between the look
/// for it and the row.
fn missing(error: &sqlx::Error) -> Option<&'static str> {
    let database = error.as_database_error().filter(|database| database.is_foreign_key_violation())?;
    let constraint = database.constraint().unwrap_or_default();
    ["session", "hook"].into_iter().find(|name| constraint.contains(name))
}

impl From<sqlx::Error> for ServiceError {
    fn from(error: sqlx::Error) -> Self {
        if let Some(missing) = missing(&error) {
            return ServiceError::NotFound(missing);
        }
        match fault(&error) {
            Some(_) => ServiceError::Unavailable(error),
            None => ServiceError::Internal(error.into()),
        }
    }
}

impl From<anyhow::Error> for ServiceError {
    /// Converts an error; words added to an error of the database on its way do not change what it is.
    fn from(error: anyhow::Error) -> Self {
        if error.downcast_ref::<sqlx::Error>().and_then(fault).is_none() {
            return ServiceError::Internal(error);
        }
        error.downcast::<sqlx::Error>().map_or_else(ServiceError::Internal, ServiceError::from)
    }
}
