//! Checks that serde can't make of a field: lengths, ranges, kinds of JSON. Faults are collected and answered together.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::Value;
use serde_json::value::RawValue;

use super::problem::{Problem, Result};
use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::json;
use crate::domain::model::metadata::MetadataValue;
use crate::service::core::error::FieldError;

/// Most items of a call that stores nothing, or that posts a whole transcript.
pub const STATELESS_ITEMS: usize = 20_000;
pub const MAX_NAME_CHARS: usize = 512;
pub const MAX_TITLE_CHARS: usize = 1_000;
/// Values of metadata that one call asks for.
pub const MAX_METADATA_VALUES: usize = 16;
const MAX_METADATA_CHARS: usize = 1_000;
const TOLD_KEY_CHARS: usize = 64;
/// How full a session's window is.
pub const STATES: [&str; 3] = ["green", "yellow", "red"];
pub const MAX_PROSE_CHARS: usize = 100_000;

/// Faults found so far.
#[derive(Default)]
pub struct Faults(Vec<FieldError>);

impl Faults {
    pub fn add(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push(FieldError { pointer: pointer.into(), detail: detail.into() });
    }

    /// Text that is stored as PostgreSQL text: no NUL, at most `max_chars` characters.
    pub fn text(&mut self, pointer: &str, text: Option<&str>, max_chars: usize) {
        let Some(text) = text else { return };
        if text.contains('\0') {
            self.add(pointer, "must not contain the character U+0000");
        }
        // A text has no more characters than bytes: the usual short one is not counted.
        if text.len() > max_chars && text.chars().count() > max_chars {
            self.add(pointer, format!("must not be longer than {max_chars} characters"));
        }
    }

    pub fn range<T: PartialOrd + Display>(&mut self, pointer: &str, value: Option<T>, range: RangeInclusive<T>) {
        if value.is_some_and(|value| !range.contains(&value)) {
            self.add(pointer, format!("must be from {} to {}", range.start(), range.end()));
        }
    }

    /// JSON that must begin like one of `kinds`: an object `{`, a list `[` or a string `"`.
    pub fn json(&mut self, pointer: &str, value: Option<&RawValue>, kinds: &[char], expected: &str) {
        if value.is_some_and(|value| !value.get().starts_with(kinds)) {
            self.add(pointer, format!("must be {expected}"));
        }
    }

    /// Checks what goes with a context: `system` is a text or a list of blocks, `tools` a list of definitions.
    pub fn documents(&mut self, system: Option<&RawValue>, tools: Option<&RawValue>) {
        // What can't be read is a fault of the request's JSON, which has been read.
        let system = system.and_then(|system| json::parse_lenient(system.get()).ok());
        self.system("/system", system.as_ref());
        self.json("/tools", tools, &['['], "a list of tool definitions");
        self.objects("/tools", tools);
    }

    /// A text, a list of blocks, Gemini's `systemInstruction` or a message.
    pub fn system(&mut self, pointer: &str, system: Option<&Value>) {
        for (at, fault) in system.into_iter().flat_map(format::system::faults) {
            self.add(format!("{pointer}{at}"), fault);
        }
    }

    /// The members of a list must be objects. What is no list is not looked at.
    fn objects(&mut self, pointer: &str, value: Option<&RawValue>) {
        let list = value.and_then(|value| serde_json::from_str::<Vec<&RawValue>>(value.get()).ok());
        for (at, _) in list.iter().flatten().enumerate().filter(|(_, member)| !member.get().starts_with('{')) {
            self.add(format!("{pointer}/{at}"), "must be an object");
        }
    }

    /// What a context is asked for in, or a transcript is told in.
    pub fn context_format(&mut self, pointer: &str, format: Option<Format>) {
        if let Some(format) = format.filter(|format| format.is_file_only()) {
            let (name, others) = (format.into_str(), Format::names(Format::OF_CONTEXTS));
            self.add(pointer, format!("{name} is for files that are appended or exported; must be {others}"));
        }
    }

    /// Refuses the request if there was a fault.
    pub fn finish(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::invalid(self.0)) }
    }
}

/// A value of metadata to look for; `None` is one of another kind. `Err`: the key's beginning, for one of any length is not
/// told back, and what is wrong.
pub fn metadata_value(key: String, value: Option<String>) -> std::result::Result<MetadataValue, (String, String)> {
    let fault = match &value {
        None => Some("must be a string, a number, a boolean or null".to_owned()),
        Some(value) => metadata_fault(&key, value),
    };
    match (value, fault) {
        (Some(value), None) => Ok(MetadataValue { key, value }),
        (_, fault) => Err((key.chars().take(TOLD_KEY_CHARS).collect(), fault.unwrap_or_default())),
    }
}

fn metadata_fault(key: &str, value: &str) -> Option<String> {
    let is_long = |text: &str, most: usize| text.len() > most && text.chars().count() > most;
    if key.contains('\0') || value.contains('\0') {
        return Some("must not contain the character U+0000".to_owned());
    }
    if is_long(key, MAX_NAME_CHARS) {
        return Some(format!("must not name a key of more than {MAX_NAME_CHARS} characters"));
    }
    is_long(value, MAX_METADATA_CHARS).then(|| format!("must not be longer than {MAX_METADATA_CHARS} characters"))
}

/// For a field where `null` says something else than leaving it out. Use with `#[serde(default)]`.
pub fn double_option<'de, D, T>(deserializer: D) -> std::result::Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    serde::Deserialize::deserialize(deserializer).map(Some)
}
