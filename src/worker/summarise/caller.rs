//! One upstream asked on behalf of one request: from the session's cached context where it may, else from the
//! transcript, in parts where the window is too small, within a bound of calls.

use futures::{StreamExt, TryStreamExt, stream};

use super::answers::Answers;
use super::calls::CallsLeft;
use super::failure::Failure;
use super::judge::Judge;
use super::request::{Request, outcome, stands_in};
use crate::domain::record;
use crate::domain::settings::Estimator;
use crate::domain::summary::chunk::{self, ChunkLimits};
use crate::domain::summary::prefix::{SessionPrefix, instruction};
use crate::domain::summary::rounds::{self, NoRound, Round};
use crate::domain::summary::{SummaryPart, SummaryTask, worth};
use crate::domain::tokens::count_text;
use crate::llm::{CallAccount, Spent, Upstream, UpstreamConfig, UpstreamError};
use crate::service::compaction::summarise::SummaryOutcome;

/// The share of the window that a summary may take, and that the notes on a part may: six notes fold into one.
const WHOLE_OUTPUT_SHARE: u32 = 4;
const PART_OUTPUT_SHARE: u32 = 8;
/// Notes that are so many times as long as asked for are refused.
const NOTE_EXCESS: u64 = 2;

pub(super) struct Caller<'a> {
    answers: Answers<'a>,
    request: &'a Request<'a>,
    estimator: Estimator,
}

/// A summary of one task.
struct Written {
    text: String,
    /// Code has told a part of it, for it would have taken too many calls.
    is_partly_by_code: bool,
}

/// Who tells a task.
enum Teller {
    Code,
    Model(CallsLeft),
}

/// Where a task stands after a round.
enum TaskStep {
    Done(String),
    /// Notes on its parts, in order.
    Notes(Vec<String>),
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

    pub(super) async fn all(&self, tasks: &[SummaryTask]) -> Result<SummaryOutcome, Failure> {
        let calls = CallsLeft::new(self.config().max_calls);
        if let Some(outcome) = self.after_prefix(tasks, &calls).await? {
            return Ok(outcome);
        }
        let tellers = tellers(tasks, calls).await?;
        let written = tasks.iter().zip(&tellers).map(|(task, teller)| self.tell(task, teller)).collect();
        let written: Vec<Written> = self.in_turn(written).await?;
        let is_partly_by_code = written.iter().any(|written| written.is_partly_by_code);
        let mut outcome = outcome(tasks, written.into_iter().map(|written| written.text).collect());
        if is_partly_by_code {
            outcome.fallback = stands_in(Some(self.config().name.clone()), Failure::TooManyCalls.code());
        }
        Ok(outcome)
    }

    /// One summary of all tasks, written at the end of the session's own context. `None`: that can't be done here,
    /// or gave nothing that the usual way might not give.
    async fn after_prefix(&self, tasks: &[SummaryTask], calls: &CallsLeft) -> Result<Option<SummaryOutcome>, Failure> {
        let Some((prefix, task)) = self.request.prefix.and_then(|prefix| Some((prefix, self.joined(tasks, prefix)?)))
        else {
            return Ok(None);
        };
        let context = prefix.texts().into_iter().map(str::to_owned).collect();
        let judge = Judge::of(tasks.to_vec(), context, self.request.replaced_tokens, self.estimator).await?;
        let text = match self.answers.after_prefix(&task, prefix, &judge, calls).await {
            Ok(Some(text)) => text,
            Err(Failure::Upstream(error)) if error.is_retryable() || matches!(error, UpstreamError::Quota { .. }) => {
                return Err(error.into());
            }
            Ok(None) | Err(_) => return Ok(None),
        };
        let mut outcome = outcome(tasks.get(..1).unwrap_or_default(), vec![text]);
        outcome.upstream.prefix_reused = true;
        Ok(Some(outcome))
    }

    /// The tasks as one without messages, where this upstream may be sent the prefix and has room for it.
    fn joined(&self, tasks: &[SummaryTask], prefix: &SessionPrefix) -> Option<SummaryTask> {
        let config = self.config();
        let same = config.kind.format() == Some(prefix.format) && config.model == prefix.model;
        if !config.reuse_prefix || !same {
            return None;
        }
        let first = tasks.first()?;
        let task = SummaryTask {
            part: SummaryPart::History,
            messages: [].into(),
            shown: None,
            max_output_tokens: tasks.iter().map(|task| task.max_output_tokens).fold(0, u32::saturating_add),
            ..first.clone()
        };
        let budget = config.output_budget(task.max_output_tokens);
        let asked = count_text(Estimator::O200k, &instruction(&task, prefix)).saturating_add(budget.total());
        let fits = prefix.tokens.saturating_add(asked.into()) <= config.context_window.into();
        fits.then_some(SummaryTask { max_output_tokens: budget.answer, ..task })
    }

    /// Carries the calls out, in order where the upstream takes one at a time.
    async fn in_turn<T>(&self, calls: Vec<impl Future<Output = Result<T, Failure>>>) -> Result<Vec<T>, Failure> {
        stream::iter(calls).buffered(self.config().max_concurrency.max(1)).try_collect().await
    }

