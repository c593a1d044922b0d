//! Requests and what was answered: what outlives a turn that left nothing else behind.

use super::super::super::text::{brief, whole};
use super::asked::is_nod;
use super::closing;

/// Characters kept of a request and of its answer.
const REQUEST_CHARS: usize = 60;
const ANSWER_CHARS: usize = 240;

/// Opens an item of a request with its answer, and of an answer whose request stands elsewhere.
const ASKED: &str = "Asked: ";
const ANSWERED: &str = "Answered: ";

/// A request of the user's that waits for its answer.
#[derive(Debug, Default)]
pub struct Turn<'t> {
    request: Option<&'t str>,
    /// As it stands among the goals.
    goal: Option<String>,
}

impl<'t> Turn<'t> {
    pub fn of(request: &'t str, goal: Option<String>) -> Turn<'t> {
        Turn { request: Some(request), goal }
    }

    /// The goal that an answer met: one that does not ask back.
    pub fn met(&mut self, answer: &str) -> Option<String> {
        if closing::asks_back(answer) { None } else { self.goal.take() }
    }

    /// The request and the sentence that answers it; `None` where the answer says nothing that lasts, or asks back.
    pub fn told(&mut self, answer: &str) -> Option<String> {
        if closing::asks_back(answer) {
            return None;
        }
        let said = whole(&closing::answer(answer)?, ANSWER_CHARS)?;
        let request = self.request.take().map(shortened).filter(|request| !is_nod(request));
        Some(match request {
            Some(request) => format!("{ASKED}{} {ANSWERED}{said}", ended(&request)),
            None => format!("{ANSWERED}{said}"),
        })
    }
}

fn shortened(request: &str) -> String {
    let line = brief(request, 4 * REQUEST_CHARS);
    whole(&line, REQUEST_CHARS).unwrap_or_else(|| brief(&line, REQUEST_CHARS))
}

/// With a mark at its end.
fn ended(text: &str) -> String {
    let text = text.trim_end_matches([',', ';', ':', ' ']);
    let ends = text.ends_with(['.', '!', '?', '…', '。', '！', '？']);
    if ends { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(request: &str, answer: &str) -> Option<String> {
        Turn::of(request, None).told(answer)
    }

    #[test]
    fn an_answer_is_told_with_what_was_asked() {
        let request = "Why does the parser fail on empty input? Do not change its API.";
        let answer =
            "Good question!\n\nThe parser unwraps the first character, so an empty string makes it panic. More below.";
        let expected = "Asked: Why does the parser fail on empty input? Answered: The parser unwraps the \
            first character, so an empty string makes it panic.";
        assert_eq!(told(request, answer).as_deref(), Some(expected));
        assert_eq!(
            Turn::default().told("Port 8080 is taken by the old server.").as_deref(),
            Some("Answered: Port 8080 is taken by the old server.")
        );
    }

    #[test]
    fn what_asks_back_or_says_nothing_answers_nothing() {
        for answer in ["Which of the two do you mean?", "Sure!", "", "Let me look at the code of it.", "Done."] {
            assert_eq!(told("Rename the flag.", answer), None, "{answer}");
        }
        let mut turn = Turn::of("Rename the flag.", Some("Rename the flag.".into()));
        assert_eq!(turn.met("Which flag do you mean?"), None);
        assert_eq!(turn.met("The flag is called --dry now.").as_deref(), Some("Rename the flag."));
    }
}
