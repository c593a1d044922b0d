//! What a compaction passes from stage to stage.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::result::{Fallback, Reason, UpstreamReport};
use crate::domain::compaction::strategy::counts;
use crate::domain::hook::HookReport;
use crate::domain::model::compaction::{CompactionRecord, Elision, FileLists};
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::model::ledger::Ledger;
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::Settings;
use crate::domain::summary::SummaryTask;
use crate::service::compaction::{CompactRequest, Trigger};
use crate::service::core::head::SessionState;
use crate::service::core::tenant::Tenant;
use crate::service::path::view::PathSlice;

/// Where a claimed compaction stands.
pub enum Begin {
    /// It has ended already, or was skipped just now: there is nothing to do.
    Ended,
    Work(Box<CompactionWork>),
}

/// Everything that a worker needs to carry a compaction out without the database.
#[derive(Serialize, Deserialize)]
pub struct CompactionWork {
    pub tenant: Tenant,
    pub session_id: Uuid,
    pub compaction_id: Uuid,
    pub trigger: Trigger,
    /// The session's settings with those of the request.
    pub settings: Settings,
    /// What will be done, and what was asked for.
    pub strategy: Strategy,
    pub requested: Strategy,
    /// None: eliding is enough, or the summary was given. One: the history, or what of a turn comes before the cut.
    /// Two: history first, then the turn's beginning.
    #[serde(skip)]
    pub summary_tasks: Vec<SummaryTask>,
    pub upstream: Option<String>,
    pub given_summary: Option<String>,
    /// Size of what the summary stands for.
    pub replaced_tokens: u64,
    /// What hooks said so far.
    #[serde(default)]
    pub hooks: Vec<HookReport>,
    pub(crate) basis: PlanBasis,
    pub(crate) outline: Outline,
}

/// What a summariser gave, per part, and what it took.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SummaryOutcome {
    pub history: Option<String>,
    pub turn_prefix: Option<String>,
    pub upstream: UpstreamReport,
    pub fallback: Fallback,
    /// The built-in summariser wrote it.
    pub builtin: bool,
    /// An upstream without a price was asked, so what it cost is not known.
    pub unpriced: bool,
    /// What hooks said of the compaction.
    #[serde(default)]
    pub hooks: Vec<HookReport>,
}

impl SummaryOutcome {
    /// What the summary cost, in US dollars, where it is known.
    pub fn cost_usd(&self) -> Option<f64> {
        (!self.unpriced).then_some(self.upstream.cost_usd)
    }
}

/// What the plan rests on; a commit checks that it still holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanBasis {
    pub leaf_id: Option<Uuid>,
    pub newest: Option<Uuid>,
}

/// The new view but for the summary's text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outline {
    pub first_kept: KeptFrom,
    pub anchors: Vec<EntryMeta>,
    /// Elisions of anchors and of kept entries.
    pub elisions: Vec<Elision>,
    pub previous: Option<CompactionRecord>,
    /// The summary stays as it is; only tool results are elided.
    pub elides_only: bool,
    pub is_split_turn: bool,
    /// What the summary says of messages that were left out without being summarised. Without it, such a compaction
    /// leaves no summary.
    pub notice: Option<String>,
    pub summarized: u32,
    /// Messages shown besides the summary, and all messages on the path, when this was planned.
    pub kept: u64,
    pub messages: u64,
    pub identifiers: Vec<TrackedIdentifier>,
    pub ledger: Ledger,
    pub files: FileLists,
    pub masked: u32,
    pub pruned: u32,
    pub mask_freed: u64,
    pub from_caller: bool,
}

/// The first kept entry and the path's totals before it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct KeptFrom {
    pub id: Uuid,
    pub depth: i64,
    pub path_tokens_before: i64,
    pub path_result_tokens_before: i64,
}

/// What a compaction is decided from, before any item is read.
pub(crate) struct Material {
    /// Heads alone.
    pub loaded: PathSlice,
    pub plan: std::result::Result<Plan, Reason>,
    /// Where the messages begin that `prune` as a strategy leaves alone; `None` for other strategies.
    pub newest_from: Option<usize>,
    pub state: SessionState,
    pub settings: Settings,
    pub request: CompactRequest,
    pub trigger: Trigger,
    pub strategy: Strategy,
}

impl Material {
    /// The plan, where this may replace entries by a summary.
    pub(super) fn replaces(&self) -> Option<&Plan> {
        self.plan.as_ref().ok().filter(|_| !matches!(self.strategy, Strategy::Mask | Strategy::Prune))
    }

    /// Whether a summariser may be asked.
    pub(super) fn asks(&self) -> bool {
        self.request.summary.is_none() && !counts(self.strategy) && self.replaces().is_some()
    }

    /// Whether the originals are summarised again where there is a summary.
    pub(super) fn afresh(&self) -> bool {
        !self.settings.iterative && self.loaded.newest.is_some()
    }

    pub(super) fn prunes(&self) -> bool {
        self.strategy == Strategy::Prune
            || (self.settings.tool_prune_before_summarise && self.strategy != Strategy::Mask)
    }

    /// Whether the entry stays as it is because it is young.
    pub(super) fn in_tail(&self, index: usize) -> bool {
        let tokens = |head: Option<&EntryMeta>| head.map_or(0, |head| head.path_tokens);
        let heads = &self.loaded.heads;
        match &self.plan {
            _ if self.newest_from.is_some() => self.newest_from.is_some_and(|from| index >= from),
            Ok(plan) => index >= plan.first_kept,
            Err(_) => tokens(heads.last()) - tokens(heads.get(index)) < i64::from(self.settings.keep_recent_tokens),
        }
    }
}

/// What was decided, before it has ids and a basis.
pub(crate) struct Decision {
    pub tasks: Vec<SummaryTask>,
    pub outline: Outline,
    pub replaced_tokens: u64,
    pub strategy: Strategy,
}
