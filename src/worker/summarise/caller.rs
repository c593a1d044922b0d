//! One upstream asked on behalf of one request: from the session's cached context where it may, else from the record of the
//! span in as much detail as the window allows, within a bound of calls.

use super::answers::Answers;
use super::calls::CallsLeft;
use super::failure::Failure;
use super::judge::Judge;
use super::request::{Request, outcome};
use crate::domain::settings::Estimator;
use crate::domain::summary::prefix::{SessionPrefix, instruction};
use crate::domain::summary::{SummaryTask, prompt};
use crate::domain::tokens::count_text;
use crate::llm::{CallAccount, Spent, Upstream, UpstreamConfig, UpstreamError};
use crate::service::compaction::summarise::SummaryOutcome;

/// The share of the window that a summary may take.
const OUTPUT_SHARE: u32 = 4;
/// In less room no span can be shown, in tokens.
const LEAST_SHOWN: u64 = 256;
/// The most of a span that is shown again, with its numbers, behind a session's own context; and its share of that.
const NUMBERED: u64 = 6_000;
const NUMBERED_SHARE: u64 = 8;

pub(super) struct Caller<'a> {
    answers: Answers<'a>,
    request: &'a Request<'a>,
    estimator: Estimator,
}

impl<'a> Caller<'a> {
    pub(super) fn new(upstream: &'a Upstream, request: &'a Request<'a>, account: CallAccount) -> Caller<'a> {
        let estimator = request.settings.estimator;
        Caller { answers: Answers::new(upstream, estimator, account), request, estimator }
    }

    /// Returns what all calls took, failed ones included.
    pub(super) fn spent(&self) -> Spent {
        self.answers.spent()
    }

    fn config(&self) -> &UpstreamConfig {
        self.answers.config()
    }

    pub(super) async fn written(&self, task: &SummaryTask) -> Result<SummaryOutcome, Failure> {
        let calls = CallsLeft::new(self.config().max_calls);
        match self.after_prefix(task, &calls).await? {
            Some(outcome) => Ok(outcome),
            None => self.whole(task, &calls).await.map(outcome),
        }
    }

    /// A summary written at the end of the session's own context. `None`: that can't be done here, or gave nothing that
    /// the usual way might not give.
    async fn after_prefix(&self, task: &SummaryTask, calls: &CallsLeft) -> Result<Option<SummaryOutcome>, Failure> {
        let Some((prefix, asked)) = self.request.prefix.and_then(|prefix| Some((prefix, self.behind(task, prefix)?)))
        else {
            return Ok(None);
        };
        let context = prefix.texts().into_iter().map(str::to_owned).collect();
        let judge = Judge::of(task.clone(), context, self.request.replaced_tokens, self.estimator).await?;
        let text = match self.answers.after_prefix(&asked, prefix, &judge, calls).await {
            Ok(Some(text)) => text,
            Err(Failure::Upstream(error)) if error.is_retryable() || matches!(error, UpstreamError::Quota { .. }) => {
                return Err(error.into());
            }
            Ok(None) | Err(_) => return Ok(None),
        };
        let mut outcome = outcome(text);
        outcome.upstream.prefix_reused = true;
        Ok(Some(outcome))
    }

    /// The task as it is asked behind the prefix, where this upstream may be sent that and has room for it.
    fn behind(&self, task: &SummaryTask, prefix: &SessionPrefix) -> Option<SummaryTask> {
        let config = self.config();
        let same = config.kind.format() == Some(prefix.format) && config.model == prefix.model;
        if !config.reuse_prefix || !same {
            return None;
        }
        let budget = config.output_budget(task.max_output_tokens);
        let room = (prefix.tokens / NUMBERED_SHARE).clamp(LEAST_SHOWN, NUMBERED);
        let asked = SummaryTask { max_output_tokens: budget.answer, room, background: None, ..task.clone() };
        let size = count_text(Estimator::O200k, &instruction(&asked, prefix)).saturating_add(budget.total());
        (prefix.tokens.saturating_add(size.into()) <= config.context_window.into()).then_some(asked)
    }

    /// One summary of the whole task, whatever its size: where the window turns out to be smaller, the record is shown in
    /// less detail.
    async fn whole(&self, task: &SummaryTask, calls: &CallsLeft) -> Result<String, Failure> {
        let config = self.config();
        let wanted = task.max_output_tokens.min(config.context_window / OUTPUT_SHARE);
        let max_output_tokens = config.output_budget(wanted).answer;
        let mut room = room(config, max_output_tokens);
        loop {
            let task = SummaryTask { max_output_tokens, room, ..task.clone() };
            if room < prompt::frame_tokens(&prompt::request(&task)) + LEAST_SHOWN {
                return Err(Failure::DoesNotFit);
            }
            match self.answers.answer(&task, self.request.replaced_tokens, calls).await {
                Err(failure) if failure.is_overflow() => room = prompt_tokens(task).await?.min(room) / 2,
                other => return other,
            }
        }
    }
}

async fn prompt_tokens(task: SummaryTask) -> Result<u64, Failure> {
    Ok(tokio::task::spawn_blocking(move || prompt::prompt_tokens(&task)).await?)
}

/// Our count of tokens is not the upstream's: a tenth of the window is left free.
fn room(config: &UpstreamConfig, max_output_tokens: u32) -> u64 {
    let output = config.output_budget(max_output_tokens).total();
    u64::from(config.context_window.saturating_sub(output)) * 9 / 10
}
