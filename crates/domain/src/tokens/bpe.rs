//! `o200k` and `cl100k`: byte-pair encodings, with a fixed cost for what surrounds the text.

mod words;

use std::sync::LazyLock;

use bpe_openai::Tokenizer;
use serde_json::Value;

use super::counted::{Counted, saturate};
use super::media::{document_tokens, image_tokens, opaque_tokens};
use crate::format::pi::is_excluded_run;
use crate::model::abandoned::is_abandoned;
use crate::model::message::{Block, Message, ToolCall};
use crate::settings::Pictures;
use words::{Words, leading_word};

/// How many pieces of a long text are counted before the next look whether anybody waits.
const LOOKS_EVERY: usize = 4096;
const MESSAGE: u32 = 4;
const TOOL_CALL: u32 = 6;
const TOOL_RESULT: u32 = 4;

pub static O200K: LazyLock<Encoding> = LazyLock::new(|| Encoding::new(bpe_openai::o200k_base()));
pub static CL100K: LazyLock<Encoding> = LazyLock::new(|| Encoding::new(bpe_openai::cl100k_base()));

/// A byte-pair encoding with its vocabulary. Most words of ordinary text are one token each, and finding and looking
/// them up is several times faster than splitting and encoding them.
pub struct Encoding {
    tokenizer: &'static Tokenizer,
    words: Words,
}

impl Encoding {
    fn new(tokenizer: &'static Tokenizer) -> Encoding {
        let tokens = u32::try_from(tokenizer.bpe.num_tokens()).unwrap_or(u32::MAX);
        Encoding { tokenizer, words: (0..tokens).map(|token| tokenizer.bpe.token_bytes(token)).collect() }
    }

    fn count(&self, text: &str) -> usize {
        // Neither encoding normalises, and a piece depends on what follows it only, so that the text can be split
        // piece by piece.
        let (mut rest, mut count, mut pieces) = (text, 0, 0_usize);
        while let Some(piece) = leading_word(rest).or_else(|| self.tokenizer.split(rest).next()) {
            pieces += 1;
            if pieces.is_multiple_of(LOOKS_EVERY) && is_abandoned() {
                break;
            }
            count += self.count_piece(piece.as_bytes());
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
        count
    }

    fn count_piece(&self, piece: &[u8]) -> usize {
        if self.words.contains(piece) { 1 } else { self.tokenizer.bpe.count(piece) }
    }
}

pub fn text(encoding: &Encoding, text: &str) -> u32 {
    saturate(encoding.count(text))
}

/// `way`: how pictures are counted.
pub fn message(encoding: &Encoding, message: &Message, way: Option<Pictures>) -> Counted {
    let mut counted = Counted::default();
    if message.content.is_empty() || is_excluded_run(message) {
        return counted;
    }
    counted.total = MESSAGE;
    for block in &message.content {
        let tokens = count_block(encoding, block, way);
        if matches!(block, Block::ToolResult(_)) {
            counted.results.push(tokens);
        }
        counted.total = counted.total.saturating_add(tokens);
    }
    counted
}

fn count_block(encoding: &Encoding, block: &Block, way: Option<Pictures>) -> u32 {
    match block {
        Block::Text { text: plain, .. } => text(encoding, plain),
        Block::Thinking { text: hidden, opaque: Some(opaque) } if hidden.is_empty() => opaque_tokens(&opaque.value),
        Block::Thinking { text: thought, .. } => text(encoding, thought),
        Block::Image { source } => image_tokens(way, source),
        Block::Document { source } => document_tokens(way, source, |plain| text(encoding, plain)),
        Block::ToolCall(call) => TOOL_CALL.saturating_add(call_text(encoding, call)),
        Block::ToolResult(result) => {
            result.content.iter().map(|inner| count_block(encoding, inner, way)).fold(TOOL_RESULT, u32::saturating_add)
        }
        Block::Raw(opaque) => opaque_tokens(&opaque.value),
    }
}

fn call_text(encoding: &Encoding, call: &ToolCall) -> u32 {
    let arguments = match &call.arguments {
        Value::String(free) => text(encoding, free),
        json => text(encoding, &json.to_string()),
    };
    text(encoding, &call.name).saturating_add(arguments)
}
