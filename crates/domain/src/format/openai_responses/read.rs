//! A stored Responses item into a normalised message.

use serde_json::Value;

use super::tools::{self, AgentTool};
use super::{MAX_ID, MAX_NAME, opaque, parts};
use crate::format::field::{object, required_string, string};
use crate::format::keys::{Object, fail, only, without};
use crate::format::outgoing::is_word;
use crate::model::approval::{self, McpApproval};
use crate::model::entry_type::EntryType;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::json;
use crate::model::message::{Block, CallKind, Message, Opaque, Role, Stop, ToolCall, ToolResult};

const FORMAT: Format = Format::OpenaiResponses;

/// Reads one item. A type that is not known is kept whole as the assistant's.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let item = object(value, "")?;
    let mut needs_repair = false;
    let message = match string(item, "type", "")?.map(str::to_owned).as_deref() {
        Some("message") | None => read_message(item, &mut needs_repair)?,
        Some("") => return fail("/type", "is empty"),
        Some(kind) => read_typed(item, kind, &mut needs_repair)?,
    };
    Ok(Item {
        kind: EntryType::Message,
        source_id: string(item, "id", "")?.map(str::to_owned),
        source_parent: None,
        usage: None,
        stop: message.stop,
        message: Some(message),
        needs_repair,
    })
}

fn read_typed(item: &Object, kind: &str, needs_repair: &mut bool) -> Result<Message, ItemError> {
    let assistant = |block| Ok(Message::new(Role::Assistant, vec![block]));
    let tool = |block| Ok(Message::new(Role::Tool, vec![block]));
    match kind {
        "function_call" => assistant(read_call(item, "arguments", CallKind::Function, needs_repair)?),
        "custom_tool_call" => assistant(read_call(item, "input", CallKind::Custom, needs_repair)?),
        "function_call_output" => tool(read_output(item, CallKind::Function, needs_repair)?),
        "custom_tool_call_output" => tool(read_output(item, CallKind::Custom, needs_repair)?),
        "reasoning" => assistant(read_reasoning(item)?),
        "agent_message" => Ok(read_agent_message(item)),
        // What holds for all that follows, until another takes its place.
        "additional_tools" | "configuration_update" => {
            Ok(Message::new(Role::System, vec![Block::Raw(opaque(item.clone()))]))
        }
        approval::RESPONSE => Ok(Message::new(Role::User, vec![read_approval(item)])),
        _ => {
            if let Some(tool) = AgentTool::by_call(kind) {
                return assistant(Block::ToolCall(read_agent_call(item, tool)?));
            }
            if let Some(tool) = AgentTool::by_output(kind) {
                let result = read_agent_output(item, tool)?;
                let role = if result.kind == CallKind::Server { Role::Assistant } else { Role::Tool };
                return Ok(Message::new(role, vec![Block::ToolResult(result)]));
            }
            Ok(match read_hosted(item, kind) {
                Some(blocks) => Message::new(Role::Assistant, blocks),
                None => Message::new(Role::Assistant, vec![Block::Raw(opaque(item.clone()))]),
            })
        }
    }
}

/// What another agent says to this one. Its words stand in an element that names it, for readers who know no such item.
fn read_agent_message(item: &Object) -> Message {
    let read = |part: &Value| {
        parts::read(part, Role::User, "", &mut false)
            .unwrap_or_else(|_| Block::Raw(Opaque { format: FORMAT, value: part.clone() }))
    };
    let content: Vec<Block> = match item.get("content") {
        Some(Value::Array(parts)) => parts.iter().map(read).collect(),
        Some(Value::String(text)) => vec![Block::text(text)],
        _ => Vec::new(),
    };
    let of = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().replace('"', "'");
    let open = format!("<agent_message author=\"{}\" recipient=\"{}\">", of("author"), of("recipient"));
    let told = |block: Block| match block {
        Block::Text { text, .. } => Block::text(format!("{open}\n{text}\n</agent_message>")),
        other => other,
    };
    let content = content.into_iter().map(told).collect();
    Message { role: Role::User, content, stop: None, opaque: Some(opaque(item.clone())) }
}

fn read_message(item: &Object, needs_repair: &mut bool) -> Result<Message, ItemError> {
    let role = match required_string(item, "role", "")? {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return fail("/role", "expected system, developer, user or assistant"),
    };
    let content = match item.get("content") {
        None => return fail("/content", "missing"),
        Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![Block::text(text)],
        Some(Value::Array(list)) => read_parts(list, role, "/content", needs_repair)?,
        Some(_) => return fail("/content", "expected a string or a list of parts"),
    };
    let says = |block: &Block| !matches!(block, Block::Text { text, .. } if text.is_empty());
    *needs_repair |= !content.iter().any(says);
    let mut around = without(item, &["content"]);
    if item.get("content").is_some_and(Value::is_string) {
        around.insert("content".into(), "".into());
    }
    let incomplete = item.get("status").is_some_and(|status| *status == "incomplete");
    let stop = (role == Role::Assistant && incomplete).then_some(Stop::Length);
    Ok(Message { role, content, stop, opaque: Some(opaque(around)) })
}

fn read_parts(list: &[Value], role: Role, pointer: &str, needs_repair: &mut bool) -> Result<Vec<Block>, ItemError> {
    let mut read = Vec::with_capacity(list.len());
    for (index, part) in list.iter().enumerate() {
        read.push(parts::read(part, role, &format!("{pointer}/{index}"), needs_repair)?);
    }
    Ok(read)
}