    async fn tell(&self, task: &SummaryTask, teller: &Teller) -> Result<Written, Failure> {
        match teller {
            Teller::Model(calls) => self.whole(task, calls).await,
            Teller::Code => {
                let task = task.clone();
                let text = tokio::task::spawn_blocking(move || record::of_task(&task)).await?;
                Ok(Written { text, is_partly_by_code: false })
            }
        }
    }

    /// One summary of the whole task, whatever its size.
    async fn whole(&self, task: &SummaryTask, calls: &CallsLeft) -> Result<Written, Failure> {
        let config = self.config();
        let wanted = task.max_output_tokens.min(config.context_window / WHOLE_OUTPUT_SHARE);
        let max_output_tokens = config.output_budget(wanted).answer;
        let mut task = SummaryTask { max_output_tokens, ..task.clone() };
        let mut limits = limits(config, max_output_tokens);
        let (mut is_partly_by_code, mut has_overflowed) = (false, false);
        loop {
            let round = self.plan(task.clone(), limits, calls).await?;
            is_partly_by_code |= round.told.is_some();
            match self.carry_out(&round, calls, has_overflowed).await {
                Ok(TaskStep::Done(text)) => return Ok(Written { text, is_partly_by_code }),
                Ok(TaskStep::Notes(notes)) => task = chunk::fold(&round.task, notes),
                Err(failure) if failure.is_overflow() => {
                    limits = self.below(limits, round).await?;
                    has_overflowed = true;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn plan(&self, task: SummaryTask, limits: ChunkLimits, calls: &CallsLeft) -> Result<Round, Failure> {
        let (calls, estimator) = (calls.count(), self.estimator);
        let planned = tokio::task::spawn_blocking(move || rounds::next(task, limits, calls, estimator)).await?;
        planned.map_err(|none| match none {
            NoRound::NoRoom => Failure::DoesNotFit,
            NoRound::TooManyCalls => Failure::TooManyCalls,
        })
    }

    /// Asks about each part. In a window of unknown size the first goes alone: it tells whether the others fit.
    async fn carry_out(&self, round: &Round, calls: &CallsLeft, first_alone: bool) -> Result<TaskStep, Failure> {
        if let (true, [whole]) = (round.is_whole(), round.parts.as_slice()) {
            return self.answers.answer(whole, self.request.replaced_tokens, calls).await.map(TaskStep::Done);
        }
        let mut notes: Vec<String> = round.told.iter().cloned().collect();
        let (alone, together) = round.parts.split_at(usize::from(first_alone).min(round.parts.len()));
        for parts in [alone, together] {
            notes.extend(self.in_turn(parts.iter().map(|part| self.note(part, calls)).collect()).await?);
        }
        Ok(TaskStep::Notes(notes))
    }

    /// Notes on a part. What it stands for is not known here; the fold's answer is measured by that.
    async fn note(&self, part: &SummaryTask, calls: &CallsLeft) -> Result<String, Failure> {
        self.answers.answer(part, u64::from(part.max_output_tokens) * NOTE_EXCESS, calls).await
    }

    /// Limits below the size of a round that the upstream found too long.
    async fn below(&self, limits: ChunkLimits, round: Round) -> Result<ChunkLimits, Failure> {
        let estimator = self.estimator;
        let tried = tokio::task::spawn_blocking(move || round.largest(estimator)).await?;
        let mut limits = halved(limits);
        while limits.part >= tried && limits.part > 0 {
            limits = halved(limits);
        }
        Ok(limits)
    }
}

/// Who tells each task. The calls are shared by what there is to read.
async fn tellers(tasks: &[SummaryTask], calls: CallsLeft) -> Result<Vec<Teller>, Failure> {
    let tasks = tasks.to_vec();
    let weighed = move || -> Vec<Option<u64>> {
        tasks.iter().map(|task| (!worth::is_for_code(task)).then(|| worth::size(task))).collect()
    };
    let weights = tokio::task::spawn_blocking(weighed).await?;
    let mut shares = calls.shared(&weights.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    let teller = |weight: &Option<u64>| weight.and_then(|_| shares.next()).map_or(Teller::Code, Teller::Model);
    Ok(weights.iter().map(teller).collect())
}

/// Our count of tokens is not the upstream's: a tenth of the window is left free.
fn limits(config: &UpstreamConfig, max_output_tokens: u32) -> ChunkLimits {
    let room = |output: u32| {
        let output = config.output_budget(output).total();
        u32::try_from(u64::from(config.context_window.saturating_sub(output)) * 9 / 10).unwrap_or(u32::MAX)
    };
    let part_output = (config.context_window / PART_OUTPUT_SHARE).clamp(1, max_output_tokens.max(1));
    ChunkLimits { whole: room(max_output_tokens), part: room(part_output), part_output }
}

fn halved(limits: ChunkLimits) -> ChunkLimits {
    let part = limits.part / 2;
    ChunkLimits { whole: limits.whole / 2, part, part_output: limits.part_output.min(part / PART_OUTPUT_SHARE).max(1) }
}
