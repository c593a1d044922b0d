//! Compactions: prepare one, ask for one, watch it, cancel it, take it back.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::check::{Faults, MAX_PROSE_CHARS, MAX_TITLE_CHARS};
use super::problem::Result;
use super::query::{FromQuery, Ids, PageQuery, Params, Query};
use super::state::AppState;
use super::{bounds, large};
use crate::domain::compaction::result::Reason;
use crate::domain::model::strategy::Strategy;
use crate::domain::record::evidence::told::SummaryEvidence;
use crate::service::compaction::diff::CompactionDiff;
use crate::service::compaction::prepare::{PrepareRequest, Prepared};
use crate::service::compaction::{CompactRequest, Compaction, CompactionFilter, PurgeRequest, Purged, Status, Trigger};
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::service::ops::calls::RefusedText;

const MAX_WAIT_SECONDS: f64 = 120.0;
/// Taken for the size of an answer with messages.
const WITH_MESSAGES: usize = 256 << 10;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(prepare_compaction))
        .routes(routes!(compact_session))
        .routes(routes!(list_compactions))
        .routes(routes!(list_all_compactions))
        .routes(routes!(get_compaction))
        .routes(routes!(cancel_compaction))
        .routes(routes!(revert_compaction))
        .routes(routes!(diff_compaction))
        .routes(routes!(get_evidence))
        .routes(routes!(get_refused_text))
        .routes(routes!(retry_compaction))
        .routes(routes!(purge_compactions))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PrepareCompaction {
    /// Another leaf than the session's.
    leaf_id: Option<Uuid>,
    /// Settings for this call only.
    #[schema(value_type = Option<Object>)]
    settings: Option<Map<String, Value>>,
    /// List messages, not only their entry ids.
    #[serde(default)]
    include_messages: bool,
}

/// When a compaction may start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum When {
    /// At once, also between a tool result and the next model call.
    #[default]
    Now,
    /// When no call is open and an assistant's answer is the leaf.
    TurnEnd,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CompactSession {
    strategy: Option<Strategy>,
    #[schema(max_length = 1000)]
    focus_topic: Option<String>,
    #[schema(max_length = 100_000)]
    instructions: Option<String>,
    /// Passes the anti-thrash guard; nothing passes the validity rules.
    #[serde(default)]
    force: bool,
    #[serde(default)]
    when: When,
    /// Seconds to wait for the end.
    #[schema(minimum = 0, maximum = 120)]
    wait: Option<f64>,
    /// 409 `leaf_moved` unless this is the leaf: binds the call to a prepared plan.
    expected_leaf_id: Option<Uuid>,
    /// The caller's own summary, used as given: no model is asked. 422 where it is empty or a tool call; what would be larger
    /// than what it replaces is skipped (`would_grow`).
    #[schema(max_length = 1_000_000)]
    summary: Option<String>,
    /// The first entry that stays, in place of the planned cut.
    first_kept_entry_id: Option<Uuid>,
    /// Kept with the compaction.
    #[schema(value_type = Option<Object>)]
    details: Option<Value>,
    /// Settings for this compaction only.
    #[schema(value_type = Option<Object>)]
    settings: Option<Map<String, Value>>,
}

const MAX_SUMMARY_CHARS: usize = 1_000_000;

impl CompactSession {
    fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        faults.text("/focus_topic", self.focus_topic.as_deref(), MAX_TITLE_CHARS);
        faults.text("/instructions", self.instructions.as_deref(), MAX_PROSE_CHARS);
        faults.text("/summary", self.summary.as_deref(), MAX_SUMMARY_CHARS);
        faults.range("/wait", self.wait, 0.0..=MAX_WAIT_SECONDS);
        if self.summary.as_ref().is_some_and(|summary| summary.trim().is_empty()) {
            faults.add("/summary", "must not be empty");
        }
        if self.details.as_ref().is_some_and(|details| !details.is_object()) {
            faults.add("/details", "must be an object");
        }
        faults.finish()
    }
}

/// What a compaction would do. Asks no model and changes nothing.
#[utoipa::path(post, path = "/v1/sessions/{sid}/prepare", tag = "compactions", params(("sid" = Uuid, Path)),
    request_body = PrepareCompaction, responses((status = 200, body = Prepared)))]
