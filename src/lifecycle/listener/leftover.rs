//! What is left of a request's body once it is answered. A connection on which something is left can't carry another
//! request; one that ends without a word costs its client the next one. So what is left is read within bounds, or the
//! answer says that it is the last, and the connection lingers until the client has had time to read that.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use futures::StreamExt;
use http_body::{Frame, SizeHint};
use tokio::time::timeout;

/// What is read before the answer goes out, and how long that may take: as much as is under way already.
const MOST_BYTES: usize = 1 << 20;
const LONGEST: Duration = Duration::from_secs(1);

/// A request's body, watched from beside it.
#[derive(Clone)]
pub struct Leftover(Arc<Mutex<State>>);

enum State {
    /// Nobody has read of it. `on_demand`: its client waits to be asked for it.
    Untouched {
        on_demand: bool,
    },
    /// Somebody reads it.
    Held,
    /// Who had it let go of it.
    Left {
        body: Body,
        on_demand: bool,
    },
    Read,
}

/// Whether the connection can carry another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Kept,
    /// Something of the body is left.
    Closed,
}

impl Leftover {
    /// The body as it is to be handed on, and what watches it.
    pub fn watch(body: Body, on_demand: bool) -> (Body, Leftover) {
        if body.is_end_stream() {
            return (body, Leftover(Arc::new(Mutex::new(State::Read))));
        }
        let leftover = Leftover(Arc::new(Mutex::new(State::Untouched { on_demand })));
        let watched = Watched { body: Some(body), leftover: leftover.clone() };
        (Body::new(watched), leftover)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is left, where that is not much.
    pub async fn settle(&self) -> Fate {
        let state = std::mem::replace(&mut *self.state(), State::Held);
        match state {
            State::Read => Fate::Kept,
            // To ask for the body only to throw it away helps nobody.
            State::Left { on_demand: true, .. } | State::Untouched { .. } | State::Held => Fate::Closed,
            State::Left { body, on_demand: false } => match timeout(LONGEST, drained(body)).await {
                Ok(true) => Fate::Kept,
                Ok(false) | Err(_) => Fate::Closed,
            },
        }
    }
}

/// Reads to the end; false where that is too far, or broken.
async fn drained(body: Body) -> bool {
    let (mut size, mut frames) = (0, body.into_data_stream());
    while let Some(frame) = frames.next().await {
        let Ok(frame) = frame else { return false };
        size += frame.len();
        if size > MOST_BYTES {
            return false;
        }
    }
    true
}

/// A body that comes back where nobody has read it to its end.
struct Watched {
    body: Option<Body>,
    leftover: Leftover,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = self.body.as_mut() else { return Poll::Ready(None) };
        let frame = Pin::new(&mut *body).poll_frame(context);
        let is_read = matches!(frame, Poll::Ready(None)) || body.is_end_stream();
        *self.leftover.state() = if is_read { State::Read } else { State::Held };
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut state = self.leftover.state();
        let on_demand = match *state {
            State::Read => return,
            State::Untouched { on_demand } => on_demand,
            State::Held | State::Left { .. } => false,
        };
        if let Some(body) = self.body.take() {
            *state = State::Left { body, on_demand };
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    fn pieces(count: usize) -> Body {
        Body::from_stream(stream::iter((0..count).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 1 << 10])))))
    }

    #[tokio::test]
    async fn what_is_left_is_read_within_bounds() {
        for (count, taken, due) in [(0, 0, Fate::Kept), (9, 0, Fate::Kept), (9, 5, Fate::Kept), (9, 99, Fate::Kept)] {
            let (body, leftover) = Leftover::watch(pieces(count), false);
            let mut frames = body.into_data_stream();
            for _ in 0..taken {
                let _ = frames.next().await;
            }
            drop(frames);
            assert_eq!(leftover.settle().await, due, "{count} {taken}");
        }
        let (body, leftover) = Leftover::watch(pieces(2_000), false);
        drop(body);
        assert_eq!(leftover.settle().await, Fate::Closed, "that is too much");
    }

    #[tokio::test]
    async fn nobody_is_waited_for() {
        let still = || Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let (body, leftover) = Leftover::watch(still(), false);
        drop(body);
        assert_eq!(leftover.settle().await, Fate::Closed);
        let (_held, leftover) = Leftover::watch(still(), false);
        assert_eq!(leftover.settle().await, Fate::Closed, "somebody may read on");
    }

    #[tokio::test]
    async fn a_body_that_was_not_asked_for_is_not_asked_for_to_be_thrown_away() {
        let (body, leftover) = Leftover::watch(pieces(1), true);
        drop(body);
        assert_eq!(leftover.settle().await, Fate::Closed);
        let (body, leftover) = Leftover::watch(pieces(2), true);
        let mut frames = body.into_data_stream();
        let _ = frames.next().await;
        drop(frames);
        assert_eq!(leftover.settle().await, Fate::Kept, "its client was told to go on");
    }
}
