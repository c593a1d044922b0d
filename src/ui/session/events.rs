//! A session's events for its open page: that something happened, and what. What it holds is asked for by the page.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use uuid::Uuid;

use crate::ui::fault::Result;
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;

/// A comment that keeps proxies from closing a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub async fn stream(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>, headers: HeaderMap) -> Result<Response> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let events = ui.services.events.stream(viewer.tenant, Some(id), last).await?;
    let told = stream::unfold(events, |mut events| async move {
        let event = events.next().await?;
        let told = Event::default().event("changed").data(event.kind);
        let told = event.id.map_or(told.clone(), |id| told.id(id.to_string()));
        Some((Ok::<_, Infallible>(told), events))
    });
    let told = told.take_until(Box::pin(ui.services.keys.clone().ended(viewer.access)));
    let mut response = Sse::new(told).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Proxies that gather answers would hold events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}
