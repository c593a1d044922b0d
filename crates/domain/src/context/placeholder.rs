//! Placeholders: the texts that stand in a context for a tool result or a string of a call's arguments, and how they
//! are told from all others. Each names its call, so that the agent can read the original.

use uuid::Uuid;

const MASKED: &str = "[tool_result elided; call_id=";
const DUPLICATE: &str = "[tool_result duplicate; call_id=";
const TRUNCATED: &str = "[tool_result truncated; call_id=";
const REPLACED: &str = "[tool_result shortened; call_id=";
const WORDS: &str = "[message truncated; entry_id=";
/// Between the call of a duplicate and the call that its result is the same as.
const SAME_AS: &str = "; same_as=";
pub(crate) const SHORTENED: &str = "[argument truncated; call_id=";

/// Writes the text that somebody else put in place of a result, with a line that says so.
pub fn replaced(call_id: &str, text: &str, original_tokens: u32) -> String {
    format!("{text}\n{REPLACED}{call_id}; original_tokens={original_tokens}]")
}

/// Stands for one of many small results that have no room to say more: the result itself names its call.
pub const ELIDED: &str = "[elided]";

/// Writes the placeholder of a masked result.
pub fn marker(call_id: &str, original_tokens: u32) -> String {
    format!("{MASKED}{call_id}; original_tokens={original_tokens}]")
}

/// Writes the placeholder of a result that a later one repeats.
pub fn duplicate(call_id: &str, same_as: &str, original_tokens: u32) -> String {
    format!("{DUPLICATE}{call_id}; same_as={same_as}; original_tokens={original_tokens}]")
}

/// Head and tail of a long result, in characters, around a line that states its length. `None`: it is not longer.
pub fn truncated(call_id: &str, original: &str, head: usize, tail: usize) -> Option<String> {
    head_and_tail(original, TRUNCATED, call_id, head, tail)
}

/// As [`truncated`], of a text of an answer.
pub fn truncated_words(entry_id: Uuid, original: &str, head: usize, tail: usize) -> Option<String> {
    head_and_tail(original, WORDS, &entry_id.to_string(), head, tail)
}

/// The entry whose words a text says that it shows by head and tail.
pub fn named_entry(text: &str) -> Option<Uuid> {
    text.lines().find_map(|line| parts(line.trim_end(), WORDS, "; original_characters=")?.0.parse().ok())
}

/// Returns true if a text is what [`truncated_words`] shows of `whole`, white space at the ends of lines aside.
pub fn shows_words_of(text: &str, entry_id: Uuid, whole: &str) -> bool {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some((id, length)) = parts(line.trim_end(), WORDS, "; original_characters=")
            && id.parse() == Ok(entry_id)
            && length.parse() == Ok(whole.chars().count())
        {
            let whole = said(whole);
            return whole.starts_with(&said(&text[..at])) && whole.ends_with(&said(&text[end..]));
        }
        at = end;
    }
    false
}

pub(crate) fn head_and_tail(original: &str, mark: &str, call_id: &str, head: usize, tail: usize) -> Option<String> {
    let length = original.chars().count();
    if length <= head.saturating_add(tail) {
        return None;
    }
    let offset = |chars: usize| original.char_indices().nth(chars).map_or(original.len(), |(at, _)| at);
    let (head, tail) = (&original[..offset(head)], &original[offset(length - tail)..]);
    Some(format!("{head}\n{mark}{call_id}; original_characters={length}]\n{tail}"))
}

/// Returns true if a result's text is the marker of a masked one.
pub fn is_marker(text: &str) -> bool {
    closes(text.trim(), MASKED, "; original_tokens=")
}

/// Returns true if the text of a result or of an argument is anything that this service put in place of an original:
/// a client that posts its context back must not have it stored as the original words.
pub fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    text == ELIDED
        || is_marker(text)
        || closes(text, DUPLICATE, "; original_tokens=")
        || text.lines().any(|line| {
            closes(line, TRUNCATED, "; original_characters=")
                || closes(line, REPLACED, "; original_tokens=")
                || is_shortened_line(line)
        })
}

/// A stored result, as far as texts in its place tell of it.
#[derive(Debug, Clone, Copy)]
pub struct ReplacedResult<'o> {
    pub call_id: &'o str,
    pub text: &'o str,
    /// Its size in tokens, as it was given at one time or another.
    pub sizes: &'o [u32],
}

