//! The hooks of a compaction: asked by the worker, one after the other in the order of their creation, while no
//! connection is held. What they give passes the same checks as what a model gives.

use std::ops::ControlFlow::{self, Break, Continue};

use serde_json::{Value, json};

use crate::domain::compaction::strategy::counts;
use crate::domain::hook::answer::{self, Given, Verdict};
use crate::domain::hook::{Event, HookOutcome, HookReport};
use crate::domain::model::compaction::FileLists;
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::Settings;
use crate::domain::summary::verify::check_summary;
use crate::domain::summary::{SummaryPart, SummaryTask, transcript};
use crate::service::compaction::cut_fault;
use crate::service::compaction::prepare::Preparation;
use crate::service::compaction::prepare::standing::plan_on;
use crate::service::compaction::work::ViewReading;
use crate::service::compaction::work::stages::{CompactionWork, Material};
use crate::service::core::error::Result;
use crate::service::core::hooks::Hooks;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::ask::{About, EnabledHooks, Reports};

impl Hooks {
    /// Asks whether the compaction may be done and who writes its summary; a summary that a hook gives is noted in the
    /// material as if the caller had given it. Break: it is not to be done.
    pub(crate) async fn before_compact(
        &self,
        about: About,
        hooks: &EnabledHooks,
        material: &mut Material,
        preparation: Option<&Preparation>,
        reports: &mut Vec<HookReport>,
    ) -> Result<ControlFlow<()>> {
        let event = Event::BeforeCompact;
        let data = json!({
            "trigger": material.trigger,
            "strategy": material.strategy,
            "focus_topic": material.settings.focus_topic,
            "instructions": material.settings.instructions,
            "preparation": preparation,
        });
        let mut reports = Reports { event, list: reports };
        for hook in hooks.of(event) {
            let asked = self.ask(about, hook, event, &data, answer::before_compact).await?;
            let replaced = match asked.answer {
                Ok(Verdict::Pass) => Ok(HookOutcome::Passed),
                Ok(Verdict::Cancel(reason)) => {
                    self.conclude(about.tenant, asked.delivery_id, HookOutcome::Cancelled, reason.as_deref()).await;
                    reports.note(hook, asked.delivery_id, HookOutcome::Cancelled, reason);
                    return Ok(Break(()));
                }
                Ok(Verdict::Replace(given)) => take_summary(material, given),
                Err(fault) => Err(fault),
            };
            let log = (asked.delivery_id, asked.unread);
            let supersedes = replaced == Ok(HookOutcome::Replaced);
            if self.settle(about.tenant, &mut reports, hook, log, replaced).await.is_break() {
                return Ok(Break(()));
            }
            if supersedes && let Some((_, earlier)) = reports.list.split_last_mut() {
                self.supersede(about.tenant, event, earlier).await;
            }
        }
        Ok(Continue(()))
    }

    /// A later hook's answer has taken the place of these.
    async fn supersede(&self, tenant: Tenant, event: Event, earlier: &mut [HookReport]) {
        let used = |report: &&mut HookReport| report.event == event && report.outcome == HookOutcome::Replaced;
        for report in earlier.iter_mut().filter(used) {
            report.outcome = HookOutcome::Unused;
            report.detail = Some("another hook's answer took its place".to_owned());
            self.conclude(tenant, report.delivery_id, report.outcome, report.detail.as_deref()).await;
        }
    }

    /// The texts that hooks gave for a model to be shown: the built-in summariser reads the messages themselves.
    pub(crate) async fn note_unshown(&self, tenant: Tenant, reports: &mut [HookReport]) {
        let shown =
            |report: &&mut HookReport| (report.event, report.outcome) == (Event::FormatMessages, HookOutcome::Replaced);
        for report in reports.iter_mut().filter(shown) {
            report.outcome = HookOutcome::Unused;
            report.detail = Some("no model was asked: the built-in summariser reads the messages".to_owned());
            self.conclude(tenant, report.delivery_id, report.outcome, report.detail.as_deref()).await;
        }
    }

