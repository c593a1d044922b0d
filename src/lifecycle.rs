//! Starting, running and stopping: the composition of the layers.

mod database;
pub mod embedded_postgres;

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use database::Database;

use crate::config::Config;

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
    let listener = TcpListener::bind(config.listen).await.with_context(|| format!("listening on {}", config.listen))?;
    let address = listener.local_addr()?;
    if config.dev {
        tracing::warn!(%address, "--dev: no key is needed, so this is for one user on one machine; loopback only");
    }
    announce(&format!("listening on http://{address}"))?;
    let server = axum::serve(listener, router()).with_graceful_shutdown(stop.clone().cancelled_owned());
    let mut server = std::pin::pin!(server.into_future());
    tokio::select! {
        outcome = &mut server => return outcome.context("the listener failed"),
        () = stop.cancelled() => tracing::info!("stopping: finishing what runs"),
    }
    match tokio::time::timeout(Duration::from_millis(config.shutdown_ms), server).await {
        Ok(outcome) => outcome.context("the listener failed"),
        Err(_) => {
            tracing::warn!(shutdown_ms = config.shutdown_ms, "some requests did not end in time");
            Ok(())
        }
    }
}

/// The one line on standard output: callers read it to learn the port.
fn announce(line: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).context("writing to standard output")
}

fn router() -> Router {
    Router::new().route("/healthz", axum::routing::get(|| async { "ok" }))
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
