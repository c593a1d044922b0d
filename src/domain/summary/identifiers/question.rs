//! The question that an answer of the agent's ends with: without it, a short reply says nothing.

use super::token;
use crate::domain::summary::text::{brief, clip, sentences, words};

/// Of an answer, so much of its end is looked at.
const END_CHARS: usize = 1_500;
/// Sentences that may stand behind the question: the options, and "Let me know".
const BEHIND: usize = 10;
const QUESTION_CHARS: usize = 200;
/// Sentences before the question that may say what it is about, and how much of one is told.
const REACH: usize = 4;
const ABOUT_CHARS: usize = 120;
const OPTION_CHARS: usize = 100;
/// Longer replies speak for themselves.
const REPLY_CHARS: usize = 60;

/// A question, and the numbered options around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    text: String,
    options: Vec<(u32, String)>,
}

impl Question {
    /// The question that a text ends with; `None`: it asks nothing there.
    pub fn of(text: &str) -> Option<Question> {
        let text = text.trim_end();
        let from = text.char_indices().rev().nth(END_CHARS).map_or(0, |(at, _)| at);
        let end = text.get(from..).unwrap_or(text);
        let said = sentences(end);
        let asks = |sentence: &&String| sentence.ends_with(['?', '？']);
        let at = said.len() - said.iter().rev().take(BEHIND).position(|sentence| asks(&sentence))?;
        let (question, before) = said.get(..at)?.split_last()?;
        let question = brief(&question.replace("**", ""), QUESTION_CHARS);
        let text = match antecedent(before, &question) {
            Some(about) => format!("{} {question}", brief(&about.replace("**", ""), ABOUT_CHARS)),
            None => question,
        };
        Some(Question { text, options: options(end) })
    }

    /// A question that was carried on, without its options.
    pub fn carried(text: &str) -> Question {
        Question { text: text.to_owned(), options: Vec::new() }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    /// The question as it stands before a reply, with the option that the reply names by its number; `None` before one that
    /// speaks for itself.
    pub fn before(&self, reply: &str) -> Option<String> {
        if reply.chars().nth(REPLY_CHARS).is_some() {
            return None;
        }
        let number = named(reply);
        let option = self.options.iter().rev().find(|(at, _)| Some(*at) == number);
        Some(option.map_or(self.text.clone(), |(at, option)| format!("{} … {at}. {option}", self.text)))
    }
}

/// The sentence that says what "that" is: the last before the question that names something, where the question does not.
fn antecedent<'s>(before: &'s [String], question: &str) -> Option<&'s String> {
    const STANDS_FOR: [&str; 8] = ["that", "it", "this", "these", "those", "them", "so", "one"];
    let names = |sentence: &&String| sentence.contains('`') || names_something(sentence);
    let is_open = words(question).any(|word| STANDS_FOR.contains(&word.as_str())) && !names(&&question.to_owned());
    if is_open { before.iter().rev().take(REACH).find(names) } else { None }
}

fn names_something(sentence: &str) -> bool {
    let mut named = false;
    token::each(sentence, &mut |_| named = true);
    named
}

/// The numbered lines of a text.
fn options(text: &str) -> Vec<(u32, String)> {
    let option = |line: &str| {
        let line = line.trim_start_matches(['*', '-', '(', ' ']);
        let (number, rest) = line.split_once(['.', ')', ':'])?;
        Some((number.parse().ok().filter(|number| *number < 100)?, clip(rest.trim_matches(['*', ' ']), OPTION_CHARS)))
    };
    text.lines().filter_map(|line| option(line.trim())).collect()
}

/// The number of the option that a reply names.
fn named(reply: &str) -> Option<u32> {
    const ORDINALS: [&str; 3] = ["first", "second", "third"];
    let lower = reply.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.find_map(|word| {
        let ordinal = ORDINALS.iter().zip(1..).find(|(ordinal, _)| **ordinal == word).map(|(_, at)| at);
        ordinal.or_else(|| word.parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_with_its_question() {
        let asked = |text: &str| Question::of(text).map(Question::into_text);
        assert_eq!(asked("The table is old. Shall I **drop** it?").as_deref(), Some("Shall I drop it?"));
        assert_eq!(
            asked("Why so? Because.\nWhich one?\n1. the old\n2. the new\n\nTell me.").as_deref(),
            Some("Which one?")
        );
        assert_eq!(asked("すべて削除しますか？").as_deref(), Some("すべて削除しますか？"));
        assert_eq!(asked("All done."), None);
        assert_eq!(asked(&format!("Really? {}", "It is so. ".repeat(20))), None, "that was long before");
        assert_eq!(
            asked("**The fix**: set `gc.auto` to 0. Or raise it:\n```\nx\n```\nWant me to set that?").as_deref(),
            Some("The fix: set `gc.auto` to 0. Want me to set that?")
        );
        assert_eq!(asked("I read `a.rs`. Is `b.rs` like that?").as_deref(), Some("Is `b.rs` like that?"));
        assert!(asked(&format!("{}?", "日本 ".repeat(900))).unwrap().chars().count() <= QUESTION_CHARS);
    }

    #[test]
    fn a_reply_by_number_is_told_with_its_option() {
        let question = Question::of("1. Keep the table\n2. **Drop the table**\n\nWhich one?").unwrap();
        assert_eq!(question.before("2").as_deref(), Some("Which one? … 2. Drop the table"));
        assert_eq!(question.before("the second one, please").as_deref(), Some("Which one? … 2. Drop the table"));
        assert_eq!(question.before("no").as_deref(), Some("Which one?"));
        assert_eq!(question.before(&"a long reply says by itself what it is about ".repeat(2)), None);
    }
}
