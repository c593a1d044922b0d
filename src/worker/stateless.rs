//! Summaries for compactions that run inside a request.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::compaction::{on_behalf_of, request};
use super::summarise::{Request, summarise};
use crate::domain::compaction::fallback_reason::FallbackReason;
use crate::domain::settings::OnUpstreamFailure;
use crate::llm::Upstreams;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::service::stateless::Summariser;

/// A client waits no longer than this for an upstream, its retries included.
const PATIENCE: Duration = Duration::from_secs(110);

impl Summariser for Upstreams {
    fn summarise<'a>(&'a self, work: &'a CompactionWork) -> BoxFuture<'a, Result<SummaryOutcome, String>> {
        within(self, work).boxed()
    }
}

async fn within(upstreams: &Upstreams, work: &CompactionWork) -> Result<SummaryOutcome, String> {
    let (asked, upstreams) = (request(work, None), &upstreams.on_behalf_of(on_behalf_of(work)));
    match tokio::time::timeout(PATIENCE, summarise(upstreams, &asked)).await {
        Ok(outcome) => outcome.map_err(|failure| failure.to_string()),
        Err(_) if work.settings.on_upstream_failure == OnUpstreamFailure::Fail => {
            Err("the upstream did not answer in time".to_owned())
        }
        Err(_) => {
            let alone = Request { builtin: true, ..asked };
            let mut outcome = summarise(upstreams, &alone).await.map_err(|failure| failure.to_string())?;
            outcome.fallback.used = true;
            outcome.fallback.reason = Some(FallbackReason::Timeout.to_string());
            Ok(outcome)
        }
    }
}
