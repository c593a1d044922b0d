//! Tools that Anthropic runs itself: call and result stand in the assistant's own turn, which a pause or a client
//! tool can spread over several messages.

use std::collections::HashSet;

use serde_json::Value;

use crate::domain::format::write::Piece;
use crate::domain::model::message::{Block, CallKind, Role};

/// Returns true if a message has a server call without its result or the reverse. Only the writer can say what becomes
/// of the lone half: that depends on the messages around it.
pub fn has_unpaired(content: &[Block]) -> bool {
    let mut open = HashSet::new();
    for block in content {
        match server_id(block) {
            Some((id, Half::Call)) => drop(open.insert(id)),
            Some((id, Half::Result)) if !open.remove(id) => return true,
            _ => {}
        }
    }
    !open.is_empty()
}

/// The ids of the server calls that may be sent: those with a result further on, and those of a turn that is
/// still paused at the end of the context.
pub fn sendable<'p>(pieces: &'p [Piece<'_>]) -> HashSet<&'p str> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut whole: HashSet<&str> = HashSet::new();
    for piece in pieces {
        let Piece::Message { message, .. } = piece else {
            if !open.is_empty() && ends_turn(piece) {
                open.clear();
            }
            continue;
        };
        if ends_turn(piece) {
            open.clear();
        }
        for block in &message.content {
            match server_id(block) {
                Some((id, Half::Call)) => drop(open.insert(id)),
                Some((id, Half::Result)) if open.remove(id) => drop(whole.insert(id)),
                _ => {}
            }
        }
    }
    whole.extend(open);
    whole
}

#[derive(PartialEq)]
enum Half {
    Call,
    Result,
}

fn server_id(block: &Block) -> Option<(&str, Half)> {
    match block {
        Block::ToolCall(call) if call.kind == CallKind::Server => Some((&call.id, Half::Call)),
        Block::ToolResult(result) if result.kind == CallKind::Server => Some((&result.tool_call_id, Half::Result)),
        _ => None,
    }
}

/// A turn ends where anything but the assistant or tool results speaks.
fn ends_turn(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Message { message, .. } => !matches!(message.role, Role::Assistant | Role::Tool),
        Piece::Verbatim { item, .. } => {
            let Ok(item) = serde_json::from_str::<Value>(item) else { return true };
            let is_result = |block: &Value| block["type"] == "tool_result";
            let results_only = item["content"].as_array().is_some_and(|blocks| blocks.iter().all(is_result));
            item["role"] != "assistant" && !results_only
        }
    }
}
