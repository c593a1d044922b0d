//! Bodies that are sent as they are written.

use axum::body::Body;
use futures::{StreamExt, TryStreamExt, stream};

use super::problem::Result;
use crate::service::core::pieces::Pieces;

/// A body of these pieces. One that fails later than with its first piece breaks the answer off, so that nobody takes
/// the half of it for the whole.
pub async fn streamed(mut pieces: Pieces) -> Result<Body> {
    let first = pieces.try_next().await?.unwrap_or_default();
    let told =
        pieces.map(|piece| piece.inspect_err(|error| tracing::error!(error = ?error, "an answer is broken off")));
    Ok(Body::from_stream(stream::iter([Ok(first)]).chain(told)))
}
