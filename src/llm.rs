//! Upstreams that write summaries: one file per wire format, and the built-in summariser beside them.

mod anthropic;
mod breaker;
mod config;
mod endpoint;
mod error;
mod http;
pub mod metrics;
mod openai;
mod openai_responses;
mod registry;
mod retry;
mod wire;

use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

pub use config::{SetupError, UpstreamConfig, UpstreamKind};
pub use error::UpstreamError;
pub use registry::{BUILTIN, Upstreams};

use crate::domain::message::Stop;
use crate::domain::overflow::is_silent_overflow;
use crate::domain::summary::{SummaryTask, builtin, prompt};
use crate::domain::usage::ReportedUsage;
use breaker::Breaker;
use http::HttpUpstream;
use retry::RetryPolicy;
use wire::{Answer, Question, Wire};

/// Tokens of one answer. `input` is the whole prompt, `cached` the part of it that a cache served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

/// What an upstream answered. Whether it is a summary (not empty, cut off or refused) is for the caller to judge.
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
    breaker: Breaker,
    /// `None`: the builtin.
    http: Option<HttpUpstream>,
}

impl Upstream {
    /// Sets an upstream up; nothing is sent.
    pub fn new(config: UpstreamConfig) -> Result<Upstream, SetupError> {
        if config.max_concurrency == 0 {
            return Err(SetupError::Zero { name: config.name, field: "max_concurrency" });
        }
        let http = match Wire::of(config.kind) {
            None => None,
            Some(_) if config.model.trim().is_empty() => return Err(SetupError::Model { name: config.name }),
            Some(wire) => Some(HttpUpstream::new(&config, wire)?),
        };
        let slots = Semaphore::new(config.max_concurrency.min(Semaphore::MAX_PERMITS));
        let breaker = Breaker::new(config.breaker_failures, config.breaker_rest);
        Ok(Upstream { config, slots, breaker, http })
    }

    pub fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// Summarises, trying again as the configuration says. Dropping the future ends the call.
    pub async fn summarise(&self, task: &SummaryTask) -> Result<Completion, UpstreamError> {
        let Some(http) = &self.http else { return self.builtin(task).await };
        let _slot = self.slot().await?;
        self.breaker.admit(Instant::now()).map_err(UpstreamError::CircuitOpen)?;
        let result = self.ask(http, task).await;
        // An upstream that refuses this one call is alive.
        self.breaker.note(Instant::now(), result.as_ref().is_err_and(UpstreamError::is_retryable));
        result
    }

    /// Runs beside the async threads, for a long transcript takes its time. No slot: this one must always work.
    async fn builtin(&self, task: &SummaryTask) -> Result<Completion, UpstreamError> {
        let (task, started) = (task.clone(), Instant::now());
        let text = tokio::task::spawn_blocking(move || builtin::summarise(&task)).await;
        let text = text.map_err(|_| UpstreamError::Internal("the built-in summariser failed"));
        let latency = started.elapsed();
        metrics::record_attempt(&self.config.name, outcome(&text), latency);
        Ok(Completion { text: text?, stop: Stop::End, usage: TokenUsage::default(), latency, calls: 0 })
    }

    async fn ask(&self, http: &HttpUpstream, task: &SummaryTask) -> Result<Completion, UpstreamError> {
        let prompt = prompt::render(task);
        let limit = self.config.max_output_tokens.unwrap_or(u32::MAX);
        let request = http.request(&Question {
            model: &self.config.model,
            system: &prompt.system,
            user: &prompt.user,
            max_tokens: task.max_output_tokens.min(limit).max(1),
        })?;
        let (policy, started) = (RetryPolicy::of(&self.config), Instant::now());
        let mut calls = 0;
        loop {
            calls += 1;
            let attempt_started = Instant::now();
            let result = http.attempt(&request, &[&prompt.system, &prompt.user]).await;
            let result = result.and_then(|answer| self.checked(answer));
            metrics::record_attempt(&self.config.name, outcome(&result), attempt_started.elapsed());
            let error = match result {
                Ok(Answer { text, stop, usage }) => {
                    metrics::record_tokens(&self.config.name, &usage);
                    return Ok(Completion { text, stop, usage, latency: started.elapsed(), calls });
                }
                Err(error) => error,
            };
            let pause = policy.pause(calls, &error, rand::random());
            tracing::warn!(upstream = %self.config.name, attempt = calls, code = error.code(), %error, ?pause, "upstream call failed");
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    /// An answer of no words because the prompt filled the window is an overflow, whatever its status.
    fn checked(&self, answer: Answer) -> Result<Answer, UpstreamError> {
        let usage = ReportedUsage { input: answer.usage.input, output: answer.usage.output, ..Default::default() };
        match answer.stop {
            Stop::Length if is_silent_overflow(Some(Stop::Length), &usage, self.config.context_window) => {
                Err(UpstreamError::ContextOverflow { message: "the prompt filled the window".to_owned() })
            }
            _ => Ok(answer),
        }
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

#[cfg(test)]
#[path = "../tests/support/played_upstream.rs"]
pub(crate) mod played_upstream;
#[cfg(test)]
mod tests;
