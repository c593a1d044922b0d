//! Stage 2 of a compaction, plan: whether it may run and which entries it replaces. Only the small columns are read.

mod hooks;
pub(crate) mod selection;
pub(crate) mod standing;

use std::collections::{BTreeSet, HashSet};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::result::Reason;
use crate::domain::compaction::strategy::{counts, most_kept};
use crate::domain::hook::HookReport;
use crate::domain::model::entry::{EntryMeta, by_programs};
use crate::domain::model::message::Role;
use crate::domain::model::running::RunningRequest;
use crate::domain::model::strategy::Strategy;
use crate::domain::record::given;
use crate::domain::settings::{OnUpstreamFailure, Preset, Settings};
use crate::domain::tokens::accounting::{FillState, fill_state};
use crate::domain::tokens::prices::SessionPrices;
use crate::service::compaction::given::given_with;
use crate::service::compaction::job::{CompactRequest, Status, Trigger};
use crate::service::core::clock;
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::head::{Head, SessionState};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::{About, EnabledHooks};
use crate::service::path::view::{self, PathSlice, ReadMode, ViewOrigin};
use crate::store::compactions::{self, CompactionRow};
use selection::Planning;

/// A compaction that has not ended, in the hands of a worker.
pub struct LiveCompaction {
    pub(crate) tenant: Tenant,
    pub(crate) row: CompactionRow,
    pub(super) trigger: Trigger,
    pub(super) request: CompactRequest,
    /// None before it is planned: whoever does not plan it for a worker asks none.
    pub(super) hooks: EnabledHooks,
    /// Reports of the hooks so far.
    pub(super) reports: Vec<HookReport>,
}

/// A compaction as it is planned, before any item is read.
pub struct PlannedCompaction {
    /// The tail that the settings ask for; in these here it is what there is room for.
    pub wanted_tail: u32,
    pub(crate) about: About,
    /// Where the view was looked at from.
    pub(crate) origin: ViewOrigin,
    pub(crate) basis: PlanBasis,
    /// The view, without its items.
    pub(crate) loaded: PathSlice,
    pub(crate) plan: std::result::Result<Plan, Reason>,
    /// Where the messages begin that `prune` as a strategy leaves alone; `None` for other strategies.
    pub(crate) newest_from: Option<usize>,
    pub(crate) state: SessionState,
    pub(crate) settings: Settings,
    pub(crate) request: CompactRequest,
    pub(crate) trigger: Trigger,
    pub(crate) strategy: Strategy,
    /// That it is weighed at.
    pub(crate) prices: SessionPrices,
    /// Notes that a caller or a hook gave and that the view knows nothing of.
    pub(crate) given: Option<String>,
    /// All of a transcript is handed over. A summariser reads the new anchors too, which are nearly all that the user said, and
    /// no request is shown behind the summary.
    pub(crate) hands_over: bool,
}

/// Where the running request is that a new view is to show behind its summary.
#[derive(Debug, Clone)]
pub(super) enum RunningPlace {
    /// At these places: the user may say in several messages what is asked.
    At(Vec<usize>),
    /// It is the first message and stands.
    Stands(Uuid),
    /// The last compaction showed it.
    Carried(RunningRequest),
}

/// Most messages that are one running request together.
const MOST_IN_A_ROW: usize = 16;

/// Basis of a plan, its leaf and newest compaction; a commit checks that it still holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanBasis {
    pub leaf_id: Option<Uuid>,
    pub newest: Option<Uuid>,
}

/// The places of the user's messages, out of `left`, that end at `newest` with nothing of the agent's between them. Anchors
/// stand by themselves.
fn said_in_a_row(plan: &Plan, heads: &[EntryMeta], left: &BTreeSet<usize>, newest: usize) -> Vec<usize> {
    let before = heads.iter().enumerate().take(newest).skip(plan.boundary_start).rev();
    let others = before.take_while(|(_, head)| !head.is_visible() || head.role == Some(Role::User));
    let is_part = |index: &usize| left.contains(index) && !plan.anchors.contains(index);
    let mut row: Vec<usize> = others.map(|(index, _)| index).filter(is_part).take(MOST_IN_A_ROW).collect();
    row.reverse();
    row.push(newest);
    row
}

impl Service {
    /// `None`: it has ended, or its session has.
    pub async fn live_compaction(&self, tenant: Tenant, id: Uuid) -> Result<Option<LiveCompaction>> {
        let Some(row) = compactions::get(self.pool(), tenant.0, id).await? else { return Ok(None) };
        if !matches!(row.status.parse::<Status>().ok(), Some(Status::Queued | Status::Running)) {
            return Ok(None);
        }
        let request = serde_json::from_str(&row.request).context("a stored compact request")?;
        let trigger = row.trigger.parse::<Trigger>().context("a stored trigger")?;
        let hooks = EnabledHooks::default();
        Ok(Some(LiveCompaction { tenant, row, trigger, request, hooks, reports: Vec::new() }))
    }

