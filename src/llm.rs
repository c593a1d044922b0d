//! Upstreams that write summaries: one file per wire format, and the built-in summariser beside them.

mod account;
mod answer;
mod anthropic;
mod body;
mod breaker;
mod budget;
mod call;
mod config;
mod endpoint;
mod error;
mod http;
mod metrics;
mod openai;
mod openai_responses;
mod pace;
mod question;
mod reasoning;
mod registry;
mod retry;
mod spans;
mod tally;
mod usage;
mod wire;

use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::domain::model::message::Stop;
use crate::domain::model::usage::ReportedUsage;
use crate::domain::summary::prefix::{self, SessionPrefix};
use crate::domain::summary::{SummaryTask, prompt};
use crate::domain::tokens::overflow::is_silent_overflow;
use answer::ModelAnswer;
use breaker::Breaker;
use call::RunningCall;
use http::HttpUpstream;
use pace::Pace;
use question::{Before, ModelRequest};
use retry::RetryPolicy;
use spans::{Attempt, Reported};
use tally::plausible;
use wire::Wire;

pub use account::{CallAccount, CallContext, CallLedger, EndedCall, RefusedAnswer};
pub use config::{MaxTokensField, ModelOptions, SetupError, UpstreamConfig, UpstreamKind};
pub use error::UpstreamError;
pub use http::models::Listing;
pub use registry::{BUILTIN, Upstreams};
pub use tally::{Spent, Tally};
pub use usage::TokenUsage;

/// Period that `requests_per_minute` counts over.
const MINUTE: Duration = Duration::from_secs(60);

/// Answer of an upstream. The caller judges if it is a summary (not empty, cut off or refused).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub text: String,
    pub stop: Stop,
    pub usage: TokenUsage,
    /// From the first attempt's start to the answer, pauses included.
    pub latency: Duration,
    /// Requests sent, failed ones included; 0 for the builtin.
    pub calls: u32,
}

/// One upstream, with its limit of concurrent calls.
pub struct Upstream {
    config: UpstreamConfig,
    slots: Semaphore,
    pace: Option<Pace>,
    breaker: Breaker,
    /// `None`: the builtin.
    http: Option<HttpUpstream>,
}

