//! Bodies of requests: read whole within limits, or passed on as they come.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tokio::time::{Instant, timeout, timeout_at};

use crate::proxy::bypass::BypassReason;
use crate::proxy::refusal::Refusal;
use crate::proxy::room::Held;

/// A body that comes more slowly than this has to be whole within its time.
const BYTES_PER_SECOND: u64 = 256 * 1024;

/// A body as it comes.
pub type Frames = BoxStream<'static, Result<Bytes, Refusal>>;

/// A body that was read, as far as it may be.
pub enum Incoming {
    Whole(Bytes, Held),
    /// What has come of it and what is still to come.
    Longer(Frames, BypassReason),
}

/// The body as it comes; it may not stop for longer than `each`.
pub fn frames(body: Body, each: Duration) -> Frames {
    let next = move |mut frames: axum::body::BodyDataStream| async move {
        let frame = match timeout(each, frames.next()).await {
            Ok(frame) => frame?.map_err(|_| Refusal::BodyUnreadable),
            Err(_) => Err(Refusal::BodyTimeout),
        };
        Some((frame, frames))
    };
    stream::unfold(body.into_data_stream(), next).boxed()
}

/// Reads a body of at most `limit` bytes, as long as there is room for it.
///
/// # Errors
/// It does not come in time, or ends too soon.
pub async fn read(mut frames: Frames, limit: usize, time: Duration, mut held: Held) -> Result<Incoming, Refusal> {
    let began = Instant::now();
    let mut body: Vec<u8> = Vec::new();
    loop {
        let earned = Duration::from_secs(body.len() as u64 / BYTES_PER_SECOND);
        let frame = timeout_at(began + time + earned, frames.try_next()).await.map_err(|_| Refusal::BodyTimeout)??;
        let Some(frame) = frame else { return Ok(Incoming::Whole(Bytes::from(body), held)) };
        body.extend_from_slice(&frame);
        let reason = match () {
            () if body.len() > limit => BypassReason::TooLarge,
            () if !held.grow_to(body.len()) => BypassReason::Busy,
            () => continue,
        };
        let first = stream::once(async move { Ok(Bytes::from(body)) });
        return Ok(Incoming::Longer(first.chain(frames).boxed(), reason));
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::proxy::room::Room;
    use crate::service::core::tenant::Tenant;

    const LONG: Duration = Duration::from_secs(3600);

    async fn read_of(body: Body, limit: usize, room: usize) -> Result<Incoming, Refusal> {
        let held = Room::new(room, room).enter(Tenant(Uuid::nil()));
        read(frames(body, LONG), limit, LONG, held).await
    }

    async fn rest(incoming: Incoming) -> (Vec<u8>, Option<BypassReason>) {
        match incoming {
            Incoming::Whole(bytes, _) => (bytes.to_vec(), None),
            Incoming::Longer(frames, reason) => {
                let all: Vec<Bytes> = frames.try_collect().await.unwrap();
                (all.concat(), Some(reason))
            }
        }
    }

    fn pieces(count: usize) -> Body {
        Body::from_stream(stream::iter((0..count).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 1000])))))
    }

    #[tokio::test]
    async fn nothing_of_a_body_is_lost() {
        let whole = rest(read_of(pieces(9), 9_000, 1 << 20).await.unwrap()).await;
        assert_eq!(whole, (vec![b'x'; 9_000], None));
        let longer = rest(read_of(pieces(9), 8_999, 1 << 20).await.unwrap()).await;
        assert_eq!(longer, (vec![b'x'; 9_000], Some(BypassReason::TooLarge)));
        let crowded = rest(read_of(pieces(9), 9_000, 3_000).await.unwrap()).await;
        assert_eq!(crowded, (vec![b'x'; 9_000], Some(BypassReason::Busy)));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_or_stands_still_is_refused() {
        let broken = stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]);
        assert_eq!(read_of(Body::from_stream(broken), 10, 9_000).await.err(), Some(Refusal::BodyUnreadable));
        let still = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let mut frames = frames(still, Duration::from_millis(1));
        assert_eq!(frames.next().await.unwrap().unwrap_err(), Refusal::BodyTimeout);
    }
}
