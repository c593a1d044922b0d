//! How the output limit of a call is shared between reasoning and the answer.

use super::config::{UpstreamConfig, UpstreamKind};
use super::reasoning::is_reasoning_model;

/// The smallest thinking budget that Anthropic takes.
pub(super) const THINKING_MIN: u32 = 1_024;

/// The output limit of one call, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputBudget {
    pub answer: u32,
    /// Reasoning comes before the answer and counts towards the same limit.
    pub reasoning: u32,
}

impl OutputBudget {
    /// Returns the output limit that the request states: answer and reasoning together.
    pub fn total(&self) -> u32 {
        self.answer.saturating_add(self.reasoning)
    }
}

impl UpstreamConfig {
    /// The limit for an answer of `wanted` tokens: at most `max_output_tokens` and half the window in all. Where
    /// that is short, the answer keeps at least half of it.
    pub fn output_budget(&self, wanted: u32) -> OutputBudget {
        let wanted = wanted.max(1);
        let cap = self.max_output_tokens.unwrap_or(u32::MAX).min(self.context_window / 2).max(1);
        let total = wanted.saturating_add(self.reasoning_room()).min(cap);
        let reasoning = self.reasoning_room().min(total - wanted.min(total.div_ceil(2)));
        OutputBudget { answer: total - reasoning, reasoning }
    }

    /// Tokens that the model may spend before it answers.
    fn reasoning_room(&self) -> u32 {
        let options = &self.options;
        if let Some(room) = options.reasoning_tokens.or(options.thinking_budget) {
            return room;
        }
        match (self.kind, options.reasoning_effort.as_deref()) {
            (UpstreamKind::Builtin | UpstreamKind::Anthropic, _) | (_, Some("none")) => 0,
            (_, Some("minimal")) => 1_024,
            (_, Some("low")) => 4_096,
            (_, Some("medium")) => 8_192,
            (_, Some("high")) => 16_384,
            (_, Some(_)) => 32_768,
            (_, None) if is_reasoning_model(&self.model) => 8_192,
            (_, None) => 0,
        }
    }
}
