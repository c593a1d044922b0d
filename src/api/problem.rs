//! Every error answer: `application/problem+json` with a stable `code`. A 5xx says nothing of its cause; the log does.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::problem_code::ProblemCode;
use super::request_id;
use crate::service::core::access::Scope;
use crate::service::core::error::{self, ConflictCode, DatabaseFault, FieldError, ServiceError};

/// How long a client should wait when the database is away, in seconds.
const UNAVAILABLE_RETRY_SECONDS: u64 = 2;
/// How long until an equal request, at work right now, will have answered.
const IN_PROGRESS_RETRY_SECONDS: u64 = 1;

pub type Result<T> = std::result::Result<T, Problem>;

/// An error answer in the making.
#[derive(Debug, Clone)]
pub struct Problem(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    code: ProblemCode,
    detail: String,
    errors: Vec<FieldError>,
    figures: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The body of an error answer (RFC 9457). Some codes add figures as members of their own.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody<'a> {
    /// A URN that ends in `code`.
    #[serde(rename = "type")]
    kind: String,
    /// The code in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What is wrong with this request.
    detail: &'a str,
    code: ProblemCode,
    /// Where the request does not validate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<InvalidField<'a>>,
    /// The same id as in the `x-request-id` header and in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    figures: &'a Map<String, Value>,
}

/// One part of a request that does not validate.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvalidField<'a> {
    /// JSON pointer into the body; for a query parameter `/query/{name}`, for a header `/headers/{name}`.
    pointer: &'a str,
    detail: &'a str,
}

impl Problem {
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Problem {
        let detail = detail.into();
        Problem(Box::new(Parts { code, detail, errors: vec![], figures: Map::new(), headers: vec![] }))
    }

    pub fn not_found(what: &str) -> Problem {
        Problem::new(ProblemCode::NotFound, format!("{what} not found"))
    }

    /// The body or the query does not validate: at least one pointer says where.
    pub fn invalid(errors: Vec<FieldError>) -> Problem {
        let mut problem = Problem::new(ProblemCode::ValidationFailed, "the request is not valid");
        problem.0.errors = errors;
        problem
    }

    /// A sealed handle in the body does not open: at least one pointer says which.
    fn handle_refused(errors: Vec<FieldError>) -> Problem {
        let mut problem = Problem::new(ProblemCode::HandleRefused, "a sealed handle among the items does not open");
        problem.0.errors = errors;
        problem
    }

    pub fn too_many_items(count: usize, limit: usize) -> Problem {
        let detail = format!("{count} items were sent and {limit} are allowed");
        Problem::new(ProblemCode::TooManyItems, detail).figure("limit", json!(limit))
    }

    /// The key may not do what needs this scope.
    pub fn insufficient_scope(needed: Scope) -> Problem {
        let word = needed.into_str();
        let detail = format!("this needs a key with the scope {word}");
        let challenge = format!("Bearer realm=\"contextd\", error=\"insufficient_scope\", scope=\"{word}\"");
        let problem = Problem::new(ProblemCode::InsufficientScope, detail).figure("needed_scope", json!(word));
        match HeaderValue::from_str(&challenge) {
            Ok(challenge) => problem.header(header::WWW_AUTHENTICATE, challenge),
            Err(_) => problem,
        }
    }

    /// A fault of ours. The caller logs the cause.
    pub fn internal() -> Problem {
        let detail = "something went wrong on our side; the log has the cause under this request_id";
        Problem::new(ProblemCode::InternalError, detail)
    }

    /// Code and detail in one line, with every invalid field.
    pub fn told(&self) -> String {
        let fields = self.0.errors.iter().map(|error| format!("; {}: {}", error.pointer, error.detail));
        format!("{}: {}{}", self.0.code.into_str(), self.0.detail, fields.collect::<String>())
    }

    /// Adds a member of its own to the body.
    pub fn figure(mut self, name: &str, value: Value) -> Problem {
        self.0.figures.insert(name.to_owned(), value);
        self
    }

    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Problem {
        self.0.headers.push((name, value));
        self
    }

