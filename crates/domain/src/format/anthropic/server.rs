//! Tools that Anthropic runs itself: call and result stand in the assistant's own turn, which a pause or a client
//! tool can spread over several messages.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use crate::format::write::Piece;
use crate::model::json;
use crate::model::message::{Block, CallKind, Role};

/// Returns true if a result stands before its call in one message. Whether one half is there alone depends on the messages
/// around it.
pub fn is_out_of_order(content: &[Block]) -> bool {
    let mut answered = HashSet::new();
    content.iter().filter_map(server_id).any(|(id, half)| match half {
        Half::Result => !answered.insert(id),
        Half::Call => answered.contains(id),
    })
}

/// The ids of the server calls that may be sent: those with a result further on, and those of a turn that is
/// still paused at the end of the context.
pub fn sendable<'p>(pieces: &'p [Piece<'_>]) -> HashSet<Cow<'p, str>> {
    let mut halves = Halves::default();
    for piece in pieces {
        match piece {
            Piece::Message { message, .. } => {
                if !matches!(message.role, Role::Assistant | Role::Tool) {
                    halves.open.clear();
                }
                let found = message.content.iter().filter_map(server_id);
                found.for_each(|(id, half)| halves.take(Cow::Borrowed(id), half));
            }
            Piece::Verbatim { item, .. } => {
                let holds = ["_tool_use\"", "_tool_result\""].iter().any(|sign| item.contains(sign));
                if holds || !halves.open.is_empty() {
                    halves.take_stored(item);
                }
            }
        }
    }
    halves.whole.extend(halves.open);
    halves.whole
}

/// The ids of calls that wait for their results, and of those that have them.
#[derive(Default)]
struct Halves<'p> {
    open: HashSet<Cow<'p, str>>,
    whole: HashSet<Cow<'p, str>>,
}

impl<'p> Halves<'p> {
    fn take(&mut self, id: Cow<'p, str>, half: Half) {
        match half {
            Half::Call => drop(self.open.insert(id)),
            Half::Result if self.open.remove(&id) => drop(self.whole.insert(id)),
            Half::Result => {}
        }
    }

    /// A message as it came.
    fn take_stored(&mut self, item: &str) {
        let message = json::parse_lenient(item).unwrap_or_default();
        let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_result = |block: &Value| block["type"] == "tool_result";
        // A turn ends where anything but the assistant or tool results speaks.
        let goes_on = message["role"] == "assistant" || !blocks.is_empty() && blocks.iter().all(is_result);
        if !goes_on {
            self.open.clear();
        }
        for (id, half) in blocks.iter().filter_map(stored_half) {
            self.take(Cow::Owned(id.to_owned()), half);
        }
    }
}

enum Half {
    Call,
    Result,
}

fn stored_half(block: &Value) -> Option<(&str, Half)> {
    let id = |key: &str| block.get(key).and_then(Value::as_str);
    match block.get("type")?.as_str()? {
        "server_tool_use" | "mcp_tool_use" => Some((id("id")?, Half::Call)),
        kind if kind.ends_with("_tool_result") => Some((id("tool_use_id")?, Half::Result)),
        _ => None,
    }
}

fn server_id(block: &Block) -> Option<(&str, Half)> {
    match block {
        Block::ToolCall(call) if call.kind == CallKind::Server => Some((&call.id, Half::Call)),
        Block::ToolResult(result) if result.kind == CallKind::Server => Some((&result.tool_call_id, Half::Result)),
        _ => None,
    }
}
