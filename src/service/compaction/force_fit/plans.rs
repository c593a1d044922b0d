//! Planning what must fit now: no guard holds it back, no model is asked, and where one plan is not enough the next
//! keeps less.

use std::sync::Arc;

use anyhow::Context as _;
use uuid::Uuid;

use crate::domain::compaction::excess::FixedParts;
use crate::domain::compaction::prepare::verbatim;
use crate::domain::compaction::result::Reason;
use crate::domain::context::whole::WholeTraffic;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::{Preset, Settings};
use crate::domain::summary::Allowance;
use crate::domain::tokens::accounting::{FillState, fill_state};
use crate::service::compaction::commit::draft::draft;
use crate::service::compaction::commit::entry::rebase;
use crate::service::compaction::commit::{CommitThreshold, evaluate};
use crate::service::compaction::force_fit::part::{Force, LEAST_SUMMARY, SMALLEST, least_record, target};
use crate::service::compaction::force_fit::truncate_kept::{KeptTruncation, may_lose_words};
use crate::service::compaction::job::CompactRequest;
use crate::service::compaction::plan::{LiveCompaction, PlannedCompaction};
use crate::service::compaction::summarise::{SummaryOutcome, by_rules};
use crate::service::compaction::work::{CompactionWork, Outline};
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::head::Head;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::batches;
use crate::service::path::view::{self, PathSlice, ReadMode, ViewOrigin};
use crate::store::entries;

/// Tokens left of the arguments of each call and of each message's words where all must go that can: a marker, and names.
const LEAST_TRAFFIC: u64 = 60;

/// How much a plan leaves; each leaves less than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tightness {
    /// The tail that the session wants, as far as there is room for it.
    Roomy,
    /// The newest message and what it can't be parted from.
    Newest,
    /// The same, with its results as markers.
    Bare,
    /// The same, with a word for each result.
    Least,
}

const TIGHTNESSES: [Tightness; 4] = [Tightness::Roomy, Tightness::Newest, Tightness::Bare, Tightness::Least];

/// A compaction that is ready to be committed.
pub(crate) struct Fitted {
    pub work: CompactionWork,
    pub outcome: SummaryOutcome,
    /// Of the context behind it.
    pub tokens: u64,
}

/// Basis of all plans for one context.
struct Ground {
    live: LiveCompaction,
    head: Head,
    loaded: PathSlice,
    settings: Settings,
}

impl Service {
    /// Plans a compaction that brings the context into the window, or as near to it as can be. `None`: it has ended, or
    /// nothing can be done and it was skipped.
    pub(crate) async fn plan_to_fit(&self, tenant: Tenant, id: Uuid) -> Result<Option<Fitted>> {
        let Some(ground) = self.ground(tenant, id).await? else { return Ok(None) };
        match self.best_fit(&ground).await? {
            Ok(fitted) => Ok(Some(fitted)),
            Err(reason) => {
                self.skip_live(&ground.live, &ground.settings, reason).await?;
                Ok(None)
            }
        }
    }

    /// As [`Service::plan_to_fit`], where another compaction is at hand: if no plan helps, that one goes on.
    pub(crate) async fn plan_tighter(&self, tenant: Tenant, id: Uuid) -> Result<Option<Fitted>> {
        let Some(ground) = self.ground(tenant, id).await? else { return Ok(None) };
        Ok(self.best_fit(&ground).await?.ok())
    }

    /// Plans what a compaction that has fallen is told as now, without a job. Where its summary still stands, only what it
    /// showed shorter is shown so again, as far as that is enough. `None`: nothing can be done, or need be.
    pub(crate) async fn plan_again(&self, tenant: Tenant, head: &Head, fallen: Uuid) -> Result<Option<Fitted>> {
        let settings = Settings::clone(&head.settings);
        if head.state.account.fills_window(&settings) {
            return Ok(None);
        }
        let mut connection = self.pool().acquire().await?;
        let loaded = view::load_view(&mut connection, tenant, &ViewOrigin::of(head), ReadMode::Heads).await?;
        let place = view::place(&mut connection, tenant, head.session_id, fallen).await?;
        let record = entries::record_at(&mut *connection, tenant.0, place.session_id, place.seq).await?;
        drop(connection);
        let stands = summary_of(record.as_deref()) == summary_of(loaded.record());
        let live = LiveCompaction::without_row(tenant, head.session_id, settings.strategy);
        let ground = Ground { live, head: head.clone(), loaded, settings };
        let elided = if stands { self.elided(&ground).await?.ok() } else { None };
        let (now, _) = head.state.account.tokens(ground.settings.estimator);
        let left = elided.as_ref().map_or(now, |fitted| fitted.tokens);
        let elides = matches!(ground.settings.strategy, Strategy::Mask | Strategy::Prune);
        if stands && (elides || fill_state(left, &ground.settings) != FillState::Red) {
            return Ok(elided);
        }
        Ok(self.best_fit(&ground).await?.ok().or(elided))
    }

