//! A connection's bytes, which tell what it is doing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::activity::Activity;

/// How long a client that is still sending has to read its answer, and how much it may send meanwhile: a socket that is
/// closed with bytes unread takes back what was written to it.
const LINGERS_FOR: Duration = Duration::from_secs(10);
const MOST_LINGERING: usize = 64 << 20;
/// Read at once, to be thrown away.
const PIECE: usize = 16 << 10;

/// A stream that reports to its connection's [`Activity`].
pub struct WatchedStream {
    stream: TcpStream,
    activity: Arc<Activity>,
    lingering: Option<Lingering>,
}

/// The end of a connection on which more is coming.
struct Lingering {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl WatchedStream {
    pub fn new(stream: TcpStream, activity: Arc<Activity>) -> WatchedStream {
        WatchedStream { stream, activity, lingering: None }
    }

    /// Throws away what comes, until the client has ended its side too or its time is up.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let new = || Lingering { until: Box::pin(sleep(LINGERS_FOR)), left: MOST_LINGERING };
        let lingering = self.lingering.get_or_insert_with(new);
        let mut piece = [0; PIECE];
        while lingering.left > 0 && lingering.until.as_mut().poll(context).is_pending() {
            let mut into = ReadBuf::new(&mut piece);
            let outcome = ready!(Pin::new(&mut self.stream).poll_read(context, &mut into));
            if outcome.is_err() || into.filled().is_empty() {
                break;
            }
            lingering.left = lingering.left.saturating_sub(into.filled().len());
        }
        Poll::Ready(())
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, into);
        if let Some(bytes) = into.filled().get(before..).filter(|bytes| !bytes.is_empty()) {
            self.activity.read(bytes);
        }
        outcome
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.wrote(outcome.is_pending());
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.activity.wrote(outcome.is_pending());
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        if self.activity.lingers() {
            ready!(self.poll_linger(context));
        }
        Poll::Ready(Ok(()))
    }
}
