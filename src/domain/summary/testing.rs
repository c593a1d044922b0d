//! What the tests of this part share: settings, message builders and real transcripts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::domain::message::{Block, CallKind, Message, Role, ToolCall, ToolResult};
use crate::domain::settings::*;
use crate::domain::summary::{SummaryPart, SummaryTask};

pub fn settings() -> Settings {
    Settings {
        preset: Preset::Auto,
        enabled: true,
        estimator: Estimator::Pi,
        context_window: 128_000,
        reserve_tokens: 16_384,
        keep_recent_tokens: 16_384,
        yellow_at: 0.6,
        red_at: Some(0.8),
        ahead_at: Some(0.7),
        strategy: Strategy::Auto,
        target_tokens: None,
        preserve_recent: 5,
        anchor_first_user: true,
        keep_recent_results: 3,
        exclude_tools: Vec::new(),
        min_gain_tokens: 0,
        tool_prune_before_summarise: true,
        max_tool_result_size: 500,
        template: Template::Checkpoint,
        iterative: true,
        focus_topic: None,
        instructions: None,
        prompt: None,
        compaction_prefix: None,
        summary_max_tokens: None,
        upstream: None,
        on_upstream_failure: OnUpstreamFailure::Fallback,
        policy: None,
        min_savings_pct: 10.0,
        max_consecutive_low_savings: 2,
        reset: GuardReset::Growth,
        chaptering_trigger: None,
        file_tools: BTreeMap::new(),
        pinned_entry_ids: Vec::new(),
    }
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

/// A file of the shared test material; prints that the test skips where it is absent.
pub fn shared(relative: &str) -> Option<BufReader<GzDecoder<std::fs::File>>> {
    let root = std::env::var_os("CONTEXTD_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    match std::fs::File::open(root.join(relative)) {
        Ok(file) => Some(BufReader::new(GzDecoder::new(file))),
        Err(_) => {
            println!("skipped: {relative} is not there");
            None
        }
    }
}

/// The sessions of a corpus file that are in a chat or an Anthropic shape, roughly read.
pub fn transcripts(name: &str) -> Vec<Vec<Message>> {
    let Some(file) = shared(&format!("corpus/{name}.jsonl.gz")) else { return Vec::new() };
    file.lines()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .map(|session| session["messages"].as_array().into_iter().flatten().filter_map(read).collect())
        .collect()
}

fn read(item: &Value) -> Option<Message> {
    let role = match item["role"].as_str()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return None,
    };
    let mut content: Vec<Block> = match &item["content"] {
        Value::String(text) if role == Role::Tool => {
            vec![Block::ToolResult(tool_result(item["tool_call_id"].as_str()?, text, false))]
        }
        Value::String(text) => vec![Block::text(text.clone())],
        Value::Array(blocks) => blocks.iter().filter_map(block).collect(),
        _ => Vec::new(),
    };
    for entry in item["tool_calls"].as_array().into_iter().flatten() {
        let function = &entry["function"];
        let arguments = function["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
        content.push(Block::ToolCall(tool_call(
            entry["id"].as_str()?,
            function["name"].as_str()?,
            arguments.unwrap_or_default(),
        )));
    }
    Some(Message { role, content, stop: None, opaque: None })
}

fn block(value: &Value) -> Option<Block> {
    Some(match value["type"].as_str()? {
        "text" => Block::text(value["text"].as_str()?),
        "thinking" => Block::Thinking { text: value["thinking"].as_str()?.into(), opaque: None },
        "tool_use" => {
            Block::ToolCall(tool_call(value["id"].as_str()?, value["name"].as_str()?, value["input"].clone()))
        }
        "tool_result" => {
            let text = match &value["content"] {
                Value::String(text) => text.clone(),
                Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
                _ => String::new(),
            };
            Block::ToolResult(tool_result(
                value["tool_use_id"].as_str()?,
                &text,
                value["is_error"].as_bool().unwrap_or(false),
            ))
        }
        _ => return None,
    })
}

pub fn task(messages: Vec<Message>) -> SummaryTask {
    SummaryTask {
        part: SummaryPart::History,
        template: Template::Checkpoint,
        prompt: None,
        previous: None,
        messages: messages.into(),
        focus_topic: None,
        instructions: None,
        max_output_tokens: 2000,
    }
}
