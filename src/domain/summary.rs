//! Summaries: what is asked for, how it is asked, and what is made of the answer.

pub mod builtin;
pub mod chunk;
pub mod focus;
pub mod framing;
pub mod prompt;
pub mod sections;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod transcript;

use super::message::Message;
use super::settings::Template;

/// One piece of work for a summariser: the span, what came before it and how the result should look.
/// The worker may split one into several (chunk, then fold) to fit an upstream's window.
#[derive(Debug, Clone)]
pub struct SummaryTask {
    pub part: SummaryPart,
    pub template: Template,
    /// The caller's own prompt, in place of the template's.
    pub prompt: Option<String>,
    /// The summary to update; `None` starts afresh.
    pub previous: Option<String>,
    /// What to summarise, oldest first, tool output already shortened where it must be.
    pub messages: Vec<Message>,
    pub focus_topic: Option<String>,
    pub instructions: Option<String>,
    pub max_output_tokens: u32,
}

/// Which part of a compaction a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPart {
    /// Whole turns before the cut.
    History,
    /// The beginning of the turn that the cut splits.
    TurnPrefix,
    /// Entries of a branch that was left.
    Branch,
}
