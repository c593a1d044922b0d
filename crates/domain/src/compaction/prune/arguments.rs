//! Long strings in the arguments of calls: a file that was written, a patch, a script.

use uuid::Uuid;

use super::ends::kept_ends;
use crate::context::elision::arguments::{ALWAYS_WHOLE, call_tokens, shorten};
use crate::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::model::message::ToolCall;
use crate::settings::Estimator;

/// One call in the order of the view.
#[derive(Debug, Clone, Copy)]
pub struct PruneCall<'a> {
    pub entry_id: Uuid,
    pub call: &'a ToolCall,
    /// Its arguments are shown shorter already: left alone.
    pub already_elided: bool,
    /// It belongs to the kept tail: it stays as it is.
    pub in_tail: bool,
    /// Another call of the entry has the same id: an elision could not tell them apart, so both stay.
    pub ambiguous: bool,
}

/// The elision of a call's arguments, where it frees tokens: strings of more than `max_chars` characters keep head and
/// tail.
pub(super) fn elide(one: &PruneCall<'_>, max_chars: u32, estimator: Estimator) -> Option<Elision> {
    if one.already_elided || one.in_tail || one.ambiguous {
        return None;
    }
    let least = u32::try_from(ALWAYS_WHOLE).unwrap_or(u32::MAX);
    let (head, tail) = kept_ends(max_chars.max(least));
    let mut shown = one.call.clone();
    if !shorten(&mut shown, head as usize, tail as usize) {
        return None;
    }
    let (tokens_before, tokens_after) = (call_tokens(estimator, one.call), call_tokens(estimator, &shown));
    (tokens_after < tokens_before).then(|| Elision {
        entry_id: one.entry_id,
        tool_call_id: one.call.id.clone(),
        kind: ElisionKind::Truncate,
        part: ElidedPart::Arguments,
        tokens_before,
        tokens_after,
        same_as: None,
        keep_chars: Some((head, tail)),
        text: None,
    })
}
