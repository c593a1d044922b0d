//! A stored item before it goes out in its own format: what the provider would refuse of it, and the item without that.

use super::source::StoredSource;
use super::step::ViewStep;
use crate::domain::format;
use crate::domain::format::refused::{self, Fault};
use crate::domain::model::abandoned::is_abandoned;
use crate::domain::model::format::Format;
use crate::domain::model::json;
use crate::domain::model::message::Message;

pub const HALF_CHARACTER: &str = "halves of characters, which no strict reader of JSON takes, are sent as U+FFFD";

/// Returns true if the target's provider would refuse the stored item as it came, for what its shape does not tell.
pub fn is_refused(step: &ViewStep<'_>, source: StoredSource<'_>, target: Format) -> bool {
    source.format == target
        && !step.shape.needs_repair
        && !source.is_examined
        && !is_abandoned()
        && refused::may_be_refused(target, source.item)
        && format::read(target, source.item).is_ok_and(|item| item.needs_repair)
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
