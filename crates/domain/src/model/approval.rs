//! What the user answers where a call of an MCP server waits for approval (OpenAI Responses, as of November 2026): the item
//! `mcp_approval_request` asks for the call, `mcp_approval_response` names it, and an approved call comes as `mcp_call` that
//! names the request.

use serde_json::{Value, json};

use super::format::Format;
use super::message::{Block, Message, Opaque, ToolResult};

pub const REQUEST: &str = "mcp_approval_request";
pub const RESPONSE: &str = "mcp_approval_response";
/// Where an answer, and a call that was approved, name what asked.
pub const REQUEST_ID: &str = "approval_request_id";

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpApproval<'v> {
    /// The call that it is about.
    pub request: &'v str,
    pub is_given: bool,
    /// The user's words on it.
    pub reason: Option<&'v str>,
}

impl<'v> McpApproval<'v> {
    /// `None`: the JSON is another thing, or does not say what it answers.
    pub fn of(opaque: &'v Opaque) -> Option<McpApproval<'v>> {
        let item = &opaque.value;
        if opaque.format != Format::OpenaiResponses || item["type"] != RESPONSE {
            return None;
        }
        let request = item[REQUEST_ID].as_str().filter(|id| !id.is_empty())?;
        let reason = item["reason"].as_str().map(str::trim).filter(|reason| !reason.is_empty());
        Some(McpApproval { request, is_given: item["approve"].as_bool()?, reason })
    }

    /// The answer as JSON, without what nobody needs who tells of it.
    pub fn kept(self) -> Value {
        json!({"type": RESPONSE, REQUEST_ID: self.request, "approve": self.is_given, "reason": self.reason})
    }
}

/// The answers of a message that let a call run. Those that refuse one stand as its result.
pub fn given(message: &Message) -> impl Iterator<Item = McpApproval<'_>> {
    message.content.iter().filter_map(answer).filter(|answer| answer.is_given)
}

/// Returns true if a message is answers of this kind and nothing else: it asks for nothing.
pub fn is_all_of(message: &Message) -> bool {
    !message.content.is_empty() && message.content.iter().all(|block| answer(block).is_some())
}

/// Returns true if a result is the user's refusal of the call.
pub fn is_refusal(result: &ToolResult) -> bool {
    result.opaque.as_ref().and_then(McpApproval::of).is_some_and(|answer| !answer.is_given)
}

fn answer(block: &Block) -> Option<McpApproval<'_>> {
    match block {
        Block::Raw(opaque) => McpApproval::of(opaque),
        _ => None,
    }
}
