//! Starting, running and stopping: the composition of the layers.

mod database;
pub mod embedded_postgres;
mod files;
mod listener;
pub(crate) mod upstreams;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

pub use database::Database;
use upstreams::Catalogue;

use crate::api::{self, AppState, Bounds};
use crate::background;
use crate::cli::output::print;
use crate::config::{AskedCompaction, Config, ProxyUpstream};
use crate::llm::Upstreams;
use crate::proxy::{self, ProviderOptions, Proxy, ProxyOptions};
use crate::service::Services;
use crate::service::core::hooks::HookOptions;
use crate::service::core::idempotency::KeptAnswers;
use crate::service::core::state::{Options, Service};
use crate::service::core::tenant::Tenant;
use crate::service::events::Events;
use crate::service::ops::calls::ModelCalls;
use crate::service::sessions::erasure::Erasure;
use crate::service::stateless::Summariser;
use crate::ui::{self, Ui};
use crate::worker::{self, CallBook, Census, CensusOptions, DeliveryOptions, Jobs, Worker, WorkerOptions};

/// The share of `shutdown_ms` after which requests and jobs are given up, and the one after which connections are cut:
/// what is left is for closing the database.
const GIVE_UP_AT: f64 = 0.6;
const CUT_AT: f64 = 0.75;
/// Idempotency keys are kept this long, and looked through this often.
const KEEP_KEYS: Duration = Duration::from_secs(24 * 3600);
const PURGE_EVERY: Duration = Duration::from_secs(3600);
const TIDY_EVERY: Duration = Duration::from_secs(60);
/// Messages to hooks at a time; nearly all of that is waiting.
const DELIVERIES: usize = 16;

/// Runs the service until SIGTERM or SIGINT, then drains: not ready, finish what runs, stop the database, all of it
/// within `shutdown_ms`.
///
/// # Errors
/// Whatever keeps the service from starting; a failure of the listener.
pub async fn serve(config: Config) -> anyhow::Result<()> {
    background::step_back_by(config.server.background_nice);
    let stop = stop_signal()?;
    let files = files::raise_limit();
    let database = tokio::select! {
        database = Database::open(&config) => database?,
        () = stop.cancelled() => return Ok(()),
    };
    let end = ending(&config, &stop);
    let outcome = run(&config, &database, stop, files).await;
    let left = end.get().map_or(config.shutdown(), |end| end.saturating_duration_since(Instant::now()));
    database.close(left).await;
    outcome
}

/// What the pages' cookies are signed with.
fn ui_secret(config: &Config) -> Option<&str> {
    config.server.ui_secret.as_ref().map(SecretString::expose_secret)
}

/// When the process is to be at its end, once a stop was asked for.
fn ending(config: &Config, stop: &CancellationToken) -> Arc<OnceLock<Instant>> {
    let end = Arc::new(OnceLock::new());
    let (known, stop, shutdown) = (Arc::clone(&end), stop.clone(), config.shutdown());
    tokio::spawn(async move {
        stop.cancelled().await;
        let _ = known.set(Instant::now() + shutdown);
    });
    end
}

async fn run(config: &Config, database: &Database, stop: CancellationToken, files: usize) -> anyhow::Result<()> {
    tokio::select! {
        prepared = prepare(config, database) => prepared?,
        () = stop.cancelled() => return Ok(()),
    }
    // First of all, so that what is recorded from here on counts.
    api::install_metrics().context("metrics")?;
    let services = Arc::new(services(config, database));
    let ready = Arc::new(AtomicBool::new(false));
    let book = CallBook::new(database.pool().clone());
    let upstreams = upstreams::upstreams(&config.upstreams)?.kept_by(Arc::new(book));
    let state = app_state(config, &services, &upstreams, &ready).await?;
    let bounds = Arc::clone(&state.bounds);
    let beside = proxied(config, &services, Arc::clone(&state.summariser), state.dev_tenant)?;
    let trusted = &config.server.trusted_proxies;
    let pages = ui::router(Ui::new(Arc::clone(&services), state.dev_tenant, ui_secret(config), trusted));
    let router =
        if config.role.serves_api() { api::router_with(state, pages, beside) } else { api::service_router(state) };
    let mut background = Background::start(config, &services, upstreams, &stop);
    background.tasks.spawn(database.watch(&services.health).run(stop.clone()));
    let listener = TcpListener::bind(config.listen).await.with_context(|| format!("listening on {}", config.listen))?;
    let address = listener.local_addr()?;
    if config.proxy.enabled {
        config.proxy.check_other_than(address)?;
    }
    if config.dev {
        tracing::warn!(%address, "--dev: no key is needed, so this is for one user on one machine; loopback only");
    }
    // Callers read it to learn the port.
    print(&format!("listening on http://{address}\n"))?;
    ready.store(true, Ordering::Release);
    let abandon = CancellationToken::new();
    let places = config.server.max_connections.min(files.saturating_sub(config.database.max_connections as usize));
    let server = listener::serve(listener, router, times(config), places, stop.clone(), abandon.clone());
    let server = tokio::spawn(server);
    stop.cancelled().await;
    tracing::info!("stopping: finishing what runs");
    ready.store(false, Ordering::Release);
    drain(config.shutdown(), async { tokio::join!(server, background.finished()) }, &bounds.stopped, &abandon).await;
    Ok(())
}

