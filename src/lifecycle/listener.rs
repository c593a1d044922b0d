//! The HTTP listener: every connection has its times and its place among a bounded number of them.
//!
//! A connection that waits for a request costs nothing to end, one that is being answered does. So where all places
//! are taken, the one that has waited longest makes room, and only where all are being answered is a newcomer told
//! to come back; operators' probes are answered even then.

mod activity;
mod answering;
mod connection;
mod head_scan;
mod leftover;
mod places;
mod stream;
mod times;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use answering::Answering;
use connection::Connection;
use places::Places;

pub use times::Times;

/// After `accept` has failed for want of files or memory.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers requests on `listener` until `stop`, then lets what runs end. Connections still open at `abandon` are cut.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    times: Times,
    max_connections: usize,
    stop: CancellationToken,
    abandon: CancellationToken,
) {
    let places = Arc::new(Places::new(max_connections));
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => admit(&places, &tasks, stream, peer, &router, times, &stop, &abandon),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "connections can't be accepted; trying on");
                places.evict();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

#[expect(clippy::too_many_arguments, reason = "what the listener has, handed on once")]
fn admit(
    places: &Arc<Places>,
    tasks: &TaskTracker,
    stream: TcpStream,
    peer: SocketAddr,
    router: &Router,
    times: Times,
    stop: &CancellationToken,
    abandon: &CancellationToken,
) {
    let Some(admitted) = places.admit() else {
        tracing::debug!(%peer, "no place is left for a connection");
        return;
    };
    // Answers are written whole; waiting for more would only delay their ends.
    let _ = stream.set_nodelay(true);
    let place = admitted.place();
    let service = Answering { router: router.clone(), admitted, peer };
    let connection = Connection { stream, service, times, place, stop: stop.clone(), abandon: abandon.clone() };
    tasks.spawn(connection.run());
}

fn is_of_one_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
