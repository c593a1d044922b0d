//! Checks that a summary and a compaction must pass before they are committed.
//!
//! A summary is judged by its form first, then against what it replaces. The thresholds are measured on summaries that
//! models wrote of recorded sessions; `docs/SURVIVAL.md` has the figures.

mod answer;
mod copied;
mod error_body;
mod evidence;
mod form;
mod headings;
mod language;
mod names;
pub mod orders;
mod outcomes;
mod reason;
mod related;
mod repetition;
mod runs;
mod share;
mod values;
mod voice;
mod words;

use crate::domain::model::message::Stop;
use crate::domain::settings::Estimator;
use crate::domain::summary::prompt;
use crate::domain::tokens::count_text;

pub use evidence::SpanEvidence;
pub use form::clean;
pub use reason::RejectReason;

/// Checks a model's answer. `stop` is why it ended, `replaced_tokens` the size of the span that it stands for,
/// by the session's estimator, `span` what is known of that span. Whether the new context as a whole is smaller is
/// [`check_growth`]'s question.
pub fn check_summary(
    text: &str,
    stop: Option<Stop>,
    replaced_tokens: u64,
    estimator: Estimator,
    span: &SpanEvidence,
) -> Result<(), RejectReason> {
    check_stop(stop)?;
    check_form(text)?;
    check_size(text, replaced_tokens, estimator)?;
    repetition::check(text)?;
    headings::check(text, span.wants_headings())?;
    check_against(text, span)
}

/// Checks a summary that a caller or a hook wrote: whether it is one at all. What it tells, and how, is theirs to decide.
pub fn check_given(text: &str) -> Result<(), RejectReason> {
    if is_blank(text) {
        return Err(RejectReason::Empty);
    }
    if form::reads_as_tool_call(text) { Err(RejectReason::ToolCall) } else { Ok(()) }
}

/// As [`check_given`], of one that stands for so many tokens.
pub fn check_given_for(text: &str, replaced_tokens: u64, estimator: Estimator) -> Result<(), RejectReason> {
    check_given(text)?;
    check_size(text, replaced_tokens, estimator)
}

fn check_size(text: &str, replaced_tokens: u64, estimator: Estimator) -> Result<(), RejectReason> {
    let tokens = u64::from(count_text(estimator, text));
    if tokens > replaced_tokens { Err(RejectReason::TooLarge { tokens, replaced: replaced_tokens }) } else { Ok(()) }
}

/// Refuses a compaction after which the context would be larger.
pub fn check_growth(before: u64, after: u64) -> Result<(), RejectReason> {
    if after > before { Err(RejectReason::Growth { before, after }) } else { Ok(()) }
}

fn check_stop(stop: Option<Stop>) -> Result<(), RejectReason> {
    match stop {
        Some(Stop::Length) => Err(RejectReason::Length),
        Some(Stop::ToolUse) => Err(RejectReason::ToolCall),
        Some(Stop::Refusal) => Err(RejectReason::Refusal),
        Some(Stop::Aborted | Stop::Error) => Err(RejectReason::Incomplete),
        Some(Stop::End) | None => Ok(()),
    }
}

/// What a text must not be, and why.
type Fault = (fn(&str) -> bool, RejectReason);

fn check_form(text: &str) -> Result<(), RejectReason> {
    let faults: [Fault; 6] = [
        (is_blank, RejectReason::Empty),
        (form::reads_as_refusal, RejectReason::Refusal),
        (form::reads_as_tool_call, RejectReason::ToolCall),
        (prompt::is_echo, RejectReason::PromptEcho),
        (error_body::is_error_body, RejectReason::ErrorBody),
        (form::breaks_off, RejectReason::Incomplete),
    ];
    faults.into_iter().find(|(is_so, _)| is_so(text)).map_or(Ok(()), |(_, fault)| Err(fault))
}

fn check_against(text: &str, span: &SpanEvidence) -> Result<(), RejectReason> {
    orders::check(text, &span.orders)?;
    let found = answer::Found::of(text, span);
    copied::check(text, &found)?;
    language::check(text, &span.profile)?;
    related::check(&found, span.kept(text))?;
    let changed = values::suspects(text, &span.values).into_iter().find(|suspect| !span.has(&suspect.says));
    if let Some(values::Suspect { shown, spoken, .. }) = changed {
        return Err(RejectReason::ChangedValue { says: shown, spoken });
    }
    outcomes::check(text, &span.runs)
}

fn is_blank(text: &str) -> bool {
    !text.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod measured;
#[cfg(test)]
mod tests;

#[cfg(test)]
mod form_tests {
    use super::*;
    use crate::domain::model::format::Format;
    use crate::domain::model::message::Message;
    use crate::domain::settings::Template;
    use crate::domain::summary::testing::{messages, task, transcripts, user};
    use crate::domain::summary::{SummaryPart, SummaryTask, builtin};
    use crate::made_up;

    fn check(text: &str, stop: Option<Stop>) -> Result<(), RejectReason> {
        check_summary(text, stop, 100, Estimator::Pi, &SpanEvidence::default())
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
        assert_eq!(check(&"word ".repeat(200), None).map_err(|reason| reason.code()), Err("too_large"));
        assert_eq!(check_growth(10, 11).map_err(|reason| reason.code()), Err("would_grow"));
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
            for part in [SummaryPart::History, SummaryPart::TurnPrefix, SummaryPart::Branch] {
                for template in [Template::Checkpoint, Template::SixSection, Template::Continuity, Template::Prose] {
                    let task = SummaryTask { part, template, ..task(messages.clone()) };
                    never_refuses(&task);
                    never_refuses(&SummaryTask { max_output_tokens: 150, ..task.clone() });
                    let previous = Some(builtin::summarise(&task));
                    never_refuses(&SummaryTask { previous, ..task });
                }
            }
        }
    }

    fn never_refuses(task: &SummaryTask) {
        let text = builtin::summarise(task);
        let span = SpanEvidence::of(std::slice::from_ref(task));
        let checked = check_summary(&text, Some(Stop::End), u64::MAX, Estimator::Pi, &span);
        assert_eq!(checked, Ok(()), "{text}");
    }

    #[test]
    fn sees_its_own_prompt_come_back() {
        let task = task(vec![user("hello")]);
        let prompt = prompt::render(&task);
        for echo in [prompt.system, prompt.user] {
            assert_eq!(
                check_summary(&echo, None, 100_000, Estimator::Pi, &SpanEvidence::of(std::slice::from_ref(&task))),
                Err(RejectReason::PromptEcho)
            );
        }
    }
}
