//! A stored item before it goes out in its own format: what the provider would refuse of it, and the item without that.

use super::source::StoredSource;
use super::step::ViewStep;
use crate::format;
use crate::format::refused::{self, Fault};
use crate::format::violation_code::ViolationCode;
use crate::model::abandoned::is_abandoned;
use crate::model::format::Format;
use crate::model::json;
use crate::model::message::Message;

pub const HALF_CHARACTER: &str = "halves of characters, which no strict reader of JSON takes, are sent as U+FFFD";

/// Returns true if the stored item of the target's own format can't go out as it came.
pub fn needs_repair(step: &ViewStep<'_>, source: StoredSource<'_>, target: Format) -> bool {
    if source.format != target || source.is_examined || is_abandoned() {
        return source.format == target && step.shape.needs_repair;
    }
    match step.shape.needs_repair {
        // What needed repair when it was stored may need none here.
        true if source.keeps_ids || step.has_server_half() => !is_sound(source, target),
        true => true,
        false => refused::may_be_refused(target, source.item) && !is_sound(source, target),
    }
}

/// Returns true if the item can go out as it came, whatever stands around it.
fn is_sound(source: StoredSource<'_>, target: Format) -> bool {
    let Ok(value) = json::parse_lenient(source.item) else { return false };
    let is_let_be = |fault: &Fault| source.keeps_ids && fault.code == ViolationCode::AnswerWithoutId;
    refused::faults(target, &value).iter().all(is_let_be) && format::reads_whole(target, &value)
}

/// The stored item as a message, mended where it is of the target's format, and the faults that it had.
pub fn mended(source: StoredSource<'_>, target: Format) -> (Option<Message>, Vec<Fault>) {
    let Ok(mut value) = json::parse_lenient(source.item) else { return (None, Vec::new()) };
    let mut faults = Vec::new();
    if source.format == target {
        faults = refused::faults(target, &value);
        refused::mend(target, &mut value);
    }
    (format::message_of(source.format, &value).ok().flatten(), faults)
}

/// The words of a note about an item that was mended.
pub fn repair(faults: &[Fault]) -> String {
    const TOLD: usize = 8;
    let mut details: Vec<&str> = faults.iter().map(|fault| fault.detail.as_str()).take(TOLD).collect();
    details.dedup();
    let why = if details.is_empty() { String::new() } else { format!(": {}", details.join("; ")) };
    format!("the provider would refuse the item as it came{why}")
}
