//! Compacting a transcript that is not stored: the same plan, summary and framing, and nothing is written.

mod handover;
mod noted;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::background::FreeingLoad;
use crate::domain::compaction::result::{CompactionResult, Reason};
use crate::domain::model::format::Format;
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::Settings;
use crate::domain::tokens::prices::{ContextChange, net};
use crate::service::compaction::commit::draft::draft;
use crate::service::compaction::commit::report::{Measured, blank, result, tried};
use crate::service::compaction::commit::{CommitThreshold, Evaluation, evaluate};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::compaction::read::{ReadItems, RecordReading, ReplacedOriginals, ViewReading, decide};
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::service::compaction::{CompactRequest, Status, Trigger, facts};
use crate::service::core::error::{ConflictCode, Result, ServiceError};
use crate::service::core::handles::{Handles, OpenedHandles};
use crate::service::core::head::{Head, Newest};
use crate::service::core::offload::{load, offload, size};
use crate::service::core::settings::SettingsResolver;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::core::{clock, references};
use crate::service::hooks::About;
use crate::service::ingest::append::{self, Append};
use crate::service::path::view::{self, PathSlice};
use crate::service::rebuild::render;
use crate::service::sessions::{count_system, count_tools};
use crate::store::entries::StoredEntry;
use crate::store::path::{self, Segment};
use crate::trace;

pub use handover::{HandedCompaction, Handover, HandoverRequest, HandoverUsage};

/// Who writes the summaries of compactions that run inside a request. Implemented beside the upstreams, which this
/// layer can't see.
pub trait Summariser: Send + Sync {
    /// The error is for people.
    fn summarise<'a>(&'a self, work: &'a CompactionWork) -> BoxFuture<'a, std::result::Result<SummaryOutcome, String>>;
}

/// A transcript to be compacted, and how.
#[derive(Debug, Clone)]
pub struct StatelessRequest {
    pub format: Format,
    pub items: Vec<Box<RawValue>>,
    pub system: Option<Box<RawValue>>,
    pub tools: Option<Box<RawValue>>,
    pub settings: Map<String, Value>,
    pub strategy: Option<Strategy>,
    pub focus_topic: Option<String>,
}

/// The compacted transcript in the format that it came in, ready to be sent.
#[derive(Debug, Clone, Serialize)]
pub struct Compacted {
    pub messages: Vec<Box<RawValue>>,
    pub system: Option<Box<RawValue>>,
    pub result: CompactionResult,
}

/// A transcript as a session would hold it, and what is to be done about it.
struct Transcript {
    head: Head,
    planned: Arc<PlannedCompaction>,
}

/// Compacts transcripts that are not stored. Cheap to clone.
#[derive(Clone)]
pub struct Stateless {
    settings: Arc<SettingsResolver>,
    handles: Handles,
}

impl Stateless {
    pub fn of(service: &Service) -> Stateless {
        Stateless { settings: Arc::clone(&service.inner.settings), handles: service.inner.handles.clone() }
    }

    /// Compacts a transcript. What can't be compacted comes back repaired, with the reason in the result.
    ///
    /// # Errors
    /// `Invalid` and `HandleRefused` with pointers into the body; `Conflict` `summary_failed` where the settings allow no
    /// stand-in for an upstream that failed.
    pub async fn compact(&self, tenant: Tenant, request: StatelessRequest, by: &dyn Summariser) -> Result<Compacted> {
        facts::observed(None, async {
            let compacted = self.compacted(tenant, request, by).await?;
            let status = if compacted.result.skip_reason.is_some() { Status::Skipped } else { Status::Succeeded };
            facts::note_result(Some(Trigger::Manual), status.into_str(), &compacted.result);
            Ok(compacted)
        })
        .await
    }

