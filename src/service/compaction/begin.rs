//! Beginning a claimed compaction: whether it may run, and what is to be done.

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::Context as _;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use uuid::Uuid;

use crate::domain::compaction::result::Reason;
use crate::domain::hook::{Event, HookReport};
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::Settings;
use crate::domain::tokens::accounting::{FillState, fill_state, is_ahead_due};
use crate::service::compaction::selection::Planning;
use crate::service::compaction::work::stages::{Begin, CompactionWork, Decision, Material, PlanBasis};
use crate::service::compaction::work::{ReplacedOriginals, ViewReading, build};
use crate::service::compaction::{CompactRequest, Status, Trigger};
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::head::Head;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::{self, About, EnabledHooks};
use crate::service::path::batches;
use crate::service::path::view::{self, ReadMode, ViewOrigin};
use crate::store::compactions::{self, CompactionRow};
use crate::store::path;

impl Service {
    /// Looks at a claimed compaction and says what is to be done. What can't be done is skipped here.
    pub async fn begin_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Begin> {
        let mut connection = self.pool().acquire().await?;
        let Some(row) = compactions::get(&mut *connection, tenant.0, id).await? else { return Ok(Begin::Ended) };
        if !matches!(row.status.parse::<Status>().ok(), Some(Status::Queued | Status::Running)) {
            return Ok(Begin::Ended);
        }
        let request: CompactRequest = serde_json::from_str(&row.request).context("a stored compact request")?;
        let trigger = row.trigger.parse::<Trigger>().context("a stored trigger")?;
        let head = self.inner.heads.read(&mut *connection, tenant, row.session_id).await.optional()?;
        let Some(head) = head else { return Ok(Begin::Ended) };
        let settings =
            self.inner.heads.settings_with(&mut *connection, tenant, row.session_id, &request.patch()).await?;
        if let Some(reason) = held_back(&head, &settings, &request, trigger) {
            drop(connection);
            self.skip_unplanned(tenant, &row, &settings, reason, Vec::new()).await?;
            return Ok(Begin::Ended);
        }
        let from = ViewOrigin { leaf: head.leaf(), plain: head.is_plain(), newest: head.state.newest.clone() };
        let loaded = view::load_view(&mut connection, tenant, &from, ReadMode::Heads).await?;
        let requested = request.strategy.unwrap_or(settings.strategy);
        let basis = PlanBasis { leaf_id: head.row.leaf_id, newest: head.state.newest.as_ref().map(|newest| newest.id) };
        let planning = Planning {
            loaded: &loaded,
            state: &head.state,
            settings: &settings,
            strategy: requested,
            automatic: trigger != Trigger::Manual,
            again: head.state.account.exceeds_window(&settings),
        };
        let plan = planning.plan(&mut connection, tenant, request.first_kept_entry_id).await?;
        let newest_from = planning.newest_from();
        let mut material =
            Material { loaded, plan, newest_from, state: head.state, settings, request, trigger, strategy: requested };
        if let Err(reason @ (Reason::AlreadyCompacted | Reason::EmptySession)) = material.plan {
            drop(connection);
            self.skip_unplanned(tenant, &row, &material.settings, reason, Vec::new()).await?;
            return Ok(Begin::Ended);
        }
        let about = About { tenant, session_id: row.session_id, compaction_id: Some(row.id) };
        let hooks = hooks::enabled(&mut *connection, tenant).await?;
        let mut asking = Asking { about, hooks: &hooks, reports: Vec::new() };
        let (connection, flow) = self.ask_before(connection, &mut asking, &mut material, basis.leaf_id).await?;
        let material = Arc::new(material);
        let decision = match flow {
            ControlFlow::Continue(()) => self.read_and_decide(connection, &mut asking, &from, material.clone()).await?,
            ControlFlow::Break(()) => Err(Reason::CancelledByHook),
        };
        let begun = match decision {
            Ok(decision) => {
                let work = Box::new(work(tenant, &row, &material, requested, basis, decision));
                self.ask_summarisers(&mut asking, work).await?
            }
            Err(reason) => Err(reason),
        };
        match begun {
            Ok(work) => Ok(Begin::Work(work)),
            Err(reason) => {
                self.skip_unplanned(tenant, &row, &material.settings, reason, asking.reports).await?;
                Ok(Begin::Ended)
            }
        }
    }

