//! Server-sent events of a session and of a tenant.

mod acp;

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::check::Faults;
use super::problem::Result;
use super::query::{FromQuery, Ids, Params, Query};
use super::state::AppState;
use crate::service::core::access::Access;
use crate::service::events::{EventStream, StreamEvent};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const EXPECTED: &str = "the id of an event";
/// A comment that keeps proxies from closing a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// When a browser comes back after the stream has ended.
const RETRY: Duration = Duration::from_secs(1);

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(session_events)).routes(routes!(tenant_events))
}

/// Whose names events have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
enum Names {
    #[default]
    Contextd,
    Acp,
}

/// Where a stream is taken up again, and how it tells.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// As the header `Last-Event-ID`, which wins: for clients that can't send it. 0: from the first event on.
    #[param(minimum = 0)]
    last_event_id: Option<i64>,
    /// `acp`: the names and shapes of the Agent Client Protocol. `snapshot` is then `usage_update`; `compaction.started`
    /// and the ends of a compaction are `compaction_update`; what the protocol has no word for stays as it is.
    #[param(inline)]
    names: Option<Names>,
}

impl FromQuery for EventsQuery {
    fn read(params: &mut Params) -> Option<Self> {
        let names = params.parsed("names", "contextd or acp", |text| match text {
            "contextd" => Some(Names::Contextd),
            "acp" => Some(Names::Acp),
            _ => None,
        });
        Some(EventsQuery { last_event_id: params.parsed("last_event_id", EXPECTED, event_id), names })
    }
}

/// What happens to a session, as server-sent events: `snapshot` (with `phase` `before` or `after` around a
/// compaction), `compaction.queued`, `.started`, `.succeeded`, `.failed`, `.skipped`, `.cancelled`,
/// `chapter.requested`, and `reset` where what followed `Last-Event-ID` is no longer kept.
#[utoipa::path(get, path = "/v1/sessions/{sid}/events", tag = "events",
    params(("sid" = Uuid, Path), EventsQuery, ("Last-Event-ID" = Option<i64>, Header)),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn session_events(
    State(state): State<AppState>,
    access: Access,
    Ids(sid): Ids<Uuid>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let after = last_event_id(&headers)?.or(query.last_event_id);
    let events = state.services.events.stream(access.tenant, Some(sid), after).await?;
    Ok(answer(events, query.names, state.services.keys.clone().ended(access)))
}

/// What happens to all sessions of the tenant; see the events of a session.
#[utoipa::path(get, path = "/v1/events", tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<i64>, Header)),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn tenant_events(
    State(state): State<AppState>,
    access: Access,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let after = last_event_id(&headers)?.or(query.last_event_id);
    let events = state.services.events.stream(access.tenant, None, after).await?;
    Ok(answer(events, query.names, state.services.keys.clone().ended(access)))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let id = value.to_str().ok().and_then(event_id);
    let mut faults = Faults::default();
    if id.is_none() {
        faults.add("/headers/last-event-id", format!("must be {EXPECTED}"));
    }
    faults.finish()?;
    Ok(id)
}

/// Digits alone: `parse` would take a sign too.
fn event_id(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The stream ends when its key does.
fn answer(events: EventStream, names: Option<Names>, key_ended: impl Future<Output = ()> + Send + 'static) -> Response {
    let names = names.unwrap_or_default();
    let events = stream::unfold((events, true), move |(mut events, is_first)| async move {
        let event = sse(events.next().await?, names);
        let event = if is_first { event.retry(RETRY) } else { event };
        Some((Ok::<_, Infallible>(event), (events, false)))
    });
    let events = events.take_until(Box::pin(key_ended));
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Proxies that gather answers would hold events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn sse(event: StreamEvent, names: Names) -> SseEvent {
    let shown = match (names == Names::Acp).then(|| acp::update(&event)).flatten() {
        Some((name, data)) => SseEvent::default().event(name).data(data),
        None => SseEvent::default().event(event.kind).data(event.data),
    };
    match event.id {
        Some(id) => shown.id(id.to_string()),
        None => shown,
    }
}
