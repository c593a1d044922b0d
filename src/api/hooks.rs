//! Hooks: register them, change them, see what they were sent, send it again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
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
use crate::domain::hook::{Event, OnError, signature};
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::service::hooks::{Delivery, Hook, HookPatch, NewHook};

const MAX_URL_CHARS: usize = 2_048;
const MAX_SECRET_CHARS: usize = 512;
const TIMEOUT_MS: std::ops::RangeInclusive<i32> = 100..=30_000;
const DEFAULT_TIMEOUT_MS: i32 = 5_000;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_hook, list_hooks))
        .routes(routes!(get_hook, update_hook, delete_hook))
        .routes(routes!(list_hook_deliveries))
        .routes(routes!(redeliver))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateHook {
    /// `http` or `https`; in the public internet, unless the operator allows other addresses.
    #[schema(max_length = 2048)]
    url: String,
    #[schema(min_items = 1)]
    events: Vec<Event>,
    /// What messages are signed with: `whsec_` and base64, or any text. One is made where none is given.
    #[schema(min_length = 1, max_length = 512)]
    secret: Option<String>,
    /// For one attempt.
    #[schema(minimum = 100, maximum = 30_000, default = 5_000)]
    timeout_ms: Option<i32>,
    #[serde(default)]
    on_error: OnError,
    /// Default true.
    enabled: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct UpdateHook {
    #[schema(max_length = 2048)]
    url: Option<String>,
    #[schema(min_items = 1)]
    events: Option<Vec<Event>>,
    /// A new secret, from the next message on.
    #[schema(min_length = 1, max_length = 512)]
    secret: Option<String>,
    #[schema(minimum = 100, maximum = 30_000)]
    timeout_ms: Option<i32>,
    on_error: Option<OnError>,
    enabled: Option<bool>,
}

/// Checks those fields of a hook that are given; the error says what is wrong with them.
fn check(
    state: &AppState,
    url: Option<&str>,
    events: Option<&[Event]>,
    secret: Option<&str>,
    timeout_ms: Option<i32>,
) -> Result<()> {
    let mut faults = Faults::default();
    faults.text("/url", url, MAX_URL_CHARS);
    if let Some(Err(fault)) = url.map(|url| state.services.hooks.check_url(url)) {
        faults.add("/url", fault);
    }
    let events = events.unwrap_or(&[Event::BeforeCompact]);
    if events.is_empty() {
        faults.add("/events", "must name at least one event");
    }
    for (at, event) in events.iter().enumerate() {
        if events.iter().take(at).any(|earlier| earlier == event) {
            faults.add(format!("/events/{at}"), "is named twice");
        }
    }
    faults.text("/secret", secret, MAX_SECRET_CHARS);
    if secret.is_some_and(|secret| signature::key(secret).is_none()) {
        faults.add("/secret", "must not be empty, and base64 behind `whsec_`");
    }
    faults.range("/timeout_ms", timeout_ms, TIMEOUT_MS);
    faults.finish()
}

/// Registers a hook. This answer alone holds its secret.
#[utoipa::path(post, path = "/v1/hooks", tag = "hooks", request_body = CreateHook,
    responses((status = 201, body = Hook)))]
async fn create_hook(
    State(state): State<AppState>,
    tenant: Tenant,
    Body(body): Body<CreateHook>,
) -> Result<(StatusCode, Json<Hook>)> {
    check(&state, Some(&body.url), Some(&body.events), body.secret.as_deref(), body.timeout_ms)?;
    let new = NewHook {
        url: body.url,
        events: body.events,
        secret: body.secret,
        timeout_ms: body.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
        on_error: body.on_error,
        enabled: body.enabled.unwrap_or(true),
    };
    Ok((StatusCode::CREATED, Json(state.services.hooks.create(tenant, new).await?)))
}

/// All hooks in the order of their creation, which is the order in which they are asked.
#[utoipa::path(get, path = "/v1/hooks", tag = "hooks", params(PageQuery),
    responses((status = 200, body = Page<Hook>)))]
async fn list_hooks(
    State(state): State<AppState>,
    tenant: Tenant,
    Query(page): Query<PageRequest>,
) -> Result<Json<Page<Hook>>> {
    Ok(Json(state.services.hooks.list(tenant, page).await?))
}

/// Reads a hook, without its secret.
#[utoipa::path(get, path = "/v1/hooks/{hid}", tag = "hooks", params(("hid" = Uuid, Path)),
    responses((status = 200, body = Hook)))]
async fn get_hook(State(state): State<AppState>, tenant: Tenant, Ids(hid): Ids<Uuid>) -> Result<Json<Hook>> {
    Ok(Json(state.services.hooks.get(tenant, hid).await?))
}

/// Changes what is given of a hook.
#[utoipa::path(patch, path = "/v1/hooks/{hid}", tag = "hooks", params(("hid" = Uuid, Path)),
    request_body = UpdateHook, responses((status = 200, body = Hook)))]
async fn update_hook(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(hid): Ids<Uuid>,
    Body(body): Body<UpdateHook>,
) -> Result<Json<Hook>> {
    check(&state, body.url.as_deref(), body.events.as_deref(), body.secret.as_deref(), body.timeout_ms)?;
    let UpdateHook { url, events, secret, timeout_ms, on_error, enabled } = body;
    let patch = HookPatch { url, events, secret, timeout_ms, on_error, enabled };
    Ok(Json(state.services.hooks.update(tenant, hid, patch).await?))
}

/// Removes a hook and its log.
#[utoipa::path(delete, path = "/v1/hooks/{hid}", tag = "hooks", params(("hid" = Uuid, Path)),
    responses((status = 204)))]
async fn delete_hook(State(state): State<AppState>, tenant: Tenant, Ids(hid): Ids<Uuid>) -> Result<StatusCode> {
    state.services.hooks.delete(tenant, hid).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a hook was sent and how that went, newest first.
#[utoipa::path(get, path = "/v1/hooks/{hid}/deliveries", tag = "hooks", params(("hid" = Uuid, Path), PageQuery),
    responses((status = 200, body = Page<Delivery>)))]
async fn list_hook_deliveries(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(hid): Ids<Uuid>,
    Query(page): Query<PageRequest>,
) -> Result<Json<Page<Delivery>>> {
    Ok(Json(state.services.hooks.deliveries(tenant, hid, page).await?))
}

/// Sends a message again under its id. What the hook answers then changes nothing.
#[utoipa::path(post, path = "/v1/hooks/{hid}/deliveries/{did}/redeliver", tag = "hooks",
    params(("hid" = Uuid, Path), ("did" = Uuid, Path)), responses((status = 202, body = Delivery)))]
async fn redeliver(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids((hid, did)): Ids<(Uuid, Uuid)>,
) -> Result<(StatusCode, Json<Delivery>)> {
    Ok((StatusCode::ACCEPTED, Json(state.services.hooks.redeliver(tenant, hid, did).await?)))
}
