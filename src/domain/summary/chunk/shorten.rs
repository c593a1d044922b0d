//! Messages with their longest texts cut to head and tail, the length stated.

use serde_json::Value;

use super::super::text::quarters;
use crate::domain::model::message::{Block, Message};

/// Tool results are shortened to this many characters before anything is split.
const RESULT_CHARS: usize = 400;
/// Results, arguments and thinking are, where there are too many parts.
const TERSE_CHARS: usize = 120;

/// The message with its long tool results shortened.
pub(super) fn shorten(message: &Message) -> Message {
    let mut message = message.clone();
    for block in &mut message.content {
        shorten_result(block, RESULT_CHARS);
    }
    message
}

/// The message with little more of its tool traffic and its thinking than how they begin and end. What is said stays.
pub(super) fn terse(message: &Message) -> Message {
    let mut message = message.clone();
    for block in &mut message.content {
        shorten_result(block, TERSE_CHARS);
        match block {
            Block::ToolCall(call) => shorten_strings(&mut call.arguments),
            Block::Thinking { text, .. } => shorten_text(text),
            _ => {}
        }
    }
    message
}

fn shorten_result(block: &mut Block, chars: usize) {
    let Block::ToolResult(result) = block else { return };
    if let Some(text) = head_and_tail(&result.plain_text(), chars) {
        result.content.retain(|block| !matches!(block, Block::Text { .. }));
        result.content.insert(0, Block::text(text));
    }
}

fn shorten_strings(value: &mut Value) {
    match value {
        Value::String(text) => shorten_text(text),
        Value::Array(values) => values.iter_mut().for_each(shorten_strings),
        Value::Object(fields) => fields.values_mut().for_each(shorten_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shorten_text(text: &mut String) {
    if let Some(short) = head_and_tail(text, TERSE_CHARS) {
        *text = short;
    }
}

/// Two thirds of `chars` from the beginning and one from the end; `None` for a text that is no longer.
fn head_and_tail(text: &str, chars: usize) -> Option<String> {
    let (head, tail) = (chars * 2 / 3, chars / 3);
    let length = text.chars().count();
    if quarters(text) <= chars || length <= head + tail {
        return None;
    }
    let offset = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
    let (start, end) = (&text[..offset(head)], &text[offset(length - tail)..]);
    let missing = length - head - tail;
    Some(format!("{start}\n[... {missing} characters left out ...]\n{end}"))
}