    /// Plans it, and asks the hooks whether it may be done. `None`: it is not done; it was skipped, with the reason.
    pub async fn plan_compaction(&self, live: &mut LiveCompaction) -> Result<Option<PlannedCompaction>> {
        let (tenant, session_id) = (live.tenant, live.row.session_id);
        let mut connection = self.pool().acquire().await?;
        let patch = live.request.patch();
        let read = self.inner.heads.read_with(&mut *connection, tenant, session_id, &patch).await.optional()?;
        let Some((head, settings)) = read else { return Ok(None) };
        let retells = live.request.retells;
        if let Some(reason) = held_back(&head, &settings, &live.request, live.trigger).filter(|_| !retells) {
            drop(connection);
            self.skip_live(live, &settings, reason).await?;
            return Ok(None);
        }
        // What is told from the originals knows of no compaction.
        let origin = ViewOrigin { newest: head.state.newest.clone().filter(|_| !retells), ..ViewOrigin::of(&head) };
        let loaded = view::load_view(&mut connection, tenant, &origin, ReadMode::Heads).await?;
        let given = match retells {
            // What was given stands in no original.
            true => given_with(&mut connection, tenant, session_id, head.state.newest.as_ref()).await?,
            false => None,
        };
        let strategy = live.request.strategy.unwrap_or(settings.strategy);
        let again = retells || head.state.account.exceeds_window(&settings);
        let planned = PlannedCompaction {
            prices: self.inner.heads.prices(head.model.as_deref(), strategy, &settings),
            request: live.request.clone(),
            trigger: live.trigger,
            strategy,
            origin,
            given,
            ..PlannedCompaction::unplanned(&head, live.about(), loaded, settings)
        };
        let first_kept = live.request.first_kept_entry_id;
        let plan = planned.planning(again).plan(&mut connection, tenant, first_kept).await?;
        let mut planned = planned.with(plan);
        if let Err(reason @ (Reason::AlreadyCompacted | Reason::EmptySession)) = planned.plan {
            drop(connection);
            self.skip_live(live, &planned.settings, reason).await?;
            return Ok(None);
        }
        live.hooks = EnabledHooks::load(&mut *connection, tenant).await?;
        drop(connection);
        if self.before_compact(live, &mut planned).await?.is_break() {
            self.skip_live(live, &planned.settings, Reason::CancelledByHook).await?;
            return Ok(None);
        }
        Ok(Some(planned))
    }
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
        // What is to be told again takes its place.
        if head.is_to_retell() {
            return Some(Reason::Superseded);
        }
        let early = trigger == Trigger::Ahead && account.is_ahead_due(settings);
        // Before red where it pays.
        let due = fill_state(tokens, settings) == FillState::Red || head.snapshot().should_compact;
        if !early && !due {
            return Some(Reason::BelowThreshold);
        }
    }
    // What a provider has refused is relieved, whatever the guard says.
    let admitted = request.force
        || trigger == Trigger::Overflow
        || head.state.guard.clone().admit(tokens, head.state.messages, settings);
    (!admitted).then_some(Reason::AntiThrash)
}

impl LiveCompaction {
    /// One that nobody has queued.
    pub(super) fn without_row(tenant: Tenant, session_id: Uuid, strategy: Strategy) -> LiveCompaction {
        let row = CompactionRow::unqueued(clock::new_id(), session_id, strategy.into_str(), clock::now());
        let (request, hooks) = (CompactRequest::default(), EnabledHooks::default());
        LiveCompaction { tenant, row, trigger: Trigger::Auto, request, hooks, reports: Vec::new() }
    }

    pub(super) fn about(&self) -> About {
        About { tenant: self.tenant, session_id: self.row.session_id, compaction_id: Some(self.row.id) }
    }

    /// What stays and what the summary says was left to the service. One that is prepared is not for the context as it is now.
    pub(crate) fn leaves_the_choice(&self) -> bool {
        let by_caller = self.request.summary.is_some() || self.request.first_kept_entry_id.is_some();
        self.trigger != Trigger::Ahead && !by_caller
    }
}

impl PlanBasis {
    pub fn of(head: &Head) -> PlanBasis {
        PlanBasis { leaf_id: head.row.leaf_id, newest: head.state.newest.as_ref().map(|newest| newest.id) }
    }
}

impl PlannedCompaction {
    /// As a plain call at the leaf asks for it, before it is planned.
    pub(crate) fn unplanned(head: &Head, about: About, loaded: PathSlice, settings: Settings) -> PlannedCompaction {
        PlannedCompaction {
            about,
            origin: ViewOrigin::of(head),
            basis: PlanBasis::of(head),
            loaded,
            plan: Err(Reason::NothingToCompact),
            newest_from: None,
            state: head.state.clone(),
            strategy: settings.strategy,
            wanted_tail: settings.keep_recent_tokens,
            settings: Settings { keep_recent_tokens: most_kept(&head.state.account, &settings), ..settings },
            request: CompactRequest::default(),
            trigger: Trigger::Manual,
            prices: head.prices,
            given: None,
            hands_over: false,
        }
    }

