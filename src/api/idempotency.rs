//! `Idempotency-Key` on POST and PUT: the second equal request is answered with the first one's answer.

use std::sync::Arc;

use axum::body::{Body as HttpBody, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use uuid::Uuid;

use super::body;
use super::check::Faults;
use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;
use super::scope;
use super::state::AppState;
use crate::service::core::access::Scope;
use crate::service::core::error::ServiceError;
use crate::service::core::idempotency::{KeptAnswer, KeyState, Keyed, LARGEST_KEPT, under};
use crate::service::core::offload::offload;
use crate::service::core::tenant::Tenant;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const MAX_KEY_CHARS: usize = 255;

/// Behind authentication: a key means something within its tenant only.
pub async fn replay(State(state): State<AppState>, tenant: Tenant, request: Request, next: Next) -> Result<Response> {
    if !matches!(*request.method(), Method::POST | Method::PUT) {
        return Ok(next.run(request).await);
    }
    let Some(key) = key(request.headers())? else { return Ok(next.run(request).await) };
    let (keyed, request) = under_key(tenant, key, request, state.max_body).await?;
    if let Some(known) = known(&state, &keyed).await? {
        return Ok(known);
    }
    let response = under(Arc::clone(&keyed), next.run(request)).await;
    finish(&state, &keyed, response).await
}

fn key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(KEY) else { return Ok(None) };
    let key = value.to_str().unwrap_or_default();
    let mut faults = Faults::default();
    if key.is_empty() || key.len() > MAX_KEY_CHARS {
        faults.add("/headers/idempotency-key", format!("must be 1 to {MAX_KEY_CHARS} visible ASCII characters"));
    }
    faults.finish()?;
    Ok(Some(key.to_owned()))
}

/// Reads the body, which is part of what the key stands for, and puts it back.
async fn under_key(tenant: Tenant, key: String, request: Request, max_body: usize) -> Result<(Arc<Keyed>, Request)> {
    let (parts, http_body) = request.into_parts();
    let bytes = body::read(http_body, max_body).await?;
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str()).to_owned();
    let (method, body) = (parts.method.clone(), bytes.clone());
    let hash = move || {
        let mut hasher = blake3::Hasher::new();
        // No method and no target holds a NUL, so the three parts can't be taken for one another.
        for part in [method.as_str().as_bytes(), b"\0", target.as_bytes(), b"\0", &body] {
            hasher.update(part);
        }
        *hasher.finalize().as_bytes()
    };
    let hash = offload(bytes.len(), hash).await?;
    let keyed = Keyed::new(tenant, key, hash, session_of(parts.uri.path()));
    // Whatever a key that may only read is let do changes nothing, and asks no model.
    let reads = |path: &MatchedPath| scope::needed(&parts.method, path.as_str()) == Scope::Read;
    let only_reads = parts.extensions.get().is_some_and(reads);
    let keyed = Arc::new(if only_reads { keyed.for_a_reading() } else { keyed });
    Ok((keyed, Request::from_parts(parts, HttpBody::from(bytes))))
}

/// The session that a path names.
fn session_of(path: &str) -> Option<Uuid> {
    let rest = path.strip_prefix("/v1/sessions/")?;
    Uuid::parse_str(rest.split('/').next()?).ok()
}

async fn known(state: &AppState, keyed: &Keyed) -> Result<Option<Response>> {
    match state.services.answers.known(keyed).await? {
        KeyState::Nothing | KeyState::Repeated => Ok(None),
        KeyState::Answered(answer) => Ok(Some(replayed(answer))),
        KeyState::Reused => {
            let detail = "this idempotency key was used for another request";
            Err(Problem::new(ProblemCode::IdempotencyKeyReused, detail))
        }
    }
}

fn replayed(answer: KeptAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let kind = if status.is_client_error() { "application/problem+json" } else { "application/json" };
    let mut response = (status, answer.body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// Keeps the answer. A refusal is looked at twice: an equal request may have done the work meanwhile, and then its
/// answer is the true one (the leaf has moved because of *this* append).
async fn finish(state: &AppState, keyed: &Keyed, response: Response) -> Result<Response> {
    let status = response.status();
    // Where the database can't be asked, the refusal says more than that.
    if !status.is_success()
        && let Ok(Some(known)) = known(state, keyed).await
    {
        return Ok(known);
    }
    if !is_final(status) {
        return Ok(response);
    }
    let answers = &state.services.answers;
    if keyed.only_reads() {
        let kept = answers.keep_digest(keyed).await;
        return Ok(told(kept, response));
    }
    let (parts, http_body) = response.into_parts();
    match taken(http_body).await? {
        Answer::Whole(bytes) => {
            let answer = KeptAnswer { status: status.as_u16(), body: String::from_utf8_lossy(&bytes).into_owned() };
            let kept = answers.keep(keyed, &answer).await;
            Ok(told(kept, Response::from_parts(parts, HttpBody::from(bytes))))
        }
        Answer::Larger(body) => {
            let kept = answers.keep_digest(keyed).await;
            Ok(told(kept, Response::from_parts(parts, body)))
        }
    }
}

/// An answer that is to be kept, or is too large for that.
enum Answer {
    Whole(Bytes),
    Larger(HttpBody),
}

async fn taken(body: HttpBody) -> Result<Answer> {
    let mut frames = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(frame) = frames.next().await {
        bytes.extend_from_slice(&frame.map_err(|_| Problem::internal())?);
        if bytes.len() > LARGEST_KEPT {
            let begun = stream::iter([Ok(Bytes::from(bytes))]);
            return Ok(Answer::Larger(HttpBody::from_stream(begun.chain(frames))));
        }
    }
    Ok(Answer::Whole(Bytes::from(bytes)))
}

/// The answer, whether or not it could be kept.
fn told(kept: std::result::Result<(), ServiceError>, response: Response) -> Response {
    // Of a session that is not there, or no longer, nothing is kept.
    if let Err(error) = kept.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) }) {
        // The effect, if there was one, has its sealed answer already.
        tracing::warn!(%error, "an answer could not be kept under its idempotency key");
    }
    response
}

fn is_gone(error: &ServiceError) -> bool {
    matches!(error, ServiceError::NotFound(_))
}

/// Returns true if the same request would be answered the same way again. A fault of ours and a full queue pass, and
/// a conflict may be solved before the client tries again.
fn is_final(status: StatusCode) -> bool {
    let passes = [StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
    status.is_success() || (status.is_client_error() && !passes)
}