async fn prepare_compaction(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<PrepareCompaction>,
) -> Result<Response> {
    // How much the messages are is not known before they are written.
    let bytes = if body.include_messages { WITH_MESSAGES } else { 0 };
    let request = PrepareRequest {
        leaf_id: body.leaf_id,
        settings: body.settings.unwrap_or_default(),
        include_messages: body.include_messages,
    };
    large::json(tenant, bytes, state.services.sessions.prepare(tenant, sid, request).await?).await
}

/// Asks for a compaction. 200 once it has ended within `wait`, 202 while it has not.
#[utoipa::path(post, path = "/v1/sessions/{sid}/compact", tag = "compactions", params(("sid" = Uuid, Path)),
    request_body = CompactSession, responses((status = 200, body = Compaction), (status = 202, body = Compaction)))]
async fn compact_session(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<CompactSession>,
) -> Result<(StatusCode, Json<Compaction>)> {
    body.check()?;
    let wait = body.wait.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    bounds::allow(wait.unwrap_or_default());
    let request = CompactRequest {
        strategy: body.strategy,
        focus_topic: body.focus_topic,
        instructions: body.instructions,
        force: body.force,
        at_turn_end: body.when == When::TurnEnd,
        expected_leaf_id: body.expected_leaf_id,
        summary: body.summary,
        first_kept_entry_id: body.first_kept_entry_id,
        details: body.details,
        settings: body.settings.unwrap_or_default(),
        retells: false,
    };
    let compaction = state.services.sessions.compact(tenant, sid, request, wait).await?;
    let ended = !matches!(compaction.status, Status::Queued | Status::Running);
    let status = if wait.is_some() && ended { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(compaction)))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `filter` reads them")]
struct CompactionsQuery {
    #[param(inline)]
    status: Option<Status>,
    #[param(inline)]
    trigger: Option<Trigger>,
    /// The strategy that ran, or is to run.
    #[param(inline)]
    strategy: Option<Strategy>,
    /// Why it was skipped.
    #[param(inline)]
    skip_reason: Option<Reason>,
    /// The upstream that was asked for the summary; where another stood in, the one that failed.
    #[param(max_length = 1000)]
    upstream: Option<String>,
    /// Asked for at this time or later. RFC 3339.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<String>,
    /// `true`: those that are written and wait for their context to turn red; `false`: all others.
    prepared: Option<bool>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `AllCompactions` reads them")]
struct SessionQuery {
    /// Those of one session.
    session_id: Option<Uuid>,
}

/// The compactions of one session that are asked for, and of all.
struct SessionCompactions(CompactionFilter, PageRequest);
struct AllCompactions(CompactionFilter, PageRequest);

fn filter(params: &mut Params) -> CompactionFilter {
    CompactionFilter {
        session_id: None,
        status: params.word("status"),
        trigger: params.word("trigger"),
        strategy: params.word("strategy"),
        skip_reason: params.word("skip_reason"),
        upstream: params.parsed("upstream", &format!("a name of 1 to {MAX_TITLE_CHARS} characters"), upstream_name),
        since: params.time("since"),
        prepared: params.value("prepared", "true or false"),
    }
}

fn upstream_name(text: &str) -> Option<String> {
    (1..=MAX_TITLE_CHARS).contains(&text.chars().count()).then(|| text.to_owned())
}

impl FromQuery for SessionCompactions {
    fn read(params: &mut Params) -> Option<Self> {
        Some(SessionCompactions(filter(params), params.page()))
    }
}

impl FromQuery for AllCompactions {
    fn read(params: &mut Params) -> Option<Self> {
        let session_id = params.value("session_id", "a session's id");
        Some(AllCompactions(CompactionFilter { session_id, ..filter(params) }, params.page()))
    }
}

/// A session's compactions, newest first.
#[utoipa::path(get, path = "/v1/sessions/{sid}/compactions", tag = "compactions",
    params(("sid" = Uuid, Path), CompactionsQuery, PageQuery), responses((status = 200, body = Page<Compaction>)))]
async fn list_compactions(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query(SessionCompactions(filter, page)): Query<SessionCompactions>,
) -> Result<Json<Page<Compaction>>> {
    let filter = CompactionFilter { session_id: Some(sid), ..filter };
    Ok(Json(state.services.sessions.compactions_like(tenant, filter, page).await?))
}

/// The compactions of all sessions, newest first.
#[utoipa::path(get, path = "/v1/compactions", tag = "compactions", params(SessionQuery, CompactionsQuery, PageQuery),
    responses((status = 200, body = Page<Compaction>)))]
