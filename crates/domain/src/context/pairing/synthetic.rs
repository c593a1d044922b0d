//! What is made up: the result of a call without one, and a message that can't be read any more.

use serde_json::json;

use crate::model::message::{Block, CallKind, Message, Role, ToolCall, ToolResult};
use crate::model::shape::{Shape, ShapeKind};

/// Answer to a call without a result.
pub const SYNTHETIC_RESULT: &str = "No result: this tool call was interrupted or its result was never recorded. \
     It is unknown whether it took effect.";

/// What it adds to a context, about: its words in the message of a result.
pub const STAND_IN_TOKENS: i64 = 31;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Estimator;
    use crate::tokens::count_message;

    #[test]
    fn a_stand_in_adds_what_is_said_of_it() {
        for estimator in [Estimator::O200k, Estimator::Cl100k, Estimator::Pi, Estimator::Praison] {
            let result = result("call_1".to_owned(), "read_file".to_owned());
            let content = vec![Block::ToolResult(result)];
            let message = Message { role: Role::Tool, content, stop: None, opaque: None };
            let counted = i64::from(count_message(estimator, &message).total);
            assert!((counted - STAND_IN_TOKENS).abs() <= 8, "{estimator:?}: {counted}");
        }
    }
}
