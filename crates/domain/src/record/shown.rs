//! What a model that writes notes is shown: the record in all the detail that its window allows, and what stays behind it.

use super::recalled::Recalled;
use super::span::{RecordItem, Span};
use super::{Around, RecordParts, conversation, fitted, instructions, put_together};

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
    let around = Around::of(parts, &span);
    let compose = |quarters: usize, detail: usize| {
        let head = instructions::told(&span.instructions, INSTRUCTIONS.min(quarters / 8));
        put_together(&span, &head, &around, quarters, detail)
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
    fitted(room, count, |quarters| conversation(&span, &Recalled::default(), quarters, 1).trim_end().to_owned())
}
