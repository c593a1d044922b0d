//! Activity of a connection, told by its stream and its requests, read by its clock and by whoever needs its place.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::head_scan::HeadScan;
use super::times::Times;

/// Shared by a connection's parts.
#[derive(Debug)]
pub struct Activity {
    state: Mutex<ActivityState>,
    /// Ends the connection.
    pub evicted: CancellationToken,
}

#[derive(Debug)]
struct ActivityState {
    phase: Phase,
    /// Of the request that is to come.
    head: HeadScan,
    /// The connection ends while there is more to read on it.
    lingers: bool,
    /// Since when the client has not taken what there is to write.
    stuck: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Nothing of a request has come since; `is_new`: nor has one before.
    Idle { since: Instant, is_new: bool },
    /// The first bytes of a request came then, its headers are not whole.
    Head { since: Instant },
    /// A request is being answered.
    Busy,
}

impl Activity {
    pub fn new() -> Activity {
        let phase = Phase::Idle { since: Instant::now(), is_new: true };
        let state = ActivityState { phase, head: HeadScan::default(), lingers: false, stuck: None };
        Activity { state: Mutex::new(state), evicted: CancellationToken::new() }
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These bytes have come.
    pub fn read(&self, bytes: &[u8]) {
        let mut state = self.state();
        if let Phase::Idle { .. } = state.phase {
            state.phase = Phase::Head { since: Instant::now() };
        }
        if let Phase::Head { .. } = state.phase {
            state.head.read(bytes);
        }
    }

    /// What more comes is read and thrown away when the connection ends.
    pub fn linger(&self) {
        self.state().lingers = true;
    }

    pub fn lingers(&self) -> bool {
        self.state().lingers
    }

    /// Bytes were written, or could not be.
    pub fn wrote(&self, is_stuck: bool) {
        let mut state = self.state();
        state.stuck = if is_stuck { state.stuck.or_else(|| Some(Instant::now())) } else { None };
    }

    /// A request begins to be answered; it ends when what is returned is dropped. Tells beside it if the request says more
    /// than once how long its body is.
    pub fn busy(self: &Arc<Self>) -> (Busy, bool) {
        let mut state = self.state();
        state.phase = Phase::Busy;
        // Of a request that was sent before the last one was answered, the head may have come too early to be seen here.
        let head = std::mem::take(&mut state.head);
        (Busy(Arc::clone(self)), head.is_ambiguous())
    }

    /// When the connection is to be ended if nothing happens.
    pub fn deadline(&self, times: Times) -> Option<Instant> {
        let state = self.state();
        let of_phase = match state.phase {
            Phase::Idle { since, is_new: true } | Phase::Head { since } => Some(since + times.header),
            Phase::Idle { since, is_new: false } => Some(since + times.idle),
            Phase::Busy => None,
        };
        [of_phase, state.stuck.map(|since| since + times.write)].into_iter().flatten().min()
    }

    /// Since when it has waited for a request, where ending it loses nothing.
    pub fn waiting_since(&self) -> Option<Instant> {
        let state = self.state();
        match state.phase {
            Phase::Idle { since, .. } | Phase::Head { since } if state.stuck.is_none() => Some(since),
            _ => None,
        }
    }
}

/// A request under way.
#[derive(Debug)]
pub struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Idle { since: Instant::now(), is_new: false };
    }
}

/// The body of an answer, which is under way until the body is dropped.
pub struct Tracked {
    body: Body,
    _busy: Busy,
}

impl Tracked {
    pub fn new(body: Body, busy: Busy) -> Tracked {
        Tracked { body, _busy: busy }
    }
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
