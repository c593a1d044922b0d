//! Texts of this service's own, as clients post them back: they stand for something, and nobody said them.

use crate::domain::format::anthropic::OPENING;
use crate::domain::format::openai_chat::{ATTACHED, ATTACHMENT_FOLLOWS};
use crate::domain::mask;
use crate::domain::message::{Block, Message, ToolResult};
use crate::domain::pairing::SYNTHETIC_RESULT;
use crate::domain::summary::framing;

/// Whether a message is nothing but what this service put into a context.
pub fn is_own(message: &Message) -> bool {
    let mut texts = message.content.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let Some(first) = texts.next() else { return false };
    framing::is_framed(first) || first.trim() == OPENING || first.starts_with(ATTACHED)
}

/// Whether two texts say the same: white space at the ends of lines and blank lines aside.
pub fn same_text(one: &str, other: &str) -> bool {
    lines(one).eq(lines(other))
}

/// The lines of a text that say something.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_end).filter(|line| !line.is_empty() && *line != ATTACHMENT_FOLLOWS)
}

/// Whether the result is one that the service made up for a call without a result.
pub fn is_synthetic(result: &ToolResult) -> bool {
    result.plain_text().trim() == SYNTHETIC_RESULT
}

/// Whether the result stands for an original that is stored.
pub fn stands_for_another(result: &ToolResult) -> bool {
    mask::is_placeholder(&result.plain_text())
}

/// The message without made-up results, and with the originals of elided ones as `original` finds them by call id; one
/// that is not found goes. `None`: nothing of this kind is in it.
pub fn without_own_results(message: &Message, original: impl Fn(&str) -> Option<ToolResult>) -> Option<Message> {
    if !message.tool_results().any(|result| is_synthetic(result) || stands_for_another(result)) {
        return None;
    }
    let mut mended = message.clone();
    mended.content = message
        .content
        .iter()
        .filter_map(|block| match block {
            Block::ToolResult(result) if is_synthetic(result) => None,
            Block::ToolResult(result) if stands_for_another(result) => {
                let found = original(&result.tool_call_id)?;
                Some(Block::ToolResult(ToolResult { content: found.content, opaque: None, ..result.clone() }))
            }
            other => Some(other.clone()),
        })
        .collect();
    Some(mended)
}
