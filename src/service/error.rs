//! What can go wrong in a use case, as the client should see it; causes go to the log only.

use uuid::Uuid;

/// One invalid field: a JSON pointer into the request body, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    pub pointer: String,
    pub detail: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The thing is not there, or belongs to another tenant.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The body is well-formed JSON but can't be accepted (422, `validation_failed`).
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// `expected_leaf_id` is no longer the leaf (409, `leaf_moved`).
    #[error("the leaf has moved")]
    LeafMoved { leaf_id: Option<Uuid> },
    /// What must be kept is larger than `max_tokens` (422, `context_does_not_fit`).
    #[error("the context needs {needed} tokens and {max_tokens} were allowed")]
    ContextDoesNotFit { needed: u64, max_tokens: u64 },
    /// The state of the thing does not allow the call (409); `code` is a stable word.
    #[error("{detail}")]
    Conflict { code: &'static str, detail: String },
    /// Too much is waiting already (429 with `Retry-After`, in seconds).
    #[error("the queue is full")]
    QueueFull { retry_after: u64 },
    /// The tenant has as many event streams open as it may (429 with `Retry-After`, in seconds).
    #[error("too many event streams are open")]
    TooManyStreams { limit: usize, retry_after: u64 },
    /// The database could not be reached in time (503 with `Retry-After`).
    #[error("the database is not reachable")]
    Unavailable(#[source] sqlx::Error),
    /// Everything else (500): a fault of ours.
    #[error("internal error")]
    Internal(#[from] anyhow::Error),
}

pub type Result<T> = std::result::Result<T, ServiceError>;

impl ServiceError {
    /// One invalid field.
    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> ServiceError {
        ServiceError::Invalid(vec![FieldError { pointer: pointer.into(), detail: detail.into() }])
    }
}

impl From<sqlx::Error> for ServiceError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => {
                ServiceError::Unavailable(error)
            }
            // Shutting down, crashed or starting up: the same call works a moment later.
            sqlx::Error::Database(ref database)
                if matches!(database.code().as_deref(), Some("57P01" | "57P02" | "57P03")) =>
            {
                ServiceError::Unavailable(error)
            }
            other => ServiceError::Internal(other.into()),
        }
    }
}