    /// Asks for shorter tool results, of those that pruning may shorten.
    pub(crate) async fn prune_by_hooks(
        &self,
        about: About,
        hooks: &EnabledHooks,
        reading: &mut ViewReading,
        reports: &mut Vec<HookReport>,
    ) -> Result<ControlFlow<()>> {
        let event = Event::PruneToolResults;
        let mut reports = Reports { event, list: reports };
        for hook in hooks.of(event) {
            if reading.offered().is_empty() {
                break;
            }
            let data = json!({ "results": reading.offered() });
            let asked = self.ask(about, hook, event, &data, answer::prune_tool_results).await?;
            let count = asked.answer.and_then(|shortened| reading.shorten(&shortened));
            let log = (asked.delivery_id, asked.unread);
            let outcome = count.map(|count| used(count > 0));
            if self.settle(about.tenant, &mut reports, hook, log, outcome).await.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }

    /// Asks for the summary itself, then for the text that a model is shown.
    pub(crate) async fn summarise_by_hooks(
        &self,
        about: About,
        hooks: &EnabledHooks,
        work: &mut CompactionWork,
        reports: &mut Vec<HookReport>,
    ) -> Result<ControlFlow<()>> {
        if self.build_summary(about, hooks, work, reports).await?.is_break() {
            return Ok(Break(()));
        }
        match work.strategy {
            Strategy::Summarize => Ok(Continue(())),
            _ => self.format_messages(about, hooks, &mut work.summary_tasks, reports).await,
        }
    }

    /// The first summary that passes the checks is taken; no further hook is asked then, and no model.
    async fn build_summary(
        &self,
        about: About,
        hooks: &EnabledHooks,
        work: &mut CompactionWork,
        reports: &mut Vec<HookReport>,
    ) -> Result<ControlFlow<()>> {
        let event = Event::BuildSummary;
        if work.summary_tasks.is_empty() || !hooks.has(event) {
            return Ok(Continue(()));
        }
        let data = span(work);
        let mut reports = Reports { event, list: reports };
        for hook in hooks.of(event) {
            let asked = self.ask(about, hook, event, &data, answer::build_summary).await?;
            let checked = asked.answer.and_then(|given| match given {
                Some(given) => check(&given, work.replaced_tokens, &work.settings).map(|()| Some(given)),
                None => Ok(None),
            });
            let outcome = checked.as_ref().map(|given| used(given.is_some())).map_err(Clone::clone);
            let log = (asked.delivery_id, asked.unread);
            if self.settle(about.tenant, &mut reports, hook, log, outcome).await.is_break() {
                return Ok(Break(()));
            }
            if let Ok(Some(given)) = checked {
                take_built(work, given);
                break;
            }
        }
        Ok(Continue(()))
    }

    /// Each hook gets the text as the one before left it.
    async fn format_messages(
        &self,
        about: About,
        hooks: &EnabledHooks,
        tasks: &mut [SummaryTask],
        reports: &mut Vec<HookReport>,
    ) -> Result<ControlFlow<()>> {
        let event = Event::FormatMessages;
        if !hooks.has(event) {
            return Ok(Continue(()));
        }
        let mut reports = Reports { event, list: reports };
        for task in tasks {
            let mut text = transcript::serialise(&task.messages);
            for hook in hooks.of(event) {
                let data = json!({ "part": part(task.part), "messages": messages(task), "text": text });
                let asked = self.ask(about, hook, event, &data, answer::format_messages).await?;
                let checked = asked.answer.and_then(|given| match given {
                    Some(text) if !text.chars().any(char::is_alphanumeric) => Err("the text is empty".to_owned()),
                    given => Ok(given),
                });
                let outcome = checked.as_ref().map(|given| used(given.is_some())).map_err(Clone::clone);
                let log = (asked.delivery_id, asked.unread);
                if self.settle(about.tenant, &mut reports, hook, log, outcome).await.is_break() {
                    return Ok(Break(()));
                }
                if let Ok(Some(given)) = checked {
                    task.shown = Some(given.as_str().into());
                    text = given;
                }
            }
        }
        Ok(Continue(()))
    }
}

/// Notes a hook's summary, and its cut, in place of what was planned.
fn take_summary(material: &mut Material, given: Given) -> std::result::Result<HookOutcome, String> {
    if counts(material.strategy) || matches!(material.strategy, Strategy::Mask | Strategy::Prune) {
        return Ok(HookOutcome::Unused);
    }
    let plan = match given.first_kept_entry_id {
        None => material.plan.clone(),
        Some(first_kept) => {
            if let Some(fault) = cut_fault(&material.loaded.heads, first_kept) {
                return Err(format!("`first_kept_entry_id` {fault}"));
            }
            plan_on(&material.loaded, &material.settings, Some(first_kept), false)
        }
    };
    let plan = plan.map_err(|_| "there is nothing that a summary could replace".to_owned())?;
    let previous = material.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
    check(&given, plan.tokens_to_summarize + previous, &material.settings)?;
    material.plan = Ok(plan);
    material.request.summary = Some(given.summary);
    material.request.details = given.details;
    Ok(HookOutcome::Replaced)
}

fn used(used: bool) -> HookOutcome {
    if used { HookOutcome::Replaced } else { HookOutcome::Passed }
}

fn take_built(work: &mut CompactionWork, given: Given) {
    if let Some(files) = given.details.and_then(|details| serde_json::from_value::<FileLists>(details).ok()) {
        work.outline.files = files;
    }
    work.given_summary = Some(given.summary);
    work.outline.from_caller = true;
    work.summary_tasks.clear();
}

fn check(given: &Given, replaced_tokens: u64, settings: &Settings) -> std::result::Result<(), String> {
    check_summary(&given.summary, None, replaced_tokens, settings.estimator).map_err(|reason| reason.to_string())
}

/// What is to be summarised, and how.
fn span(work: &CompactionWork) -> Value {
    let of = |wanted: SummaryPart| work.summary_tasks.iter().find(|task| task.part == wanted).map(messages);
    let first = work.summary_tasks.first();
    json!({
        "messages": of(SummaryPart::History).unwrap_or_default(),
        "turn_prefix_messages": of(SummaryPart::TurnPrefix).unwrap_or_default(),
        "previous_summary": first.and_then(|task| task.previous.as_ref()),
        "focus_topic": first.and_then(|task| task.focus_topic.as_ref()),
        "instructions": first.and_then(|task| task.instructions.as_ref()),
        "max_output_tokens": first.map(|task| task.max_output_tokens),
        "replaced_tokens": work.replaced_tokens,
    })
}

fn messages(task: &SummaryTask) -> Vec<Value> {
    task.messages.iter().map(|message| serde_json::to_value(message).unwrap_or_default()).collect()
}

fn part(part: SummaryPart) -> &'static str {
    match part {
        SummaryPart::History => "history",
        SummaryPart::TurnPrefix => "turn_prefix",
        SummaryPart::Branch => "branch",
    }
}
