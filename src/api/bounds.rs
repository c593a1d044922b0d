//! Limits of one request: time until its answer begins, time for its body, and a share of the memory that bodies
//! are held in. A request that gets none of these is answered 503 with `Retry-After`, whatever it hangs on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;
use crate::service::core::tenant::Tenant;
use crate::service::ops::readiness::Health;

/// A body that comes more slowly than this has to be whole within its time. None may stop for as long.
const BODY_BYTES_PER_SECOND: u64 = 256 * 1024;
/// Seconds that a refused client is to wait: the bodies of others end sooner than their calls.
const CROWDED_RETRY_SECONDS: u64 = 1;
const TIMEOUT_RETRY_SECONDS: u64 = 2;
/// Probes of operators, answered also where there is no room for anything else.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

tokio::task_local! {
    static CURRENT: Arc<RequestScope>;
}

/// Limits and state that all requests share.
#[derive(Debug)]
pub struct Bounds {
    /// From the end of the body to the beginning of the answer.
    pub request: Duration,
    /// For a body.
    pub body: Duration,
    /// Bytes of bodies held at once, and those of one tenant.
    pub buffered: usize,
    pub buffered_per_tenant: usize,
    /// Set when requests have had their time to finish in on shutdown.
    pub stopped: CancellationToken,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    by_tenant: HashMap<Tenant, usize>,
}

impl Bounds {
    pub fn new(request: Duration, body: Duration, buffered: usize, buffered_per_tenant: usize) -> Bounds {
        let (stopped, held) = (CancellationToken::new(), Mutex::default());
        Bounds { request, body, buffered, buffered_per_tenant, stopped, held }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for `bytes` more; false where there is none.
    fn take(&self, tenant: Option<Tenant>, bytes: usize) -> bool {
        let mut held = self.held();
        let of_tenant = tenant.map_or(0, |tenant| held.by_tenant.get(&tenant).copied().unwrap_or(0));
        if held.bytes + bytes > self.buffered || of_tenant + bytes > self.buffered_per_tenant {
            return false;
        }
        held.bytes += bytes;
        if let Some(tenant) = tenant {
            held.by_tenant.insert(tenant, of_tenant + bytes);
        }
        true
    }

    fn give_back(&self, tenant: Option<Tenant>, bytes: usize) {
        let mut held = self.held();
        held.bytes = held.bytes.saturating_sub(bytes);
        let Some(tenant) = tenant else { return };
        let left = held.by_tenant.get(&tenant).map_or(0, |of_tenant| of_tenant.saturating_sub(bytes));
        match left {
            0 => held.by_tenant.remove(&tenant),
            left => held.by_tenant.insert(tenant, left),
        };
    }
}

/// One request's share.
#[derive(Debug)]
struct RequestScope {
    bounds: Arc<Bounds>,
    share: Mutex<Share>,
}

#[derive(Debug)]
struct Share {
    deadline: Instant,
    tenant: Option<Tenant>,
    bytes: usize,
}

impl RequestScope {
    fn share(&self) -> MutexGuard<'_, Share> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the request's time is up. It may be given more while it runs.
    async fn expired(&self) {
        loop {
            let deadline = self.share().deadline;
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }
}

impl Drop for RequestScope {
    fn drop(&mut self) {
        let share = self.share();
        self.bounds.give_back(share.tenant, share.bytes);
    }
}

/// Around every request, inside its log line.
pub async fn bound(State((bounds, database)): State<(Arc<Bounds>, Health)>, request: Request, next: Next) -> Response {
    let share = Share { deadline: Instant::now() + bounds.request, tenant: None, bytes: 0 };
    let scope = Arc::new(RequestScope { bounds: Arc::clone(&bounds), share: Mutex::new(share) });
    let is_probe = PROBES.contains(&request.uri().path());
    let answer = CURRENT.scope(Arc::clone(&scope), next.run(request));
    let given_up = |code, why: &str| {
        let detail = format!("the call was given up because {why}; a change may have been made all the same");
        unavailable(code, &detail, TIMEOUT_RETRY_SECONDS).into_response()
    };
    let response = tokio::select! {
        biased;
        response = answer => response,
        () = scope.expired() => given_up(ProblemCode::Timeout, "it took too long"),
        () = bounds.stopped.cancelled() => given_up(ProblemCode::ShuttingDown, "the process is shutting down"),
        // Probes say themselves what there is to say.
        () = database.silenced(), if !is_probe => given_up(ProblemCode::Unavailable, "the database does not answer"),
    };
    // Of what was tried: what `/readyz` says of it is no news.
    if !is_probe && response.extensions().get() == Some(&ProblemCode::StorageFull) {
        database.found_storage_full();
    }
    response
}

/// Refuses a request on a connection beyond the usual number; `None` lets a probe through.
pub fn crowded(request: &Request) -> Option<Response> {
    if PROBES.contains(&request.uri().path()) {
        return None;
    }
    let problem = unavailable(ProblemCode::TooManyConnections, "too many connections are open", CROWDED_RETRY_SECONDS);
    Some(problem.header(header::CONNECTION, HeaderValue::from_static("close")).into_response())
}

/// The request is of this tenant, whose bodies are counted together.
pub fn belongs_to(tenant: Tenant) {
    let _ = CURRENT.try_with(|scope| {
        let mut share = scope.share();
        if share.bytes == 0 {
            share.tenant = Some(tenant);
        }
    });
}

/// Gives the request more time: what it waits for by its own wish.
pub fn allow(more: Duration) {
    let _ = CURRENT.try_with(|scope| scope.share().deadline += more);
}

/// The time that one body has.
pub struct BodyTime {
    began: Instant,
    allowed: Duration,
}

impl BodyTime {
    /// Starts now. The request's own time does not run meanwhile.
    pub fn start() -> BodyTime {
        let allowed = CURRENT.try_with(|scope| scope.bounds.body).unwrap_or(Duration::from_secs(3600));
        BodyTime { began: Instant::now(), allowed }
    }

