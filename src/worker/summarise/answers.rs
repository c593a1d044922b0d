//! One answer of an upstream: checked, taken as far as it goes where it was cut off, and asked for once more in other
//! words where it was refused.

use super::calls::CallsLeft;
use super::failure::Failure;
use super::judge::Judge;
use crate::domain::model::message::Stop;
use crate::domain::settings::Estimator;
use crate::domain::summary::cut_off::whole_lines;
use crate::domain::summary::prefix::{SessionPrefix, instruction};
use crate::domain::summary::verify::{RejectReason, clean};
use crate::domain::summary::{Correction, SummaryTask, prompt};
use crate::domain::tokens::count_text;
use crate::llm::{CallAccount, Spent, Tally, Upstream, UpstreamConfig};

/// Room for thinking that a model turned out to need: its answer was cut off before the first word.
const THINKING: u32 = 8_192;

/// An upstream as it is asked for one request.
pub(super) struct Answers<'a> {
    upstream: &'a Upstream,
    estimator: Estimator,
    tally: Tally,
}

/// An answer that was refused.
struct Refused {
    reason: RejectReason,
    /// It has no words.
    is_silent: bool,
}

impl<'a> Answers<'a> {
    pub(super) fn new(upstream: &'a Upstream, estimator: Estimator, account: CallAccount) -> Answers<'a> {
        Answers { upstream, estimator, tally: Tally::on(account) }
    }

    pub(super) fn config(&self) -> &UpstreamConfig {
        self.upstream.config()
    }

    pub(super) fn spent(&self) -> Spent {
        self.tally.spent()
    }

    /// One answer that stands up to its check. `replaced_tokens` is the size that it may not exceed.
    pub(super) async fn answer(
        &self,
        task: &SummaryTask,
        replaced_tokens: u64,
        calls: &CallsLeft,
    ) -> Result<String, Failure> {
        let judge = Judge::of(task.clone(), Vec::new(), replaced_tokens, self.estimator).await?;
        let refused = match self.ask(task, None, &judge, calls).await? {
            Ok(text) => return Ok(text),
            Err(refused) => refused,
        };
        if calls.count() == 0 {
            return Err(refused.reason.into());
        }
        let again = self.again(task, None, &refused).await?;
        let answer = self.ask(&again, None, &judge, calls).await?;
        answer.map_err(|refused| refused.reason.into())
    }

    /// The same at the end of a session's own context, where only what was cut off is asked for once more: whatever
    /// else is refused there is asked for in the usual way, with a prompt of another kind. `None`: it was refused.
    pub(super) async fn after_prefix(
        &self,
        task: &SummaryTask,
        prefix: &SessionPrefix,
        judge: &Judge,
        calls: &CallsLeft,
    ) -> Result<Option<String>, Failure> {
        let refused = match self.ask(task, Some(prefix), judge, calls).await? {
            Ok(text) => return Ok(Some(text)),
            Err(refused) => refused,
        };
        if refused.reason != RejectReason::Length || calls.count() == 0 {
            return Ok(None);
        }
        let again = self.again(task, Some(prefix), &refused).await?;
        Ok(self.ask(&again, Some(prefix), judge, calls).await?.ok())
    }

    async fn ask(
        &self,
        task: &SummaryTask,
        prefix: Option<&SessionPrefix>,
        judge: &Judge,
        calls: &CallsLeft,
    ) -> Result<Result<String, Refused>, Failure> {
        calls.take()?;
        let completion = self.upstream.ask(task, prefix, &self.tally).await?;
        let text = clean(&completion.text);
        let checked = checked(task, text, completion.stop, judge).await?;
        if let Err(reason) = &checked {
            let UpstreamConfig { name, model, .. } = self.config();
            self.tally.account().refused(name, model, reason.code(), &completion.text).await;
        }
        Ok(checked.map_err(|reason| Refused { reason, is_silent: text.is_empty() }))
    }

    /// The task after an answer that was refused: with what was wrong, and where it was too long with more room, or
    /// else for fewer words.
    async fn again(
        &self,
        task: &SummaryTask,
        prefix: Option<&SessionPrefix>,
        refused: &Refused,
    ) -> Result<SummaryTask, Failure> {
        let reason = &refused.reason;
        let room = match reason {
            RejectReason::Length => self.more_room(task, prefix, refused.is_silent).await?,
            _ => None,
        };
        let is_too_long = matches!(reason, RejectReason::Length | RejectReason::TooLarge { .. });
        let words = if is_too_long && room.is_none() { task.words() / 2 } else { task.words() };
        Ok(SummaryTask {
            max_output_tokens: room.unwrap_or(task.max_output_tokens),
            correction: Some(Correction { fault: reason.to_string(), words }),
            ..task.clone()
        })
    }

    /// Twice the room for an answer, or that for thinking beside it, as far as the upstream's limits go. `None`: there
    /// is hardly more than there was.
    async fn more_room(
        &self,
        task: &SummaryTask,
        prefix: Option<&SessionPrefix>,
        is_silent: bool,
    ) -> Result<Option<u32>, Failure> {
        let config = self.config();
        let before = config.output_budget(task.max_output_tokens);
        let wanted = task.max_output_tokens.saturating_add(if is_silent { THINKING } else { task.max_output_tokens });
        let input = self.input_tokens(task, prefix).await?;
        let free = u64::from(config.context_window).saturating_sub(input + input / 9);
        let total = u64::from(config.output_budget(wanted).total()).min(free);
        let more = total.saturating_sub(before.reasoning.into());
        let is_more = more >= u64::from(before.answer) * 5 / 4;
        Ok(u32::try_from(more).ok().filter(|_| is_more))
    }

    async fn input_tokens(&self, task: &SummaryTask, prefix: Option<&SessionPrefix>) -> Result<u64, Failure> {
        if let Some(prefix) = prefix {
            return Ok(prefix.tokens.saturating_add(count_text(Estimator::O200k, &instruction(task, prefix)).into()));
        }
        let task = task.clone();
        Ok(tokio::task::spawn_blocking(move || prompt::prompt_tokens(&task)).await?)
    }
}

/// The summary in an answer; of one that was cut off, its whole lines.
async fn checked(
    task: &SummaryTask,
    text: &str,
    stop: Stop,
    judge: &Judge,
) -> Result<Result<String, RejectReason>, Failure> {
    let checked = judge.check(text, stop).await?;
    if checked != Err(RejectReason::Length) {
        return Ok(checked.map(|()| text.to_owned()));
    }
    let Some(whole) = whole_lines(text, task) else { return Ok(Err(RejectReason::Length)) };
    Ok(judge.check(&whole, Stop::End).await?.map(|()| whole))
}