    /// Says after how many seconds to try again.
    pub fn retry_after(self, seconds: u64) -> Problem {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Problem {
        match error {
            ServiceError::NotFound(what) => Problem::not_found(what),
            ServiceError::NumberNotFound(detail) => Problem::new(ProblemCode::NotFound, detail),
            ServiceError::Invalid(errors) => Problem::invalid(errors),
            ServiceError::HandleRefused(errors) => Problem::handle_refused(errors),
            ServiceError::LeafMoved { leaf_id } => {
                Problem::new(ProblemCode::LeafMoved, "expected_leaf_id is no longer the session's leaf")
                    .figure("leaf_id", json!(leaf_id))
            }
            ServiceError::ContextDoesNotFit { needed, max_tokens } => {
                let detail = format!("what must be kept takes {needed} tokens and max_tokens is {max_tokens}");
                Problem::new(ProblemCode::ContextDoesNotFit, detail)
                    .figure("tokens_needed", json!(needed))
                    .figure("max_tokens", json!(max_tokens))
            }
            ServiceError::Conflict { code, detail } => {
                let problem = Problem::new(code.into(), detail);
                match code {
                    ConflictCode::IdempotencyInProgress => problem.retry_after(IN_PROGRESS_RETRY_SECONDS),
                    _ => problem,
                }
            }
            ServiceError::QueueFull { retry_after } => {
                Problem::new(ProblemCode::QueueFull, "too many jobs are waiting already").retry_after(retry_after)
            }
            ServiceError::TooManyBytes { retry_after } => {
                let detail = "too many bytes of answers are on their way already";
                Problem::new(ProblemCode::TooManyBytes, detail).retry_after(retry_after)
            }
            ServiceError::TooManyStreams { limit, retry_after } => {
                let detail = format!("{limit} event streams are open, which is as many as there may be");
                Problem::new(ProblemCode::TooManyStreams, detail).figure("limit", json!(limit)).retry_after(retry_after)
            }
            ServiceError::Unavailable(cause) => {
                tracing::error!(request_id = request_id::current(), error = %cause, "the database is not available");
                let (code, detail) = match error::cause(&cause) {
                    DatabaseFault::Unavailable => (ProblemCode::Unavailable, "the service is not available right now"),
                    DatabaseFault::ReadOnly => (ProblemCode::ReadOnly, "the database takes no changes right now"),
                    DatabaseFault::StorageFull => (ProblemCode::StorageFull, "the database has no room left"),
                };
                Problem::new(code, detail).retry_after(UNAVAILABLE_RETRY_SECONDS)
            }
            ServiceError::OutcomeUnknown(cause) => {
                tracing::error!(request_id = request_id::current(), error = %cause, "the outcome of a write is not known");
                let detail = "the database went away in the middle of this write, so it may have landed or not; \
                    sent again with the same Idempotency-Key it acts once";
                Problem::new(ProblemCode::OutcomeUnknown, detail).retry_after(UNAVAILABLE_RETRY_SECONDS)
            }
            ServiceError::Internal(cause) => {
                tracing::error!(request_id = request_id::current(), error = format!("{cause:#}"), "internal error");
                Problem::internal()
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Parts { code, detail, errors, figures, headers } = *self.0;
        let body = ProblemBody {
            kind: format!("urn:contextd:problem:{}", code.into_str()),
            title: title(code.into_str()),
            status: code.status().as_u16(),
            detail: &detail,
            code,
            errors: errors
                .iter()
                .map(|error| InvalidField { pointer: &error.pointer, detail: &error.detail })
                .collect(),
            request_id: request_id::current(),
            figures: &figures,
        };
        let text = serde_json::to_string(&body).unwrap_or_default();
        let mut response = (code.status(), [(header::CONTENT_TYPE, "application/problem+json")], text).into_response();
        response.headers_mut().extend(headers);
        // For the middleware around it.
        response.extensions_mut().insert(code);
        response
    }
}

fn title(code: &str) -> String {
    let mut words = code.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}
