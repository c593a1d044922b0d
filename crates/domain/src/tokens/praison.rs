//! `praison`: characters by weight, each text by itself; a tool call counts as its function dict printed by Python.

use std::sync::LazyLock;

use regex::Regex;

use super::counted::Counted;
use super::media::{IMAGE_TOKENS, opaque_tokens, stated_document_tokens};
use crate::format::pi::is_excluded_run;
use crate::model::message::{Block, Message, ToolCall};

const ASCII_WEIGHT: f64 = 0.25;
const OTHER_WEIGHT: f64 = 1.3;

/// Characters beyond ASCII that Python's `repr` escapes: everything that is not printable.
static UNPRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{C}\p{Z}]$").ok());

#[derive(Default, Clone, Copy)]
struct Characters {
    ascii: usize,
    other: usize,
}

impl Characters {
    fn of(text: &str) -> Characters {
        let ascii = text.bytes().filter(u8::is_ascii).count();
        Characters { ascii, other: text.chars().count() - ascii }
    }

    /// At least one token, unless there is no character at all.
    fn tokens(self) -> u32 {
        if self.ascii + self.other == 0 {
            return 0;
        }
        // Counts of characters are far below 2^53, so the conversion is exact; `as` saturates the result.
        let weight = self.ascii as f64 * ASCII_WEIGHT + self.other as f64 * OTHER_WEIGHT;
        (weight as u32).max(1)
    }
}

pub fn text(text: &str) -> u32 {
    Characters::of(text).tokens()
}

pub fn message(message: &Message) -> Counted {
    let mut counted = Counted::default();
    if is_excluded_run(message) {
        return counted;
    }
    for block in &message.content {
        let tokens = count_block(block);
        if matches!(block, Block::ToolResult(_)) {
            counted.results.push(tokens);
        }
        counted.total = counted.total.saturating_add(tokens);
    }
    counted
}

fn count_block(block: &Block) -> u32 {
    match block {
        Block::Text { text: plain, .. } => text(plain),
        Block::Thinking { text: hidden, opaque: Some(opaque) } if hidden.is_empty() => opaque_tokens(&opaque.value),
        Block::Thinking { text: thought, .. } => text(thought),
        Block::Image { .. } => IMAGE_TOKENS,
        Block::Document { source } => stated_document_tokens(source, text),
        Block::ToolCall(call) => function_dict(call).tokens(),
        Block::ToolResult(result) => result.content.iter().map(count_block).fold(0, u32::saturating_add),
        Block::Raw(opaque) => opaque_tokens(&opaque.value),
    }
}

/// The characters of `{'name': …, 'arguments': …}`, arguments as the string that the source sent.
fn function_dict(call: &ToolCall) -> Characters {
    let written = match (&call.arguments_text, &call.arguments) {
        (Some(text), _) => repr(text),
        (None, serde_json::Value::String(text)) => repr(text),
        (None, json) => repr(&json.to_string()),
    };
    let name = repr(&call.name);
    let frame = "{'name': , 'arguments': }".len();
    Characters { ascii: frame + name.ascii + written.ascii, other: name.other + written.other }
}

/// The characters of Python's `repr` of a string, quotes included.
fn repr(text: &str) -> Characters {
    let single_quoted = !text.contains('\'') || text.contains('"');
    let mut characters = Characters { ascii: 2, other: 0 };
    for character in text.chars() {
        match character {
            '\\' | '\n' | '\r' | '\t' => characters.ascii += 2,
            '\'' if single_quoted => characters.ascii += 2,
            '\0'..='\u{1f}' | '\u{7f}' => characters.ascii += r"\x00".len(),
            _ if character.is_ascii() => characters.ascii += 1,
            _ if is_unprintable(character) => characters.ascii += escape_len(character),
            _ => characters.other += 1,
        }
    }
    characters
}

fn is_unprintable(character: char) -> bool {
    let mut buffer = [0; 4];
    UNPRINTABLE.as_ref().is_some_and(|pattern| pattern.is_match(character.encode_utf8(&mut buffer)))
}

fn escape_len(character: char) -> usize {
    match u32::from(character) {
        0..=0xff => r"\x00".len(),
        0x100..=0xffff => r"\u0000".len(),
        _ => r"\U00000000".len(),
    }
}