/// Brings the schema up to date where nobody else does.
async fn prepare(config: &Config, database: &Database) -> anyhow::Result<()> {
    if config.dev || database.is_embedded() {
        database.migrate().await?;
    } else {
        database.require_current_schema().await?;
    }
    database.requeue_jobs().await
}

/// Waits for what runs, as long as there is time: then requests are answered that they were given up, and at last
/// connections are cut.
async fn drain<T>(
    shutdown: Duration,
    running: impl Future<Output = T>,
    give_up: &CancellationToken,
    cut: &CancellationToken,
) {
    let began = Instant::now();
    let mut running = std::pin::pin!(running);
    if timeout_at(began + shutdown.mul_f64(GIVE_UP_AT), &mut running).await.is_ok() {
        return;
    }
    tracing::warn!(shutdown_ms = shutdown.as_millis() as u64, "some requests or jobs did not end in time");
    give_up.cancel();
    if timeout_at(began + shutdown.mul_f64(CUT_AT), &mut running).await.is_err() {
        cut.cancel();
    }
}

fn times(config: &Config) -> listener::Times {
    let server = &config.server;
    listener::Times { header: server.header_timeout(), idle: server.idle_timeout(), write: server.write_timeout() }
}

/// The use cases as this configuration wants them.
pub(crate) fn services(config: &Config, database: &Database) -> Services {
    let options = Options {
        settings: config.settings.clone(),
        max_items: config.limits.max_items,
        max_depth: config.limits.max_depth,
        max_streams: config.events.max_streams,
        upstreams: Some(config.upstreams.iter().map(|section| section.name.clone()).collect()),
        prices: upstreams::prices(&config.upstreams),
        hooks: HookOptions {
            allow_private_networks: config.hooks.allow_private_networks,
            max_hooks: config.hooks.max_per_tenant.into(),
            max_attempts: i32::try_from(config.hooks.max_attempts).unwrap_or(i32::MAX),
        },
        ..Options::default()
    };
    Services::new(database.pool().clone(), options)
}

async fn app_state(
    config: &Config,
    services: &Arc<Services>,
    upstreams: &Upstreams,
    ready: &Arc<AtomicBool>,
) -> anyhow::Result<AppState> {
    let dev_tenant = if config.dev { Some(services.keys.dev_tenant().await?) } else { None };
    Ok(AppState {
        services: Arc::clone(services),
        dev: config.dev,
        dev_tenant,
        ready: Arc::clone(ready),
        summariser: Arc::new(upstreams.clone()),
        catalogue: Arc::new(Catalogue::new(upstreams.clone(), upstreams::prices(&config.upstreams))),
        max_body: config.limits.max_body_bytes,
        bounds: Arc::new(bounds(config)),
        metrics: api::install_metrics().context("metrics")?,
        metrics_key: config.server.metrics_key.clone().filter(|_| !config.dev),
    })
}

