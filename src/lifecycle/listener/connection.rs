//! One connection: HTTP/1.1 on a stream, ended by its times, by whoever needs its place, or by the service's stop.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::answering::Answering;
use super::stream::WatchedStream;
use super::times::Times;

/// Most bytes of headers, and of what is read and written at once.
const BUFFER: usize = 64 * 1024;

/// A connection with its place.
pub struct Connection {
    pub stream: TcpStream,
    pub service: Answering,
    pub times: Times,
    pub place: Arc<Activity>,
    pub stop: CancellationToken,
    pub abandon: CancellationToken,
}

impl Connection {
    pub async fn run(self) {
        let Connection { stream, service, times, place, stop, abandon } = self;
        let io = TokioIo::new(WatchedStream::new(stream, Arc::clone(&place)));
        let answer = service_fn(|request: hyper::Request<_>| service.answer(request.map(Body::new)));
        let mut builder = http1::Builder::new();
        // The times are this file's.
        builder.header_read_timeout(None).max_buf_size(BUFFER);
        let mut serving = pin!(builder.serve_connection(io, answer));
        let mut clock = pin!(Clock::new(&place, times));
        let mut stopping = false;
        loop {
            tokio::select! {
                // First of all the work: what has come in time is in time.
                biased;
                _ = &mut serving => return,
                () = clock.as_mut() => return,
                () = place.evicted.cancelled() => return,
                () = abandon.cancelled() => return,
                () = stop.cancelled(), if !stopping => {
                    // Half a request is not waited for.
                    if place.waiting_since().is_some() {
                        return;
                    }
                    serving.as_mut().graceful_shutdown();
                    stopping = true;
                }
            }
        }
    }
}

/// Ready when the connection's time is up. To be polled after the connection: what that did moves the hands.
struct Clock<'a> {
    place: &'a Activity,
    times: Times,
    sleep: std::pin::Pin<Box<Sleep>>,
}

impl<'a> Clock<'a> {
    fn new(place: &'a Activity, times: Times) -> Clock<'a> {
        Clock { place, times, sleep: Box::pin(sleep_until(Instant::now())) }
    }
}

impl Future for Clock<'_> {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<()> {
        let Some(deadline) = self.place.deadline(self.times) else { return Poll::Pending };
        if self.sleep.deadline() != deadline {
            self.sleep.as_mut().reset(deadline);
        }
        self.sleep.as_mut().poll(context)
    }
}
