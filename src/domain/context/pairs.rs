//! Calls and their results on a path, told from shapes.

use std::collections::HashMap;

use crate::domain::model::entry::EntryMeta;
use crate::domain::model::shape::ShapeKind;

/// For each entry, whether it belongs to an answer whose reasoning stands in an entry before it: the two may not be
/// parted.
pub fn led(entries: &[&EntryMeta]) -> Vec<bool> {
    let mut reasoned = false;
    let is_led = |head: &&EntryMeta| {
        if !head.is_visible() {
            return false;
        }
        let answers = head.is_answer();
        let led = reasoned && answers;
        reasoned = answers && (reasoned || head.shape.leads);
        led
    };
    entries.iter().map(is_led).collect()
}

/// Calls and their results, as indexes of their entries; a result belongs to the newest call of its id before it.
/// Calls that the provider ran inside its own turn make no pairs.
pub fn pairs(entries: &[&EntryMeta]) -> Vec<(usize, usize)> {
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut pairs = Vec::new();
    for (index, head) in entries.iter().enumerate() {
        for result in head.shape.results.iter().filter(|result| result.kind == ShapeKind::Function) {
            pairs.extend(calls.get(result.call_id.as_str()).map(|call| (*call, index)));
        }
        calls.extend(function_calls(head).map(|id| (id, index)));
    }
    pairs
}

pub(in crate::domain) fn function_calls(head: &EntryMeta) -> impl Iterator<Item = &str> {
    head.shape.calls.iter().filter(|call| call.kind == ShapeKind::Function).map(|call| call.id.as_str())
}