    async fn compacted(&self, tenant: Tenant, request: StatelessRequest, by: &dyn Summariser) -> Result<Compacted> {
        let started = clock::now();
        let asked = CompactRequest {
            strategy: request.strategy,
            focus_topic: request.focus_topic.clone(),
            settings: request.settings.clone(),
            ..CompactRequest::default()
        };
        let settings = Arc::new(self.settings.resolve_map(&asked.patch(), None)?);
        self.settings.check_upstream(&asked.settings)?;
        references::check_nothing_pinned(&asked.settings)?;
        let requested = request.strategy.unwrap_or(settings.strategy);
        let (head, loaded) = self.read(tenant, &request, settings).await?;
        let bytes = load(&request.items);
        let (transcript, work) = offload(bytes, move || plan(tenant, head, loaded, asked, requested)).await??;
        let work = match work {
            Ok(work) => work,
            Err(reason) => {
                let job = move || transcript.skipped(request, requested, reason, started);
                return offload(bytes, job).await?;
            }
        };
        let outcome = trace::stage("summarise", by.summarise(&work))
            .await
            .map_err(|detail| ServiceError::Conflict { code: ConflictCode::SummaryFailed, detail })?;
        let job = move || transcript.compacted(request, &work, &outcome, started);
        offload(bytes, job).await?
    }

    /// The transcript as a session would hold it.
    async fn read(
        &self,
        tenant: Tenant,
        request: &StatelessRequest,
        settings: Arc<Settings>,
    ) -> Result<(Head, PathSlice)> {
        let append = Arc::new(append_of(request));
        let opened = self.handles.open(tenant, append.format, &append, |append| &append.items).await?;
        read(request, append, opened, settings).await
    }
}

fn append_of(request: &StatelessRequest) -> Append {
    Append {
        format: request.format,
        items: request.items.clone(),
        parent_id: None,
        expected_leaf_id: None,
        usage: None,
        provider_error: None,
        is_whole: false,
    }
}

async fn read(
    request: &StatelessRequest,
    append: Arc<Append>,
    opened: OpenedHandles,
    settings: Arc<Settings>,
) -> Result<(Head, PathSlice)> {
    let mut head = Head::empty(clock::new_id(), settings, None);
    let fixed = (request.system.clone(), request.tools.clone(), head.settings.estimator);
    let count = move || {
        let (system, tools, estimator) = fixed;
        let text = |raw: &Option<Box<RawValue>>| raw.as_ref().map(|raw| raw.get().to_owned());
        (count_system(estimator, text(&system).as_deref()), count_tools(estimator, text(&tools).as_deref()))
    };
    let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
    let fixed = offload(raw(&request.system) + raw(&request.tools), count).await?;
    let (entries, row) = append::unsaved(&head, append, opened).await?;
    head.row = row;
    let load = size(&request.items) + entries.freeing_load();
    let settle = move || {
        let stored: Vec<Arc<StoredEntry>> =
            entries.iter().map(|entry| Arc::new(StoredEntry::unsaved(entry, head.session_id))).collect();
        let newest = view::newest_of(&stored);
        let loaded = PathSlice::new(stored, newest);
        head.state = view::state_of_path(&loaded, fixed, head.state);
        (head, loaded)
    };
    offload(load, settle).await
}

type PlannedTranscript = (Transcript, std::result::Result<CompactionWork, Reason>);

fn plan(
    tenant: Tenant,
    head: Head,
    loaded: PathSlice,
    request: CompactRequest,
    requested: Strategy,
) -> Result<PlannedTranscript> {
    let about = About { tenant, session_id: Uuid::nil(), compaction_id: None };
    let asked = PlannedCompaction {
        request,
        strategy: requested,
        ..PlannedCompaction::unplanned(&head, about, loaded, (*head.settings).clone())
    };
    let planning = asked.planning(false);
    let mut search = planning.search(None);
    if let Some((segments, search)) = &mut search {
        for stored in within(&asked.loaded.stored, segments) {
            search.take(stored)?;
        }
    }
    let plan = planning.plan_with(None, search.map(|(_, search)| search));
    let planned = Arc::new(asked.with(plan));
    let work = if head.state.account.has_no_room(&head.settings) {
        Err(Reason::FixedOverhead)
    } else {
        read_and_decide(&planned)?
    };
    Ok((Transcript { head, planned }, work))
}

