//! Summaries of ours with other words around them: clients merge neighbouring messages of the user's into one.

use super::lines::{TextKey, text_key};
use crate::model::framed::{CLOSE, OPEN};

/// How many are looked at in one text.
const MOST: usize = 4;

/// The element that every summary of ours ends with, within a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnclosedSummary {
    pub key: TextKey,
    open: usize,
    /// Where it ends.
    pub end: usize,
}

impl EnclosedSummary {
    /// Returns where the summary of which this is the element begins in the text. `None`: other words stand before it.
    pub fn start(&self, text: &str, summary: &str) -> Option<usize> {
        let (prefix, _) = summary.split_at_checked(summary.rfind(OPEN)?)?;
        text.get(..self.open)?.trim_end().strip_suffix(prefix.trim()).map(str::len)
    }
}

/// Finds the elements in a text.
pub fn enclosed_summaries(text: &str) -> Vec<EnclosedSummary> {
    let mut from = 0;
    let mut found = Vec::new();
    for (close, _) in text.match_indices(CLOSE).take(MOST) {
        let end = close + CLOSE.len();
        // Within a summary the words of its element are changed.
        if let Some(open) = text[from..close].rfind(OPEN).map(|at| from + at) {
            found.push(EnclosedSummary { key: text_key(&text[open..end]), open, end });
        }
        from = end;
    }
    found
}

/// The key of a summary's element. `None`: it has none.
pub fn element_key(summary: &str) -> Option<TextKey> {
    summary.rfind(OPEN).and_then(|open| summary.get(open..)).map(text_key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SUMMARY: &str = "Notes.\n\n<context-summary>\n## Goal\n- x\n</context-summary>";

    #[test]
    fn only_the_whole_summary_is_found() {
        for text in ["</context-summary>", "<context-summary>", "</context-summary><context-summary>"] {
            assert_eq!(enclosed_summaries(text), [], "{text}");
        }
        let [found] = enclosed_summaries("What? <context-summary>\n## Goal\n- x\n</context-summary>")[..] else {
            panic!();
        };
        assert_eq!(element_key(SUMMARY), Some(found.key));
        assert_eq!(found.start("What? <context-summary>\n## Goal\n- x\n</context-summary>", SUMMARY), None);
        assert_eq!(enclosed_summaries(&SUMMARY.repeat(9)).len(), MOST);
    }

    proptest! {
        #[test]
        fn a_summary_is_found_between_any_words(
            before in "[a-c \n]{0,8}(<context-summary>)?[a-c \n]{0,8}", behind in "[a-c \n]{0,8}(</context-summary>)?",
        ) {
            let text = format!("{before}{SUMMARY}{behind}");
            let found = enclosed_summaries(&text)[0];
            prop_assert_eq!(Some(found.key), element_key(SUMMARY));
            prop_assert_eq!((found.start(&text, SUMMARY), found.end), (Some(before.len()), before.len() + SUMMARY.len()));
        }
    }
}
