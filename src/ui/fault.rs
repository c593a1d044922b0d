//! What a page answers instead of itself. The gate draws it in the layout of all pages.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::service::core::error::{ServiceError, cause};

pub type Result<T> = std::result::Result<T, Fault>;

/// A status and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub status: StatusCode,
    pub detail: String,
}

impl Fault {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Fault {
        Fault { status, detail: detail.into() }
    }

    /// `what` is not there, or another tenant's.
    pub fn not_found(what: &str) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, format!("There is no such {what} here, or it was erased."))
    }

    pub fn method_not_allowed() -> Fault {
        Fault::new(StatusCode::METHOD_NOT_ALLOWED, "This page can't be asked that way.")
    }

    pub fn forbidden(detail: &str) -> Fault {
        Fault::new(StatusCode::FORBIDDEN, detail)
    }

    /// A value of the address or of a form that can't be.
    pub fn invalid(detail: impl Into<String>) -> Fault {
        Fault::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub fn internal() -> Fault {
        let detail = "Something went wrong here. The log has it under the request's id.";
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}

impl From<ServiceError> for Fault {
    fn from(error: ServiceError) -> Fault {
        let unavailable = |detail: &str| Fault::new(StatusCode::SERVICE_UNAVAILABLE, detail);
        let busy = |detail: &str| Fault::new(StatusCode::TOO_MANY_REQUESTS, detail);
        match error {
            ServiceError::NotFound(what) => Fault::not_found(what),
            ServiceError::NumberNotFound(detail) => Fault::new(StatusCode::NOT_FOUND, detail),
            ServiceError::Invalid(errors) | ServiceError::HandleRefused(errors) => {
                let named: Vec<String> =
                    errors.iter().map(|error| format!("{} {}", error.pointer, error.detail)).collect();
                Fault::invalid(named.join("; "))
            }
            ServiceError::LeafMoved { .. } => {
                Fault::new(StatusCode::CONFLICT, "The session has moved on; look at it again.")
            }
            ServiceError::ContextDoesNotFit { needed, max_tokens } => {
                Fault::invalid(format!("The context needs {needed} tokens and {max_tokens} were allowed."))
            }
            ServiceError::Conflict { detail, .. } => Fault::new(StatusCode::CONFLICT, detail),
            ServiceError::QueueFull { .. } => busy("Too much is queued already. Try again in a few seconds."),
            ServiceError::TooManyBytes { .. } => busy("Too much is on its way already. Try again in a few seconds."),
            ServiceError::TooManyStreams { .. } => busy("Too many pages of this tenant are following events."),
            ServiceError::Unavailable(error) => {
                tracing::warn!(cause = ?cause(&error), %error, "a page met a database that is not available");
                unavailable("The database is not available. Try again in a few seconds.")
            }
            ServiceError::OutcomeUnknown(_) => {
                unavailable("The database went away meanwhile: whether this was done is not known.")
            }
            ServiceError::Internal(error) => {
                tracing::error!(error = format!("{error:#}"), "a page failed");
                Fault::internal()
            }
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.detail.clone()).into_response();
        response.extensions_mut().insert(self);
        response
    }
}
