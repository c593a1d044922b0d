//! One upstream asked on behalf of one request: from the session's cached context where it may, else from the
//! transcript, in parts where the window is too small. Every answer is checked.

use futures::{StreamExt, TryStreamExt, stream};

use super::failure::Failure;
use super::judge::Judge;
use super::request::{Request, outcome};
use crate::domain::settings::Estimator;
use crate::domain::summary::chunk::{self, ChunkLimits};
use crate::domain::summary::prefix::{SessionPrefix, instruction};
use crate::domain::summary::verify::{RejectReason, clean};
use crate::domain::summary::{SummaryPart, SummaryTask};
use crate::domain::tokens::count_text;
use crate::llm::{Spent, Tally, Upstream, UpstreamConfig, UpstreamError};
use crate::service::compaction::summarise::SummaryOutcome;

/// Halvings of the window until a transcript counts as too large.
const MAX_HALVINGS: u32 = 7;
/// Folds until one summary is left. Each round has fewer parts than the one before it.
const MAX_FOLDS: u32 = 12;
/// Asked again once where the answer is no summary.
const MAX_ANSWERS: u32 = 2;
/// The share of the window that a part's answer may take: six parts fold into one.
const PART_OUTPUT_SHARE: u32 = 8;

pub(super) struct Caller<'a> {
    upstream: &'a Upstream,
    request: &'a Request<'a>,
    estimator: Estimator,
    tally: Tally,
}

/// Where a task stands after a round.
enum TaskStep {
    Done(String),
    /// Task that is left, made of the notes on its parts, and the number of these parts.
    Folded(SummaryTask, usize),
}