/// The providers' APIs, where they are asked for.
fn proxied(
    config: &Config,
    services: &Arc<Services>,
    summariser: Arc<dyn Summariser>,
    dev_tenant: Option<Tenant>,
) -> anyhow::Result<Router> {
    if !config.proxy.enabled {
        return Ok(Router::new());
    }
    let (server, max_body) = (&config.server, config.limits.max_body_bytes);
    let options = ProxyOptions {
        openai: provider(&config.proxy.openai),
        anthropic: provider(&config.proxy.anthropic),
        timeout: config.proxy.timeout(),
        dev_tenant,
        max_body,
        buffered: server.buffered(max_body),
        buffered_per_tenant: server.buffered_per_tenant(max_body),
        body_timeout: server.body_timeout(),
    };
    Ok(proxy::router(Proxy::new(Arc::clone(services), summariser, options).context("the proxy")?))
}

fn provider(upstream: &ProxyUpstream) -> ProviderOptions {
    let answers_compactions = upstream.compaction == AskedCompaction::Answer;
    ProviderOptions { base_url: upstream.base_url.clone(), answers_compactions }
}

fn bounds(config: &Config) -> Bounds {
    let (server, max_body) = (&config.server, config.limits.max_body_bytes);
    let (buffered, of_tenant) = (server.buffered(max_body), server.buffered_per_tenant(max_body));
    Bounds::new(server.request_timeout(), server.body_timeout(), buffered, of_tenant)
}

/// The worker and the housekeeping of this process.
struct Background {
    tasks: JoinSet<()>,
}

impl Background {
    fn start(config: &Config, services: &Services, upstreams: Upstreams, stop: &CancellationToken) -> Background {
        let mut tasks = JoinSet::new();
        if config.role.works() {
            let options = WorkerOptions {
                concurrency: config.worker.concurrency as usize,
                lease: config.lease(),
                poll: Duration::from_millis(config.worker.poll_ms),
                shutdown: config.shutdown().mul_f64(GIVE_UP_AT),
                ..WorkerOptions::default()
            };
            let jobs = Jobs { service: services.sessions.clone(), upstreams };
            let worker = Worker::new(services.sessions.pool().clone(), jobs, options);
            tasks.spawn(worker.run(stop.clone()));
            tasks.spawn(worker::deliver(services.hooks.clone(), delivery_options(config), stop.clone()));
            let keep_events = Duration::from_secs(3600 * u64::from(config.events.keep_hours));
            let (answers, events, calls) = (services.answers.clone(), services.events.clone(), services.calls.clone());
            tasks.spawn(keep_house(answers, events, keep_events, calls, stop.clone()));
            tasks.spawn(tidy(services.erasure.clone(), services.sessions.clone(), stop.clone()));
        }
        // In every role: that nobody works must show in the figures.
        let census = Census::new(services.sessions.pool().clone(), CensusOptions::default());
        tasks.spawn(census.run(stop.clone()));
        tasks.spawn(services.health.clone().follow_figures(stop.clone()));
        if config.role.serves_api() {
            tasks.spawn(services.events.clone().follow(stop.clone()));
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
        shutdown: config.shutdown().mul_f64(GIVE_UP_AT),
        keep: Duration::from_secs(u64::from(config.hooks.keep_days) * 24 * 3600),
        purge: PURGE_EVERY,
    }
}

/// Goes on with erasures that a crash, an outage or the end of a process cut short, and ends recounts that died.
async fn tidy(erasure: Erasure, service: Service, stop: CancellationToken) {
    loop {
        let rest = async {
            if let Err(error) = erasure.erase_rest().await {
                tracing::warn!(%error, "erased sessions were not emptied");
            }
            if let Err(error) = service.end_dead_recounts().await {
                tracing::warn!(%error, "recounts that died were not ended");
            }
            tokio::time::sleep(TIDY_EVERY).await;
        };
        tokio::select! { () = stop.cancelled() => return, () = rest => {} }
    }
}

/// Forgets idempotency keys that nobody will send again, and events, calls and refused texts that are too old.
async fn keep_house(
    answers: KeptAnswers,
    events: Events,
    keep_events: Duration,
    calls: ModelCalls,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PURGE_EVERY) => {}
        }
        if let Err(error) = answers.purge(KEEP_KEYS).await {
            tracing::warn!(%error, "old idempotency keys were not removed");
        }
        if let Err(error) = events.purge(keep_events).await {
            tracing::warn!(%error, "old events were not removed");
        }
        if let Err(error) = calls.purge().await {
            tracing::warn!(%error, "old calls of models were not removed");
        }
    }
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
