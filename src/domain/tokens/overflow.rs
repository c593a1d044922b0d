//! Tells a provider's "the context is too long" from every other error.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::Value;

use crate::domain::model::message::Stop;
use crate::domain::model::usage::ReportedUsage;

/// A longer body of unknown form is not judged by its words: it may echo the request.
const MAX_JUDGED: usize = 1000;

/// A longer text is read for the window that it names up to here, in bytes.
const MAX_READ: usize = 4_000;

/// How providers and model servers say that the input does not fit, without regard to case.
const OVERFLOW: &[&str] = &[
    r"prompt (?:is |was )?too (?:long|large)",
    r"request_too_large",
    r"input (?:is )?too long for (?:the )?requested model",
    r"exceeds? (?:the |this |your )?(?:model'?s? )?context (?:window|length|limit|size)",
    r"exceed(?:s|ed|ing)? (?:the |this )?(?:model'?s? )?maximum context length (?:of )?\(?[\d,]+",
    r"input token count.{0,80}exceeds the maximum",
    r"maximum prompt length is [\d,]+",
    r"reduce the length of the (?:input )?(?:messages|prompt)",
    r"maximum context length (?:is|of) [\d,]+ tokens",
    r"exceeds (?:the )?maximum allowed input length",
    r"longer than the model'?s context length",
    r"exceeds the limit of [\d,]+",
    r"exceeds the available context size",
    r"exceed_context_size",
    r"greater than the context length",
    r"context window exceeds limit",
    r"exceeded model token limit",
    r"too large for model with [\d,]+ maximum context length",
    r"prompt has [\d,]+ tokens?,? but (?:the )?configured context size is [\d,]+",
    r"model_context_window_exceeded",
    r"range of input length should be",
    r"context[ _]length[ _]exceeded",
    r"too many tokens",
    r"token limit exceeded",
    r"^\s*4(?:00|13)\s*(?:status code)?\s*\(no body\)",
];

/// Rate limits and outages, whose texts may speak of tokens as well. They win over [`OVERFLOW`].
const NOT_OVERFLOW: &[&str] =
    &[r"^\s*(?:throttling|service ?unavailable)", r"rate[ _-]?limit", r"too[ _]many[ _]requests"];

static OVERFLOW_SET: LazyLock<RegexSet> = LazyLock::new(|| compiled(OVERFLOW));
static NOT_OVERFLOW_SET: LazyLock<RegexSet> = LazyLock::new(|| compiled(NOT_OVERFLOW));

/// Returns true if a provider's error text says that the input is longer than the model's window.
pub fn is_context_overflow(text: &str) -> bool {
    OVERFLOW_SET.is_match(text) && !NOT_OVERFLOW_SET.is_match(text)
}

/// What of an answer with an error status is judged: the words of [`error_words`], or a short body of another form.
pub fn error_text(code: u16, body: &[u8]) -> String {
    if body.trim_ascii().is_empty() {
        return format!("{code} (no body)");
    }
    let short = body.get(..MAX_JUDGED).map_or(body, |_| &[]);
    error_words(body).unwrap_or_else(|| String::from_utf8_lossy(short).into_owned())
}

/// Code, type and message of an error's body in one of the usual forms; `None` for any other.
pub fn error_words(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    if let Some(text) = error.as_str() {
        return Some(text.to_owned());
    }
    let words = ["code", "type", "status", "message", "detail"].map(|key| error.get(key).and_then(Value::as_str));
    let mut words: Vec<&str> = words.into_iter().flatten().collect();
    words.dedup();
    // llama.cpp names its window beside the message.
    let window = error.get("n_ctx").and_then(Value::as_u64).map(|window| format!("n_ctx {window}"));
    words.extend(window.as_deref());
    (!words.is_empty()).then(|| words.join(": "))
}

/// Where providers and model servers name the window in a refusal, the surest first; the number is the only group.
const NAMED: &[&str] = &[
    r"tokens? ?> ?([\d,._]+\s?[km]?)\b.{0,20}max",
    r"n_ctx\W{0,4}([\d,._]+)",
    r"exceeds? context limit: [\d,._]+ ?\+ ?[\d,._]+ ?> ?([\d,._]+)",
    r"maximum context length:? (?:is|of) \(?(?:only )?([\d,._]+\s?[km]?)\b",
    r"(?:maximum )?context length (?:is|of)(?: only)? \(?([\d,._]+\s?[km]?)\b",
    r"maximum context length:? ?\(?([\d,._]+\s?[km]?)\b",
    r"context length \(([\d,._]+\s?[km]?)\b",
    r"maximum (?:prompt|model|input) length (?:is|of) ([\d,._]+\s?[km]?)\b",
    r"exceeds the maximum (?:number )?(?:of )?(?:input )?(?:tokens )?(?:allowed )?(?:of )?\(?([\d,._]+)",
    r"maximum allowed input length (?:is|of) ([\d,._]+\s?[km]?)\b",
    r"with ([\d,._]+) maximum context length",
    r"(?:available |configured )?context size (?:is |of )?\(?([\d,._]+\s?[km]?)\b",
    r"exceeds the limit of ([\d,._]+\s?[km]?)\b",
    r"exceeded model token limit:? ([\d,._]+\s?[km]?)\b",
    r"range of input length should be \[\d+, ?([\d,._]+)\]",
    r"(?:must be <=|must have less than|cannot exceed) ([\d,._]+)",
    r"context (?:window|limit) (?:is|of) (?:only )?([\d,._]+\s?[km]?)\b",
];

static NAMED_WINDOWS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| NAMED.iter().filter_map(|pattern| Regex::new(&format!("(?i){pattern}")).ok()).collect());

/// No provider has a window of so many tokens: the number means something else.
const MOST_NAMED: u64 = 100_000_000;

/// The window that a refusal names, in tokens. `None`: it names none.
pub fn named_window(text: &str) -> Option<u32> {
    let text = text.get(..text.floor_char_boundary(MAX_READ.min(text.len())))?;
    let named = NAMED_WINDOWS
        .iter()
        .filter_map(|pattern| pattern.captures(text)?.get(1).and_then(|found| number(found.as_str())));
    named.filter(|window| (1..=MOST_NAMED).contains(window)).find_map(|window| u32::try_from(window).ok())
}

/// A number as people write it: with separators, or in thousands.
fn number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let unit = match text.trim_end().chars().next_back() {
        Some('k' | 'K') => 1_000,
        Some('m' | 'M') => 1_000_000,
        _ => 1,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Returns true if an answer that came without an error shows an overflow all the same: the provider took more than
/// the window (`context_window`, tokens), or filled the window to the brim and had no room for a word.
pub fn is_silent_overflow(stop: Option<Stop>, usage: &ReportedUsage, context_window: u32) -> bool {
    let (input, window) = (usage.input.saturating_add(usage.cache_read), u64::from(context_window));
    match stop {
        Some(Stop::End) => window > 0 && input > window,
        Some(Stop::Length) => window > 0 && usage.output == 0 && input.saturating_mul(100) >= window.saturating_mul(99),
        _ => false,
    }
}

#[expect(clippy::expect_used, reason = "the patterns are constants and a test compiles them")]
fn compiled(patterns: &[&str]) -> RegexSet {
    RegexSet::new(patterns.iter().map(|pattern| format!("(?i){pattern}"))).expect("constant patterns")
}

#[cfg(test)]
mod tests;
