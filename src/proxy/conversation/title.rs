//! The title of a session: the first words of the user's own.

use super::Conversation;
use crate::domain::format;
use crate::domain::model::user_text::{self, UserText};

/// Items that are looked at, and characters of a title.
const MOST_ITEMS: usize = 64;
const LONGEST: usize = 80;
/// Bytes of a message that are looked at.
const LONGEST_WORDS: usize = 4 * LONGEST;

impl Conversation {
    /// Of the first message of the user's own, or of the `newest`.
    pub fn title(&self, newest: bool) -> Option<String> {
        let words = |raw: &serde_json::value::RawValue| {
            let message = format::accept(self.route.format(), raw.get()).ok()?.message?;
            match user_text::of(std::slice::from_ref(&message)).pop()? {
                UserText::Said(words) if message.tool_results().next().is_none() => shortened(&words),
                _ => None,
            }
        };
        match newest {
            true => self.items.iter().rev().take(MOST_ITEMS).find_map(|raw| words(raw)),
            false => self.items.iter().take(MOST_ITEMS).find_map(|raw| words(raw)),
        }
    }
}

/// One line, cut behind a word where there is one.
fn shortened(words: &str) -> Option<String> {
    let cut = words.floor_char_boundary(LONGEST_WORDS);
    let one_line = words.get(..cut)?.split_whitespace().collect::<Vec<_>>().join(" ");
    let one_line: String = one_line.chars().filter(|letter| !letter.is_control()).collect();
    if one_line.chars().count() <= LONGEST && cut == words.len() {
        return (!one_line.is_empty()).then_some(one_line);
    }
    let short: String = one_line.chars().take(LONGEST - 1).collect();
    let at_word = short.rfind(' ').filter(|at| *at > short.len() / 2).and_then(|at| short.get(..at));
    (!short.is_empty()).then(|| format!("{}…", at_word.unwrap_or(&short)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(shortened(" fix\n the\tparser ").as_deref(), Some("fix the parser"));
        assert_eq!(shortened(" \n "), None);
        let long = shortened(&"words and ".repeat(90)).unwrap();
        assert!(long.chars().count() <= LONGEST && long.ends_with("and…") || long.ends_with("words…"), "{long}");
        assert_eq!(shortened(&"字".repeat(300)).unwrap().chars().count(), LONGEST);
    }
}