    /// How it is planned. `again`: though the newest entry is a compaction.
    pub(crate) fn planning(&self, again: bool) -> Planning<'_> {
        Planning {
            loaded: &self.loaded,
            state: &self.state,
            settings: &self.settings,
            strategy: self.strategy,
            automatic: self.trigger != Trigger::Manual,
            again,
        }
    }

    /// The same with its plan.
    pub(crate) fn with(self, plan: std::result::Result<Plan, Reason>) -> PlannedCompaction {
        PlannedCompaction { newest_from: self.planning(false).newest_from(), plan, ..self }
    }

    /// The plan, where this may replace entries by a summary.
    pub(super) fn replaces(&self) -> Option<&Plan> {
        self.plan.as_ref().ok().filter(|_| !matches!(self.strategy, Strategy::Mask | Strategy::Prune))
    }

    /// There is nothing to replace, and yet the context is larger than the window: what stays has to give way.
    pub(crate) fn must_fit(&self) -> bool {
        let nothing = matches!(self.plan, Err(Reason::NothingToCompact | Reason::NoValidCutPoint));
        nothing && self.may_fit() && self.state.account.exceeds_window(&self.settings)
    }

    /// What stays may give way where the rest is not enough. Not where a strategy was asked for that writes no summary, or
    /// that masks or prunes, which replaces nothing. One that the session has by its settings gives way as in a rebuild.
    pub(crate) fn may_fit(&self) -> bool {
        let shortens = |strategy| matches!(strategy, Strategy::Mask | Strategy::Prune);
        let named = self.request.strategy.is_some_and(|strategy| counts(strategy) || shortens(strategy));
        !named && self.settings.on_upstream_failure == OnUpstreamFailure::Fallback
    }

    /// The request that the agent is working on, where the new view would not show its message behind the summary.
    pub(super) fn running(&self) -> Option<RunningPlace> {
        let plan = self.replaces().filter(|_| !self.hands_over)?;
        let heads = &self.loaded.heads;
        // What a program printed, or said to the form of an answer, is nothing to work on.
        let replies = by_programs(heads);
        let by_user = |index: &usize| {
            let head = heads.get(*index).filter(|head| !head.shape.begins_by_harness && !replies.contains(index));
            head.is_some_and(|head| head.has_users_words(&self.settings.agents))
        };
        if plan.kept.iter().any(by_user) {
            return None;
        }
        let left: BTreeSet<usize> =
            plan.history.iter().chain(&plan.turn_prefix).chain(&plan.anchors).copied().filter(by_user).collect();
        let newest = left.last().copied().filter(|newest| *newest >= plan.boundary_start);
        match newest {
            // What came before the last view is not here: the record tells of it.
            None => self.loaded.record()?.running.clone().map(RunningPlace::Carried),
            Some(first) if plan.anchors.contains(&first) && left.iter().all(|index| *index == first) => {
                heads.get(first).map(|head| RunningPlace::Stands(head.id))
            }
            Some(newest) => Some(RunningPlace::At(said_in_a_row(plan, heads, &left, newest))),
        }
    }

    /// The places of the anchors that a summariser reads, though they stay.
    pub(super) fn told_anchors(&self) -> HashSet<usize> {
        let plan = self.replaces().filter(|_| self.hands_over && self.asks());
        let new = |plan: &Plan| plan.anchors.iter().copied().filter(|index| *index >= plan.boundary_start).collect();
        plan.map(new).unwrap_or_default()
    }

    /// The newest notes that a caller or a hook gave: no message says what stands in them.
    pub(super) fn given(&self) -> Option<String> {
        self.loaded.record().and_then(given::notes).or_else(|| self.given.clone())
    }

    /// Returns true if a summariser may be asked.
    pub(super) fn asks(&self) -> bool {
        self.request.summary.is_none() && !counts(self.strategy) && self.replaces().is_some()
    }

    /// Returns true if the originals are summarised again where there is a summary.
    pub(super) fn afresh(&self) -> bool {
        !self.settings.iterative && self.loaded.newest.is_some()
    }

    /// Returns true if what becomes of results is left to the service: whoever chose a strategy, a preset or a target, or
    /// brings the summary, gets what that says.
    pub(super) fn spares_results(&self) -> bool {
        self.strategy == Strategy::Auto
            && self.settings.preset == Preset::Auto
            && self.settings.target_tokens.is_none()
            && self.request.summary.is_none()
            && self.request.first_kept_entry_id.is_none()
    }

    pub(super) fn prunes(&self) -> bool {
        self.strategy == Strategy::Prune
            || (self.settings.tool_prune_before_summarise && self.strategy != Strategy::Mask)
    }

    /// Returns true if the entry stays as it is because it is young.
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