    /// Results and arguments shown shorter, as the session's strategy does it, and all else as it is.
    async fn elided(&self, ground: &Ground) -> Result<std::result::Result<Fitted, Reason>> {
        let (head, settings) = (&ground.head, &ground.settings);
        let strategy = match settings.strategy {
            own @ (Strategy::Auto | Strategy::Mask) => own,
            _ => Strategy::Prune,
        };
        let about = ground.live.about();
        let planned = PlannedCompaction {
            strategy,
            trigger: ground.live.trigger,
            ..PlannedCompaction::unplanned(head, about, ground.loaded.clone(), settings.clone())
        };
        let planned = Arc::new(planned.with(Err(Reason::NothingToCompact)));
        match self.read_and_decide(&planned).await? {
            Ok(work) => ground.written(Tightness::Roomy, work).await,
            Err(reason) => Ok(Err(reason)),
        }
    }

    async fn best_fit(&self, ground: &Ground) -> Result<std::result::Result<Fitted, Reason>> {
        let window = u64::from(ground.head.settings.context_window);
        let mut best: Option<Fitted> = None;
        let mut refused = None;
        for tightness in TIGHTNESSES {
            match self.fitted(ground, tightness).await? {
                Ok(fitted) => {
                    let fits = fitted.tokens <= window;
                    if best.as_ref().is_none_or(|best| fitted.tokens < best.tokens) {
                        best = Some(fitted);
                    }
                    if fits {
                        break;
                    }
                }
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        Ok(best.ok_or(refused.unwrap_or(Reason::NothingToCompact)))
    }

    /// The size of the context behind a compaction, where that is larger than the window.
    pub(crate) async fn left_above_window(
        &self,
        work: &CompactionWork,
        outcome: &SummaryOutcome,
    ) -> Result<Option<u64>> {
        let Some(head) = self.inner.heads.read(self.pool(), work.tenant, work.session_id).await.optional()? else {
            return Ok(None);
        };
        let evaluated = evaluate(&head, work, &draft(work, outcome), CommitThreshold::NoGrowth);
        let (tokens, _) = evaluated.state.account.tokens(head.settings.estimator);
        Ok(Some(tokens).filter(|tokens| *tokens > u64::from(head.settings.context_window)))
    }

    async fn ground(&self, tenant: Tenant, id: Uuid) -> Result<Option<Ground>> {
        let Some(live) = self.live_compaction(tenant, id).await? else { return Ok(None) };
        let session_id = live.row.session_id;
        let mut connection = self.pool().acquire().await?;
        let patch = live.request.patch();
        let read = self.inner.heads.read_with(&mut *connection, tenant, session_id, &patch).await.optional()?;
        let Some((head, settings)) = read else { return Ok(None) };
        if head.state.account.fills_window(&settings) {
            drop(connection);
            self.skip_live(&live, &settings, Reason::FixedOverhead).await?;
            return Ok(None);
        }
        let loaded = view::load_view(&mut connection, tenant, &ViewOrigin::of(&head), ReadMode::Heads).await?;
        Ok(Some(Ground { live, head, loaded, settings }))
    }

    async fn fitted(&self, ground: &Ground, tightness: Tightness) -> Result<std::result::Result<Fitted, Reason>> {
        let planned = Arc::new(ground.planned(tightness));
        if let Err(reason @ Reason::EmptySession) = planned.plan {
            return Ok(Err(reason));
        }
        // What must fit now waits for no hook.
        let mut work = self.read_and_decide(&planned).await?;
        let force = match tightness {
            Tightness::Roomy | Tightness::Newest => Force::Ends,
            Tightness::Bare => Force::Markers,
            Tightness::Least => Force::Words,
        };
        if let Some(truncation) = KeptTruncation::of(&planned, &work, force) {
            let mut connection = self.pool().acquire().await?;
            let segments = truncation.segments();
            let tenant = ground.live.tenant;
            let truncation =
                batches::fold(&mut connection, tenant, &segments, truncation, KeptTruncation::take).await?;
            work = truncation.finish(work);
        }
        match work {
            Ok(work) => ground.written(tightness, work).await,
            Err(reason) => Ok(Err(reason)),
        }
    }

    /// Returns true if the context of this head would fit if all of it went that can.
    pub(crate) async fn could_fit(&self, tenant: Tenant, head: &Head) -> Result<bool> {
        let mut connection = self.pool().acquire().await?;
        let mut loaded = view::load_view(&mut connection, tenant, &ViewOrigin::of(head), ReadMode::Heads).await?;
        drop(connection);
        let pinned = &head.settings.pinned_entry_ids;
        let traffic = WholeTraffic::of(&loaded.heads);
        let whole: Vec<u32> = loaded.heads.iter().map(|head| traffic.result_tokens(head)).collect();
        let heads = loaded.heads.iter_mut().zip(whole);
        for (head, whole) in heads.filter(|(head, _)| !pinned.contains(&head.id)) {
            let words = usize::from(may_lose_words(head));
            if !head.shape.calls.is_empty() || !head.shape.results.is_empty() || words > 0 {
                let (results, parts) = (head.shape.results.len() as u64, (head.shape.calls.len() + words) as u64);
                let least = results * u64::from(SMALLEST[Force::Words as usize]) + parts * LEAST_TRAFFIC;
                let least = u32::try_from(least).unwrap_or(u32::MAX).saturating_add(whole);
                head.tokens = least.min(head.tokens);
            }
        }
        let account = &head.state.account;
        let parts = FixedParts::of(&loaded.heads, loaded.compaction(), &loaded.view(), &head.settings);
        let least = parts.total() + u64::from(account.system) + u64::from(account.tools) + LEAST_SUMMARY;
        Ok(least <= account.estimate_of(u64::from(head.settings.context_window), head.settings.estimator))
    }
}

/// The summary that a compaction shows. `None`: it shows none.
fn summary_of(record: Option<&CompactionRecord>) -> Option<&str> {
    record.and_then(|record| record.summary.as_deref()).filter(|summary| !summary.is_empty())
}

impl Ground {
    fn planned(&self, tightness: Tightness) -> PlannedCompaction {
        let roomy = tightness == Tightness::Roomy;
        let settings = Settings {
            keep_recent_tokens: if roomy { self.tail() } else { 0 },
            // A tail by messages would not give way to the size of the window.
            preset: if roomy { self.settings.preset } else { Preset::Auto },
            ..self.settings.clone()
        };
        let trigger = self.live.trigger;
        // What the caller wanted done may be what does not fit.
        let request = if roomy { self.live.request.clone() } else { CompactRequest::default() };
        let first_kept = request.first_kept_entry_id;
        let planned = PlannedCompaction {
            request,
            trigger,
            strategy: Strategy::Summarize,
            ..PlannedCompaction::unplanned(&self.head, self.live.about(), self.loaded.clone(), settings)
        };
        let plan = planned.planning(true).plan_with(first_kept, None);
        planned.with(plan)
    }

    /// Returns the most that the kept tail may take, in estimated tokens.
    fn tail(&self) -> u32 {
        let (account, settings) = (&self.head.state.account, &self.settings);
        let target = account.estimate_of(target(account, settings), settings.estimator);
        let anchors = verbatim(&self.loaded.heads, self.loaded.compaction(), settings);
        let heads = anchors.iter().filter_map(|index| self.loaded.heads.get(*index));
        let anchored: u64 = heads.map(|head| u64::from(head.tokens)).sum();
        let fixed = u64::from(account.system) + u64::from(account.tools) + anchored + LEAST_SUMMARY;
        let room = target.saturating_sub(fixed);
        settings.keep_recent_tokens.min(u32::try_from(room).unwrap_or(u32::MAX))
    }

    /// The summary by rules alone, and what the context is with it.
    async fn written(
        &self,
        tightness: Tightness,
        mut work: CompactionWork,
    ) -> Result<std::result::Result<Fitted, Reason>> {
        let least = least_record(&self.settings, &work);
        let room = self.room(&work.outline, tightness, least);
        work.replaced_tokens = work.replaced_tokens.min(Allowance::most_replaced(room));
        if let Some(record) = &mut work.record {
            record.room = record.room.min(room);
            record.target = record.target.min(room);
        }
        work.requested = self.live.request.strategy.unwrap_or(self.settings.strategy);
        let written = tokio::task::spawn_blocking(move || (by_rules(&work), work));
        let (mut outcome, work) = written.await.context("a summary")?;
        // Where the built-in summariser would have written it in any case, it stands in for nobody.
        outcome.fallback.used = self.head.prices.asks_model;
        let evaluated = evaluate(&self.head, &work, &draft(&work, &outcome), CommitThreshold::NoGrowth);
        Ok(match evaluated.refused {
            Some(reason) => Err(reason),
            None => {
                let (tokens, _) = evaluated.state.account.tokens(self.head.settings.estimator);
                Ok(Fitted { work, outcome, tokens })
            }
        })
    }

    /// What the summary may take: what the rest of the new context leaves. As far as the window goes, it has `least`: of what
    /// is left out nothing else tells.
    fn room(&self, outline: &Outline, tightness: Tightness, least: u64) -> u64 {
        let mut state = self.head.state.clone();
        let running = outline.running.clone();
        let summary_tokens = running.as_ref().map_or(0, |running| running.tokens);
        let elisions = outline.elisions.clone();
        let bare = CompactionRecord { elisions, running, summary_tokens, ..CompactionRecord::default() };
        rebase(&mut state, outline, &bare);
        let (rest, _) = state.account.tokens(self.settings.estimator);
        let most = match tightness {
            Tightness::Newest => u64::from(self.head.settings.context_window),
            // Else the next turn would be red again.
            _ => target(&self.head.state.account, &self.settings),
        };
        let within = |most: u64| {
            let room = self.head.state.account.estimate_of_part(most.saturating_sub(rest), self.settings.estimator);
            room.saturating_sub(LEAST_SUMMARY)
        };
        match tightness {
            Tightness::Roomy => within(most).max(within(u64::from(self.head.settings.context_window)).min(least)),
            _ => within(most),
        }
    }
}
