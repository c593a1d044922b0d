//! Elisions, shown: a message as it stands in a context whose results and arguments are elided.

pub mod arguments;

use std::collections::HashMap;

use uuid::Uuid;

use super::placeholder::{ELIDED, duplicate, marker, replaced, truncated, truncated_words};
use crate::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Message, Role, ToolResult};
use crate::settings::Estimator;
use crate::tokens::count_message;

/// How often each id occurs.
pub fn occurrences<'i>(ids: impl Iterator<Item = &'i str>) -> HashMap<&'i str, usize> {
    let mut counts = HashMap::new();
    for id in ids {
        *counts.entry(id).or_default() += 1;
    }
    counts
}

/// Earlier elisions with newer ones over them: one for each result and each call's arguments, the original size kept.
pub fn merge(previous: &[Elision], new: &[Elision]) -> Vec<Elision> {
    let mut merged: Vec<Elision> = Vec::with_capacity(previous.len() + new.len());
    let mut places: HashMap<(Uuid, &str, ElidedPart), usize> = HashMap::new();
    for elision in previous.iter().chain(new) {
        let key = (elision.entry_id, elision.tool_call_id.as_str(), elision.part);
        match places.get(&key).copied() {
            Some(place) => {
                if let Some(slot) = merged.get_mut(place) {
                    let tokens_before = slot.tokens_before;
                    *slot = Elision { tokens_before, ..elision.clone() };
                }
            }
            None => {
                places.insert(key, merged.len());
                merged.push(elision.clone());
            }
        }
    }
    merged
}

/// Tokens that all of them free.
pub fn freed(elisions: &[Elision]) -> u64 {
    elisions.iter().map(|one| u64::from(one.tokens_before.saturating_sub(one.tokens_after))).sum()
}

/// Shows the named results, arguments and words of a message as their elisions say. Call id, name and error flag stay, and
/// so do thinking, but where the words are to stand without it, and what a provider ran itself.
pub fn apply(message: &mut Message, elisions: &[Elision]) {
    let by_call: HashMap<(&str, ElidedPart), &Elision> =
        elisions.iter().map(|one| ((one.tool_call_id.as_str(), one.part), one)).collect();
    if by_call.get(&("", ElidedPart::Words)).is_some_and(|elision| elision.kind == ElisionKind::Drop) {
        message.content.retain(|block| !matches!(block, Block::Thinking { .. }));
    }
    for block in &mut message.content {
        match block {
            Block::ToolResult(result) if result.kind != CallKind::Server => {
                if let Some(elision) = by_call.get(&(result.tool_call_id.as_str(), ElidedPart::Result)) {
                    apply_to_result(result, elision);
                }
            }
            Block::ToolCall(call) => {
                if let Some(elision) = by_call.get(&(call.id.as_str(), ElidedPart::Arguments)) {
                    arguments::show(call, elision);
                }
            }
            Block::Text { text, opaque } => {
                let elision = by_call.get(&("", ElidedPart::Words));
                let shown = elision.and_then(|elision| {
                    let (head, tail) = elision.keep_chars?;
                    truncated_words(elision.entry_id, text, head as usize, tail as usize)
                });
                if let Some(shown) = shown {
                    *text = shown;
                    // Its places were those of the whole text. A signature is of no text.
                    opaque.take_if(|opaque| opaque.format != Format::Gemini);
                }
            }
            _ => {}
        }
    }
}

fn apply_to_result(result: &mut ToolResult, elision: &Elision) {
    let text = replacement(elision, &result.plain_text());
    let keep_media = elision.kind == ElisionKind::Truncate;
    result.content.retain(|block| keep_media && !matches!(block, Block::Text { .. }));
    result.content.insert(0, Block::text(text));
    result.opaque = None;
}

fn replacement(elision: &Elision, original: &str) -> String {
    let (call_id, tokens) = (elision.tool_call_id.as_str(), elision.tokens_before);
    match (elision.kind, &elision.same_as, elision.keep_chars) {
        (ElisionKind::Duplicate, Some(same_as), _) => duplicate(call_id, same_as, tokens),
        (ElisionKind::Truncate, _, Some((head, tail))) => {
            truncated(call_id, original, head as usize, tail as usize).unwrap_or_else(|| original.to_owned())
        }
        (ElisionKind::Mask, _, Some((0, 0))) => ELIDED.to_owned(),
        _ => match (elision.kind, &elision.text) {
            (ElisionKind::Replace, Some(text)) => replaced(call_id, text, tokens),
            _ => marker(call_id, tokens),
        },
    }
}

/// The size of a tool result that holds this text alone, counted as on arrival.
pub fn result_tokens(estimator: Estimator, call_id: &str, text: &str) -> u32 {
    let result = ToolResult {
        tool_call_id: call_id.to_owned(),
        name: None,
        content: vec![Block::text(text.to_owned())],
        is_error: false,
        kind: Default::default(),
        opaque: None,
    };
    let message = Message { role: Role::Tool, content: vec![Block::ToolResult(result)], stop: None, opaque: None };
    let counted = count_message(estimator, &message);
    counted.results.first().copied().unwrap_or(counted.total)
}
