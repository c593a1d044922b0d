//! Masking: old tool results give way to a marker, long arguments to head and tail. The originals stay in their entries, so it can be undone,
//! and the agent can page one back in by its call id.

pub mod arguments;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::compaction::{ElidedPart, Elision, ElisionKind};
use super::entry::EntryHead;
use super::message::{Block, Message, Role, ToolResult};
use super::pairing;
use super::settings::{Estimator, Settings};
use super::shape::ShapeKind;
use super::tokens::count_message;
use super::view::ViewItem;

const MASKED: &str = "[tool_result elided; call_id=";
const DUPLICATE: &str = "[tool_result duplicate; call_id=";
const TRUNCATED: &str = "[tool_result truncated; call_id=";
const REPLACED: &str = "[tool_result shortened; call_id=";

/// What masking would do to a view.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MaskPlan {
    /// New elisions only; see [`merge`].
    pub elisions: Vec<Elision>,
    pub tokens_freed: u64,
    pub results: u32,
}

/// Plans the masking of every result older than the newest `keep_recent_results` of the view, newest last.
///
/// Pinned entries stay as they are. Results that are masked already are left alone, so planning on the outcome gives an empty plan. Nothing is
/// masked that would not free tokens, or if all of it together frees less than `min_gain_tokens`.
pub fn plan(view: &[ViewItem], path: &[EntryHead], settings: &Settings) -> MaskPlan {
    let shown = shown_results(view, path);
    let old = shown.len().saturating_sub(settings.keep_recent_results as usize);
    let excluded: HashSet<&str> = settings.exclude_tools.iter().map(String::as_str).collect();
    let pinned: HashSet<Uuid> = settings.pinned_entry_ids.iter().copied().collect();
    let mut plan = MaskPlan::default();
    for result in shown.iter().take(old) {
        let excluded = pinned.contains(&result.entry_id) || result.name.is_some_and(|name| excluded.contains(name));
        if result.marked || excluded || result.ambiguous {
            continue;
        }
        let marker = marker(result.call_id, result.original_tokens);
        let after = result_tokens(settings.estimator, result.call_id, &marker);
        if after < result.shown_tokens {
            plan.tokens_freed += u64::from(result.shown_tokens - after);
            plan.results += 1;
            plan.elisions.push(Elision {
                entry_id: result.entry_id,
                tool_call_id: result.call_id.to_owned(),
                kind: ElisionKind::Mask,
                part: ElidedPart::Result,
                tokens_before: result.original_tokens,
                tokens_after: after,
                same_as: None,
                keep_chars: None,
                text: None,
            });
        }
    }
    if plan.tokens_freed < u64::from(settings.min_gain_tokens) {
        return MaskPlan::default();
    }
    plan
}

struct Shown<'a> {
    entry_id: Uuid,
    call_id: &'a str,
    name: Option<&'a str>,
    original_tokens: u32,
    shown_tokens: u32,
    /// Nothing but a marker is shown already.
    marked: bool,
    /// Another result of the same entry has the same call id: an elision could not tell them apart.
    ambiguous: bool,
}

fn shown_results<'a>(view: &'a [ViewItem], path: &'a [EntryHead]) -> Vec<Shown<'a>> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut shown = Vec::new();
    // What answers no call goes out in no context.
    let unanswered = pairing::unanswered(view, path);
    for item in view {
        let ViewItem::Entry { index, elisions } = item else { continue };
        let Some(head) = path.get(*index) else { continue };
        names.extend(head.shape.calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
        let earlier: HashMap<&str, &Elision> =
            results_of(elisions).map(|elision| (elision.tool_call_id.as_str(), elision)).collect();
        let ids = occurrences(head.shape.results.iter().map(|result| result.call_id.as_str()));
        for (slot, result) in head.shape.results.iter().enumerate() {
            let call_id = result.call_id.as_str();
            if result.kind != ShapeKind::Function || unanswered.contains(&(*index, slot)) {
                continue;
            }
            let earlier = earlier.get(call_id);
            shown.push(Shown {
                entry_id: head.id,
                call_id,
                name: names.get(call_id).copied(),
                original_tokens: result.tokens,
                shown_tokens: earlier.map_or(result.tokens, |elision| elision.tokens_after),
                marked: earlier.is_some_and(|elision| matches!(elision.kind, ElisionKind::Mask | ElisionKind::Drop)),
                ambiguous: ids.get(call_id).is_some_and(|count| *count > 1),
            });
        }
    }
    shown
}

/// How often each id occurs.
pub fn occurrences<'i>(ids: impl Iterator<Item = &'i str>) -> HashMap<&'i str, usize> {
    let mut counts = HashMap::new();
    for id in ids {
        *counts.entry(id).or_default() += 1;
    }
    counts
}

