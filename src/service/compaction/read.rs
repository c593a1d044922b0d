//! Stage 3 of a compaction, read: the items of what is replaced, and what is decided from them.

mod elide;
mod hooks;
mod items;
mod long_anchors;
pub(crate) mod originals;
mod outline;
mod prune_candidates;
mod spare;
mod tasks;

use std::sync::Arc;

use anyhow::Context as _;

use crate::domain::compaction::mask::BriefResults;
use crate::domain::compaction::result::Reason;
use crate::domain::hook::Event;
use crate::service::compaction::background::background;
use crate::service::compaction::plan::{LiveCompaction, PlannedCompaction};
use crate::service::compaction::work::CompactionWork;
use crate::service::core::error::Result;
use crate::service::core::state::Service;
use crate::service::path::batches;
use crate::store::entries::StoredEntry;
use crate::store::path::{self, Segment};
use crate::store::recalls;
use elide::{elide, elides_only, widen};
use outline::summary_outline;
use spare::{roomy_parts, unread_results};

pub(crate) use elide::ProposedElisions;
pub(crate) use items::{ReadItems, ReplacedOriginals, ViewReading};
pub(crate) use originals::RecordReading;
pub(crate) use outline::elision_outline;

/// Of the usable window: the room for what masked results say in brief.
const BRIEF_SHARE: u64 = 10;
/// Where the choice is the service's, a marker stands for a result only where it frees so many tokens: a smaller result says
/// more than the marker in its place.
const LEAST_GAIN: u32 = 40;

impl Service {
    /// Reads what a planned compaction replaces, and decides what becomes of the context. Hooks may shorten results.
    /// `None`: it is not done; it was skipped, with the reason.
    pub async fn read_compaction(
        &self,
        live: &mut LiveCompaction,
        planned: PlannedCompaction,
    ) -> Result<Option<Box<CompactionWork>>> {
        let planned = Arc::new(planned);
        let mut read = self.read_items(&planned, live.hooks.has(Event::PruneToolResults)).await?;
        if self.hooks().prune_by_hooks(live, &mut read.reading).await?.is_break() {
            self.skip_live(live, &planned.settings, Reason::CancelledByHook).await?;
            return Ok(None);
        }
        match offload_decision(planned.clone(), read).await? {
            Ok(work) => Ok(Some(Box::new(work))),
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
        offload_decision(planned.clone(), read).await
    }

    /// The connection is given back before anything is decided.
    async fn read_items(&self, planned: &Arc<PlannedCompaction>, offers: bool) -> Result<ReadItems> {
        let (tenant, origin) = (planned.about.tenant, &planned.origin);
        let mut connection = self.pool().acquire().await?;
        let background = match planned.asks() {
            true => background(&mut connection, tenant, planned.about.session_id, &planned.settings).await?,
            false => None,
        };
        let mut reading = ViewReading::new(planned.clone());
        if reading.replaces_chapters() {
            reading = reading.on(path::segments(&mut connection, tenant.0, origin.leaf, origin.plain).await?);
        }
        let reading = if offers { reading.offering() } else { reading };
        let segments = reading.segments();
        let Some(source) = RecordReading::of(planned) else {
            let reading = batches::fold(&mut connection, tenant, &segments, reading, ViewReading::take).await?;
            return Ok(ReadItems { reading, originals: None, source: None, background });
        };
        let path = path::segments(&mut connection, tenant.0, origin.leaf, origin.plain).await?;
        let (reading, source) = if planned.loaded.folds().is_empty() {
            let both = BothReadings::new(reading, &segments, source);
            let segments = path::clip(&path, &both.ranges());
            let both = batches::fold(&mut connection, tenant, &segments, both, BothReadings::take).await?;
            (both.view, both.record)
        } else {
            // A chapter stands elsewhere in the view than on the path.
            let reading = batches::fold(&mut connection, tenant, &segments, reading, ViewReading::take).await?;
            let segments = path::clip(&path, &source.ranges());
            (reading, batches::fold(&mut connection, tenant, &segments, source, RecordReading::take).await?)
        };
        let recalled = recalls::repeated(&mut *connection, tenant.0, planned.about.session_id).await?;
        let source = Some(source.finish().with_recalled(recalled));
        let Some(originals) = ReplacedOriginals::of(planned) else {
            return Ok(ReadItems { reading, originals: None, source, background });
        };
        let segments = originals.segments(&path);
        let originals = batches::fold(&mut connection, tenant, &segments, originals, ReplacedOriginals::take).await?;
        Ok(ReadItems { reading, originals: Some(originals), source, background })
    }
}

/// What the view and what the record need, in one pass over the path.
struct BothReadings {
    view: ViewReading,
    /// Depths that the view needs, in path order.
    view_ranges: Vec<(i64, i64)>,
    record: RecordReading,
    record_ranges: Vec<(i64, i64)>,
}

impl BothReadings {
    fn new(view: ViewReading, segments: &[Segment], record: RecordReading) -> BothReadings {
        let view_ranges = segments.iter().map(|segment| (segment.from, segment.to)).collect();
        BothReadings { view, view_ranges, record_ranges: record.ranges(), record }
    }

    /// The depths that either needs, in path order.
    fn ranges(&self) -> Vec<(i64, i64)> {
        let mut all: Vec<(i64, i64)> = self.view_ranges.iter().chain(&self.record_ranges).copied().collect();
        all.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (from, to) in all {
            match joined.last_mut() {
                Some((_, end)) if from <= end.saturating_add(1) => *end = to.max(*end),
                _ => joined.push((from, to)),
            }
        }
        joined
    }

    fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let depth = stored.entry.head.depth;
        let holds = |ranges: &[(i64, i64)]| {
            let next = ranges.partition_point(|(_, to)| *to < depth);
            ranges.get(next).is_some_and(|(from, _)| *from <= depth)
        };
        if holds(&self.record_ranges) {
            self.record.take(stored)?;
        }
        if holds(&self.view_ranges) { self.view.take(stored) } else { Ok(()) }
    }
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
    mut read: ReadItems,
) -> Result<std::result::Result<CompactionWork, Reason>> {
    let largest = read.reading.largest();
    let mut pruned = read.reading.pruned();
    let mut spared = unread_results(planned);
    let room = u64::from(planned.settings.usable()) / BRIEF_SHARE;
    let least_gain = if planned.spares_results() { LEAST_GAIN } else { 0 };
    let brief = BriefResults { told: read.reading.take_brief(), room, least_gain };
    let proposed = elide(planned, &pruned, &spared, &brief);
    read.source = read.source.map(|source| source.shortened(&read.reading.replaced));
    let elides_only = elides_only(planned, &proposed);
    // Only a new summary tells what else was asked.
    let anchors = if elides_only { Vec::new() } else { read.reading.take_cut_anchors() };
    let proposed = proposed.with(&anchors);
    let plan = planned.plan.as_ref().ok().filter(|_| !elides_only);
    let roomy = roomy_parts(planned, &pruned, &proposed, plan);
    spared.extend(roomy.results());
    pruned.retain(|one| !roomy.stays(one));
    let elided = elide(planned, &pruned, &spared, &brief).with(&anchors);
    if elides_only {
        return Ok(elision_outline(planned, widen(planned, elided, largest)));
    }
    match &planned.plan {
        Ok(plan) => summary_outline(planned, plan, read, elided, roomy.record).map(Ok),
        Err(reason) => Ok(Err(*reason)),
    }
}
