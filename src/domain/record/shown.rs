//! What a model that writes notes is shown: the record in all the detail that its window allows, and what stays behind it.

use super::span::{RecordItem, Span};
use super::{RecordParts, conversation, fitted, instructions, put_together, standing_tasks};

/// The tail has at most one part in so many of the room.
pub(super) const TAIL_SHARE: u64 = 3;
/// How many times the usual detail is tried, the most first.
const DETAILS: [usize; 2] = [4, 2];
/// Room in which every stretch is told at its best, in quarter tokens.
const AMPLE: usize = 1 << 40;
/// Quarter tokens of the instructions and the system prompt: their head says what the agent is for.
const INSTRUCTIONS: usize = 12_000;

/// The record for a model, in at most `room` tokens: at its best levels in more detail than usual where that fits, else as
/// any other record.
pub(super) fn record(parts: &RecordParts<'_>, room: u64, count: impl Fn(&str) -> u64) -> String {
    let span = Span::of(parts.before);
    let tasks = standing_tasks(&span, parts.kept);
    let compose = |quarters: usize, detail: usize| {
        let head = instructions::told(&span.instructions, INSTRUCTIONS.min(quarters / 8));
        put_together(&span, &head, tasks.as_deref(), quarters, detail)
    };
    let whole = DETAILS.iter().map(|detail| compose(AMPLE, *detail)).find(|text| count(text) <= room);
    whole.unwrap_or_else(|| fitted(room, &count, |quarters| compose(quarters, 1)))
}

/// The messages behind the cut, in at most `room` tokens. Empty where there are none.
pub(super) fn tail(items: &[RecordItem<'_>], room: u64, count: impl Fn(&str) -> u64) -> String {
    let span = Span::of(items);
    if span.lines.is_empty() {
        return String::new();
    }
    fitted(room, count, |quarters| conversation(&span, quarters, 1).trim_end().to_owned())
}
