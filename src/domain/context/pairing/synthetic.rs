//! The result that is made up for a call without one.

use crate::domain::model::message::{Block, CallKind, ToolResult};

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