    /// Asks for the summary, or for what a model is shown, once all else is decided.
    async fn ask_summarisers(
        &self,
        asking: &mut Asking<'_>,
        mut work: Box<CompactionWork>,
    ) -> Result<std::result::Result<Box<CompactionWork>, Reason>> {
        let Asking { about, hooks, reports } = asking;
        let flow = self.hooks().summarise_by_hooks(*about, hooks, &mut work, reports).await?;
        work.hooks.clone_from(reports);
        Ok(if flow.is_break() { Err(Reason::CancelledByHook) } else { Ok(work) })
    }

    /// Asks whether this compaction may be done. Nothing is held while hooks take their time.
    async fn ask_before(
        &self,
        mut connection: PoolConnection<Postgres>,
        asking: &mut Asking<'_>,
        material: &mut Material,
        leaf_id: Option<Uuid>,
    ) -> Result<(PoolConnection<Postgres>, ControlFlow<()>)> {
        if !asking.hooks.has(Event::BeforeCompact) {
            return Ok((connection, ControlFlow::Continue(())));
        }
        let preparation = self.preparation(&mut connection, asking.about.tenant, leaf_id, material).await?;
        drop(connection);
        let Asking { about, hooks, reports } = asking;
        let flow = self.hooks().before_compact(*about, hooks, material, preparation.as_ref(), reports).await?;
        Ok((self.pool().acquire().await?, flow))
    }

    /// Reads the items that the material asks for, and decides. The connection is given back in between.
    pub(super) async fn read_and_decide(
        &self,
        mut connection: PoolConnection<Postgres>,
        asking: &mut Asking<'_>,
        from: &ViewOrigin,
        material: Arc<Material>,
    ) -> Result<std::result::Result<Decision, Reason>> {
        let tenant = asking.about.tenant;
        let mut reading = ViewReading::new(material.clone());
        if reading.replaces_chapters() {
            reading = reading.on(path::segments(&mut connection, tenant.0, from.leaf, from.plain).await?);
        }
        let prunes = asking.hooks.has(Event::PruneToolResults);
        let reading = if prunes { reading.offering() } else { reading };
        let segments = reading.segments();
        let mut reading = batches::fold(&mut connection, tenant, &segments, reading, ViewReading::take).await?;
        let originals = match ReplacedOriginals::of(&material) {
            None => None,
            Some(originals) => {
                let path = path::segments(&mut connection, tenant.0, from.leaf, from.plain).await?;
                let segments = originals.segments(&path);
                Some(batches::fold(&mut connection, tenant, &segments, originals, ReplacedOriginals::take).await?)
            }
        };
        drop(connection);
        let Asking { about, hooks, reports } = asking;
        if self.hooks().prune_by_hooks(*about, hooks, &mut reading, reports).await?.is_break() {
            return Ok(Err(Reason::CancelledByHook));
        }
        let decided = tokio::task::spawn_blocking(move || build(&material, reading, originals));
        decided.await.context("planning a compaction")?
    }
}

/// The hooks of a compaction and what they said so far.
pub(super) struct Asking<'a> {
    pub about: About,
    pub hooks: &'a EnabledHooks,
    pub reports: Vec<HookReport>,
}

/// Why this compaction may not even be planned.
fn held_back(head: &Head, settings: &Settings, request: &CompactRequest, trigger: Trigger) -> Option<Reason> {
    let account = &head.state.account;
    let (tokens, _) = account.tokens(settings.estimator);
    if account.has_no_room(settings) {
        return Some(Reason::FixedOverhead);
    }
    let asked = head.state.ahead.is_some_and(|ahead| ahead.wanted);
    if !matches!(trigger, Trigger::Manual | Trigger::Overflow) && !asked {
        if !settings.enabled {
            return Some(Reason::Disabled);
        }
        let early = trigger == Trigger::Ahead && is_ahead_due(tokens, settings);
        if !early && fill_state(tokens, settings) != FillState::Red {
            return Some(Reason::BelowThreshold);
        }
    }
    let admitted = request.force || head.state.guard.clone().admit(tokens, head.state.messages, settings);
    (!admitted).then_some(Reason::AntiThrash)
}

pub(super) fn work(
    tenant: Tenant,
    row: &CompactionRow,
    material: &Material,
    requested: Strategy,
    basis: PlanBasis,
    decision: Decision,
) -> CompactionWork {
    CompactionWork {
        tenant,
        session_id: row.session_id,
        compaction_id: row.id,
        trigger: material.trigger,
        strategy: decision.strategy,
        requested,
        summary_tasks: decision.tasks,
        upstream: material.settings.upstream.clone(),
        given_summary: material.request.summary.clone(),
        replaced_tokens: decision.replaced_tokens,
        hooks: Vec::new(),
        settings: material.settings.clone(),
        basis,
        outline: decision.outline,
    }
}
