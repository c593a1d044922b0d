//! Passages about the topic that the caller cares for, carried word for word.

use std::collections::HashSet;

use super::SummaryTask;
use crate::model::message::{Block, Message};
use crate::record::quote::{GAP, shortened, size};

/// Marks a passage that is quoted because of the focus topic.
pub const MARK: &str = "*FOCUS*";

const HEADING: &str = "## Focus";
const MAX_PASSAGE: usize = 600;

/// The passages of a task that match its topic and that its summary does not quote, under a heading of their own, marked
/// [`MARK`], newest kept first where `max_tokens` (four characters each) does not hold all. `None`: no topic, or nothing matches.
///
/// Passages of the previous summary's block are carried on.
pub fn missing(task: &SummaryTask, summary: &str, max_tokens: u32) -> Option<String> {
    let mut passages = passages(task);
    let mut seen: HashSet<String> = marked(summary).collect();
    let mut left = (max_tokens as usize * 4).saturating_sub(HEADING.len());
    left = left.saturating_sub(seen.iter().map(|passage| cost(passage)).sum());
    passages.reverse();
    passages.retain(|passage| seen.insert(passage.clone()));
    let fits = |passage: &&String| {
        let rest = left.checked_sub(cost(passage));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let kept = passages.iter().filter(fits);
    let mut lines: Vec<String> = kept.map(|passage| format!("- {MARK} {passage}")).collect();
    lines.reverse();
    (!lines.is_empty()).then(|| format!("{HEADING}\n{}", lines.join("\n")))
}

fn cost(passage: &str) -> usize {
    size(passage) + MARK.len() + 4
}

/// Collects the passages of a task that match its focus topic, oldest first.
fn passages(task: &SummaryTask) -> Vec<String> {
    let Some(topic) = task.focus_topic.as_deref().and_then(FocusTopic::new) else { return Vec::new() };
    let earlier = task.previous.as_deref().into_iter().flat_map(marked);
    earlier.chain(task.messages.iter().flat_map(|message| topic.matching(message))).collect()
}

fn marked(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines()
        .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix(MARK))
        .map(|text| text.trim().to_owned())
}

/// A topic matches where it stands as it is, or where all of its words stand in one line.
struct FocusTopic {
    phrase: String,
    words: Vec<String>,
}

impl FocusTopic {
    fn new(topic: &str) -> Option<FocusTopic> {
        let phrase = topic.trim().to_lowercase();
        let words = phrase.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
        let words: Vec<String> = words.map(str::to_owned).collect();
        (!phrase.is_empty()).then_some(FocusTopic { phrase, words })
    }

    /// The lines of speech and results that match.
    fn matching(&self, message: &Message) -> Vec<String> {
        let texts = message.content.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.clone()),
            Block::ToolResult(result) => Some(result.plain_text()),
            _ => None,
        });
        let passages = |text: String| text.lines().filter_map(|line| self.passage(line.trim())).collect::<Vec<_>>();
        texts.flat_map(passages).collect()
    }

    /// The line if it matches; of a long one what stands around the match.
    fn passage(&self, line: &str) -> Option<String> {
        let lower = line.to_lowercase();
        let at = lower.find(&self.phrase).or_else(|| {
            let all = self.words.len() > 1 && self.words.iter().all(|word| lower.contains(word));
            let first = self.words.first().filter(|_| all)?;
            lower.find(first)
        })?;
        let characters = line.chars().count();
        if characters <= MAX_PASSAGE {
            return Some(line.to_owned());
        }
        let place = lower[..at].chars().count();
        let start = place.saturating_sub(MAX_PASSAGE / 3).min(characters - MAX_PASSAGE);
        let tail: String = line.chars().skip(start).collect();
        Some(format!("{}{}", if start > 0 { GAP } else { "" }, shortened(&tail, MAX_PASSAGE, 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{result, task, user};
    use super::*;

    #[test]
    fn quotes_what_matches() {
        let mut task = task(vec![
            user("Security first.\nUse port 8080."),
            result("c", "ok\nsecurity scan: 0 issues"),
            user("Security first."),
        ]);
        assert_eq!(missing(&task, "", 100), None);
        task.focus_topic = Some("SECURITY".into());
        let text = missing(&task, "", 100).expect("matches");
        assert_eq!(text, "## Focus\n- *FOCUS* security scan: 0 issues\n- *FOCUS* Security first.");
        task.messages = [].into();
        task.previous = Some(text.clone());
        assert_eq!(missing(&task, "", 100), Some(text));
        assert_eq!(missing(&task, "", 12).map(|text| text.lines().count()), Some(2), "the newest stays");
        assert_eq!(missing(&task, "", 1), None);
    }

    #[test]
    fn adds_what_a_model_left_out() {
        let mut task = task(vec![user("The retry budget is 5.\nNothing."), result("c", "budget for each retry: 9")]);
        task.focus_topic = Some("Retry Budget".into());
        let added = missing(&task, "## Goal\n- *FOCUS* The retry budget is 5.", 100);
        assert_eq!(added.as_deref(), Some("## Focus\n- *FOCUS* budget for each retry: 9"));
        assert_eq!(missing(&task, &missing(&task, "", 100).expect("matches"), 100), None);
    }

    #[test]
    fn quotes_what_stands_around_the_match_in_a_long_line() {
        let mut task =
            task(vec![result("c", &format!("{}the needle is here{}", "a ".repeat(5000), " b".repeat(5000)))]);
        task.focus_topic = Some("needle".into());
        let text = missing(&task, "", 1000).expect("matches");
        assert!(text.contains("the needle is here") && text.len() < 700, "{text}");
    }
}