fn results_of(elisions: &[Elision]) -> impl Iterator<Item = &Elision> {
    elisions.iter().filter(|elision| elision.part == ElidedPart::Result)
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

/// Shows the named results and arguments of a message as their elisions say. Call id, name and error flag stay.
pub fn apply(message: &mut Message, elisions: &[Elision]) {
    let by_call: HashMap<(&str, ElidedPart), &Elision> =
        elisions.iter().map(|one| ((one.tool_call_id.as_str(), one.part), one)).collect();
    for block in &mut message.content {
        match block {
            Block::ToolResult(result) => {
                if let Some(elision) = by_call.get(&(result.tool_call_id.as_str(), ElidedPart::Result)) {
                    apply_to_result(result, elision);
                }
            }
            Block::ToolCall(call) => {
                let elision = by_call.get(&(call.id.as_str(), ElidedPart::Arguments));
                if let Some((head, tail)) = elision.and_then(|elision| elision.keep_chars) {
                    arguments::shorten(call, head as usize, tail as usize);
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
        _ => match (elision.kind, &elision.text) {
            (ElisionKind::Replace, Some(text)) => replaced(call_id, text, tokens),
            _ => marker(call_id, tokens),
        },
    }
}

/// What somebody else made of a result, with a line that says so.
pub fn replaced(call_id: &str, text: &str, original_tokens: u32) -> String {
    format!("{text}\n{REPLACED}{call_id}; original_tokens={original_tokens}]")
}

/// What stands for a masked result.
pub fn marker(call_id: &str, original_tokens: u32) -> String {
    format!("{MASKED}{call_id}; original_tokens={original_tokens}]")
}

/// What stands for a result that a later one repeats.
pub fn duplicate(call_id: &str, same_as: &str, original_tokens: u32) -> String {
    format!("{DUPLICATE}{call_id}; same_as={same_as}; original_tokens={original_tokens}]")
}

/// Head and tail of a long result, in characters, around a line that states its length. `None`: it is not longer.
pub fn truncated(call_id: &str, original: &str, head: usize, tail: usize) -> Option<String> {
    head_and_tail(original, TRUNCATED, call_id, head, tail)
}

fn head_and_tail(original: &str, mark: &str, call_id: &str, head: usize, tail: usize) -> Option<String> {
    let length = original.chars().count();
    if length <= head.saturating_add(tail) {
        return None;
    }
    let offset = |chars: usize| original.char_indices().nth(chars).map_or(original.len(), |(at, _)| at);
    let (head, tail) = (&original[..offset(head)], &original[offset(length - tail)..]);
    Some(format!("{head}\n{mark}{call_id}; original_characters={length}]\n{tail}"))
}

/// Whether a result's text is the marker of a masked one.
pub fn is_marker(text: &str) -> bool {
    closes(text.trim(), MASKED, "; original_tokens=")
}

/// Whether the text of a result or of an argument is anything that this service put in place of an original: a
/// client that posts its context back must not have it stored as the original words.
pub fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    is_marker(text)
        || closes(text, DUPLICATE, "; original_tokens=")
        || text.lines().any(|line| {
            closes(line, TRUNCATED, "; original_characters=")
                || closes(line, REPLACED, "; original_tokens=")
                || arguments::is_shortened_line(line)
        })
}

/// The call that such a text of a result names, if it is one of those wanted. What is cut may hold other markers.
pub fn named_call(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
    let text = text.trim();
    let masked = parts(text, MASKED, "; original_tokens=").map(|(id, _)| id);
    let duplicate = parts(text, DUPLICATE, "; original_tokens=").and_then(|(said, _)| said.rsplit_once("; same_as="));
    let whole = masked.or(duplicate.map(|(id, _)| id));
    let truncated = text.lines().filter_map(|line| Some(parts(line, TRUNCATED, "; original_characters=")?.0));
    whole.into_iter().chain(truncated).find(|id| is_wanted(id))
}

/// What a text in place of a result points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle<'t> {
    pub call_id: &'t str,
    /// The call whose result is the same.
    pub same_as: Option<&'t str>,
    /// The size of the original, where the text says it in tokens. Without: head and tail of it stand around.
    pub original_tokens: Option<u32>,
}

/// The handle that a result's text is or, where it was cut to head and tail, has in it.
pub fn handle(text: &str) -> Option<Handle<'_>> {
    const SAME_AS: &str = "; same_as=";
    let text = text.trim();
    if let Some((call_id, tokens)) = parts(text, MASKED, "; original_tokens=") {
        return Some(Handle { call_id, same_as: None, original_tokens: Some(tokens.parse().unwrap_or(u32::MAX)) });
    }
    if let Some((ids, tokens)) = parts(text, DUPLICATE, "; original_tokens=") {
        let (call_id, same_as) = ids.rsplit_once(SAME_AS).map_or((ids, None), |(id, same)| (id, Some(same)));
        return Some(Handle { call_id, same_as, original_tokens: Some(tokens.parse().unwrap_or(u32::MAX)) });
    }
    let cut = text.lines().find_map(|line| parts(line, TRUNCATED, "; original_characters="));
    cut.map(|(call_id, _)| Handle { call_id, same_as: None, original_tokens: None })
}

fn closes(text: &str, prefix: &str, last_field: &str) -> bool {
    parts(text, prefix, last_field).is_some()
}

/// What a marker says between its prefix and its last field, and the number in that.
fn parts<'t>(text: &'t str, prefix: &str, last_field: &str) -> Option<(&'t str, &'t str)> {
    let (said, number) = text.strip_prefix(prefix)?.strip_suffix(']')?.rsplit_once(last_field)?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some((said, number))
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

#[cfg(test)]
mod tests;
