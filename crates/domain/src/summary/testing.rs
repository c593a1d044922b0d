//! Helpers that the tests of this part share: settings, message builders and real transcripts.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Map, Value};

use crate::data::Source;
use crate::format;
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Message, Role, ToolCall, ToolResult};
use crate::settings::*;
use crate::summary::{SummaryPart, SummaryTask, USUAL_ROOM};

pub fn settings() -> Settings {
    let auto = resolve(&Map::new(), &Map::new(), None).expect("settings");
    Settings { estimator: Estimator::Pi, preserve_recent: 5, file_tools: BTreeMap::new(), ..auto }
}

pub fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

pub fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

pub fn call(id: &str, name: &str, arguments: Value) -> Message {
    Message {
        role: Role::Assistant,
        content: vec![Block::ToolCall(tool_call(id, name, arguments))],
        stop: None,
        opaque: None,
    }
}

pub fn result(id: &str, text: &str) -> Message {
    Message {
        role: Role::Tool,
        content: vec![Block::ToolResult(tool_result(id, text, false))],
        stop: None,
        opaque: None,
    }
}

pub fn failed(id: &str, text: &str) -> Message {
    Message {
        role: Role::Tool,
        content: vec![Block::ToolResult(tool_result(id, text, true))],
        stop: None,
        opaque: None,
    }
}

fn tool_call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        arguments_text: None,
        kind: CallKind::Function,
        opaque: None,
    }
}

fn tool_result(id: &str, text: &str, is_error: bool) -> ToolResult {
    ToolResult {
        tool_call_id: id.into(),
        name: None,
        content: vec![Block::text(text)],
        is_error,
        kind: CallKind::Function,
        opaque: None,
    }
}

/// The sessions of a recorded corpus file.
pub fn transcripts(name: &str) -> Vec<Vec<Message>> {
    let file = Source::Shared.reader(&format!("corpus/{name}.jsonl"));
    let sessions = file.lines().map_while(Result::ok).filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let format = |session: &Value| match session["format"].as_str() {
        Some("anthropic-messages") => Format::Anthropic,
        Some("openai-responses") => Format::OpenaiResponses,
        Some("pi-jsonl") => Format::Pi,
        _ => Format::OpenaiChat,
    };
    sessions.map(|session| messages(format(&session), session["messages"].as_array().unwrap())).collect()
}

/// The messages of items, read as the service reads them.
pub fn messages(format: Format, items: &[Value]) -> Vec<Message> {
    items.iter().filter_map(|item| format::read(format, &item.to_string()).ok()?.message).collect()
}

pub fn task(messages: Vec<Message>) -> SummaryTask {
    SummaryTask {
        part: SummaryPart::History,
        template: Template::Checkpoint,
        prompt: None,
        previous: None,
        messages: messages.into(),
        source: None,
        background: None,
        newer_from: None,
        shown: None,
        room: USUAL_ROOM,
        span_tokens: 0,
        focus_topic: None,
        instructions: None,
        max_output_tokens: 2000,
        correction: None,
    }
}
