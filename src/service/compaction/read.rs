//! Stage 3 of a compaction, read: the items of what is replaced, and what is decided from them.

mod elide;
mod hooks;
mod items;
mod originals;
mod outline;
mod prune_candidates;
mod tasks;

use std::sync::Arc;

use anyhow::Context as _;

use crate::domain::compaction::result::Reason;
use crate::domain::hook::Event;
use crate::domain::record::RecordSource;
use crate::service::compaction::plan::{LiveCompaction, PlannedCompaction};
use crate::service::compaction::work::CompactionWork;
use crate::service::core::error::Result;
use crate::service::core::state::Service;
use crate::service::path::batches;
use crate::store::path;
use crate::store::recalls;
use elide::{elide, elides_only, widen};
use outline::summary_outline;

pub(crate) use elide::ProposedElisions;
pub(crate) use items::{ReplacedOriginals, ViewReading};
pub(crate) use originals::RecordReading;
pub(crate) use outline::elision_outline;

impl Service {
    /// Reads what a planned compaction replaces, and decides what becomes of the context. Hooks may shorten results.
    /// `None`: it is not done; it was skipped, with the reason.
    pub async fn read_compaction(
        &self,
        live: &mut LiveCompaction,
        planned: PlannedCompaction,
    ) -> Result<Option<Box<CompactionWork>>> {
        let planned = Arc::new(planned);
        let ReadItems { mut reading, originals, source } =
            self.read_items(&planned, live.hooks.has(Event::PruneToolResults)).await?;
        if self.hooks().prune_by_hooks(live, &mut reading).await?.is_break() {
            self.skip_live(live, &planned.settings, Reason::CancelledByHook).await?;
            return Ok(None);
        }
        match offload_decision(planned.clone(), ReadItems { reading, originals, source }).await? {
            Ok(work) => Ok(Some(Box::new(self.with_recalled(work).await?))),
            Err(reason) => {
                self.skip_live(live, &planned.settings, reason).await?;
                Ok(None)
            }
        }
    }

    /// The same for a compaction that no hook is asked about.
    pub(super) async fn read_and_decide(
        &self,
        planned: &Arc<PlannedCompaction>,
    ) -> Result<std::result::Result<CompactionWork, Reason>> {
        let read = self.read_items(planned, false).await?;
        match offload_decision(planned.clone(), read).await? {
            Ok(work) => Ok(Ok(self.with_recalled(work).await?)),
            Err(reason) => Ok(Err(reason)),
        }
    }

    /// With the results that were asked for again lately.
    async fn with_recalled(&self, mut work: CompactionWork) -> Result<CompactionWork> {
        work.outline.recalled = recalls::repeated(self.pool(), work.tenant.0, work.session_id).await?;
        Ok(work)
    }

    /// The connection is given back before anything is decided.
    async fn read_items(&self, planned: &Arc<PlannedCompaction>, offers: bool) -> Result<ReadItems> {
        let (tenant, origin) = (planned.about.tenant, &planned.origin);
        let mut connection = self.pool().acquire().await?;
        let mut reading = ViewReading::new(planned.clone());
        if reading.replaces_chapters() {
            reading = reading.on(path::segments(&mut connection, tenant.0, origin.leaf, origin.plain).await?);
        }
        let reading = if offers { reading.offering() } else { reading };
        let segments = reading.segments();
        let reading = batches::fold(&mut connection, tenant, &segments, reading, ViewReading::take).await?;
        let Some(source) = RecordReading::of(planned) else {
            return Ok(ReadItems { reading, originals: None, source: None });
        };
        let path = path::segments(&mut connection, tenant.0, origin.leaf, origin.plain).await?;
        let segments = source.segments(&path);
        let source = batches::fold(&mut connection, tenant, &segments, source, RecordReading::take).await?;
        let source = Some(source.finish());
        let Some(originals) = ReplacedOriginals::of(planned) else {
            return Ok(ReadItems { reading, originals: None, source });
        };
        let segments = originals.segments(&path);
        let originals = batches::fold(&mut connection, tenant, &segments, originals, ReplacedOriginals::take).await?;
        Ok(ReadItems { reading, originals: Some(originals), source })
    }
}

/// What was read for a compaction.
pub(crate) struct ReadItems {
    pub reading: ViewReading,
    /// For a model that is to summarise them afresh.
    pub originals: Option<ReplacedOriginals>,
    pub source: Option<RecordSource>,
}

async fn offload_decision(
    planned: Arc<PlannedCompaction>,
    read: ReadItems,
) -> Result<std::result::Result<CompactionWork, Reason>> {
    let decided = tokio::task::spawn_blocking(move || decide(&planned, read));
    decided.await.context("planning a compaction")?
}

/// Decides what a planned compaction does. The inner error is the reason to do nothing.
pub(crate) fn decide(
    planned: &PlannedCompaction,
    read: ReadItems,
) -> Result<std::result::Result<CompactionWork, Reason>> {
    let ReadItems { mut reading, originals, source } = read;
    let largest = reading.largest();
    let elided = elide(planned, reading.pruned());
    let source = source.map(|source| source.shortened(&reading.replaced));
    if elides_only(planned, &elided) {
        return Ok(elision_outline(planned, widen(planned, elided, largest)));
    }
    match &planned.plan {
        Ok(plan) => {
            let read = ReadItems { reading, originals, source };
            summary_outline(planned, plan, read, elided).map(Ok)
        }
        Err(reason) => Ok(Err(*reason)),
    }
}
