//! `pi`: UTF-16 code units / 4, rounded up once per message, exactly as pi 0.87 estimates.

use super::media::{IMAGE_TOKENS, document_tokens, opaque_tokens};
use super::{Counted, saturate};
use crate::domain::format::{Format, pi::run_units};
use crate::domain::json::js_stringify_len;
use crate::domain::message::{Block, Message, Opaque, Role};

const UNITS_PER_TOKEN: usize = 4;

pub fn text(text: &str) -> u32 {
    to_tokens(utf16_len(text))
}

pub fn message(message: &Message) -> Counted {
    let units = match message.role {
        Role::BashExecution => run_units(message),
        _ => message.content.iter().map(block_units).sum(),
    };
    let results = message.tool_results().map(|result| to_tokens(result.content.iter().map(block_units).sum()));
    Counted { total: to_tokens(units), results: results.collect() }
}

fn block_units(block: &Block) -> usize {
    match block {
        Block::Text { text, .. } => utf16_len(text),
        Block::Thinking { text, opaque: Some(opaque) } if text.is_empty() => opaque_units(opaque),
        Block::Thinking { text, .. } => utf16_len(text),
        Block::Image { .. } => to_units(IMAGE_TOKENS),
        Block::Document { source } => match &source.text {
            Some(text) => utf16_len(text),
            None => to_units(document_tokens(source, text)),
        },
        Block::ToolCall(call) => utf16_len(&call.name) + js_stringify_len(&call.arguments),
        Block::ToolResult(result) => result.content.iter().map(block_units).sum(),
        Block::Raw(opaque) => opaque_units(opaque),
    }
}

/// pi counts nothing for its own blocks that hold no text; it never sees those of others.
fn opaque_units(opaque: &Opaque) -> usize {
    match opaque.format {
        Format::Pi => 0,
        _ => to_units(opaque_tokens(&opaque.value)),
    }
}

fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

fn to_tokens(units: usize) -> u32 {
    saturate(units.div_ceil(UNITS_PER_TOKEN))
}

fn to_units(tokens: u32) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(UNITS_PER_TOKEN)
}
