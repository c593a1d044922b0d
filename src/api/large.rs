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
    let text = offload(bytes, move || written(&answer)).await??;
    Ok(sent(status, text, room))
}

/// The text of an answer, for a job that makes one: nobody else's job begins while both are held.
///
/// # Errors
/// Where it can't be written.
pub fn written<T: Serialize>(answer: &T) -> Result<TextParts> {
    let mut text = TextParts::default();
    serde_json::to_writer(&mut text, answer).map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Problem::internal()
    })?;
    Ok(text)
}

/// An answer that is written already, and its room.
pub fn sent(status: StatusCode, text: TextParts, room: Option<AnswerRoom>) -> Response {
    let body = if text.len() <= UNCOUNTED { Body::from(text.joined()) } else { Body::new(TakenBody::new(text, room)) };
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
