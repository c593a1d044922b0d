//! A large body that is let go part by part as the client takes it, and as a whole where the client takes it too slowly.

use std::collections::VecDeque;
use std::io::Write;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

use crate::service::core::answer_room::AnswerRoom;

const PART_BYTES: usize = 64 << 10;
/// A client may stop for so long. One that takes its answer more slowly than the rate falls behind by as much sooner or
/// later, and is cut off then.
const PATIENCE: Duration = Duration::from_secs(30);
const BYTES_PER_SECOND: u64 = 64 << 10;

/// A text as it is written: in parts of their own, so that each can be let go by itself.
#[derive(Default)]
pub struct TextParts {
    whole: VecDeque<Bytes>,
    last: Vec<u8>,
    bytes: usize,
}

impl TextParts {
    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn joined(self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.bytes);
        self.finished().iter().for_each(|part| text.extend_from_slice(part));
        text
    }

    fn finished(mut self) -> VecDeque<Bytes> {
        if !self.last.is_empty() {
            self.whole.push_back(self.last.into());
        }
        self.whole
    }
}

impl Write for TextParts {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        let taken = text.len().min(PART_BYTES - self.last.len());
        self.last.extend_from_slice(text.get(..taken).unwrap_or_default());
        self.bytes += taken;
        if self.last.len() == PART_BYTES {
            self.whole.push_back(std::mem::take(&mut self.last).into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The body. It says its length.
pub struct TakenBody(Arc<Mutex<Left>>);

struct Left {
    parts: VecDeque<Bytes>,
    bytes: u64,
    room: Option<AnswerRoom>,
    /// When the client will have taken it too slowly.
    until: Instant,
    is_cut_off: bool,
}

impl Left {
    fn take(&mut self) -> Option<Bytes> {
        let part = self.parts.pop_front()?;
        self.bytes -= part.len() as u64;
        if let Some(room) = &mut self.room {
            room.give_back(part.len());
        }
        let earned = Duration::from_secs_f64(part.len() as f64 / BYTES_PER_SECOND as f64);
        // A quick start buys no long stop.
        self.until = (self.until + earned).min(Instant::now() + PATIENCE);
        Some(part)
    }

    fn cut_off(&mut self) {
        self.is_cut_off = !self.parts.is_empty();
        self.parts = VecDeque::new();
        self.room = None;
    }
}

impl TakenBody {
    pub fn new(text: TextParts, room: Option<AnswerRoom>) -> TakenBody {
        let (bytes, until) = (text.len() as u64, Instant::now() + PATIENCE);
        let left = Arc::new(Mutex::new(Left { parts: text.finished(), bytes, room, until, is_cut_off: false }));
        tokio::spawn(watch(Arc::downgrade(&left)));
        TakenBody(left)
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        locked(&self.0)
    }
}

fn locked(left: &Mutex<Left>) -> MutexGuard<'_, Left> {
    left.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nobody asks the body for anything while its client takes nothing, so its time is watched from outside.
async fn watch(body: Weak<Mutex<Left>>) {
    while let Some(until) = body.upgrade().map(|left| locked(&left).until) {
        sleep_until(until).await;
        let Some(left) = body.upgrade() else { return };
        let mut left = locked(&left);
        if left.until <= Instant::now() {
            left.cut_off();
            return;
        }
    }
}

impl HttpBody for TakenBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let mut left = self.left();
        if left.is_cut_off {
            return Poll::Ready(Some(Err(std::io::ErrorKind::TimedOut.into())));
        }
        Poll::Ready(left.take().map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        let left = self.left();
        left.parts.is_empty() && !left.is_cut_off
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left().bytes)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use futures::StreamExt;

    use super::*;

    const LARGE: usize = 20 * PART_BYTES + 1;

    fn body() -> TakenBody {
        let mut text = TextParts::default();
        text.write_all(&[7; LARGE]).unwrap();
        TakenBody::new(text, None)
    }

    #[tokio::test]
    async fn it_comes_whole_and_says_its_length() {
        assert_eq!(body().size_hint().exact(), Some(LARGE as u64));
        assert_eq!(to_bytes(Body::new(body()), usize::MAX).await.unwrap(), vec![7; LARGE]);
    }

    #[tokio::test]
    async fn a_client_that_stops_is_cut_off() {
        let body = body();
        let left = Arc::clone(&body.0);
        let mut frames = Body::new(body).into_data_stream();
        assert!(frames.next().await.unwrap().is_ok());
        locked(&left).until = Instant::now();
        watch(Arc::downgrade(&left)).await;
        assert!(locked(&left).parts.is_empty(), "what it did not take is let go");
        assert!(frames.next().await.unwrap().is_err());
    }

    #[tokio::test]
    async fn a_part_buys_as_much_time_as_it_may_take_and_no_more() {
        let body = body();
        let mut left = body.left();
        let soon = Instant::now() + Duration::from_secs(1);
        left.until = soon;
        left.take();
        assert_eq!(left.until, soon + Duration::from_secs(1));
        left.until += 2 * PATIENCE;
        left.take();
        assert!(left.until <= Instant::now() + PATIENCE, "a quick start buys no long stop");
    }

    #[tokio::test]
    async fn what_was_taken_whole_is_not_cut_off() {
        let body = body();
        let left = Arc::clone(&body.0);
        assert_eq!(Body::new(body).into_data_stream().count().await, 21);
        locked(&left).cut_off();
        assert!(!locked(&left).is_cut_off);
    }
}
