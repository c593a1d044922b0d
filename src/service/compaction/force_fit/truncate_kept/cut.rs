//! What is kept of an answer or a result, cut to about as many tokens as wanted.

use uuid::Uuid;

use super::part::{Force, KeptResult, SMALLEST, freed};
use crate::domain::context::elision::arguments::{self, ALWAYS_WHOLE, call_tokens};
use crate::domain::context::{elision, placeholder};
use crate::domain::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::domain::model::message::{Block, Message, ToolCall, ToolResult};
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_message;
use crate::service::compaction::plan::PlannedCompaction;

/// How many characters of a long string in arguments stay, the most first.
const ARGUMENT_CHARS: [usize; 6] = [16_000, 8_000, 4_000, 2_000, 800, ALWAYS_WHOLE];

/// The calls of an answer with less of their long strings, and its words by head and tail where that is not enough.
pub(super) fn cut_answer(
    planned: &PlannedCompaction,
    entry_id: Uuid,
    message: &Message,
    shown: &KeptResult,
) -> Vec<Elision> {
    let mut cut = cut_arguments(planned, entry_id, message, shown);
    let freed = freed(&cut);
    if u64::from(shown.original).saturating_sub(freed) > shown.goal {
        let (part, call_id) = (ElidedPart::Words, String::new());
        let words = KeptResult { part, call_id, goal: shown.goal + freed, ..*shown };
        cut.extend(cut_words(planned, entry_id, message, &words));
    }
    cut
}

/// The texts of an answer by head and tail, of about as many tokens as wanted together with what else it holds.
pub(super) fn cut_words(
    planned: &PlannedCompaction,
    entry_id: Uuid,
    message: &Message,
    shown: &KeptResult,
) -> Option<Elision> {
    let count = |message: &Message| u64::from(count_message(planned.settings.estimator, message).total);
    let is_text = |block: &&Block| matches!(block, Block::Text { .. });
    let texts = Message { content: message.content.iter().filter(is_text).cloned().collect(), ..message.clone() };
    let (spoken, whole) = (count(&texts), count(message));
    let goal = shown.goal.saturating_sub(whole.saturating_sub(spoken)).max(u64::from(SMALLEST[0]));
    let chars = texts.plain_text().chars().count() as u64;
    let keep = chars * goal * 9 / 10 / spoken.max(1) / (texts.content.len().max(1) as u64);
    let keep = u32::try_from(keep).unwrap_or(u32::MAX);
    let elision = Elision {
        entry_id,
        tool_call_id: String::new(),
        kind: ElisionKind::Truncate,
        part: ElidedPart::Words,
        tokens_before: shown.original,
        tokens_after: 0,
        same_as: None,
        keep_chars: Some((keep - keep / 3, keep / 3)),
        text: None,
    };
    let mut cut = message.clone();
    elision::apply(&mut cut, std::slice::from_ref(&elision));
    let freed = u32::try_from(whole.saturating_sub(count(&cut))).unwrap_or(u32::MAX);
    (freed > 0).then(|| Elision { tokens_after: shown.original.saturating_sub(freed), ..elision })
}

/// The calls of an answer with less and less of their long strings, until they are small enough together.
fn cut_arguments(planned: &PlannedCompaction, entry_id: Uuid, message: &Message, shown: &KeptResult) -> Vec<Elision> {
    let estimator = planned.settings.estimator;
    let ids = elision::occurrences(message.tool_calls().map(|call| call.id.as_str()));
    let may = |call: &&ToolCall| {
        ids.get(call.id.as_str()) == Some(&1) && !planned.settings.exclude_tools.contains(&call.name)
    };
    let calls: Vec<(&ToolCall, u32)> =
        message.tool_calls().filter(may).map(|call| (call, call_tokens(estimator, call))).collect();
    let mut cut = Vec::new();
    for chars in ARGUMENT_CHARS {
        cut = calls.iter().filter_map(|(call, tokens)| cut_call(estimator, entry_id, call, *tokens, chars)).collect();
        if u64::from(shown.original).saturating_sub(freed(&cut)) <= shown.goal {
            break;
        }
    }
    cut
}

fn cut_call(
    estimator: Estimator,
    entry_id: Uuid,
    call: &ToolCall,
    tokens_before: u32,
    chars: usize,
) -> Option<Elision> {
    let (head, tail) = (chars - chars / 3, chars / 3);
    let mut shown = call.clone();
    if !arguments::shorten(&mut shown, head, tail) {
        return None;
    }
    let tokens_after = call_tokens(estimator, &shown);
    (tokens_after < tokens_before).then(|| Elision {
        entry_id,
        tool_call_id: call.id.clone(),
        kind: ElisionKind::Truncate,
        part: ElidedPart::Arguments,
        tokens_before,
        tokens_after,
        same_as: None,
        keep_chars: Some((u32::try_from(head).unwrap_or(u32::MAX), u32::try_from(tail).unwrap_or(u32::MAX))),
        text: None,
    })
}

/// Head and tail of a result, of about as many tokens as wanted; a marker where there is more to it than text.
pub(super) fn cut_down(
    planned: &PlannedCompaction,
    entry_id: Uuid,
    result: &ToolResult,
    shown: &KeptResult,
) -> Option<Elision> {
    let cuts = shown.goal > u64::from(SMALLEST[Force::Markers as usize]);
    let (text, keep_chars) = if cuts && result.content.iter().all(|block| matches!(block, Block::Text { .. })) {
        let text = result.plain_text();
        let chars = text.chars().count() as u64;
        let keep = u32::try_from(chars * shown.goal / u64::from(shown.original.max(1)) * 9 / 10).unwrap_or(u32::MAX);
        let (head, tail) = (keep - keep / 3, keep / 3);
        (placeholder::truncated(&shown.call_id, &text, head as usize, tail as usize)?, Some((head, tail)))
    } else {
        (placeholder::marker(&shown.call_id, shown.original), None)
    };
    let tokens_after = elision::result_tokens(planned.settings.estimator, &shown.call_id, &text);
    (tokens_after < shown.tokens).then(|| Elision {
        entry_id,
        tool_call_id: shown.call_id.clone(),
        kind: if keep_chars.is_some() { ElisionKind::Truncate } else { ElisionKind::Mask },
        part: ElidedPart::Result,
        tokens_before: shown.original,
        tokens_after,
        same_as: None,
        keep_chars,
        text: None,
    })
}
