//! Answers that copy the conversation instead of summing it up.
//!
//! Sentences of the conversation may stand in a summary; pages of it may not.

use super::answer::Found;
use super::reason::RejectReason;

/// Share of a text that may be pages of the span.
const MOST_PAGES: f64 = 0.7;
/// Share of a dialogue's phrases that stand in the span.
const MOST_PHRASES: f64 = 0.8;

const SPEAKERS: [&[&str]; 2] = [&["user", "human", "you"], &["assistant", "ai", "agent", "model", "tool", "bot"]];

pub(super) fn check(text: &str, found: &Found) -> Result<(), RejectReason> {
    let is_copy = found.pages > MOST_PAGES || is_dialogue(text) && found.phrases > MOST_PHRASES;
    if is_copy { Err(RejectReason::TranscriptEcho) } else { Ok(()) }
}

/// Returns true if both sides speak in turn, line by line.
fn is_dialogue(text: &str) -> bool {
    let mut lines = 0;
    let mut spoken = [0, 0];
    for line in text.lines().filter(|line| line.chars().any(char::is_alphanumeric)) {
        lines += 1;
        let bare = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        let label = bare.split([':', '*', ']', ' ']).next().unwrap_or_default().to_lowercase();
        let is_label =
            bare.get(label.len()..).is_some_and(|rest| rest.trim_start_matches(['*', ']', '_']).starts_with(':'));
        for (count, names) in spoken.iter_mut().zip(SPEAKERS) {
            *count += usize::from(is_label && names.contains(&label.as_str()));
        }
    }
    spoken.iter().all(|count| *count > 1) && spoken.iter().sum::<usize>() * 4 >= lines
}