impl<'a> Caller<'a> {
    pub(super) fn new(upstream: &'a Upstream, request: &'a Request<'a>) -> Caller<'a> {
        Caller { upstream, request, estimator: request.settings.estimator, tally: Tally::default() }
    }

    /// Returns what all calls took, failed ones included.
    pub(super) fn spent(&self) -> Spent {
        self.tally.spent()
    }

    pub(super) async fn all(&self, tasks: &[SummaryTask]) -> Result<SummaryOutcome, Failure> {
        if let Some(outcome) = self.after_prefix(tasks).await? {
            return Ok(outcome);
        }
        let texts = self.concurrently(tasks, |task| self.whole(task)).await?;
        Ok(outcome(tasks, texts))
    }

    /// One summary of all tasks, written at the end of the session's own context. `None`: that can't be done here,
    /// or gave nothing that the usual way might not give.
    async fn after_prefix(&self, tasks: &[SummaryTask]) -> Result<Option<SummaryOutcome>, Failure> {
        let Some((prefix, task)) = self.request.prefix.and_then(|prefix| Some((prefix, self.joined(tasks, prefix)?)))
        else {
            return Ok(None);
        };
        let completion = match self.upstream.ask(&task, Some(prefix), &self.tally).await {
            Ok(completion) => completion,
            Err(error) if error.is_retryable() || matches!(error, UpstreamError::Quota { .. }) => {
                return Err(error.into());
            }
            Err(_) => return Ok(None),
        };
        let text = clean(&completion.text);
        let context = prefix.texts().into_iter().map(str::to_owned).collect();
        let judge = Judge::of(tasks.to_vec(), context, self.request.replaced_tokens, self.estimator).await?;
        if judge.check(text, completion.stop).await?.is_err() {
            return Ok(None);
        }
        let mut outcome = outcome(tasks.get(..1).unwrap_or_default(), vec![text.to_owned()]);
        outcome.upstream.prefix_reused = true;
        Ok(Some(outcome))
    }

    /// The tasks as one without messages, where this upstream may be sent the prefix and has room for it.
    fn joined(&self, tasks: &[SummaryTask], prefix: &SessionPrefix) -> Option<SummaryTask> {
        let config = self.upstream.config();
        let same = config.kind.format() == Some(prefix.format) && config.model == prefix.model;
        if !config.reuse_prefix || !same {
            return None;
        }
        let first = tasks.first()?;
        let task = SummaryTask {
            part: SummaryPart::History,
            messages: [].into(),
            shown: None,
            max_output_tokens: tasks.iter().map(|task| task.max_output_tokens).max()?,
            ..first.clone()
        };
        let budget = config.output_budget(task.max_output_tokens);
        let asked = count_text(Estimator::O200k, &instruction(&task, prefix)).saturating_add(budget.total());
        let fits = prefix.tokens.saturating_add(asked.into()) <= config.context_window.into();
        fits.then_some(SummaryTask { max_output_tokens: budget.answer, ..task })
    }

    /// Runs `ask` for all tasks, in order where the upstream takes one call at a time.
    async fn concurrently<'t, F>(
        &self,
        tasks: &'t [SummaryTask],
        ask: impl Fn(&'t SummaryTask) -> F,
    ) -> Result<Vec<String>, Failure>
    where
        F: Future<Output = Result<String, Failure>>,
    {
        let calls: Vec<F> = tasks.iter().map(ask).collect();
        stream::iter(calls).buffered(self.upstream.config().max_concurrency.max(1)).try_collect().await
    }

    /// One summary of the whole task, whatever its size.
    async fn whole(&self, task: &SummaryTask) -> Result<String, Failure> {
        let config = self.upstream.config();
        let max_output_tokens = config.output_budget(task.max_output_tokens).answer;
        let mut task = SummaryTask { max_output_tokens, ..task.clone() };
        let mut limits = limits(config, max_output_tokens);
        let (mut halvings, mut folds, mut parts_before) = (0, 0, usize::MAX);
        while halvings <= MAX_HALVINGS && folds <= MAX_FOLDS {
            task = chunk::with_room(task, limits, self.estimator);
            match self.round(&task, limits).await {
                Ok(TaskStep::Done(text)) => return Ok(text),
                Ok(TaskStep::Folded(_, parts)) if parts >= parts_before => break,
                Ok(TaskStep::Folded(folded, parts)) => {
                    (task, parts_before) = (folded, parts);
                    folds += 1;
                }
                Err(failure) if failure.is_overflow() => {
                    limits = halved(limits);
                    halvings += 1;
                    parts_before = usize::MAX;
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::DoesNotFit)
    }

    async fn round(&self, task: &SummaryTask, limits: ChunkLimits) -> Result<TaskStep, Failure> {
        let (whole, estimator) = (task.clone(), self.estimator);
        let parts = tokio::task::spawn_blocking(move || chunk::split(&whole, limits, estimator)).await?;
        let parts = parts.ok_or(Failure::DoesNotFit)?;
        if let [whole] = parts.as_slice() {
            return self.answer(whole, self.request.replaced_tokens).await.map(TaskStep::Done);
        }
        // What a part stands for is not known here; the fold's answer is measured.
        let notes = self.concurrently(&parts, |part| self.answer(part, u64::MAX)).await?;
        Ok(TaskStep::Folded(chunk::fold(task, notes), parts.len()))
    }

    /// One answer that stands up to its check.
    async fn answer(&self, task: &SummaryTask, replaced_tokens: u64) -> Result<String, Failure> {
        let judge = Judge::of(vec![task.clone()], Vec::new(), replaced_tokens, self.estimator).await?;
        let mut rejected = RejectReason::Empty;
        for _ in 0..MAX_ANSWERS {
            let completion = self.upstream.ask(task, None, &self.tally).await?;
            let text = clean(&completion.text);
            match judge.check(text, completion.stop).await? {
                Ok(()) => return Ok(text.to_owned()),
                Err(reason) => rejected = reason,
            }
        }
        Err(rejected.into())
    }
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
    let ChunkLimits { whole, part, part_output } = limits;
    ChunkLimits { whole: whole / 2, part: part / 2, part_output: part_output.div_ceil(2) }
}
