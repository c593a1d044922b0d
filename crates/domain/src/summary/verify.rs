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
mod reason;
mod related;
mod repetition;
mod runs;
mod share;
mod voice;
pub mod words;

use crate::model::message::Stop;
use crate::record::evidence::{EvidenceStatus, WeighedNotes, without_citations};
use crate::settings::Estimator;
use crate::summary::prompt;
use crate::tokens::count_text;

/// Notes have so many tokens at least, or one for so many of the span where that is less.
const LEAST_TOKENS: u64 = 150;
const LEAST_PART: u64 = 100;

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
    headings::check(text, span.sections())?;
    // Numbers of calls and messages are no names.
    let found = answer::Found::of(&without_citations(text), span);
    copied::check(text, &found)?;
    language::check(text, &span.profile)?;
    related::check(&found, span.kept(text))?;
    check_length(text, span.span_tokens(), estimator)?;
    check_evidence(text, span)
}

/// Refuses what is too short for its span.
fn check_length(text: &str, span_tokens: u64, estimator: Estimator) -> Result<(), RejectReason> {
    let least = LEAST_TOKENS.min(span_tokens / LEAST_PART);
    let tokens = u64::from(count_text(estimator, text));
    if tokens < least { Err(RejectReason::TooShort { tokens, least }) } else { Ok(()) }
}

/// Refuses what cites nothing, and work of which most is not shown. What the caller's own prompt asks for, and what was
/// written of a hook's text, which has no numbers, is only measured.
fn check_evidence(text: &str, span: &SpanEvidence) -> Result<(), RejectReason> {
    let sections = span.sections();
    let path = span.path_numbers();
    if sections.is_empty() || span.is_replaced() || path.last_call + path.last_user == 0 {
        return Ok(());
    }
    let weighed = WeighedNotes::of(text, sections, &path);
    let cites = weighed.statements.iter().any(|one| one.status == EvidenceStatus::Cited);
    let (statements, unsupported) = weighed.of_work();
    match () {
        () if !cites && weighed.counts().statements > 0 => Err(RejectReason::Uncited),
        () if unsupported * 2 > statements => Err(RejectReason::Unsupported { unsupported, statements }),
        () => Ok(()),
    }
}

/// Checks a summary that a caller or a hook wrote: whether it is one at all. What it tells, and how, is theirs to decide,
/// be it one full stop.
pub fn check_given(text: &str) -> Result<(), RejectReason> {
    if text.trim().is_empty() {
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
    let faults: [Fault; 5] = [
        (is_blank, RejectReason::Empty),
        (form::reads_as_tool_call, RejectReason::ToolCall),
        (prompt::is_echo, RejectReason::PromptEcho),
        (error_body::is_error_body, RejectReason::ErrorBody),
        (form::breaks_off, RejectReason::Incomplete),
    ];
    faults.into_iter().find(|(is_so, _)| is_so(text)).map_or(Ok(()), |(_, fault)| Err(fault))
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
    use crate::summary::testing::{task, user};

    fn check(text: &str, stop: Option<Stop>) -> Result<(), RejectReason> {
        check_summary(text, stop, 100, Estimator::Pi, &SpanEvidence::default())
    }

    #[test]
    fn takes_a_plain_summary() {
        assert_eq!(check("## Goal\n- ship the parser today", Some(Stop::End)), Ok(()));
        assert_eq!(check("目標: 修正する", None), Ok(()));
    }

    #[test]
    fn names_each_fault() {
        assert_eq!(check(" \n- \n", Some(Stop::End)), Err(RejectReason::Empty));
        assert_eq!(check("## Goal", Some(Stop::Length)), Err(RejectReason::Length));
        assert_eq!(check("## Goal", Some(Stop::ToolUse)), Err(RejectReason::ToolCall));
        assert_eq!(check("## Goal", Some(Stop::Refusal)), Err(RejectReason::Refusal));
        assert_eq!(check("## Goal", Some(Stop::Aborted)), Err(RejectReason::Incomplete));
        assert_eq!(check(&"word ".repeat(200), None).map_err(|reason| reason.code()), Err("too_large"));
        assert_eq!(check_growth(10, 11).map_err(|reason| reason.code()), Err("would_grow"));
        assert_eq!(check_growth(10, 10), Ok(()));
        assert_eq!(
            check_length("Ja, die Sendung ist schon unterwegs zu Ihnen.", 35_007, Estimator::Pi),
            Err(RejectReason::TooShort { tokens: 12, least: 150 })
        );
        assert_eq!(check_length("One line for a short span.", 600, Estimator::Pi), Ok(()));
    }

    #[test]
    fn names_faults_that_no_stop_reason_tells() {
        use RejectReason::*;
        let faults = [
            ("<tool_call>{\"name\": \"read\"}</tool_call>", ToolCall),
            ("```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```", ToolCall),
            ("[{\"name\": \"read\", \"input\": {}}]", ToolCall),
            ("## Goal\n- Ship it\n\n## Next Steps", Incomplete),
            ("## Goal\n- Ship it\n- ", Incomplete),
            ("## Goal\n```\ncargo te", Incomplete),
            ("Sure, here it is:\n[User]: a\n[Assistant]: b\n[User]: c", PromptEcho),
            ("u1 User: Fix it\nAgent: I look.\n- #1 bash(ls) → a.rs", PromptEcho),
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
    fn sees_its_own_prompt_come_back() {
        let task = task(vec![user("hello")]);
        let prompt = prompt::render(&task);
        for echo in [prompt.system, prompt.user, prompt::request(&task)] {
            let found = check_summary(&echo, None, 100_000, Estimator::Pi, &SpanEvidence::of(&task));
            assert_eq!(found, Err(RejectReason::PromptEcho), "{echo}");
        }
    }
}
