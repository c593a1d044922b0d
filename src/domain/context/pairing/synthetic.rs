//! What is made up: the result of a call without one, and a message that can't be read any more.

use serde_json::json;

use crate::domain::model::message::{Block, CallKind, Message, Role, ToolCall, ToolResult};
use crate::domain::model::shape::{Shape, ShapeKind};

/// Answer to a call without a result.
pub const SYNTHETIC_RESULT: &str = "No result: this tool call was interrupted or its result was never recorded. \
     It is unknown whether it took effect.";

/// The result of a call of this id and tool.
pub(super) fn result(tool_call_id: String, name: String) -> ToolResult {
    ToolResult {
        tool_call_id,
        name: Some(name),
        content: vec![Block::Text { text: SYNTHETIC_RESULT.to_owned(), opaque: None }],
        is_error: true,
        kind: CallKind::Function,
        opaque: None,
    }
}

/// A message with the calls that the shape remembers and nothing else.
pub(super) fn stand_in(role: Role, shape: &Shape) -> Message {
    let calls = shape.calls.iter().filter(|call| call.kind == ShapeKind::Function).map(|call| {
        Block::ToolCall(ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: json!({}),
            arguments_text: None,
            kind: CallKind::Function,
            opaque: None,
        })
    });
    Message { role, content: calls.collect(), stop: None, opaque: None }
}
