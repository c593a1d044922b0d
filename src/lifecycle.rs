//! Starting, running and stopping: the composition of the layers.

mod database;
pub mod embedded_postgres;
mod upstreams;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use database::Database;

use crate::api::{self, AppState};
use crate::config::Config;
use crate::llm::Upstreams;
use crate::service::state::{HookOptions, Options, Service};
use crate::worker::{self, DeliveryOptions, Jobs, Worker, WorkerOptions};

/// What giving unfinished jobs back may take after the drain.
const RELEASE_MARGIN: Duration = Duration::from_secs(6);
/// Idempotency keys are kept this long, and looked through this often.
const KEEP_KEYS: Duration = Duration::from_secs(24 * 3600);
const PURGE_EVERY: Duration = Duration::from_secs(3600);
/// Messages to hooks at a time; nearly all of that is waiting.
const DELIVERIES: usize = 16;

/// Runs the service until SIGTERM or SIGINT, then drains: not ready, finish what runs within `shutdown_ms`, stop the database.
///
/// # Errors
/// Whatever keeps the service from starting; a failure of the listener.
pub async fn serve(config: Config) -> anyhow::Result<()> {
    let stop = stop_signal()?;
    let database = tokio::select! {
        database = Database::open(&config) => database?,
        () = stop.cancelled() => return Ok(()),
    };
    let outcome = run(&config, &database, stop).await;
    database.close().await;
    outcome
}

async fn run(config: &Config, database: &Database, stop: CancellationToken) -> anyhow::Result<()> {
    if config.dev || database.is_embedded() {
        database.migrate().await?;
    } else {
        database.require_current_schema().await?;
    }
    database.take_jobs_back().await?;
    let service = service(config, database);
    let ready = Arc::new(AtomicBool::new(false));
    let upstreams = upstreams::upstreams(&config.upstreams)?;
    let state = app_state(config, &service, &upstreams, &ready).await?;
    let router = if config.role.serves_api() { api::router(state) } else { api::service_router(state) };
    let background = Background::start(config, &service, upstreams, &stop);
    let listener = TcpListener::bind(config.listen).await.with_context(|| format!("listening on {}", config.listen))?;
    let address = listener.local_addr()?;
    if config.dev {
        tracing::warn!(%address, "--dev: no key is needed, so this is for one user on one machine; loopback only");
    }
    announce(&format!("listening on http://{address}"))?;
    ready.store(true, Ordering::Release);
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    let mut server = std::pin::pin!(server.into_future());
    tokio::select! {
        outcome = &mut server => return outcome.context("the listener failed"),
        () = stop.cancelled() => tracing::info!("stopping: finishing what runs"),
    }
    ready.store(false, Ordering::Release);
    let drained = async { tokio::join!(server, background.finished()) };
    match tokio::time::timeout(Duration::from_millis(config.shutdown_ms) + RELEASE_MARGIN, drained).await {
        Ok((outcome, ())) => outcome.context("the listener failed"),
        Err(_) => {
            tracing::warn!(shutdown_ms = config.shutdown_ms, "some requests did not end in time");
            Ok(())
        }
    }
}

/// The service's use cases as this configuration wants them.
pub(crate) fn service(config: &Config, database: &Database) -> Service {
    let options = Options {
        settings: config.settings.clone(),
        max_items: config.limits.max_items,
        max_depth: config.limits.max_depth,
        max_streams: config.events.max_streams,
        prices: upstreams::prices(&config.upstreams),
        hooks: HookOptions {
            allow_private_networks: config.hooks.allow_private_networks,
            max_hooks: config.hooks.max_per_tenant.into(),
            max_attempts: i32::try_from(config.hooks.max_attempts).unwrap_or(i32::MAX),
        },
        ..Options::default()
    };
    Service::new(database.pool().clone(), options)
}

async fn app_state(
    config: &Config,
    service: &Service,
    upstreams: &Upstreams,
    ready: &Arc<AtomicBool>,
) -> anyhow::Result<AppState> {
    let dev_tenant = if config.dev { Some(service.dev_tenant().await?) } else { None };
    Ok(AppState {
        service: service.clone(),
        dev: config.dev,
        dev_tenant,
        ready: Arc::clone(ready),
        summariser: Arc::new(upstreams.clone()),
        max_body: config.limits.max_body_bytes,
        metrics: api::install_metrics().context("metrics")?,
    })
}

/// The worker and the housekeeping of this process.
struct Background {
    tasks: JoinSet<()>,
}

impl Background {
    fn start(config: &Config, service: &Service, upstreams: Upstreams, stop: &CancellationToken) -> Background {
        let mut tasks = JoinSet::new();
        if config.role.works() {
            let options = WorkerOptions {
                concurrency: config.worker.concurrency as usize,
                lease: config.lease(),
                poll: Duration::from_millis(config.worker.poll_ms),
                shutdown: Duration::from_millis(config.shutdown_ms),
                ..WorkerOptions::default()
            };
            let jobs = Jobs { service: service.clone(), upstreams };
            let worker = Worker::new(service.pool().clone(), jobs, options);
            tasks.spawn(worker.run(stop.clone()));
            tasks.spawn(worker::deliver(service.clone(), delivery_options(config), stop.clone()));
            let keep_events = Duration::from_secs(3600 * u64::from(config.events.keep_hours));
            tasks.spawn(keep_house(service.clone(), keep_events, stop.clone()));
        }
        if config.role.serves_api() {
            tasks.spawn(service.clone().follow_events(stop.clone()));
        }
        Background { tasks }
    }

    async fn finished(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

fn delivery_options(config: &Config) -> DeliveryOptions {
    DeliveryOptions {
        concurrency: DELIVERIES,
        poll: Duration::from_millis(config.worker.poll_ms),
        retry_base: Duration::from_millis(config.hooks.retry_base_ms),
        retry_max: Duration::from_millis(config.hooks.retry_max_ms),
        shutdown: Duration::from_millis(config.shutdown_ms),
        keep: Duration::from_secs(u64::from(config.hooks.keep_days) * 24 * 3600),
        purge: PURGE_EVERY,
    }
}

/// Forgets idempotency keys that nobody will send again, and events that are too old.
async fn keep_house(service: Service, keep_events: Duration, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PURGE_EVERY) => {}
        }
        if let Err(error) = service.purge_idempotency_keys(KEEP_KEYS).await {
            tracing::warn!(%error, "old idempotency keys were not removed");
        }
        if let Err(error) = service.purge_events(keep_events).await {
            tracing::warn!(%error, "old events were not removed");
        }
    }
}

/// The one line on standard output: callers read it to learn the port.
fn announce(line: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).context("writing to standard output")
}

/// Cancelled by the first SIGTERM or SIGINT; the second one ends the process at once.
fn stop_signal() -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("watching SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("watching SIGINT")?;
    let stop = CancellationToken::new();
    let asked = stop.clone();
    tokio::spawn(async move {
        for again in [false, true] {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            if again {
                std::process::exit(130);
            }
            asked.cancel();
        }
    });
    Ok(stop)
}
