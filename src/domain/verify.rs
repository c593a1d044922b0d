//! What a summary and a compaction must stand up to before they are committed.

use thiserror::Error;

use super::message::Stop;
use super::settings::Estimator;
use super::summary::prompt;
use super::tokens::count_text;

/// Why a summary, or the compaction around it, is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RejectReason {
    #[error("the summary is empty")]
    Empty,
    #[error("the summary was cut off by the output limit")]
    Length,
    #[error("the model called a tool instead of writing a summary")]
    ToolCall,
    #[error("the model refused to write a summary")]
    Refusal,
    #[error("the model stopped before the summary was complete")]
    Incomplete,
    #[error("the model repeated its instructions or the transcript")]
    PromptEcho,
    #[error("the summary has {tokens} tokens and replaces {replaced}")]
    TooLarge { tokens: u64, replaced: u64 },
    #[error("the context would grow from {before} to {after} tokens")]
    Growth { before: u64, after: u64 },
}

impl RejectReason {
    /// A stable word for results and logs.
    pub fn code(self) -> &'static str {
        match self {
            RejectReason::Empty => "empty",
            RejectReason::Length => "length",
            RejectReason::ToolCall => "tool_call",
            RejectReason::Refusal => "refusal",
            RejectReason::Incomplete => "incomplete",
            RejectReason::PromptEcho => "prompt_echo",
            RejectReason::TooLarge { .. } => "too_large",
            RejectReason::Growth { .. } => "would_grow",
        }
    }
}

/// Checks a model's answer. `stop` is why it ended, `replaced_tokens` the size of the span that it stands for,
/// by the session's estimator. Whether the new context as a whole is smaller is [`check_growth`]'s question.
pub fn check_summary(
    text: &str,
    stop: Option<Stop>,
    replaced_tokens: u64,
    estimator: Estimator,
) -> Result<(), RejectReason> {
    match stop {
        Some(Stop::Length) => return Err(RejectReason::Length),
        Some(Stop::ToolUse) => return Err(RejectReason::ToolCall),
        Some(Stop::Refusal) => return Err(RejectReason::Refusal),
        Some(Stop::Aborted | Stop::Error) => return Err(RejectReason::Incomplete),
        Some(Stop::End) | None => {}
    }
    if !text.chars().any(char::is_alphanumeric) {
        return Err(RejectReason::Empty);
    }
    if reads_as_refusal(text) {
        return Err(RejectReason::Refusal);
    }
    if prompt::is_echo(text) {
        return Err(RejectReason::PromptEcho);
    }
    let tokens = u64::from(count_text(estimator, text));
    if tokens > replaced_tokens {
        return Err(RejectReason::TooLarge { tokens, replaced: replaced_tokens });
    }
    Ok(())
}

/// Refuses a compaction after which the context would be larger.
pub fn check_growth(before: u64, after: u64) -> Result<(), RejectReason> {
    if after > before { Err(RejectReason::Growth { before, after }) } else { Ok(()) }
}

/// A short answer that opens like a refusal; a summary opens with a heading or a fact.
fn reads_as_refusal(text: &str) -> bool {
    const OPENINGS: [&str; 8] = [
        "i can't help",
        "i can't assist",
        "i cannot help",
        "i cannot assist",
        "i'm sorry, but i can",
        "i am sorry, but i can",
        "sorry, i can't",
        "i'm unable to",
    ];
    let text = text.trim();
    if text.len() > 400 {
        return false;
    }
    let opening: String = text.chars().take(40).collect::<String>().to_lowercase().replace('’', "'");
    OPENINGS.iter().any(|start| opening.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::summary::testing::{task, user};

    fn check(text: &str, stop: Option<Stop>) -> Result<(), RejectReason> {
        check_summary(text, stop, 100, Estimator::Pi)
    }

    #[test]
    fn takes_a_plain_summary() {
        assert_eq!(check("## Goal\n- ship it", Some(Stop::End)), Ok(()));
        assert_eq!(check("目標: 修正する", None), Ok(()));
    }

    #[test]
    fn names_each_fault() {
        assert_eq!(check(" \n- \n", Some(Stop::End)), Err(RejectReason::Empty));
        assert_eq!(check("## Goal", Some(Stop::Length)), Err(RejectReason::Length));
        assert_eq!(check("## Goal", Some(Stop::ToolUse)), Err(RejectReason::ToolCall));
        assert_eq!(check("## Goal", Some(Stop::Aborted)), Err(RejectReason::Incomplete));
        assert_eq!(check("I’m sorry, but I can’t do that.", None), Err(RejectReason::Refusal));
        assert_eq!(check(&"word ".repeat(200), None).map_err(RejectReason::code), Err("too_large"));
        assert_eq!(check_growth(10, 11).map_err(RejectReason::code), Err("would_grow"));
        assert_eq!(check_growth(10, 10), Ok(()));
    }

    #[test]
    fn sees_its_own_prompt_come_back() {
        let task = task(vec![user("hello")]);
        let prompt = prompt::render(&task);
        for echo in [prompt.system, prompt.user] {
            assert_eq!(check_summary(&echo, None, 100_000, Estimator::Pi), Err(RejectReason::PromptEcho));
        }
    }
}