impl Upstream {
    /// Sets an upstream up; nothing is sent.
    pub fn new(config: UpstreamConfig) -> Result<Upstream, SetupError> {
        let limits = [("max_concurrency", config.max_concurrency == 0), ("max_calls", config.max_calls == 0)];
        if let Some((field, _)) = limits.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(SetupError::Zero { name: config.name, field });
        }
        let http = match Wire::of(config.kind) {
            None => None,
            Some(_) if config.model.trim().is_empty() => return Err(SetupError::Model { name: config.name }),
            Some(wire) => Some(HttpUpstream::new(&config, wire)?),
        };
        let slots = Semaphore::new(config.max_concurrency.min(Semaphore::MAX_PERMITS));
        let breaker = Breaker::new(config.breaker_failures, config.breaker_rest);
        if http.is_some() {
            metrics::record_breaker(&config.name, false);
        }
        let pace = config.requests_per_minute.map(|limit| Pace::new(limit as usize, MINUTE));
        Ok(Upstream { config, slots, pace, breaker, http })
    }

    pub fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// How long it is still left alone after its failures; `None`: it is called.
    pub fn rests_for(&self) -> Option<Duration> {
        self.breaker.rests_for(Instant::now())
    }

    /// The models that the provider lists, which costs nothing; none of the builtin.
    pub async fn models(&self) -> Listing {
        match &self.http {
            Some(http) => http.models().await,
            None => Listing::Models(Vec::new()),
        }
    }

    /// Summarises, trying again as the configuration says. Dropping the future ends the call.
    pub async fn summarise(&self, task: &SummaryTask) -> Result<Completion, UpstreamError> {
        self.ask(task, None, &Tally::default()).await
    }

    /// As [`Upstream::summarise`]; what it takes, failures included, is added to `tally`. With a `prefix`, the
    /// model reads the session's own context in place of the task's messages.
    pub async fn ask(
        &self,
        task: &SummaryTask,
        prefix: Option<&SessionPrefix>,
        tally: &Tally,
    ) -> Result<Completion, UpstreamError> {
        let Some(http) = &self.http else { return self.builtin(task).await };
        let _slot = self.slot().await?;
        self.breaker.admit(Instant::now()).map_err(UpstreamError::CircuitOpen)?;
        let started = Instant::now();
        let result = self.call(http, task, prefix, tally).await;
        tally.took(started.elapsed());
        let was_open = self.breaker.is_open();
        // An upstream that refuses this one call is alive.
        self.breaker.note(Instant::now(), result.as_ref().is_err_and(UpstreamError::is_retryable));
        let is_open = self.breaker.is_open();
        metrics::record_breaker(&self.config.name, is_open);
        if was_open || is_open {
            tally.account().rests(&self.config.name, self.rests_for()).await;
        }
        result
    }

    /// Runs beside the async threads, for a long transcript takes its time. No slot: this one must always work.
    async fn builtin(&self, task: &SummaryTask) -> Result<Completion, UpstreamError> {
        let (task, started) = (task.clone(), Instant::now());
        let text = tokio::task::spawn_blocking(move || task.record()).await;
        let text = text.map_err(|_| UpstreamError::Internal("the built-in summariser failed"));
        let latency = started.elapsed();
        metrics::record_attempt(&self.config.name, outcome(&text), latency);
        Ok(Completion { text: text?, stop: Stop::End, usage: TokenUsage::default(), latency, calls: 0 })
    }

    async fn call(
        &self,
        http: &HttpUpstream,
        task: &SummaryTask,
        prefix: Option<&SessionPrefix>,
        tally: &Tally,
    ) -> Result<Completion, UpstreamError> {
        let budget = self.config.output_budget(task.max_output_tokens);
        let rendered = rendered(task.clone(), prefix.cloned()).await?;
        let question = ModelRequest {
            model: &self.config.model,
            options: &self.config.options,
            before: prefix.map_or(Before::System(&rendered.system), Before::Session),
            user: &rendered.user,
            budget,
        };
        let (request, texts) = (http.request(&question)?, question.texts());
        let (policy, started) = (RetryPolicy::of(&self.config), Instant::now());
        let mut calls = 0;
        loop {
            self.keep_pace().await?;
            calls += 1;
            let call = RunningCall::begin(&self.config, tally);
            let attempt_started = Instant::now();
            let attempt = Attempt::begin(&self.config, http.url(), calls, budget.total());
            let result = attempt.within(http.attempt(&request, &texts)).await;
            let reported = Reported::by(&result);
            let (usage, result) = match result {
                Ok(answer) => self.checked(answer, &texts),
                Err(error) => (TokenUsage::default(), Err(error)),
            };
            call.end(outcome(&result), usage).await;
            attempt.end(reported, outcome(&result), attempt_started.elapsed());
            let error = match result {
                Ok(ModelAnswer { text, stop, usage, .. }) => {
                    return Ok(Completion { text, stop, usage, latency: started.elapsed(), calls });
                }
                Err(error) => error,
            };
            let pause = policy.pause(calls, &error, rand::random());
            tracing::warn!(upstream = %self.config.name, attempt = calls, code = error.code(), ?pause, "upstream call failed");
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    /// What an answer took, and the answer. One of no words because the prompt filled the window is an overflow, whatever
    /// its status.
    fn checked(&self, answer: ModelAnswer, prompt: &[&str]) -> (TokenUsage, Result<ModelAnswer, UpstreamError>) {
        let usage = plausible(answer.usage, self.config.context_window, prompt, &answer.text);
        let reported = ReportedUsage { input: answer.usage.input, output: answer.usage.output, ..Default::default() };
        let result = match answer.stop {
            Stop::Length if is_silent_overflow(Some(Stop::Length), &reported, self.config.context_window) => {
                Err(UpstreamError::ContextOverflow { message: "the prompt filled the window".to_owned() })
            }
            _ => Ok(ModelAnswer { usage, ..answer }),
        };
        (usage, result)
    }

    async fn keep_pace(&self) -> Result<(), UpstreamError> {
        let Some(pace) = &self.pace else { return Ok(()) };
        let wait = pace.book(Instant::now(), self.config.max_wait).ok_or(UpstreamError::Busy(self.config.max_wait))?;
        tokio::time::sleep(wait).await;
        Ok(())
    }

    async fn slot(&self) -> Result<SemaphorePermit<'_>, UpstreamError> {
        match tokio::time::timeout(self.config.max_wait, self.slots.acquire()).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) | Err(_) => Err(UpstreamError::Busy(self.config.max_wait)),
        }
    }
}

fn outcome<T>(result: &Result<T, UpstreamError>) -> &'static str {
    result.as_ref().err().map_or("ok", UpstreamError::code)
}

/// Telling a long span takes a while: no thread of the runtime waits for it.
async fn rendered(task: SummaryTask, prefix: Option<SessionPrefix>) -> Result<prompt::Prompt, UpstreamError> {
    let rendered = tokio::task::spawn_blocking(move || match prefix {
        None => prompt::render(&task),
        Some(prefix) => prompt::Prompt { system: String::new(), user: prefix::instruction(&task, &prefix) },
    });
    rendered.await.map_err(|_| UpstreamError::Internal("the prompt could not be written"))
}

#[cfg(test)]
#[path = "../tests/support/played_upstream.rs"]
pub(crate) mod played_upstream;
#[cfg(test)]
mod tests;
