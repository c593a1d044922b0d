//! What of a message nobody needs who tells of it.

use serde_json::{Value, json};

use super::ending;
use crate::model::approval::McpApproval;
use crate::model::message::{Block, Message};

/// Takes out of a message what no summariser reads: the bytes of media, and what providers keep for a replay.
pub fn strip(message: &mut Message) {
    message.opaque = None;
    message.content.iter_mut().for_each(strip_block);
    message.content.shrink_to_fit();
}

fn strip_block(block: &mut Block) {
    match block {
        Block::Text { opaque, .. } | Block::Thinking { opaque, .. } => *opaque = None,
        Block::Image { source } | Block::Document { source } => {
            (source.data, source.opaque) = (None, None);
        }
        Block::ToolCall(call) => (call.arguments_text, call.opaque) = (None, None),
        Block::ToolResult(result) => {
            result.opaque = result.opaque.take().and_then(ending::kept);
            result.content.iter_mut().for_each(strip_block);
            result.content.shrink_to_fit();
        }
        Block::Raw(opaque) => {
            let kind = opaque.value.get("type").and_then(Value::as_str);
            let named = || kind.map_or(Value::Null, |kind| json!({ "type": kind }));
            opaque.value = McpApproval::of(opaque).map_or_else(named, McpApproval::kept);
        }
    }
}
