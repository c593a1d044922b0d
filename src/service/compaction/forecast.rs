//! What a compaction would come to, without doing it: it is planned as [`Service::begin_compaction`] plans it, the
//! summary is written by rules, and the new context is weighed.

use std::sync::Arc;

use anyhow::Context as _;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use uuid::Uuid;

use crate::background;
use crate::domain::compaction::result::Reason;
use crate::domain::summary::SummaryTask;
use crate::service::compaction::begin::Asking;
use crate::service::compaction::commit::{CommitThreshold, evaluate};
use crate::service::compaction::entry::draft;
use crate::service::compaction::force_fit::plans::write;
use crate::service::compaction::work::stages::{CompactionWork, Decision, Material, PlanBasis};
use crate::service::core::error::Result;
use crate::service::core::head::Head;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::{About, EnabledHooks};
use crate::service::path::view::ViewOrigin;

/// The newest messages of a span, of which a forecast has the summary written: it is as long as that of all of them.
const MOST_MESSAGES: usize = 2_000;

/// What a compaction would leave.
#[derive(Debug, Clone)]
pub(crate) struct Foreseen {
    pub tokens_after: u64,
    /// Of the summary message.
    pub summary_tokens: u64,
    /// It only shows results and arguments shorter: nothing is replaced.
    pub elides_only: bool,
    pub first_kept: Uuid,
    pub anchors: Vec<Uuid>,
}

impl Service {
    /// Plans and weighs the compaction of this material. The inner error is the reason why it would not be done. `head`
    /// is what the material was made of, `from` where it stands.
    pub(crate) async fn foresee(
        &self,
        connection: PoolConnection<Postgres>,
        tenant: Tenant,
        head: Head,
        from: &ViewOrigin,
        material: Arc<Material>,
    ) -> Result<std::result::Result<Foreseen, Reason>> {
        if head.state.account.has_no_room(&material.settings) {
            return Ok(Err(Reason::FixedOverhead));
        }
        if let Err(reason @ (Reason::AlreadyCompacted | Reason::EmptySession)) = material.plan {
            return Ok(Err(reason));
        }
        let about = About { tenant, session_id: head.session_id, compaction_id: None };
        let hooks = EnabledHooks::default();
        let mut asking = Asking { about, hooks: &hooks, reports: Vec::new() };
        let decision = match self.read_and_decide(connection, &mut asking, from, material.clone()).await? {
            Ok(decision) => decision,
            Err(reason) => return Ok(Err(reason)),
        };
        let weighed = background::spawn(move || weighed(&head, tenant, &material, decision));
        Ok(Ok(weighed.await.context("a forecast")?))
    }
}

fn weighed(head: &Head, tenant: Tenant, material: &Material, decision: Decision) -> Foreseen {
    let newest = |task: SummaryTask| {
        let from = task.messages.len().saturating_sub(MOST_MESSAGES);
        SummaryTask { messages: task.messages[from..].into(), ..task }
    };
    let outline = decision.outline;
    let work = Box::new(CompactionWork {
        tenant,
        session_id: head.session_id,
        compaction_id: Uuid::nil(),
        trigger: material.trigger,
        strategy: decision.strategy,
        requested: material.strategy,
        summary_tasks: decision.tasks.into_iter().map(newest).collect(),
        upstream: None,
        given_summary: None,
        replaced_tokens: decision.replaced_tokens,
        hooks: Vec::new(),
        settings: material.settings.clone(),
        basis: PlanBasis { leaf_id: None, newest: None },
        outline,
    });
    let (work, outcome) = write(work);
    let draft = draft(&work, &outcome);
    let summary_tokens = if work.outline.elides_only { 0 } else { u64::from(draft.record.summary_tokens) };
    let state = evaluate(head, &work, &draft, CommitThreshold::NoGrowth).state;
    let (tokens_after, _) = state.account.tokens(head.settings.estimator);
    Foreseen {
        tokens_after,
        summary_tokens,
        elides_only: work.outline.elides_only,
        first_kept: work.outline.first_kept.id,
        anchors: work.outline.anchors.iter().map(|anchor| anchor.id).collect(),
    }
}
