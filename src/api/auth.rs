//! Who is asking, by a bearer key, or nobody in particular with `--dev`; whether that may ask this, and so often.

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::bounds;
use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;
use super::scope;
use super::state::AppState;
use crate::service::core::access::Access;
use crate::service::core::tenant::Tenant;
use crate::service::ops::keys::RateLimited;

/// Lets a request through with its [`Access`], which handlers take as an argument, or its [`Tenant`] alone.
pub async fn authenticate(State(state): State<AppState>, mut request: Request, next: Next) -> Result<Response> {
    let access = access_of(&state, request.headers()).await?;
    bounds::belongs_to(access.tenant);
    let mut response = match admit(&state, &access, &request) {
        Ok(()) => {
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    // For the log line.
    response.extensions_mut().insert(access);
    Ok(response)
}

async fn access_of(state: &AppState, headers: &HeaderMap) -> Result<Access> {
    if state.dev
        && let Some(tenant) = state.dev_tenant
    {
        return Ok(Access::whole(tenant));
    }
    let key = bearer(headers).ok_or_else(|| unauthorized("an API key is needed: Authorization: Bearer <key>"))?;
    let access = state.services.keys.authenticate(key).await?;
    access.ok_or_else(|| unauthorized("the API key is unknown, has expired or was revoked"))
}

/// Before anything is replayed: what was answered to one key is not for another that may not ask.
fn admit(state: &AppState, access: &Access, request: &Request) -> Result<()> {
    state.services.keys.admit(access).map_err(rate_limited)?;
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let needed = scope::needed(request.method(), path);
    if access.scopes.allow(needed) { Ok(()) } else { Err(Problem::insufficient_scope(needed)) }
}

fn rate_limited(RateLimited { limit, retry_after }: RateLimited) -> Problem {
    let detail = format!("the key may make {limit} requests a minute");
    Problem::new(ProblemCode::RateLimited, detail).figure("limit", json!(limit)).retry_after(retry_after)
}

/// Refuses a request that does not bear this key, where there is one. Compared by digests, so that the time that it takes
/// tells nothing of the key.
pub fn require(key: Option<&SecretString>, headers: &HeaderMap) -> Result<()> {
    let Some(key) = key else { return Ok(()) };
    let given = bearer(headers).ok_or_else(|| unauthorized("a key is needed: Authorization: Bearer <key>"))?;
    // `blake3::Hash` is compared in constant time.
    if blake3::hash(given.as_bytes()) == blake3::hash(key.expose_secret().as_bytes()) {
        return Ok(());
    }
    Err(unauthorized("the key is not the one that the operator has set"))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(ProblemCode::Unauthorized, detail)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"contextd\""))
}

impl<S: Send + Sync> FromRequestParts<S> for Tenant {
    type Rejection = Problem;

    /// As for [`Access`].
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        Ok(Access::from_request_parts(parts, state).await?.tenant)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Access {
    type Rejection = Problem;

    /// Only routes behind [`authenticate`] have one; on any other this is a fault of ours.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get::<Access>().copied().ok_or_else(|| {
            tracing::error!(path = parts.uri.path(), "a handler needs an access but its route does not authenticate");
            Problem::internal()
        })
    }
}