/// As a stored session's compaction is decided, from what lies at hand.
fn read_and_decide(planned: &Arc<PlannedCompaction>) -> Result<std::result::Result<CompactionWork, Reason>> {
    if let Err(reason @ (Reason::AlreadyCompacted | Reason::EmptySession)) = planned.plan {
        return Ok(Err(reason));
    }
    let path = &planned.loaded.stored;
    let mut reading = ViewReading::new(Arc::clone(planned));
    for stored in within(path, &reading.segments()) {
        reading.take(stored)?;
    }
    let mut originals = ReplacedOriginals::of(planned);
    if let Some(originals) = &mut originals {
        let whole = path::join((0..path.len()).map(|index| planned.loaded.segment(index)));
        for stored in within(path, &originals.segments(&whole)) {
            originals.take(stored)?;
        }
    }
    let mut source = RecordReading::of(planned);
    if let Some(source) = &mut source {
        for stored in path.iter() {
            source.take(stored)?;
        }
    }
    let source = source.map(RecordReading::finish);
    decide(planned, ReadItems { reading, originals, source, background: None })
}

/// The entries of these segments: there is one branch, so that depths tell them apart.
fn within<'p>(path: &'p [Arc<StoredEntry>], segments: &'p [Segment]) -> impl Iterator<Item = &'p StoredEntry> {
    let at = |depth: i64| path.partition_point(|stored| stored.entry.head.depth < depth);
    segments
        .iter()
        .flat_map(move |segment| path[at(segment.from)..at(segment.to.saturating_add(1))].iter())
        .map(Arc::as_ref)
}

impl Transcript {
    fn compacted(
        self,
        request: StatelessRequest,
        work: &CompactionWork,
        outcome: &SummaryOutcome,
        started: DateTime<Utc>,
    ) -> Result<Compacted> {
        let draft = draft(work, outcome);
        let (before, _) = self.head.state.account.tokens(self.head.settings.estimator);
        let Evaluation { entry, mut state, rewritten, refused } =
            evaluate(&self.head, work, &draft, CommitThreshold::NoGrowth);
        if let Some(reason) = refused {
            let mut skipped = self.skipped(request, work.requested, reason, started)?;
            tried(&mut skipped.result, outcome);
            return Ok(skipped);
        }
        let after = state.snapshot(&self.head.settings).tokens;
        state.guard.record(before, after, state.messages, &self.head.settings);
        let newest = Newest {
            id: entry.head.id,
            depth: entry.head.depth,
            first_kept_depth: Some(work.outline.first_kept.depth),
            anchor_depths: work.outline.anchors.iter().map(|anchor| anchor.depth).collect(),
            is_revert: false,
            folds: Vec::new(),
        };
        let mut stored = self.planned.loaded.stored.to_vec();
        stored.push(Arc::new(StoredEntry::unsaved(&entry, self.head.session_id)));
        let thinking = self.head.settings.thinking;
        let (messages, system) =
            render(&PathSlice::new(stored, Some(newest)), request.format, thinking, request.system)?;
        let measured = Measured {
            entry_id: None,
            before,
            snapshot: state.snapshot(&self.head.settings),
            kept: work.outline.kept,
            reason: None,
            duration_ms: since(started),
        };
        let change = ContextChange { shed: before.saturating_sub(after), rewritten };
        let net = net(change, outcome.cost_usd(), &self.planned.prices.sent);
        let mut result = result(work, outcome, &draft, measured, net);
        // No entry of this id is anywhere.
        result.first_kept_entry_id = None;
        Ok(Compacted { messages, system, result })
    }

    /// The transcript as it is, but for repairs.
    fn skipped(
        self,
        request: StatelessRequest,
        requested: Strategy,
        reason: Reason,
        started: DateTime<Utc>,
    ) -> Result<Compacted> {
        let snapshot = self.head.state.snapshot(&self.head.settings);
        let thinking = self.head.settings.thinking;
        let (messages, system) = render(&self.planned.loaded, request.format, thinking, request.system)?;
        let measured = Measured {
            entry_id: None,
            before: snapshot.tokens,
            kept: self.head.state.messages,
            snapshot,
            reason: Some(reason),
            duration_ms: since(started),
        };
        Ok(Compacted { messages, system, result: blank(requested, measured) })
    }
}

fn since(started: DateTime<Utc>) -> u64 {
    u64::try_from((clock::now() - started).num_milliseconds()).unwrap_or(0)
}
