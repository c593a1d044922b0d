//! A service with its Prometheus, and the one thing that a drill does: provoke until the alert fires.

use std::time::{Duration, Instant};

use sqlx::{PgConnection, PgPool};

use super::prometheus::{Prometheus, Told};
use crate::app::App;
use crate::patience::{PATIENCE, until};

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Prometheus before an instance that is well.
pub async fn watching(app: &App) -> Prometheus {
    let prometheus = Prometheus::start(app.url("").trim_start_matches("http://"), None).await;
    prometheus.has_all().await;
    prometheus.sees_it_well("at first").await;
    prometheus
}

impl Prometheus {
    /// Waits until the service is scraped, with figures of sessions and queue.
    pub async fn has_all(&self) {
        until("it is scraped", async || {
            let up = self.query("up{job=\"contextd\"} == 1").await;
            !up.is_empty() && self.query("contextd_figures_timestamp_seconds").await.len() == 2
        })
        .await;
    }

    /// Waits until no alert fires or is about to.
    pub async fn sees_it_well(&self, when: &str) {
        let began = Instant::now();
        until(&format!("it is well {when}"), async || self.alerts().await.is_empty()).await;
        println!("it was well {when} ({:.1} s)", began.elapsed().as_secs_f64());
    }

    /// Provokes again and again until the alert fires. What else fires then must be among those that come `along`.
    pub async fn fires<F: Future<Output = ()>>(&self, name: &str, along: &[&str], provoke: impl Fn() -> F) -> Told {
        let began = Instant::now();
        loop {
            provoke().await;
            let alerts = self.alerts().await;
            let others = alerts.iter().filter(|told| told.is_firing && told.name != name);
            let others: Vec<&str> = others.map(|told| told.name.as_str()).collect();
            assert!(others.iter().all(|other| along.contains(other)), "{name}: {others:?} fire too: {alerts:?}");
            if let Some(told) = alerts.iter().find(|told| told.is_firing && told.name == name) {
                let text = told.annotations.to_string();
                assert!(!text.contains("<no value>") && !text.contains("<error"), "{text}");
                let with = if others.is_empty() { String::new() } else { format!(" with {others:?}") };
                let after = began.elapsed().as_secs_f64();
                println!("{name} fired{with} after {after:.1} s: {}", told.annotations["description"]);
                return told.clone();
            }
            assert!(began.elapsed() < PATIENCE, "{name} does not fire: {alerts:?}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Provokes nothing further.
pub async fn nothing() {}

/// Waits as long as something is to last.
pub async fn for_ms(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// Holds a table, so that every statement on it waits until the transaction is dropped.
pub async fn lock<'c>(connection: &'c mut PgConnection, table: &str) -> sqlx::Transaction<'c, sqlx::Postgres> {
    let mut transaction = sqlx::Connection::begin(connection).await.unwrap();
    let lock = format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
    sqlx::raw_sql(sqlx::AssertSqlSafe(lock)).execute(&mut *transaction).await.unwrap();
    transaction
}

/// A fresh database, as the service is told of it and as a test reaches it.
pub async fn database() -> (String, PgPool) {
    let url = crate::pg::url().await;
    let pool = PgPool::connect(&url).await.unwrap();
    (url, pool)
}
