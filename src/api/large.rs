//! Answers that may be large are written where they hold up no other request.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::problem::{Problem, Result};
use crate::service::core::offload::offload;

/// A JSON answer of about so many bytes.
pub async fn json<T: Serialize + Send + 'static>(status: StatusCode, bytes: usize, answer: T) -> Result<Response> {
    let written = offload(bytes, move || {
        let mut text = Vec::with_capacity(bytes + bytes / 16);
        serde_json::to_writer(&mut text, &answer).map(|()| text)
    });
    let text = written.await?.map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        Problem::internal()
    })?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], text).into_response())
}