fn read_call(item: &Object, key: &str, kind: CallKind, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let id = required_string(item, "call_id", "")?.to_owned();
    let name = required_string(item, "name", "")?.to_owned();
    let text = required_string(item, key, "")?.to_owned();
    *needs_repair |= id.is_empty() || id.len() > MAX_ID || !is_word(&name, MAX_NAME);
    let arguments = match kind {
        CallKind::Custom => Value::from(text.as_str()),
        _ => json::parse_lenient(&text).unwrap_or_else(|_| {
            *needs_repair = true;
            text.as_str().into()
        }),
    };
    let simple = only(item, &["type", "call_id", "name", key]);
    let around = (!simple).then(|| opaque(without(item, &["call_id", "name", key])));
    Ok(Block::ToolCall(ToolCall { id, name, arguments, arguments_text: Some(text), kind, opaque: around }))
}

fn read_output(item: &Object, kind: CallKind, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let id = required_string(item, "call_id", "")?.to_owned();
    *needs_repair |= id.is_empty() || id.len() > MAX_ID;
    let output = item.get("output").unwrap_or(&Value::Null);
    let content = match output {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Block::text(text)],
        Value::Array(list) => read_parts(list, Role::User, "/output", needs_repair)?,
        Value::Object(part) => {
            *needs_repair = true;
            match part.get("text").and_then(Value::as_str) {
                Some(text) => vec![Block::text(text)],
                None => vec![Block::text(output.to_string())],
            }
        }
        Value::Null => return fail("/output", "missing"),
        _ => return fail("/output", "expected a string or a list of parts"),
    };
    let mut around = without(item, &["call_id", "output"]);
    if output.is_array() {
        around.insert("output".into(), Value::Array(Vec::new()));
    }
    let opaque = (!only(&around, &["type"])).then(|| opaque(around));
    Ok(Block::ToolResult(ToolResult { tool_call_id: id, name: None, content, is_error: false, kind, opaque }))
}

fn read_reasoning(item: &Object) -> Result<Block, ItemError> {
    let mut texts: Vec<&str> = Vec::new();
    for key in ["summary", "content"] {
        match item.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Array(parts)) => texts.extend(parts.iter().filter_map(|part| part["text"].as_str())),
            Some(_) => return fail(format!("/{key}"), "expected a list of parts"),
        }
    }
    Ok(Block::Thinking { text: texts.join("\n"), opaque: Some(opaque(item.clone())) })
}

fn read_agent_call(item: &Object, tool: &AgentTool) -> Result<ToolCall, ItemError> {
    let (id, kind) = agent_call_id(item, &["call_id"])?;
    Ok(ToolCall {
        id,
        name: tool.name.to_owned(),
        arguments: tool.arguments(item),
        arguments_text: None,
        kind,
        opaque: Some(opaque(item.clone())),
    })
}

fn read_agent_output(item: &Object, tool: &AgentTool) -> Result<ToolResult, ItemError> {
    // The output of a local shell call names its call by `id`.
    let keys: &[&str] = if tool.name == "local_shell" { &["call_id", "id"] } else { &["call_id"] };
    let (id, kind) = agent_call_id(item, keys)?;
    Ok(ToolResult {
        tool_call_id: id,
        name: Some(tool.name.to_owned()),
        content: tool.content(item),
        is_error: item.get("status").is_some_and(|status| *status == "failed"),
        kind,
        opaque: Some(opaque(item.clone())),
    })
}

/// A tool search that OpenAI ran itself can lack the id; any other call has one.
fn agent_call_id(item: &Object, keys: &[&str]) -> Result<(String, CallKind), ItemError> {
    for key in keys {
        if let Some(id) = string(item, key, "")?.map(str::to_owned) {
            let server = item.get("execution").is_some_and(|execution| *execution == "server");
            return Ok((id, if server { CallKind::Server } else { CallKind::Function }));
        }
    }
    match item.contains_key("execution") {
        true => Ok((String::new(), CallKind::Server)),
        false => fail("/call_id", "missing"),
    }
}

/// A refusal is the end of the call that waited for it. Leave to run it is none: the result is to come.
fn read_approval(item: &Object) -> Block {
    let whole = opaque(item.clone());
    let Some(refusal) = McpApproval::of(&whole).filter(|answer| !answer.is_given) else { return Block::Raw(whole) };
    let (tool_call_id, content) = (refusal.request.to_owned(), refusal.reason.map(Block::text).into_iter().collect());
    let (kind, opaque) = (CallKind::Server, Some(whole));
    Block::ToolResult(ToolResult { tool_call_id, name: None, content, is_error: true, kind, opaque })
}

fn read_hosted(item: &Object, kind: &str) -> Option<Vec<Block>> {
    let (name, arguments) = tools::hosted_call(kind, item)?;
    let of = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (id, request, own) = (of("id"), of(approval::REQUEST_ID), Some(opaque(item.clone())));
    let waits = kind == approval::REQUEST;
    if waits && id.is_empty() {
        return None;
    }
    let (content, is_error) = tools::hosted_result(kind, item);
    let result = |tool_call_id: String, name: Option<String>, opaque: Option<Opaque>| {
        Block::ToolResult(ToolResult { tool_call_id, name, content, is_error, kind: CallKind::Server, opaque })
    };
    if !request.is_empty() {
        // The call stands where it was asked for.
        return Some(vec![result(request, Some(name), own)]);
    }
    let (kind, opaque) = (CallKind::Server, own);
    let call = ToolCall { id: id.clone(), name, arguments, arguments_text: None, kind, opaque };
    let mut blocks = vec![Block::ToolCall(call)];
    if !waits {
        blocks.push(result(id, None, None));
    }
    Some(blocks)
}
