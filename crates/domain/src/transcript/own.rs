//! Texts of this service's own, as clients post them back: they stand for something, and nobody said them.
//!
//! Anybody may say what merely looks like one. So a text counts as ours only where it equals what a context of this very
//! session shows; everything else is speech.

use std::rc::Rc;

use serde_json::Value;

use super::calls::{is_call, is_id};
use super::lines::lines;
use super::media::medium;
use crate::context::pairing::SYNTHETIC_RESULT;
use crate::context::{elision, placeholder};
use crate::format::anthropic::OPENING;
use crate::format::openai_chat::{ATTACHED, ATTACHMENT_FOLLOWS};
use crate::format::openai_responses::shows_nothing;
use crate::format::outgoing;
use crate::format::refused::NO_WORDS;
use crate::model::message::{Block, Message, Role, ToolCall, ToolResult};

/// Returns true if the message is the opening of a context that would otherwise begin with an answer.
pub fn is_opening(message: &Message) -> bool {
    message.role == Role::User
        && matches!(message.content.as_slice(), [Block::Text { text, .. }] if text.trim() == OPENING)
}

/// How many blocks lead a user's message that are only attached to it: media of stored results, with a line that says
/// whose they are.
pub fn attachments(message: &Message, originals: &impl StoredCalls) -> usize {
    let mut own = 0;
    while let Some(Block::Text { text, .. }) = message.content.get(own) {
        let Some(id) = text.strip_prefix(ATTACHED).and_then(|rest| rest.strip_suffix(':')) else { break };
        let media = message.content[own + 1..].iter().take_while(|block| !matches!(block, Block::Text { .. })).count();
        let posted = &message.content[own + 1..=own + media];
        if posted.is_empty() || !originals.result(id).is_some_and(|stored| holds_media(&stored.result, posted)) {
            break;
        }
        own += media + 1;
    }
    own
}

/// Returns true if these blocks are media of the result, in its order.
fn holds_media(stored: &ToolResult, posted: &[Block]) -> bool {
    let mut stored = stored.content.iter();
    posted.iter().all(|block| match block {
        Block::Image { source } | Block::Document { source } => stored.any(|known| match known {
            Block::Image { source: known } | Block::Document { source: known } => medium(source) == medium(known),
            _ => false,
        }),
        other => stored.any(|known| known == other),
    })
}

/// Returns true if the result is one that the service makes up for a call without a result.
pub fn is_synthetic(result: &ToolResult) -> bool {
    result.plain_text().trim() == SYNTHETIC_RESULT || is_wordless(result)
}

/// Returns true if the result may be a made-up one that has no place for words, or the stored one shown shorter.
pub fn is_wordless(result: &ToolResult) -> bool {
    // A search that found nothing has not failed.
    emptied(result).is_some_and(|item| item.get("status").is_none_or(|status| status == "failed"))
}

/// An item without a place for words: made up or shown shorter, it shows nothing.
fn emptied(posted: &ToolResult) -> Option<&Value> {
    posted.opaque.as_ref().map(|opaque| &opaque.value).filter(|item| shows_nothing(item))
}

/// Returns true if a posted result says what the stored one does.
pub fn same_result(posted: &ToolResult, stored: &ToolResult) -> bool {
    let (posted, whole) = (posted.plain_text(), stored.plain_text());
    let says_nothing = posted.trim() == NO_WORDS && whole.trim().is_empty();
    let stand_ins = stand_ins(stored);
    let said = lines(without_pointer(&posted, stored)).filter(|line| !stand_ins.iter().any(|text| text == line));
    says_nothing || said.eq(lines(&whole))
}

/// The texts that may stand in a result in place of its media.
fn stand_ins(stored: &ToolResult) -> Vec<String> {
    let text = |block: &Block| match block {
        Block::Image { source } => Some(outgoing::media_stand_in("image", source)),
        Block::Document { source } => Some(outgoing::media_stand_in("document", source)),
        _ => None,
    };
    stored.content.iter().filter_map(text).collect()
}

/// Returns true if a posted result is shown in the place of the stored one.
pub fn stands_for(posted: &ToolResult, stored: &ToolResult, sizes: &[u32]) -> bool {
    let (posted_text, whole) = (posted.plain_text(), stored.plain_text());
    let original = placeholder::ReplacedResult { call_id: &stored.tool_call_id, text: &whole, sizes };
    emptied(posted).is_some() || placeholder::stands_for(without_pointer(&posted_text, stored), original)
}

/// The text without the line that points to media, which is ours where there are media.
fn without_pointer<'t>(text: &'t str, stored: &ToolResult) -> &'t str {
    let has_media = stored.content.iter().any(|block| !matches!(block, Block::Text { .. }));
    let own = has_media.then(|| text.trim_end().strip_suffix(ATTACHMENT_FOLLOWS)).flatten();
    own.filter(|rest| rest.is_empty() || rest.ends_with('\n')).unwrap_or(text)
}

/// A stored result, and the sizes in tokens that contexts gave it when they left it out.
pub struct StoredResult {
    pub result: ToolResult,
    pub sizes: Vec<u32>,
}

/// The stored calls and results, by id.
pub trait StoredCalls {
    fn call(&self, id: &str) -> Option<Rc<ToolCall>>;
    fn result(&self, id: &str) -> Option<Rc<StoredResult>>;
    /// Returns true if the session holds a call of this id, on whatever branch.
    fn is_known(&self, id: &str) -> bool;
}

/// The message without made-up results, and with the originals of what is shown shorter. `None`: nothing of this kind
/// is in it.
pub fn whole_again(message: &Message, originals: &impl StoredCalls) -> Option<Message> {
    let mut changed = false;
    let mut content = Vec::with_capacity(message.content.len());
    for block in &message.content {
        match block {
            Block::ToolResult(result) => {
                if let Some(whole) = original_of(result, originals) {
                    changed = true;
                    content.push(Block::ToolResult(whole));
                    continue;
                }
                // Only a call that this session holds can have been shown with a result that nobody gave.
                if is_synthetic(result) && originals.is_known(&result.tool_call_id) {
                    changed = true;
                    continue;
                }
            }
            Block::ToolCall(call) => {
                let found = elision::arguments::is_shortened(call).then(|| originals.call(&call.id)).flatten();
                if let Some(found) = found.filter(|found| is_shortened(call, found)) {
                    changed = true;
                    let whole = ToolCall { arguments: found.arguments.clone(), arguments_text: None, ..call.clone() };
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

/// The posted result with the words that it stands for. One that merely quotes a marker stands for none.
fn original_of(posted: &ToolResult, originals: &impl StoredCalls) -> Option<ToolResult> {
    let text = posted.plain_text();
    let id = match emptied(posted) {
        Some(_) => &posted.tool_call_id,
        None if text.trim() == placeholder::ELIDED => &posted.tool_call_id,
        None => placeholder::named_call(&text, |id| is_id(&posted.tool_call_id, id))?,
    };
    let stored = originals.result(id).filter(|stored| stands_for(posted, &stored.result, &stored.sizes))?;
    let opaque = emptied(posted).and(stored.result.opaque.clone());
    Some(ToolResult { content: stored.result.content.clone(), opaque, ..posted.clone() })
}

fn is_shortened(posted: &ToolCall, stored: &ToolCall) -> bool {
    posted.arguments != stored.arguments && is_call(posted, stored)
}
