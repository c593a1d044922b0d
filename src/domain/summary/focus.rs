//! Passages about the topic that the caller cares for, carried word for word.

use super::super::message::{Block, Message};
use super::SummaryTask;
use super::text::{brief, quarters};

/// Marks a passage that is quoted because of the focus topic.
pub const MARK: &str = "*FOCUS*";

const HEADING: &str = "## Focus";
const MAX_PASSAGE: usize = 600;

/// The passages of a task that match its topic under a heading of their own, marked [`MARK`], newest kept first
/// where `max_tokens` (four characters each) does not hold all. `None`: no topic, or nothing matches.
///
/// Passages of the previous summary's block are carried on.
pub fn block(task: &SummaryTask, max_tokens: u32) -> Option<String> {
    let topic =
        task.focus_topic.as_deref().map(|topic| topic.trim().to_lowercase()).filter(|topic| !topic.is_empty())?;
    let earlier = task.previous.as_deref().into_iter().flat_map(marked);
    let mut passages: Vec<String> = earlier.chain(task.messages.iter().flat_map(|one| matching(one, &topic))).collect();
    let mut seen = std::collections::HashSet::new();
    passages.reverse();
    passages.retain(|passage| seen.insert(passage.clone()));
    let mut left = (max_tokens as usize * 4).saturating_sub(HEADING.len());
    let kept = passages.iter().take_while(|passage| {
        let cost = quarters(passage) + MARK.len() + 4;
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    });
    let mut lines: Vec<String> = kept.map(|passage| format!("- {MARK} {passage}")).collect();
    lines.reverse();
    (!lines.is_empty()).then(|| format!("{HEADING}\n{}", lines.join("\n")))
}

fn marked(previous: &str) -> impl Iterator<Item = String> + '_ {
    previous
        .lines()
        .filter_map(|line| line.trim_start_matches("- ").strip_prefix(MARK))
        .map(|text| text.trim().to_owned())
}

/// The paragraphs of speech and results that contain the topic.
fn matching<'a>(message: &'a Message, topic: &'a str) -> impl Iterator<Item = String> + 'a {
    let texts = message.content.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.clone()),
        Block::ToolResult(result) => Some(result.plain_text()),
        _ => None,
    });
    texts.flat_map(move |text| {
        let paragraphs = text.split('\n').filter(|paragraph| paragraph.to_lowercase().contains(topic));
        paragraphs.map(|paragraph| brief(paragraph, MAX_PASSAGE)).collect::<Vec<_>>()
    })
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
        assert_eq!(block(&task, 100), None);
        task.focus_topic = Some("SECURITY".into());
        let text = block(&task, 100).expect("matches");
        assert_eq!(text, "## Focus\n- *FOCUS* security scan: 0 issues\n- *FOCUS* Security first.");
        task.messages = [].into();
        task.previous = Some(text.clone());
        assert_eq!(block(&task, 100), Some(text));
        assert_eq!(block(&task, 12).map(|text| text.lines().count()), Some(2), "the newest stays");
        assert_eq!(block(&task, 1), None);
    }
}
