//! Checks that a summary and a compaction must pass before they are committed.

use serde_json::Value;
use thiserror::Error;

use crate::domain::model::message::Stop;
use crate::domain::settings::Estimator;
use crate::domain::summary::prompt;
use crate::domain::summary::thinking_tags::without_thinking;
use crate::domain::tokens::count_text;

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
    if reads_as_tool_call(text) {
        return Err(RejectReason::ToolCall);
    }
    if prompt::is_echo(text) {
        return Err(RejectReason::PromptEcho);
    }
    if breaks_off(text) {
        return Err(RejectReason::Incomplete);
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

/// The summary alone: without a model's thinking, and without a fence or an element around the whole.
pub fn clean(text: &str) -> &str {
    let mut text = without_thinking(text);
    for tag in ["summary", "context-summary", "notes"] {
        let inside = text.strip_prefix(&format!("<{tag}>")).and_then(|rest| rest.strip_suffix(&format!("</{tag}>")));
        text = inside.map_or(text, str::trim);
    }
    unfenced(text).unwrap_or(text)
}

/// Returns the text inside a fence that opens with the first line, closes with the last, and holds no other fence.
fn unfenced(text: &str) -> Option<&str> {
    let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
    let inside = rest.strip_suffix("```")?;
    let one_word = language.chars().all(char::is_alphanumeric);
    (one_word && !inside.contains("```")).then(|| inside.trim())
}

/// A short answer that opens like a refusal; a summary opens with a heading or a fact.
fn reads_as_refusal(text: &str) -> bool {
    const OPENINGS: [&str; 20] = [
        "i can't help",
        "i can't assist",
        "i can't provide",
        "i can't fulfill",
        "i can't summarize",
        "i cannot help",
        "i cannot assist",
        "i cannot provide",
        "i cannot fulfill",
        "i cannot summarize",
        "i'm sorry, but i",
        "i am sorry, but i",
        "sorry, i can't",
        "sorry, but i can't",
        "i'm unable to",
        "i am unable to",
        "i'm not able to",
        "es tut mir leid, aber",
        "抱歉，我",
        "申し訳ありませんが",
    ];
    let text = text.trim();
    if text.len() > 400 {
        return false;
    }
    let opening: String = text.chars().take(40).collect::<String>().to_lowercase().replace('’', "'");
    OPENINGS.iter().any(|start| opening.starts_with(start))
}

/// A call written as text: nothing but a call's JSON, or one of the notations that models are trained on.
fn reads_as_tool_call(text: &str) -> bool {
    const NOTATIONS: [&str; 6] =
        ["<tool_call>", "<function_calls>", "<function=", "<invoke name=", "[TOOL_CALLS]", "<|tool_call"];
    let text = unfenced(text.trim()).unwrap_or(text.trim());
    if NOTATIONS.iter().any(|notation| text.starts_with(notation)) {
        return true;
    }
    let value: Option<Value> = text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten();
    let call = |value: &Value| {
        value.get("name").is_some_and(Value::is_string)
            && ["arguments", "input", "parameters"].iter().any(|key| value.get(key).is_some())
    };
    value.is_some_and(|value| call(&value) || value.as_array().and_then(|calls| calls.first()).is_some_and(call))
}

/// A text that stops where none can end: at a heading with nothing under it, at a bullet without words, or inside
/// a code fence.
fn breaks_off(text: &str) -> bool {
    let text = text.trim_end();
    let last = text.lines().next_back().unwrap_or_default().trim();
    let heading = last.starts_with('#') && last.trim_start_matches('#').starts_with(' ');
    let bullet = ["-", "*", "- [ ]", "- [x]", "1."].contains(&last);
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    (heading || bullet || fences % 2 == 1) && text.lines().count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::format::Format;
    use crate::domain::model::message::Message;
    use crate::domain::summary::builtin;
    use crate::domain::summary::testing::{messages, task, transcripts, user};
    use crate::made_up;

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

    /// Answers that are summaries, whatever they look like.
    #[test]
    fn takes_what_honest_models_write() {
        let honest = [
            "## Goal\nShip the feature.\n\n## Progress\nThe tests pass.",
            "The user asked why `cargo test` fails. I can't reproduce it yet; the error is E0308.",
            "## Goal\n- Unable to log in: \"I'm sorry, but I can't find your account\" is shown.\n\n## Next Steps\n1. Fix it",
            "# Objetivo\n- Corregir el fallo de inicio de sesión.\n\n# Progreso\n- Hecho: `src/auth.rs`",
            "目标：修复登录问题。已完成：修改 src/auth.rs。",
            "## Notes\n```\ncargo test\n```\n- The call {\"name\": \"read\", \"arguments\": {}} failed.",
            "User wants X. The transcript shows \"[User]: do it\" and the tool said [Tool result]: ok.",
            "## Goal\n- x\n\n## Critical Context\n(none)",
        ];
        for text in honest {
            assert_eq!(check(text, Some(Stop::End)), Ok(()), "{text}");
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn names_faults_that_no_stop_reason_tells() {
        use RejectReason::*;
        let faults = [
            ("<tool_call>{\"name\": \"read\"}</tool_call>", ToolCall),
            ("```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```", ToolCall),
            ("[{\"name\": \"read\", \"input\": {}}]", ToolCall),
            ("I cannot provide a summary of this conversation.", Refusal),
            ("抱歉，我无法协助。", Refusal),
            ("## Goal\n- Ship it\n\n## Next Steps", Incomplete),
            ("## Goal\n- Ship it\n- ", Incomplete),
            ("## Goal\n```\ncargo te", Incomplete),
            ("Sure, here it is:\n[User]: a\n[Assistant]: b\n[User]: c", PromptEcho),
            (
                "## Goal\n- [what the user wants in the end; one item for each separate request]\n- [what to do now, in order]",
                PromptEcho,
            ),
        ];
        for (text, fault) in faults {
            assert_eq!(check(text, Some(Stop::End)), Err(fault), "{text}");
        }
    }

    #[test]
    fn takes_the_wrapping_off() {
        assert_eq!(clean("<think>Hm.</think>\n\n## Goal\n- x"), "## Goal\n- x");
        assert_eq!(clean("```markdown\n## Goal\n- x\n```"), "## Goal\n- x");
        assert_eq!(clean("<summary>\n## Goal\n</summary>"), "## Goal");
        assert_eq!(clean("```\na\n```\nand\n```\nb\n```"), "```\na\n```\nand\n```\nb\n```");
    }

    #[test]
    fn takes_all_that_the_builtin_writes() {
        let formats = [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Pi];
        all_is_taken(formats.map(|format| messages(format, &made_up::items(format.into_str(), 24))));
    }

    #[test]
    #[cfg_attr(not(shared), ignore = "needs ../shared")]
    fn takes_all_that_the_builtin_writes_of_recorded_sessions() {
        all_is_taken(["tau-bench", "swe-agent", "entireio-cli"].into_iter().flat_map(transcripts).step_by(7));
    }

    fn all_is_taken(sessions: impl IntoIterator<Item = Vec<Message>>) {
        for messages in sessions {
            let text = builtin::summarise(&task(messages));
            assert_eq!(check_summary(&text, Some(Stop::End), u64::MAX, Estimator::Pi), Ok(()), "{text}");
        }
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
