//! `pi`: UTF-16 code units / 4, rounded up once per message, exactly as pi 0.87 estimates.

use super::counted::{Counted, saturate};
use super::media::{IMAGE_TOKENS, opaque_tokens, stated_document_tokens};
use crate::format;
use crate::format::pi::run_units;
use crate::model::format::Format;
use crate::model::json::{self, LONE_SURROGATE, js_stringify_len, marks, parse_marked};
use crate::model::message::{Block, Message, Opaque, Role, ToolCall};

const UNITS_PER_TOKEN: usize = 4;

pub fn text(text: &str) -> u32 {
    to_tokens(utf16_len(text))
}

/// As [`message`], of what was read from `raw`.
pub fn item(format: Format, raw: &str, message: &Message) -> Counted {
    counted(message, LONE_SURROGATE * lone_surrogates(format, raw))
}

/// How many surrogates in the arguments of calls have no partner. Reading them as text loses what they were.
fn lone_surrogates(format: Format, raw: &str) -> usize {
    let Some(marked) = parse_marked(raw) else { return 0 };
    let read = format::message_of(format, &marked).ok().flatten();
    read.iter().flat_map(Message::tool_calls).map(|call| marks(&call.arguments)).sum()
}

pub fn message(message: &Message) -> Counted {
    counted(message, 0)
}

fn counted(message: &Message, more: usize) -> Counted {
    let units: usize = match message.role {
        Role::BashExecution => run_units(message),
        _ => message.content.iter().map(block_units).sum(),
    };
    let results = message.tool_results().map(|result| to_tokens(result.content.iter().map(block_units).sum()));
    Counted { total: to_tokens(units + more), results: results.collect() }
}

fn block_units(block: &Block) -> usize {
    match block {
        Block::Text { text, .. } => utf16_len(text),
        Block::Thinking { text, opaque: Some(opaque) } if text.is_empty() => opaque_units(opaque),
        Block::Thinking { text, .. } => utf16_len(text),
        Block::Image { .. } => to_units(IMAGE_TOKENS),
        Block::Document { source } => match &source.text {
            Some(text) => utf16_len(text),
            None => to_units(stated_document_tokens(source, text)),
        },
        Block::ToolCall(call) => utf16_len(&call.name) + js_stringify_len(&call.arguments) + escaped_units(call),
        Block::ToolResult(result) => result.content.iter().map(block_units).sum(),
        Block::Raw(opaque) => opaque_units(opaque),
    }
}

/// Counts the UTF-16 units of the escapes of lone surrogates in arguments that came as a JSON text of their own.
fn escaped_units(call: &ToolCall) -> usize {
    let text = call.arguments_text.as_deref().filter(|_| !call.arguments.is_string());
    text.map_or(0, |text| LONE_SURROGATE * json::lone_surrogates(text))
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
