//! Texts of this service's own, as clients post them back: they stand for something, and nobody said them.

use super::atoms::{is_call, is_id};
use crate::domain::format::anthropic::OPENING;
use crate::domain::format::openai_chat::{ATTACHED, ATTACHMENT_FOLLOWS};
use crate::domain::mask;
use crate::domain::message::{Block, Message, Role, ToolCall, ToolResult};
use crate::domain::pairing::SYNTHETIC_RESULT;
use crate::domain::summary::framing;

/// Whether a message is nothing but what this service put into a context.
pub fn is_own(message: &Message) -> bool {
    // What stands for others is never put into the agent's mouth.
    if message.role == Role::Assistant {
        return false;
    }
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

/// The call whose stored result this one stands for, by the name that its marker gives it. A result that merely quotes
/// the marker of another call stands for none.
pub fn named_call(result: &ToolResult) -> Option<String> {
    let text = result.plain_text();
    mask::named_call(&text, |id| is_id(&result.tool_call_id, id)).map(str::to_owned)
}

/// Whether the result stands for the stored one of this call.
pub fn stands_for(result: &ToolResult, call_id: &str) -> bool {
    mask::named_call(&result.plain_text(), |id| id == call_id).is_some()
}

/// The stored calls and results, by id.
pub trait Originals {
    fn call(&self, id: &str) -> Option<ToolCall>;
    fn result(&self, id: &str) -> Option<ToolResult>;
}

/// The message without made-up results, and with the originals of what is shown shorter. `None`: nothing of this kind
/// is in it.
pub fn whole_again(message: &Message, originals: &impl Originals) -> Option<Message> {
    let mut changed = false;
    let mut content = Vec::with_capacity(message.content.len());
    for block in &message.content {
        match block {
            Block::ToolResult(result) if is_synthetic(result) => {
                changed = true;
                continue;
            }
            Block::ToolResult(result) => {
                if let Some(found) = named_call(result).and_then(|id| originals.result(&id)) {
                    changed = true;
                    let whole = ToolResult { content: found.content, opaque: None, ..result.clone() };
                    content.push(Block::ToolResult(whole));
                    continue;
                }
            }
            Block::ToolCall(call) => {
                if let Some(found) = originals.call(&call.id).filter(|found| is_shortened(call, found)) {
                    changed = true;
                    let whole = ToolCall { arguments: found.arguments, arguments_text: None, ..call.clone() };
                    content.push(Block::ToolCall(whole));
                    continue;
                }
            }
            _ => {}
        }
        content.push(block.clone());
    }
    changed.then(|| Message { content, ..message.clone() })
}

fn is_shortened(posted: &ToolCall, stored: &ToolCall) -> bool {
    posted.arguments != stored.arguments && is_call(posted, stored) && mask::arguments::is_shortened(posted)
}
