//! Who is asking: a bearer key, or nobody in particular with `--dev`.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use secrecy::{ExposeSecret, SecretString};

use super::bounds;
use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;
use super::state::AppState;
use crate::service::core::tenant::Tenant;

/// Lets a request through with its [`Tenant`], which handlers take as an argument.
pub async fn authenticate(State(state): State<AppState>, mut request: Request, next: Next) -> Result<Response> {
    let tenant = tenant_of(&state, request.headers()).await?;
    bounds::belongs_to(tenant);
    request.extensions_mut().insert(tenant);
    let mut response = next.run(request).await;
    response.extensions_mut().insert(tenant);
    Ok(response)
}

async fn tenant_of(state: &AppState, headers: &HeaderMap) -> Result<Tenant> {
    if state.dev
        && let Some(tenant) = state.dev_tenant
    {
        return Ok(tenant);
    }
    let key = bearer(headers).ok_or_else(|| unauthorized("an API key is needed: Authorization: Bearer <key>"))?;
    let tenant = state.services.keys.authenticate(key).await?;
    tenant.ok_or_else(|| unauthorized("the API key is unknown or was revoked"))
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

    /// Only routes behind [`authenticate`] have a tenant; on any other this is a fault of ours.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get::<Tenant>().copied().ok_or_else(|| {
            tracing::error!(path = parts.uri.path(), "a handler needs a tenant but its route does not authenticate");
            Problem::internal()
        })
    }
}
