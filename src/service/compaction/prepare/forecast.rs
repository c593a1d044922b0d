//! The forecast of a compaction: planned and read as one is, the summary written by rules, the new context evaluated.

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::compaction::result::Reason;
use crate::domain::model::strategy::Strategy;
use crate::domain::summary::{SummaryTask, prompt, worth};
use crate::service::compaction::commit::draft::draft;
use crate::service::compaction::commit::{CommitThreshold, Evaluation, evaluate};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::compaction::summarise::by_rules;
use crate::service::compaction::work::CompactionWork;
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::offload::aside;
use crate::service::core::state::Service;

/// The newest messages of a span, of which a forecast has the summary written: it is as long as that of all of them.
const MOST_MESSAGES: usize = 2_000;

/// Context that a compaction would leave: its size, cut and anchors.
#[derive(Debug, Clone)]
pub(crate) struct Foreseen {
    pub tokens_after: u64,
    /// Tokens of it behind what both contexts begin with.
    pub rewritten: u64,
    pub summary: ForeseenSummary,
    /// It only shows results and arguments shorter: nothing is replaced.
    pub elides_only: bool,
    pub first_kept: Uuid,
    pub anchors: Vec<Uuid>,
}

/// Summary that would be written, in tokens: what is read for it, and its body.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ForeseenSummary {
    pub read: u64,
    pub written: u64,
    /// A model would be asked, where the session has one.
    pub asks_model: bool,
}

impl Service {
    /// Evaluates a planned compaction. The inner error is the reason why it would not be done. `head` is what it was
    /// planned on.
    pub(crate) async fn foresee(
        &self,
        head: Head,
        planned: &Arc<PlannedCompaction>,
    ) -> Result<std::result::Result<Foreseen, Reason>> {
        if head.state.account.has_no_room(&planned.settings) {
            return Ok(Err(Reason::FixedOverhead));
        }
        if let Err(reason @ (Reason::AlreadyCompacted | Reason::EmptySession)) = planned.plan {
            return Ok(Err(reason));
        }
        let work = match self.read_and_decide(planned).await? {
            Ok(work) => work,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(Ok(aside(move || evaluated(&head, work)).await?))
    }
}

fn evaluated(head: &Head, mut work: CompactionWork) -> Foreseen {
    let pays = |task: &SummaryTask| worth::pays(task, work.replaced_tokens);
    let asks_model = work.strategy != Strategy::Summarize && work.summary_task.as_ref().is_some_and(pays);
    let read = work.summary_task.as_ref().map_or(0, prompt::estimate);
    let newest = |task: SummaryTask| {
        let from = task.messages.len().saturating_sub(MOST_MESSAGES);
        SummaryTask { messages: task.messages[from..].into(), ..task }
    };
    work.summary_task = work.summary_task.map(newest);
    let written = by_rules(&work);
    let tokens = written.history.as_deref().map_or(0, worth::tokens);
    let summary = ForeseenSummary { read, written: tokens, asks_model };
    let draft = draft(&work, &written);
    let Evaluation { state, rewritten, .. } = evaluate(head, &work, &draft, CommitThreshold::NoGrowth);
    let (tokens_after, _) = state.account.tokens(head.settings.estimator);
    Foreseen {
        tokens_after,
        rewritten,
        summary,
        elides_only: work.outline.elides_only,
        first_kept: work.outline.first_kept.id,
        anchors: work.outline.anchors.iter().map(|anchor| anchor.id).collect(),
    }
}
