//! The hooks that shorten tool results.

use std::ops::ControlFlow::{self, Break, Continue};

use serde_json::json;

use crate::domain::hook::{Event, answer};
use crate::service::compaction::plan::LiveCompaction;
use crate::service::compaction::read::items::ViewReading;
use crate::service::compaction::summarise::hooks::used;
use crate::service::core::error::Result;
use crate::service::core::hooks::Hooks;
use crate::service::hooks::ask::Reports;

impl Hooks {
    /// Asks for shorter tool results, of those that pruning may shorten.
    pub(super) async fn prune_by_hooks(
        &self,
        live: &mut LiveCompaction,
        reading: &mut ViewReading,
    ) -> Result<ControlFlow<()>> {
        let (event, about) = (Event::PruneToolResults, live.about());
        let mut reports = Reports { event, list: &mut live.reports };
        for hook in live.hooks.of(event) {
            if reading.offered().is_empty() {
                break;
            }
            let data = json!({ "results": reading.offered() });
            let asked = self.ask(about, hook, event, &data, answer::prune_tool_results).await?;
            let count = asked.answer.and_then(|shortened| reading.shorten(&shortened));
            let log = (asked.delivery_id, asked.unread);
            let outcome = count.map(|count| used(count > 0));
            if self.settle(about.tenant, &mut reports, hook, log, outcome).await.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }
}
