//! Answers that may be large are written where they hold up no other request, and counted until the client has them.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::problem::{Problem, Result};
use super::taken::{TakenBody, TextParts};
use crate::service::core::answer_room::{AnswerRoom, UNCOUNTED};
use crate::service::core::offload::offload;
use crate::service::core::tenant::Tenant;

/// A JSON answer of about so many bytes, to a request that changed nothing.
///
/// # Errors
/// Where there is no room for it now.
pub async fn json<T: Serialize + Send + 'static>(tenant: Tenant, bytes: usize, answer: T) -> Result<Response> {
    let room = AnswerRoom::take(tenant, bytes)?;
    with_room(StatusCode::OK, bytes, answer, room).await
}

/// The same, where its room was taken before it was made.
pub async fn with_room<T: Serialize + Send + 'static>(
    status: StatusCode,
    bytes: usize,
    answer: T,
    room: Option<AnswerRoom>,
) -> Result<Response> {
    let written = offload(bytes, move || {
        let mut text = TextParts::default();
        serde_json::to_writer(&mut text, &answer).map(|()| text)
    });
    let text = written.await?.map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Problem::internal()
    })?;
    let body = if text.len() <= UNCOUNTED { Body::from(text.joined()) } else { Body::new(TakenBody::new(text, room)) };
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}
