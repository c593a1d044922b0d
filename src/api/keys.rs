//! API keys of the tenant: made, listed, rotated, revoked by keys with the scope `admin`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::check::Faults;
use super::problem::Result;
use super::query::{Ids, PageQuery, Query};
use super::state::AppState;
use crate::service::core::access::{Scope, Scopes};
use crate::service::core::clock;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::service::ops::keys::{
    Key, KeyLimits, LATEST_END, LONGEST_GRACE, MOST_NAME_CHARS, MOST_PER_MINUTE, NewKey, USUAL_GRACE,
};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_key, list_keys))
        .routes(routes!(get_key, revoke_key))
        .routes(routes!(rotate_key))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateKey {
    /// To tell it from others.
    #[schema(min_length = 1, max_length = 512)]
    name: String,
    /// What it may do: `admin` includes `write`, and `write` includes `read`. Default: `write`.
    #[schema(min_items = 1)]
    scopes: Option<Vec<Scope>>,
    /// From then on it opens nothing. Default: it does not end by itself.
    expires_at: Option<DateTime<Utc>>,
    limits: Option<KeyLimits>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RotateKey {
    /// How long the old key goes on; 0 ends it at once.
    #[schema(minimum = 0, maximum = 604_800, default = 86_400)]
    grace_seconds: Option<u64>,
}

impl CreateKey {
    fn checked(self) -> Result<NewKey> {
        let mut faults = Faults::default();
        faults.text("/name", Some(&self.name), MOST_NAME_CHARS);
        if self.name.trim().is_empty() {
            faults.add("/name", "must not be empty");
        }
        let scopes = self.scopes.unwrap_or_else(|| vec![Scope::Write]);
        if scopes.is_empty() {
            faults.add("/scopes", "must name at least one scope");
        }
        for (at, scope) in scopes.iter().enumerate() {
            if scopes.iter().take(at).any(|earlier| earlier == scope) {
                faults.add(format!("/scopes/{at}"), "is named twice");
            }
        }
        if self.expires_at.is_some_and(|end| end <= clock::now() || end > LATEST_END) {
            faults.add("/expires_at", "must be a time to come, before the year 10000");
        }
        let limits = self.limits.unwrap_or_default();
        faults.range("/limits/requests_per_minute", limits.requests_per_minute, 1..=MOST_PER_MINUTE);
        faults.finish()?;
        Ok(NewKey { name: self.name, scopes: Scopes::of(scopes), limits, expires_at: self.expires_at })
    }
}

/// Makes a key. This answer alone holds it: one that is sent again for an idempotency key does not.
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = CreateKey,
    responses((status = 201, body = Key)))]
async fn create_key(
    State(state): State<AppState>,
    tenant: Tenant,
    Body(body): Body<CreateKey>,
) -> Result<(StatusCode, Json<Key>)> {
    let made = state.services.keys.create_key(tenant, body.checked()?).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// The tenant's keys, the newest first, without their texts.
#[utoipa::path(get, path = "/v1/keys", tag = "keys", params(PageQuery),
    responses((status = 200, body = Page<Key>)))]
async fn list_keys(
    State(state): State<AppState>,
    tenant: Tenant,
    Query(page): Query<PageRequest>,
) -> Result<Json<Page<Key>>> {
    Ok(Json(state.services.keys.of_tenant(tenant, page).await?))
}

/// Reads what a key may do, without its text.
#[utoipa::path(get, path = "/v1/keys/{kid}", tag = "keys", params(("kid" = Uuid, Path)),
    responses((status = 200, body = Key)))]
async fn get_key(State(state): State<AppState>, tenant: Tenant, Ids(kid): Ids<Uuid>) -> Result<Json<Key>> {
    Ok(Json(state.services.keys.key(tenant, kid).await?))
}

/// Makes a key with the same name, scopes, limits and time to live; the old one goes on for a while. This answer alone
/// holds the new key, as with one that is made.
#[utoipa::path(post, path = "/v1/keys/{kid}/rotate", tag = "keys", params(("kid" = Uuid, Path)),
    request_body = RotateKey, responses((status = 201, body = Key)))]
async fn rotate_key(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(kid): Ids<Uuid>,
    Body(body): Body<RotateKey>,
) -> Result<(StatusCode, Json<Key>)> {
    let mut faults = Faults::default();
    faults.range("/grace_seconds", body.grace_seconds, 0..=LONGEST_GRACE.as_secs());
    faults.finish()?;
    let grace = body.grace_seconds.map_or(USUAL_GRACE, Duration::from_secs);
    Ok((StatusCode::CREATED, Json(state.services.keys.rotate(tenant, kid, grace).await?)))
}

/// Ends a key for good: at once at the process that is asked, within ten seconds at the others.
#[utoipa::path(delete, path = "/v1/keys/{kid}", tag = "keys", params(("kid" = Uuid, Path)),
    responses((status = 204)))]
async fn revoke_key(State(state): State<AppState>, tenant: Tenant, Ids(kid): Ids<Uuid>) -> Result<StatusCode> {
    state.services.keys.revoke_key(tenant, kid).await?;
    Ok(StatusCode::NO_CONTENT)
}
