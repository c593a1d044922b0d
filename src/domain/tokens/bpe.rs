//! `o200k` and `cl100k`: byte-pair encodings, with a fixed cost for what surrounds the text.

use bpe_openai::Tokenizer;
use serde_json::Value;

use super::media::{IMAGE_TOKENS, document_tokens, opaque_tokens};
use super::{Counted, saturate};
use crate::domain::format::pi::is_excluded_run;
use crate::domain::message::{Block, Message, ToolCall};

const MESSAGE: u32 = 4;
const TOOL_CALL: u32 = 6;
const TOOL_RESULT: u32 = 4;

pub fn text(tokenizer: &Tokenizer, text: &str) -> u32 {
    saturate(tokenizer.count(text))
}

pub fn message(tokenizer: &Tokenizer, message: &Message) -> Counted {
    let mut counted = Counted::default();
    if message.content.is_empty() || is_excluded_run(message) {
        return counted;
    }
    counted.total = MESSAGE;
    for block in &message.content {
        let tokens = count_block(tokenizer, block);
        if matches!(block, Block::ToolResult(_)) {
            counted.results.push(tokens);
        }
        counted.total = counted.total.saturating_add(tokens);
    }
    counted
}

fn count_block(tokenizer: &Tokenizer, block: &Block) -> u32 {
    match block {
        Block::Text { text: plain, .. } => text(tokenizer, plain),
        Block::Thinking { text: hidden, opaque: Some(opaque) } if hidden.is_empty() => opaque_tokens(&opaque.value),
        Block::Thinking { text: thought, .. } => text(tokenizer, thought),
        Block::Image { .. } => IMAGE_TOKENS,
        Block::Document { source } => document_tokens(source, |plain| text(tokenizer, plain)),
        Block::ToolCall(call) => TOOL_CALL.saturating_add(call_text(tokenizer, call)),
        Block::ToolResult(result) => {
            result.content.iter().map(|inner| count_block(tokenizer, inner)).fold(TOOL_RESULT, u32::saturating_add)
        }
        Block::Raw(opaque) => opaque_tokens(&opaque.value),
    }
}

fn call_text(tokenizer: &Tokenizer, call: &ToolCall) -> u32 {
    let arguments = match &call.arguments {
        Value::String(free) => text(tokenizer, free),
        json => text(tokenizer, &json.to_string()),
    };
    text(tokenizer, &call.name).saturating_add(arguments)
}
