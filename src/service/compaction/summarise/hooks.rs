//! The hooks that write a summary, or what a model is shown. A summary of theirs is used as given.

use std::ops::ControlFlow::{self, Break, Continue};

use serde_json::{Value, json};

use crate::domain::compaction::result::Reason;
use crate::domain::hook::answer::{self, Given};
use crate::domain::hook::{Event, HookOutcome, HookReport};
use crate::domain::model::compaction::FileLists;
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::Settings;
use crate::domain::summary::verify::check_given_for;
use crate::domain::summary::{SummaryPart, SummaryTask, transcript};
use crate::service::compaction::plan::LiveCompaction;
use crate::service::compaction::work::CompactionWork;
use crate::service::core::error::Result;
use crate::service::core::hooks::Hooks;
use crate::service::core::offload::offload;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::hooks::ask::Reports;

impl Service {
    /// Asks for the summary itself, then for the text that a model is shown. `None`: it is not to be done; it was
    /// skipped, with the reason.
    pub async fn summarise_by_hooks(
        &self,
        live: &mut LiveCompaction,
        mut work: Box<CompactionWork>,
    ) -> Result<Option<Box<CompactionWork>>> {
        let mut flow = self.hooks().build_summary(live, &mut work).await?;
        if flow.is_continue() && work.strategy != Strategy::Summarize {
            flow = self.hooks().format_messages(live, work.summary_task.as_mut()).await?;
        }
        if flow.is_break() {
            self.skip_live(live, &work.settings, Reason::CancelledByHook).await?;
            return Ok(None);
        }
        work.hooks.clone_from(&live.reports);
        Ok(Some(work))
    }
}

impl Hooks {
    /// The first summary that passes the checks is taken; no further hook is asked then, and no model.
    async fn build_summary(&self, live: &mut LiveCompaction, work: &mut CompactionWork) -> Result<ControlFlow<()>> {
        let event = Event::BuildSummary;
        if work.summary_task.is_none() || !live.hooks.has(event) {
            return Ok(Continue(()));
        }
        let data = span(work);
        let about = live.about();
        let mut reports = Reports { event, list: &mut live.reports };
        for hook in live.hooks.of(event) {
            let asked = self.ask(about, hook, event, &data, answer::build_summary).await?;
            let checked = match asked.answer {
                Ok(Some(given)) => check(&given, work.replaced_tokens, &work.settings).await?.map(|()| Some(given)),
                other => other,
            };
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
        live: &mut LiveCompaction,
        task: Option<&mut SummaryTask>,
    ) -> Result<ControlFlow<()>> {
        let event = Event::FormatMessages;
        let Some(task) = task.filter(|_| live.hooks.has(event)) else { return Ok(Continue(())) };
        let about = live.about();
        let mut reports = Reports { event, list: &mut live.reports };
        let mut text = transcript::serialise(&task.messages);
        for hook in live.hooks.of(event) {
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
        Ok(Continue(()))
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
}

pub(in crate::service::compaction) fn used(used: bool) -> HookOutcome {
    if used { HookOutcome::Replaced } else { HookOutcome::Passed }
}

fn take_built(work: &mut CompactionWork, given: Given) {
    if let Some(files) = given.details.and_then(|details| serde_json::from_value::<FileLists>(details).ok()) {
        work.outline.files = files;
    }
    work.given_summary = Some(given.summary);
    work.outline.from_caller = true;
    work.summary_task = None;
}

/// Refuses a hook's summary that is none, or that is larger than what it replaces. The outer error is ours.
pub(crate) async fn check(
    given: &Given,
    replaced_tokens: u64,
    settings: &Settings,
) -> Result<std::result::Result<(), String>> {
    let (text, estimator) = (given.summary.clone(), settings.estimator);
    let checked = offload(text.len(), move || check_given_for(&text, replaced_tokens, estimator)).await?;
    Ok(checked.map_err(|reason| reason.to_string()))
}

/// Describes a span to hooks: the messages to be summarised, and how that is to be done.
fn span(work: &CompactionWork) -> Value {
    let task = work.summary_task.as_ref();
    json!({
        "messages": task.map(messages).unwrap_or_default(),
        "previous_summary": task.and_then(|task| task.previous.as_ref()),
        "focus_topic": task.and_then(|task| task.focus_topic.as_ref()),
        "instructions": task.and_then(|task| task.instructions.as_ref()),
        "max_output_tokens": task.map(|task| task.max_output_tokens),
        "replaced_tokens": work.replaced_tokens,
    })
}

fn messages(task: &SummaryTask) -> Vec<Value> {
    task.messages.iter().map(|message| serde_json::to_value(message).unwrap_or_default()).collect()
}

fn part(part: SummaryPart) -> &'static str {
    match part {
        SummaryPart::History => "history",
        SummaryPart::Branch => "branch",
    }
}
