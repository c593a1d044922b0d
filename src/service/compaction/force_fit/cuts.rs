//! Cutting one result, the arguments of an answer's calls, or the words of a message to the room that they have.

use uuid::Uuid;

use super::part::{Force, KeptResult, SMALLEST};
use crate::domain::context::elision::arguments::{self, ALWAYS_WHOLE, call_tokens};
use crate::domain::context::elision::freed;
use crate::domain::context::{elision, placeholder};
use crate::domain::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::domain::model::message::{Block, Message, ToolCall, ToolResult};
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_message;
use crate::service::compaction::plan::PlannedCompaction;

/// How many characters of a long string in arguments stay, the most first.
const ARGUMENT_CHARS: [usize; 6] = [16_000, 8_000, 4_000, 2_000, 800, ALWAYS_WHOLE];
/// The same of lists and objects of many short ones, where that is not enough.
const LIST_CHARS: [usize; 4] = [8_000, 3_000, 1_000, ALWAYS_WHOLE];

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

/// The texts of a message by head and tail, of about as many tokens as wanted together with what else it holds. Thinking
/// that leaves no room for them goes whole, where no call is tied to it.
pub(super) fn cut_words(
    planned: &PlannedCompaction,
    entry_id: Uuid,
    message: &Message,
    shown: &KeptResult,
) -> Option<Elision> {
    let count = |message: &Message| u64::from(count_message(planned.settings.estimator, message).total);
    let says = |block: &Block| matches!(block, Block::Text { text, .. } if !text.trim().is_empty());
    let is_text = |block: &&Block| matches!(block, Block::Text { .. });
    let texts = Message { content: message.content.iter().filter(is_text).cloned().collect(), ..message.clone() };
    let (spoken, whole) = (count(&texts), count(message));
    let is_thinking = |block: &Block| matches!(block, Block::Thinking { .. });
    let has_ended = message.tool_calls().next().is_none() && message.content.iter().any(says);
    let thinks = message.content.iter().any(is_thinking);
    let drops = thinks && has_ended && whole.saturating_sub(spoken) + u64::from(SMALLEST[0]) > shown.goal;
    let mut left = message.clone();
    left.content.retain(|block| !drops || !is_thinking(block));
    let rest = count(&left).saturating_sub(spoken);
    let goal = shown.goal.saturating_sub(rest).max(u64::from(SMALLEST[0]));
    let chars = texts.plain_text().chars().count() as u64;
    let keep = chars * goal * 9 / 10 / spoken.max(1) / (texts.content.len().max(1) as u64);
    let keep = u32::try_from(keep).unwrap_or(u32::MAX);
    let elision = Elision {
        entry_id,
        tool_call_id: String::new(),
        kind: if drops { ElisionKind::Drop } else { ElisionKind::Truncate },
        part: ElidedPart::Words,
        tokens_before: shown.original,
        tokens_after: 0,
        same_as: None,
        keep_chars: (spoken > goal).then_some((keep - keep / 3, keep / 3)),
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
    let strings = ARGUMENT_CHARS.map(|chars| (ElisionKind::Truncate, chars));
    let lists = LIST_CHARS.map(|chars| (ElisionKind::Mask, chars));
    for kept in strings.into_iter().chain(lists) {
        cut = calls.iter().filter_map(|(call, tokens)| cut_call(estimator, entry_id, call, *tokens, kept)).collect();
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
    (kind, chars): (ElisionKind, usize),
) -> Option<Elision> {
    let chars = u32::try_from(chars).unwrap_or(u32::MAX);
    let elision = Elision {
        entry_id,
        tool_call_id: call.id.clone(),
        kind,
        part: ElidedPart::Arguments,
        tokens_before,
        tokens_after: 0,
        same_as: None,
        keep_chars: Some((chars - chars / 3, chars / 3)),
        text: None,
    };
    let mut shown = call.clone();
    if !arguments::show(&mut shown, &elision) {
        return None;
    }
    let tokens_after = call_tokens(estimator, &shown);
    (tokens_after < tokens_before).then_some(Elision { tokens_after, ..elision })
}

/// Head and tail of a result, of about as many tokens as wanted; a marker where there is more to it than text.
pub(super) fn cut_down(
    planned: &PlannedCompaction,
    entry_id: Uuid,
    result: &ToolResult,
    shown: &KeptResult,
    force: Force,
) -> Option<Elision> {
    let cuts = force != Force::Words && shown.goal > u64::from(SMALLEST[Force::Markers as usize]);
    let (text, keep_chars) = if cuts && result.content.iter().all(|block| matches!(block, Block::Text { .. })) {
        let text = result.plain_text();
        let chars = text.chars().count() as u64;
        let keep = u32::try_from(chars * shown.goal / u64::from(shown.original.max(1)) * 9 / 10).unwrap_or(u32::MAX);
        let (head, tail) = (keep - keep / 3, keep / 3);
        (placeholder::truncated(&shown.call_id, &text, head as usize, tail as usize)?, Some((head, tail)))
    } else if force == Force::Words {
        (placeholder::ELIDED.to_owned(), Some((0, 0)))
    } else {
        (placeholder::marker(&shown.call_id, shown.original), None)
    };
    let tokens_after = elision::result_tokens(planned.settings.estimator, &shown.call_id, &text);
    (tokens_after < shown.tokens).then(|| Elision {
        entry_id,
        tool_call_id: shown.call_id.clone(),
        kind: if cuts && keep_chars.is_some() { ElisionKind::Truncate } else { ElisionKind::Mask },
        part: ElidedPart::Result,
        tokens_before: shown.original,
        tokens_after,
        same_as: None,
        keep_chars,
        text: None,
    })
}