    /// Waits for the next part of a body of which `size` bytes have come.
    pub async fn within<T>(&self, size: usize, part: impl Future<Output = T>) -> Result<T> {
        let earned = Duration::from_secs(size as u64 / BODY_BYTES_PER_SECOND);
        let limit = (self.began + self.allowed + earned).min(Instant::now() + self.allowed);
        let outcome = tokio::select! {
            biased;
            part = part => Ok(part),
            () = sleep_until(limit) => {
                let detail = "the body did not come in time";
                Err(Problem::new(ProblemCode::BodyTimeout, detail))
            }
        };
        // What came in time is in time however late the request's own clock is.
        let _ = CURRENT.try_with(|scope| {
            let mut share = scope.share();
            share.deadline = share.deadline.max(Instant::now() + scope.bounds.request);
        });
        outcome
    }
}

/// Notes that this request holds a body of `size` bytes, until it is answered. The same body read again counts once.
pub fn hold(size: usize) -> Result<()> {
    let is_held = CURRENT.try_with(|scope| {
        let mut share = scope.share();
        let more = size.saturating_sub(share.bytes);
        let is_held = more == 0 || scope.bounds.take(share.tenant, more);
        if is_held {
            share.bytes += more;
        }
        is_held
    });
    if is_held.unwrap_or(true) {
        return Ok(());
    }
    let detail = "too many bytes of requests are held already";
    Err(unavailable(ProblemCode::TooManyBytes, detail, CROWDED_RETRY_SECONDS))
}

/// Gives the room for this request's body back before it is answered: the body was thrown away.
pub fn let_go() {
    let _ = CURRENT.try_with(|scope| {
        let mut share = scope.share();
        scope.bounds.give_back(share.tenant, std::mem::take(&mut share.bytes));
    });
}

fn unavailable(code: ProblemCode, detail: &str, retry_after: u64) -> Problem {
    Problem::new(code, detail).retry_after(retry_after)
}
