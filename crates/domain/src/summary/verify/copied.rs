//! Answers that copy the conversation instead of summing it up.
//!
//! Sentences of the conversation may stand in a summary; pages of it may not.

use std::collections::HashMap;

use super::answer::Found;
use super::reason::RejectReason;

/// Share of a text that may be pages of the span.
const MOST_PAGES: f64 = 0.7;
/// Share of a dialogue's phrases that stand in the span.
const MOST_PHRASES: f64 = 0.8;

/// Characters before the colon of a line that says who speaks.
const LONGEST_LABEL: usize = 16;

pub(super) fn check(text: &str, found: &Found) -> Result<(), RejectReason> {
    let is_copy = found.pages > MOST_PAGES || is_dialogue(text) && found.phrases > MOST_PHRASES;
    if is_copy { Err(RejectReason::TranscriptEcho) } else { Ok(()) }
}

/// Returns true if the lines of two speak in turn, each under its label. Whose they are does not matter: `phrases` says
/// whether the words are the span's.
fn is_dialogue(text: &str) -> bool {
    let said: Vec<&str> = text.lines().filter(|line| line.chars().any(char::is_alphanumeric)).collect();
    let mut spoken: HashMap<String, usize> = HashMap::new();
    for label in said.iter().filter_map(|line| label(line)) {
        *spoken.entry(label.to_lowercase()).or_default() += 1;
    }
    let mut most: Vec<usize> = spoken.into_values().collect();
    most.sort_unstable_by(|one, other| other.cmp(one));
    matches!(most.as_slice(), [one, other, ..] if *other > 1 && (one + other) * 4 >= said.len())
}

/// The word that a line begins with, where a colon follows: `**User:** `, `[assistant]: `.
fn label(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (label, _) = bare.split_once([':', '：'])?;
    let label = label.trim_end_matches(|c: char| !c.is_alphanumeric());
    (!label.is_empty() && label.len() <= LONGEST_LABEL && label.chars().all(char::is_alphanumeric)).then_some(label)
}
