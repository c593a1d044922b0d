//! The work of a compaction: what was read and decided, for a summariser and for the commit. It needs the database no more.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::hook::HookReport;
use crate::domain::model::compaction::{CompactionRecord, Elision, FileLists};
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::record_numbers::{NumberMarks, RecordNumbers};
use crate::domain::model::running::RunningRequest;
use crate::domain::model::strategy::Strategy;
use crate::domain::record::RecordSource;
use crate::domain::settings::{Estimator, Settings};
use crate::domain::summary::{Allowance, SummaryTask};
use crate::service::compaction::job::Trigger;
use crate::service::compaction::plan::PlanBasis;
use crate::service::core::tenant::Tenant;

/// Everything that a worker needs to carry a compaction out without the database.
#[derive(Clone, Serialize, Deserialize)]
pub struct CompactionWork {
    pub tenant: Tenant,
    pub session_id: Uuid,
    pub compaction_id: Uuid,
    pub trigger: Trigger,
    /// The session's settings with those of the request.
    pub settings: Settings,
    /// Strategy that will be carried out, and the one that was asked for.
    pub strategy: Strategy,
    pub requested: Strategy,
    /// `None`: eliding is enough, or the summary was given.
    #[serde(skip)]
    pub summary_task: Option<SummaryTask>,
    /// What code writes where no model does.
    #[serde(skip)]
    pub record: Option<RecordTask>,
    /// Where the next record's reading may begin.
    #[serde(default)]
    pub numbers: Option<RecordNumbers>,
    /// Where the numbers of the record stand.
    #[serde(default)]
    pub marks: NumberMarks,
    pub upstream: Option<String>,
    pub given_summary: Option<String>,
    /// Size of what the summary stands for.
    pub replaced_tokens: u64,
    /// Reports of the hooks so far.
    #[serde(default)]
    pub hooks: Vec<HookReport>,
    /// It takes the place of a record that code told again, whatever it saves.
    #[serde(default)]
    pub retells: bool,
    pub(crate) basis: PlanBasis,
    pub(crate) outline: Outline,
}

/// The messages that a record is written from, and the tokens that it may take.
#[derive(Debug, Clone)]
pub struct RecordTask {
    pub source: Arc<RecordSource>,
    pub room: u64,
    /// The tokens that the target leaves, for given notes and what stands beside them.
    pub target: u64,
}

impl RecordTask {
    /// `None`: there is nothing to tell.
    pub fn written(&self, estimator: Estimator) -> Option<String> {
        Some(self.source.record(self.room, estimator)).filter(|record| !record.is_empty())
    }
}

impl CompactionWork {
    /// Shares of the summary message.
    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(self.replaced_tokens, self.settings.summary_reserve())
    }
}

/// The new view but for the summary's text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outline {
    pub first_kept: KeptFrom,
    pub anchors: Vec<EntryMeta>,
    /// Elisions of anchors and of kept entries.
    pub elisions: Vec<Elision>,
    pub previous: Option<CompactionRecord>,
    /// Notes that a caller or a hook gave with an earlier compaction.
    #[serde(default)]
    pub given: Option<String>,
    /// The summary stays as it is; only tool results are elided.
    pub elides_only: bool,
    /// The request to show behind the summary.
    #[serde(default)]
    pub running: Option<RunningRequest>,
    /// Turns on the path when this was planned: with the next one it runs no more.
    #[serde(default)]
    pub turns: u64,
    pub is_split_turn: bool,
    /// Record of messages that were left out without being summarised.
    #[serde(default)]
    pub told: Option<String>,
    /// Notice in the summary of messages that were left out without being summarised. Without it, such a compaction
    /// leaves no summary.
    pub notice: Option<String>,
    pub summarized: u32,
    /// Messages shown besides the summary, and all messages on the path, when this was planned.
    pub kept: u64,
    pub messages: u64,
    /// Identifiers of the span, by which the summary is measured.
    #[serde(default)]
    pub weighty: Vec<String>,
    pub files: FileLists,
    pub masked: u32,
    pub pruned: u32,
    pub mask_freed: u64,
    pub from_caller: bool,
    /// Tokens behind system prompt and tools with which the context begins before and after.
    #[serde(default)]
    pub unchanged: u64,
    /// The path's total when this was planned.
    #[serde(default)]
    pub path_tokens: Option<i64>,
}

/// The first kept entry and the path's totals before it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct KeptFrom {
    pub id: Uuid,
    pub depth: i64,
    pub path_tokens_before: i64,
    pub path_result_tokens_before: i64,
}
