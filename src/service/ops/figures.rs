//! Figures about everything at once, as a census last took them (`worker/census.rs`). Each process reads them now and then
//! and keeps them, so that a scrape asks nobody.

use std::time::Duration;

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::service::core::error::Result;
use crate::service::ops::health::Figures;
use crate::service::ops::readiness::Health;
use crate::store::censuses::{self, Subject, Taken};

/// Between two looks at what was counted.
const EVERY: Duration = Duration::from_secs(1);

/// Connections of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUse {
    pub idle: u32,
    pub used: u32,
    pub max: u32,
}

impl Health {
    /// What was known when this process last read it. Asks nobody.
    pub fn figures(&self) -> Figures {
        *self.known.figures.borrow()
    }

    /// How many connections the pool has.
    pub fn pool_use(&self) -> PoolUse {
        let idle = u32::try_from(self.pool.num_idle()).unwrap_or(u32::MAX);
        PoolUse { idle, used: self.pool.size().saturating_sub(idle), max: self.pool.options().get_max_connections() }
    }

    /// Reads what was counted, until `stop`. What can't be read stays as it was.
    pub async fn follow_figures(self, stop: CancellationToken) {
        let mut is_failing = false;
        loop {
            match self.read_figures().await {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    tracing::warn!(%error, "the figures could not be read; the last ones stand");
                    is_failing = true;
                }
                Err(_) => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Reads what was counted.
    ///
    /// # Errors
    /// The database's, or figures that this version can't read.
    pub async fn read_figures(&self) -> Result<()> {
        let mut figures = Figures::default();
        for (subject, at, text) in censuses::totals(&self.pool).await? {
            match subject {
                Subject::Sessions => figures.sessions = Some(Taken { at, figures: stored(&text)? }),
                Subject::Queue => figures.queue = Some(Taken { at, figures: stored(&text)? }),
            }
        }
        self.known.figures.send_replace(figures);
        Ok(())
    }
}

/// Figures as a census has stored them.
pub(super) fn stored<F: DeserializeOwned>(text: &str) -> Result<F> {
    Ok(serde_json::from_str(text).context("stored figures")?)
}
