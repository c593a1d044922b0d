//! Tells a provider's "the context is too long" from every other error.

mod window;

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::Value;

use crate::model::message::Stop;
use crate::model::usage::ReportedUsage;

pub use window::named_window;

/// A longer body of unknown form is not judged by its words: it may echo the request.
const MAX_JUDGED: usize = 1000;

/// How providers and model servers say that the input does not fit where they name no bound, without regard to case. What
/// names one is known by its structure, see [`named_window`].
const OVERFLOW: &[&str] = &[
    r"prompt (?:is |was )?too (?:long|large)",
    r"request_too_large",
    r"input (?:is )?too long for (?:the )?requested model",
    r"exceeds? (?:the |this |your )?(?:model'?s? )?context (?:window|length|limit|size)",
    r"reduce the length of the (?:input )?(?:messages|prompt)",
    r"exceeds the available context size",
    r"context[ _](?:length|size|window)[ _]exceeded|exceed_context_size",
    r"greater than the context length",
    r"context window exceeds limit",
    r"(?:prompt|inputs?|tokens|sequence) exceeds? (?:the )?max(?:imum)?(?: \w+){0,2} length",
    r"too many tokens",
    r"tokens?[ _]limit[ _](?:exceeded|reached)",
    r"^\s*4(?:00|13)\s*(?:status code)?\s*\(no body\)",
];

/// Rate limits, outages and what has to be paid for, whose texts may speak of tokens as well. They win over all else.
const NOT_OVERFLOW: &[&str] = &[
    r"^\s*(?:throttling|service ?unavailable)",
    r"rate[ _-]?limit",
    r"too[ _]many[ _]requests",
    r"\bper[ _-]?(?:second|min(?:ute)?|hour|day|month)\b|\b(?:hourly|daily|weekly|monthly)\b",
    r"\b[tr]p[mdh]\b",
    r"\bquota\b",
    r"\bcredits?\b|\bafford\b|\bbilling\b",
    r"\bdeadline\b|\btimeout\b",
];

/// What an error says that is about something being too much.
const EXCESS: &str = r"exceed|\btoo\b|(?:long|larg|great|more)(?:er)? than|>|\b(?:over|but|however|while|must|cannot|should|reduce|received|given|requested|only)\b";

static OVERFLOW_SET: LazyLock<RegexSet> = LazyLock::new(|| compiled(OVERFLOW));
static NOT_OVERFLOW_SET: LazyLock<RegexSet> = LazyLock::new(|| compiled(NOT_OVERFLOW));
static EXCESS_SET: LazyLock<RegexSet> = LazyLock::new(|| compiled(&[EXCESS]));

/// Returns true if a provider's error text says that the input is longer than the model's window.
pub fn is_context_overflow(text: &str) -> bool {
    let says_so = OVERFLOW_SET.is_match(text) || (EXCESS_SET.is_match(text) && named_window(text).is_some());
    says_so && !NOT_OVERFLOW_SET.is_match(text)
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
