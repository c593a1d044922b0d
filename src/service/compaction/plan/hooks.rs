//! The hooks that are asked before a compaction, one after the other in the order of their creation.

use std::ops::ControlFlow::{self, Break, Continue};

use serde_json::json;

use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::strategy::counts;
use crate::domain::hook::answer::{self, Given, Verdict};
use crate::domain::hook::{Event, HookOutcome, HookReport};
use crate::domain::model::strategy::Strategy;
use crate::domain::redaction::Redaction;
use crate::service::compaction::caller_cut::cut_fault;
use crate::service::compaction::plan::standing::plan_on;
use crate::service::compaction::plan::{LiveCompaction, PlannedCompaction};
use crate::service::compaction::summarise::hooks::check;
use crate::service::core::error::Result;
use crate::service::core::hooks::Hooks;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::ask::Reports;

impl Service {
    /// Asks whether the compaction may be done and who writes its summary; a summary that a hook gives is noted in the
    /// plan as if the caller had given it. Nothing is held meanwhile. Break: it is not to be done.
    pub(super) async fn before_compact(
        &self,
        live: &mut LiveCompaction,
        planned: &mut PlannedCompaction,
    ) -> Result<ControlFlow<()>> {
        let (event, about) = (Event::BeforeCompact, planned.about);
        if !live.hooks.has(event) {
            return Ok(Continue(()));
        }
        let preparation = self.preparation(planned).await?;
        let mut data = json!({
            "trigger": planned.trigger,
            "strategy": planned.strategy,
            "focus_topic": planned.settings.focus_topic,
            "instructions": planned.settings.instructions,
            "preparation": preparation,
        });
        Redaction::of(&planned.settings.redact).redact_json(&mut data);
        let mut reports = Reports { event, list: &mut live.reports };
        for hook in live.hooks.of(event) {
            let asked = self.hooks().ask(about, hook, event, &data, answer::before_compact).await?;
            let replaced = match asked.answer {
                Ok(Verdict::Pass) => Ok(HookOutcome::Passed),
                Ok(Verdict::Cancel(reason)) => {
                    self.hooks()
                        .conclude(about.tenant, asked.delivery_id, HookOutcome::Cancelled, reason.as_deref())
                        .await;
                    reports.note(hook, asked.delivery_id, HookOutcome::Cancelled, reason);
                    return Ok(Break(()));
                }
                Ok(Verdict::Replace(given)) => take_summary(planned, given).await?,
                Err(fault) => Err(fault),
            };
            let log = (asked.delivery_id, asked.unread);
            let supersedes = replaced == Ok(HookOutcome::Replaced);
            if self.hooks().settle(about.tenant, &mut reports, hook, log, replaced).await.is_break() {
                return Ok(Break(()));
            }
            if supersedes && let Some((_, earlier)) = reports.list.split_last_mut() {
                self.hooks().supersede(about.tenant, event, earlier).await;
            }
        }
        Ok(Continue(()))
    }
}

impl Hooks {
    /// A later hook's answer has taken the place of these.
    async fn supersede(&self, tenant: Tenant, event: Event, earlier: &mut [HookReport]) {
        let used = |report: &&mut HookReport| report.event == event && report.outcome == HookOutcome::Replaced;
        for report in earlier.iter_mut().filter(used) {
            report.outcome = HookOutcome::Unused;
            report.detail = Some("another hook's answer took its place".to_owned());
            self.conclude(tenant, report.delivery_id, report.outcome, report.detail.as_deref()).await;
        }
    }
}

/// Notes a hook's summary, and its cut, in place of what was planned. The outer error is ours.
async fn take_summary(
    planned: &mut PlannedCompaction,
    given: Given,
) -> Result<std::result::Result<HookOutcome, String>> {
    if counts(planned.strategy) || matches!(planned.strategy, Strategy::Mask | Strategy::Prune) {
        return Ok(Ok(HookOutcome::Unused));
    }
    let plan = match plan_of(planned, &given) {
        Ok(plan) => plan,
        Err(fault) => return Ok(Err(fault)),
    };
    let previous = planned.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
    if let Err(fault) = check(&given, plan.tokens_to_summarize + previous, &planned.settings).await? {
        return Ok(Err(fault));
    }
    planned.plan = Ok(plan);
    planned.request.summary = Some(given.summary);
    planned.request.details = given.details;
    Ok(Ok(HookOutcome::Replaced))
}

/// The plan with the cut that a hook wants.
fn plan_of(planned: &PlannedCompaction, given: &Given) -> std::result::Result<Plan, String> {
    let plan = match given.first_kept_entry_id {
        None => planned.plan.clone(),
        Some(first_kept) => {
            if let Some(fault) = cut_fault(&planned.loaded, &planned.settings, first_kept) {
                return Err(format!("`first_kept_entry_id` {fault}"));
            }
            plan_on(&planned.loaded, &planned.settings, Some(first_kept), false)
        }
    };
    plan.map_err(|_| "there is nothing that a summary could replace".to_owned())
}
