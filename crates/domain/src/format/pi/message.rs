//! pi's messages: read into normalised ones, and shown to providers that know no such roles.

use serde_json::Value;

use super::run;
use crate::model::entry_type::EntryType;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::message::{Block, CallKind, Media, Message, Opaque, Role, Stop, ToolCall, ToolResult};
use crate::model::usage::ReportedUsage;

/// Reads the `message` of an entry into the item. A role that pi itself would not show to a model leaves no message.
pub fn read(value: Option<&Value>, item: &mut Item) -> Result<(), ItemError> {
    let value =
        value.filter(|value| value.is_object()).ok_or_else(|| ItemError::new("/message", "must be an object"))?;
    let role =
        value.get("role").and_then(Value::as_str).ok_or_else(|| ItemError::new("/message/role", "must be a string"))?;
    item.kind = EntryType::Message;
    let spoken = |role| Ok(Some(Message { role, content: message_content(value)?, stop: None, opaque: None }));
    item.message = match role {
        "user" => spoken(Role::User)?,
        "system" => spoken(Role::System)?,
        "custom" | "hookMessage" => spoken(Role::Custom)?,
        "assistant" => {
            item.stop = value.get("stopReason").and_then(Value::as_str).and_then(stop);
            item.usage = value.get("usage").and_then(usage);
            spoken(Role::Assistant)?.map(|message| Message { stop: item.stop, ..message })
        }
        "toolResult" => Some(tool_result(value)?),
        "bashExecution" => Some(run::read(value)),
        "branchSummary" => summary_message(Role::BranchSummary, value),
        "compactionSummary" => summary_message(Role::CompactionSummary, value),
        _ => None,
    };
    Ok(())
}

/// The summary that an entry or a message holds, as a message. `None`: there is none, or it is empty.
pub(super) fn summary_message(role: Role, value: &Value) -> Option<Message> {
    let summary = value.get("summary").and_then(Value::as_str).filter(|summary| !summary.is_empty())?;
    Some(Message { role, content: vec![Block::text(summary.to_owned())], stop: None, opaque: None })
}

/// A `content`: a string, or a list of blocks. Missing content is an empty list.
pub fn content(value: Option<&Value>, pointer: &str) -> Result<Vec<Block>, ItemError> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Block::text(text.clone())]),
        Some(Value::Array(blocks)) => Ok(blocks.iter().map(block).collect()),
        Some(_) => Err(ItemError::new(pointer, "must be a string or a list of blocks")),
    }
}

fn message_content(value: &Value) -> Result<Vec<Block>, ItemError> {
    content(value.get("content"), "/message/content")
}

fn block(value: &Value) -> Block {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let known = match value.get("type").and_then(Value::as_str) {
        Some("text") => text("text").map(Block::text),
        Some("thinking") => text("thinking").map(|text| Block::Thinking { text, opaque: signature(value) }),
        Some("image") => Some(Block::Image {
            source: Media { media_type: text("mimeType"), data: text("data"), ..Media::default() },
        }),
        Some("toolCall") => Some(Block::ToolCall(ToolCall {
            id: text("id").unwrap_or_default(),
            name: text("name").unwrap_or_default(),
            arguments: value.get("arguments").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new())),
            arguments_text: None,
            kind: CallKind::Function,
            opaque: value.get("thoughtSignature").map(|_| opaque(value)),
        })),
        _ => None,
    };
    known.unwrap_or_else(|| Block::Raw(opaque(value)))
}

fn signature(value: &Value) -> Option<Opaque> {
    (value.get("thinkingSignature").is_some() || value.get("redacted").is_some()).then(|| opaque(value))
}

fn opaque(value: &Value) -> Opaque {
    Opaque { format: Format::Pi, value: value.clone() }
}

fn tool_result(value: &Value) -> Result<Message, ItemError> {
    let call_id = value.get("toolCallId").and_then(Value::as_str);
    let result = ToolResult {
        tool_call_id: call_id.ok_or_else(|| ItemError::new("/message/toolCallId", "must be a string"))?.to_owned(),
        name: value.get("toolName").and_then(Value::as_str).map(str::to_owned),
        content: message_content(value)?,
        is_error: value.get("isError").and_then(Value::as_bool).unwrap_or(false),
        kind: CallKind::Function,
        opaque: None,
    };
    Ok(Message { role: Role::Tool, content: vec![Block::ToolResult(result)], stop: None, opaque: None })
}

fn usage(value: &Value) -> Option<ReportedUsage> {
    let count = |key: &str| value.get(key).and_then(Value::as_u64);
    value.is_object().then(|| ReportedUsage {
        input: count("input").unwrap_or(0),
        output: count("output").unwrap_or(0),
        cache_read: count("cacheRead").unwrap_or(0),
        cache_write: count("cacheWrite").unwrap_or(0),
        total: count("totalTokens").filter(|total| *total > 0),
    })
}

fn stop(reason: &str) -> Option<Stop> {
    match reason {
        "stop" => Some(Stop::End),
        "length" => Some(Stop::Length),
        "toolUse" => Some(Stop::ToolUse),
        "aborted" => Some(Stop::Aborted),
        "error" => Some(Stop::Error),
        _ => None,
    }
}

/// A message as a provider outside pi is shown it: shell runs, extension texts and summaries speak as the user.
/// `None`: the user kept the run to himself. Messages of the common roles come back as they are.
pub fn for_provider(message: Message) -> Option<Message> {
    if run::is_excluded_run(&message) {
        return None;
    }
    let lead = match message.role {
        Role::BranchSummary => Some("Summary of another branch of this conversation, which was left:"),
        Role::BashExecution | Role::Custom | Role::CompactionSummary => None,
        _ => return Some(message),
    };
    let lead = lead.map(|text| Block::text(text.to_owned()));
    let content = lead.into_iter().chain(message.content).collect();
    Some(Message { role: Role::User, content, stop: None, opaque: None })
}