async fn list_all_compactions(
    State(state): State<AppState>,
    tenant: Tenant,
    Query(AllCompactions(filter, page)): Query<AllCompactions>,
) -> Result<Json<Page<Compaction>>> {
    Ok(Json(state.services.sessions.compactions_like(tenant, filter, page).await?))
}

/// Reads a compaction.
#[utoipa::path(get, path = "/v1/compactions/{cid}", tag = "compactions", params(("cid" = Uuid, Path)),
    responses((status = 200, body = Compaction)))]
async fn get_compaction(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(cid): Ids<Uuid>,
) -> Result<Json<Compaction>> {
    Ok(Json(state.services.sessions.compaction(tenant, cid).await?))
}

/// Cancels a compaction that has not ended.
#[utoipa::path(post, path = "/v1/compactions/{cid}/cancel", tag = "compactions", params(("cid" = Uuid, Path)),
    responses((status = 200, body = Compaction)))]
async fn cancel_compaction(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(cid): Ids<Uuid>,
) -> Result<Json<Compaction>> {
    Ok(Json(state.services.sessions.cancel_compaction(tenant, cid).await?))
}

/// Makes the context what it was before a compaction. Nothing is deleted.
#[utoipa::path(post, path = "/v1/compactions/{cid}/revert", tag = "compactions", params(("cid" = Uuid, Path)),
    responses((status = 200, body = Compaction)))]
async fn revert_compaction(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(cid): Ids<Uuid>,
) -> Result<Json<Compaction>> {
    Ok(Json(state.services.sessions.revert_compaction(tenant, cid).await?))
}

/// The context before a compaction and after it, message by message.
#[utoipa::path(get, path = "/v1/compactions/{cid}/diff", tag = "compactions", params(("cid" = Uuid, Path), PageQuery),
    responses((status = 200, body = CompactionDiff)))]
async fn diff_compaction(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(cid): Ids<Uuid>,
    Query(page): Query<PageRequest>,
) -> Result<Json<CompactionDiff>> {
    Ok(Json(state.services.queries.compaction_diff(tenant, cid, page).await?))
}

/// Each statement of this compaction's notes: whether the calls and messages that it cites show it, and which entries they
/// are. 404 where there are no notes: a record quotes and states nothing.
#[utoipa::path(get, path = "/v1/compactions/{cid}/evidence", tag = "compactions", params(("cid" = Uuid, Path)),
    responses((status = 200, body = SummaryEvidence)))]
async fn get_evidence(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(cid): Ids<Uuid>,
) -> Result<Json<SummaryEvidence>> {
    Ok(Json(state.services.sessions.compaction_evidence(tenant, cid).await?))
}

/// The newest text of a model that was refused as this compaction's summary, for seven days: at most 64 KiB of it, as the
/// model wrote it. 404 where none was.
#[utoipa::path(get, path = "/v1/compactions/{cid}/refused", tag = "compactions", params(("cid" = Uuid, Path)),
    responses((status = 200, body = RefusedText)))]
async fn get_refused_text(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(cid): Ids<Uuid>,
) -> Result<Json<RefusedText>> {
    Ok(Json(state.services.calls.refused_text(tenant, cid).await?))
}

/// Does a failed compaction again; its trigger is `manual` from then on.
#[utoipa::path(post, path = "/v1/compactions/{cid}/retry", tag = "compactions", params(("cid" = Uuid, Path)),
    responses((status = 202, body = Compaction)))]
async fn retry_compaction(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(cid): Ids<Uuid>,
) -> Result<(StatusCode, Json<Compaction>)> {
    Ok((StatusCode::ACCEPTED, Json(state.services.sessions.retry_compaction(tenant, cid).await?)))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PurgeCompactions {
    /// Those of one session.
    session_id: Option<Uuid>,
    /// Those that failed before this time.
    before: Option<DateTime<Utc>>,
}

/// Forgets failed compactions, the oldest first, 1,000 at most. No session is changed.
#[utoipa::path(post, path = "/v1/compactions/purge", tag = "compactions", request_body = PurgeCompactions,
    responses((status = 200, body = Purged)))]
async fn purge_compactions(
    State(state): State<AppState>,
    tenant: Tenant,
    Body(body): Body<PurgeCompactions>,
) -> Result<Json<Purged>> {
    let request = PurgeRequest { session_id: body.session_id, before: body.before };
    Ok(Json(state.services.sessions.purge_compactions(tenant, request).await?))
}