/// Returns true if a text is one that this service shows in place of this result: its call, its size and what is left
/// of its words all have to be right. A tool may say anything that looks like it.
pub fn stands_for(text: &str, original: ReplacedResult<'_>) -> bool {
    let text = text.trim();
    let sized = |number: &str| number.parse().is_ok_and(|size| original.sizes.contains(&size));
    if text == ELIDED {
        return !original.sizes.is_empty();
    }
    if let Some((call_id, size)) = parts(text, MASKED, "; original_tokens=") {
        return call_id == original.call_id && sized(size);
    }
    if let Some((ids, size)) = parts(text, DUPLICATE, "; original_tokens=") {
        return ids.rsplit_once(SAME_AS).is_some_and(|(call_id, _)| call_id == original.call_id) && sized(size);
    }
    let replaced = text.lines().next_back().and_then(|line| parts(line, REPLACED, "; original_tokens="));
    if replaced.is_some_and(|(call_id, size)| call_id == original.call_id && sized(size)) {
        return true;
    }
    is_cut_from(text, original)
}

/// Returns true if a text is head and tail of the original, white space at the ends of lines aside.
fn is_cut_from(text: &str, original: ReplacedResult<'_>) -> bool {
    let mut whole = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some((call_id, length)) = parts(line.trim_end(), TRUNCATED, "; original_characters=")
            && call_id == original.call_id
            && length.parse() == Ok(original.text.chars().count())
        {
            let whole = whole.get_or_insert_with(|| said(original.text));
            if whole.starts_with(&said(&text[..at])) && whole.ends_with(&said(&text[end..])) {
                return true;
            }
        }
        at = end;
    }
    false
}

fn said(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// The call that a text names, which says of itself that it stands for the call's result.
pub fn named_call(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
    let text = text.trim();
    let masked = parts(text, MASKED, "; original_tokens=").map(|(id, _)| id);
    let duplicate = parts(text, DUPLICATE, "; original_tokens=").and_then(|(said, _)| said.rsplit_once(SAME_AS));
    let whole = masked.or(duplicate.map(|(id, _)| id));
    let within = text.lines().filter_map(|line| {
        let cut = parts(line, TRUNCATED, "; original_characters=");
        Some(cut.or_else(|| parts(line, REPLACED, "; original_tokens="))?.0)
    });
    whole.into_iter().chain(within).find(|id| is_wanted(id))
}

/// Call that a text in place of a result points to, and what the text says of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle<'t> {
    pub call_id: &'t str,
    /// The call whose result is the same.
    pub same_as: Option<&'t str>,
    /// The size of the original, where the text says it in tokens. Without: head and tail of it stand around.
    pub original_tokens: Option<u32>,
}

/// The handle that a result's text is or, where it was cut to head and tail, has in it; if it is of this call. A tool
/// may have read the handles of others.
pub fn handle(text: &str, is_own: impl Fn(&str) -> bool) -> Option<Handle<'_>> {
    let text = text.trim();
    let of = |call_id, same_as, tokens: Option<&str>| {
        let original_tokens = tokens.map(|tokens| tokens.parse().unwrap_or(u32::MAX));
        is_own(call_id).then_some(Handle { call_id, same_as, original_tokens })
    };
    if let Some((call_id, tokens)) = parts(text, MASKED, "; original_tokens=") {
        return of(call_id, None, Some(tokens));
    }
    if let Some((ids, tokens)) = parts(text, DUPLICATE, "; original_tokens=") {
        let (call_id, same_as) = ids.rsplit_once(SAME_AS).map_or((ids, None), |(id, same)| (id, Some(same)));
        return of(call_id, same_as, Some(tokens));
    }
    text.lines().find_map(|line| of(parts(line, TRUNCATED, "; original_characters=")?.0, None, None))
}

fn closes(text: &str, prefix: &str, last_field: &str) -> bool {
    parts(text, prefix, last_field).is_some()
}

/// Returns the part of a marker between its prefix and its last field, and the number in that field.
pub(crate) fn parts<'t>(text: &'t str, prefix: &str, last_field: &str) -> Option<(&'t str, &'t str)> {
    let (said, number) = text.strip_prefix(prefix)?.strip_suffix(']')?.rsplit_once(last_field)?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some((said, number))
}

pub(crate) fn is_shortened_line(line: &str) -> bool {
    closes(line, SHORTENED, "; original_characters=")
}
