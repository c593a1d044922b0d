//! Messages for tests.

use serde_json::json;

use crate::model::message::{Block, Message, Role, ToolCall, ToolResult};

pub fn said(role: Role, text: &str) -> Message {
    Message::text(role, text)
}

/// A call with a `command`; of a tool whose name says that it reads or writes, with a `path`.
pub fn call(id: &str, name: &str, argument: &str) -> Message {
    let argument_name = if name == "bash" { "command" } else { "path" };
    call_with(id, name, json!({ argument_name: argument }))
}

pub fn call_with(id: &str, name: &str, arguments: serde_json::Value) -> Message {
    let call = ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        arguments_text: None,
        kind: Default::default(),
        opaque: None,
    };
    Message::new(Role::Assistant, vec![Block::ToolCall(call)])
}

pub fn result(id: &str, text: &str) -> Message {
    flagged(id, text, false)
}

pub fn flagged(id: &str, text: &str, is_error: bool) -> Message {
    let result = ToolResult {
        tool_call_id: id.to_owned(),
        name: None,
        content: vec![Block::text(text)],
        is_error,
        kind: Default::default(),
        opaque: None,
    };
    Message::new(Role::Tool, vec![Block::ToolResult(result)])
}
