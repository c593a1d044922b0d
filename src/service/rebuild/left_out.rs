//! What of a view is not handed out: results without a call, and what the target's format can't say. A context's size is
//! that of what is in it.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::domain::context::pairing::unanswered;
use crate::domain::context::view::{ViewItem, item_tokens};
use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_item;
use crate::service::path::view::PathSlice;

/// Tokens of results that no context shows, by the session's estimator: they answer no call, or one that is answered.
pub(super) fn unsent_tokens(loaded: &PathSlice, view: &[ViewItem]) -> u64 {
    let mut sizes: HashMap<usize, (usize, u64)> = HashMap::new();
    for (index, slot) in unanswered(view, &loaded.heads) {
        let tokens = loaded.heads.get(index).and_then(|head| head.shape.results.get(slot)).map_or(0, |one| one.tokens);
        let (count, sum) = sizes.entry(index).or_default();
        (*count, *sum) = (*count + 1, *sum + u64::from(tokens));
    }
    if sizes.is_empty() {
        return 0;
    }
    let unsent = view.iter().filter_map(|item| {
        let ViewItem::Entry { index, .. } = item else { return None };
        let ((count, sum), head) = (sizes.get(index)?, loaded.heads.get(*index)?);
        let whole = *count == head.shape.results.len() && !head.shape.mixed && head.shape.calls.is_empty();
        let shown = item_tokens(&loaded.heads, item);
        Some(if whole { shown } else { shown.min(*sum) })
    });
    unsent.sum()
}

/// Tokens of a view that its messages lack beside those of unsent results: what this format can't say.
pub(super) fn unsaid(loaded: &PathSlice, view: &[ViewItem], written: &WrittenContext<'_>, estimator: Estimator) -> u64 {
    // Nothing is left out without a note.
    if !written.is_noted {
        return 0;
    }
    let unsent = unsent_tokens(loaded, view);
    let shown: u64 = view.iter().map(|item| item_tokens(&loaded.heads, item)).sum();
    let mut stored: HashMap<&str, u64> = HashMap::new();
    for item in view {
        let ViewItem::Entry { index, elisions } = item else { continue };
        let entry = loaded.stored.get(*index).map(|stored| &stored.entry);
        if let Some(entry) = entry.filter(|entry| elisions.is_empty() && entry.source_format == written.format) {
            stored.insert(&entry.item, item_tokens(&loaded.heads, item));
        }
    }
    let count = |message: &RawValue| match stored.get(message.get()) {
        Some(tokens) => *tokens,
        None => tokens_of(written.format, message.get(), estimator),
    };
    let handed: u64 = written.messages.iter().map(|message| count(message)).sum();
    (shown + written.stood_in).saturating_sub(unsent).saturating_sub(handed + written.led)
}

/// The messages of a context.
pub(super) struct WrittenContext<'w> {
    pub format: Format,
    pub messages: &'w [Box<RawValue>],
    /// Something was said of them.
    pub is_noted: bool,
    /// Tokens of what stands in the system prompt instead.
    pub led: u64,
    /// Tokens of what stands in for results that did not come, as the account has it.
    pub stood_in: u64,
}

fn tokens_of(format: Format, message: &str, estimator: Estimator) -> u64 {
    let read = format::read_message(format, message).ok().flatten();
    read.map_or(0, |read| u64::from(count_item(estimator, format, message, &read).total))
}
