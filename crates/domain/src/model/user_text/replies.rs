//! What the user said where a tool's result stands: why a call was refused, and answers to questions that a tool put.

use std::sync::LazyLock;

use regex::Regex;

use super::super::approval;
use super::super::message::ToolResult;

/// Words of the user's in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The question that they answer; `None`: the call was refused with them.
    pub question: Option<String>,
    pub said: String,
}

/// Opening of the result of a call that the user refused.
const REFUSED: &str = "The user doesn't want to proceed with this tool use.";
/// Heads what the user said to that.
const WHY: &str = "the user said:\n";
/// A harness's remark behind it.
const REMARK: &str = "\n\nNote: The user's next message";
/// Opening of the result of a tool that puts questions, and the tool.
const ANSWERED: &str = "User has answered your questions: ";
const ASKING_TOOL: &str = "AskUserQuestion";
/// Most questions that are put at once.
const MOST_QUESTIONS: usize = 16;

static PAIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?s)\"(.+?)\"=\"(.*?)\"(?:, |\\. You can now|$)").ok());

/// The user's words in the result of a call of this tool. A refusal is told by the harness' own text in a failed result: what a
/// tool prints is nobody's word.
pub fn replies(tool: &str, result: &ToolResult) -> Vec<Reply> {
    if approval::is_refusal(result) {
        return said_to_call(&result.plain_text()).into_iter().collect();
    }
    if result.is_error {
        return refusal(&result.plain_text()).into_iter().collect();
    }
    if tool == ASKING_TOOL { answers(&result.plain_text()) } else { Vec::new() }
}

/// Returns true for the text of a refusal, also where no flag says that it is one: what it says then is quoted, and nobody's
/// word.
pub fn reads_as_refusal(text: &str) -> bool {
    text.starts_with(REFUSED)
}

fn refusal(text: &str) -> Option<Reply> {
    let (_, said) = text.strip_prefix(REFUSED)?.split_once(WHY)?;
    said_to_call(said.split(REMARK).next().unwrap_or(said))
}

fn said_to_call(said: &str) -> Option<Reply> {
    let said = said.trim();
    said.chars().any(char::is_alphanumeric).then(|| Reply { question: None, said: said.to_owned() })
}

fn answers(text: &str) -> Vec<Reply> {
    let (Some(answers), Some(pair)) = (text.strip_prefix(ANSWERED), PAIR.as_ref()) else { return Vec::new() };
    let reply = |found: regex::Captures<'_>| {
        let (question, said) = (found.get(1)?.as_str().to_owned(), found.get(2)?.as_str().trim().to_owned());
        (!said.is_empty()).then_some(Reply { question: Some(question), said })
    };
    pair.captures_iter(answers).take(MOST_QUESTIONS).filter_map(reply).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::message::{Block, CallKind};
    use super::*;

    fn result(text: &str, is_error: bool) -> ToolResult {
        let content = vec![Block::text(text)];
        ToolResult { tool_call_id: "c".into(), name: None, content, is_error, kind: CallKind::default(), opaque: None }
    }

    #[test]
    fn who_refuses_a_call_says_why() {
        let told = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nlet's do it in a separate PR\n\nNote: The user's next message may hold a correction.";
        let said = replies("Bash", &result(told, true));
        assert_eq!(said, [Reply { question: None, said: "let's do it in a separate PR".into() }]);
        assert_eq!(replies("Bash", &result(told, false)), [], "a tool may print anything");
        let quoted = format!("error: in the log stands\n{told}");
        assert_eq!(replies("Bash", &result(&quoted, true)), []);
        assert_eq!(replies("Bash", &result("The user doesn't want to proceed with this tool use. Stop.", true)), []);
    }

    #[test]
    fn answers_stand_with_their_questions() {
        let told = "User has answered your questions: \"Which one?\"=\"React, please\", \"And the rest?\"=\"as it is\". You can now continue with the user's answers in mind.";
        let said = replies("AskUserQuestion", &result(told, false));
        let pairs: Vec<_> = said.iter().map(|one| (one.question.as_deref(), one.said.as_str())).collect();
        assert_eq!(pairs, [(Some("Which one?"), "React, please"), (Some("And the rest?"), "as it is")]);
        assert_eq!(replies("Bash", &result(told, false)), []);
    }
}
