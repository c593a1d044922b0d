//! Reading one setting's value from JSON, with the reason where it does not fit.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde_json::Value;
use uuid::Uuid;

use super::{FileKind, FileTool};
use crate::model::user_text;
use crate::redaction::{OwnPatterns, PATTERNS_MAX, RedactSetting, RedactWord, own_pattern};

const TEXT_MAX_CHARS: usize = 100_000;
const LIST_MAX: usize = 1000;
const AGENTS_MAX: usize = 100;

/// Why a value is refused; `below` is the JSON pointer inside the value.
#[derive(Debug)]
pub(super) struct ValueRefusal {
    pub below: String,
    pub detail: String,
}

impl ValueRefusal {
    fn below(self, step: &str) -> Self {
        let step = step.replace('~', "~0").replace('/', "~1");
        Self { below: format!("/{step}{}", self.below), ..self }
    }
}

impl<T: Into<String>> From<T> for ValueRefusal {
    fn from(detail: T) -> Self {
        Self { below: String::new(), detail: detail.into() }
    }
}

pub(super) type ReadValue<T> = Result<T, ValueRefusal>;

pub(super) fn boolean(value: &Value) -> ReadValue<bool> {
    value.as_bool().ok_or_else(|| "must be true or false".into())
}

pub(super) fn integer(value: &Value, range: RangeInclusive<u32>) -> ReadValue<u32> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("must be an integer from {} to {}", range.start(), range.end()).into())
}

pub(super) fn number(value: &Value, range: RangeInclusive<f64>) -> ReadValue<f64> {
    value
        .as_f64()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("must be a number from {} to {}", range.start(), range.end()).into())
}

/// One of an enum's words.
pub(super) fn word<T: for<'de> Deserialize<'de>>(value: &Value) -> ReadValue<T> {
    let text: &str = value.as_str().ok_or("must be a string")?;
    let word: StrDeserializer<Error> = text.into_deserializer();
    T::deserialize(word).map_err(|error| error.to_string().into())
}

pub(super) fn text(value: &Value) -> ReadValue<String> {
    let text = value.as_str().ok_or("must be a string")?;
    if text.chars().nth(TEXT_MAX_CHARS).is_some() {
        return Err(format!("must have at most {TEXT_MAX_CHARS} characters").into());
    }
    Ok(text.to_owned())
}

/// A text that must say something; for names.
pub(super) fn name(value: &Value) -> ReadValue<String> {
    let name = text(value)?;
    if name.trim().is_empty() { Err("must not be empty".into()) } else { Ok(name) }
}

pub(super) fn optional<T>(value: &Value, read: impl FnOnce(&Value) -> ReadValue<T>) -> ReadValue<Option<T>> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

pub(super) fn list<T>(value: &Value, read: impl Fn(&Value) -> ReadValue<T>) -> ReadValue<Vec<T>> {
    let items = value.as_array().ok_or("must be a list")?;
    if items.len() > LIST_MAX {
        return Err(format!("must have at most {LIST_MAX} items").into());
    }
    let indexed = items.iter().enumerate();
    indexed.map(|(index, item)| read(item).map_err(|refusal| refusal.below(&index.to_string()))).collect()
}

/// Names of agents, as they are compared with the names of messages.
pub(super) fn agents(value: &Value) -> ReadValue<Vec<String>> {
    if value.as_array().is_some_and(|names| names.len() > AGENTS_MAX) {
        return Err(format!("must have at most {AGENTS_MAX} items").into());
    }
    list(value, |value| match name(value)? {
        name if name.chars().count() > user_text::NAME_CHARS => {
            Err(format!("must have at most {} characters", user_text::NAME_CHARS).into())
        }
        name => Ok(user_text::name_of(&name)),
    })
}

pub(super) fn redact(value: &Value) -> ReadValue<RedactSetting> {
    let fields = match value {
        Value::String(word) if word == "auto" => return Ok(RedactSetting::Word(RedactWord::Auto)),
        Value::String(word) if word == "off" => return Ok(RedactSetting::Word(RedactWord::Off)),
        Value::Object(fields) => fields,
        _ => return Err("must be `auto`, `off` or an object with `patterns`".into()),
    };
    if let Some(unknown) = fields.keys().find(|key| *key != "patterns") {
        return Err(ValueRefusal::from("is not known; `patterns` is").below(unknown));
    }
    let patterns = fields.get("patterns").ok_or_else(|| ValueRefusal::from("is missing").below("patterns"))?;
    let patterns = redact_patterns(patterns).map_err(|refusal| refusal.below("patterns"))?;
    Ok(RedactSetting::Own(OwnPatterns { patterns }))
}

fn redact_patterns(value: &Value) -> ReadValue<Vec<String>> {
    if value.as_array().is_some_and(|patterns| patterns.len() > PATTERNS_MAX) {
        return Err(format!("must have at most {PATTERNS_MAX} items").into());
    }
    list(value, |value| {
        let pattern = name(value)?;
        own_pattern(&pattern)?;
        Ok(pattern)
    })
}

pub(super) fn uuid(value: &Value) -> ReadValue<Uuid> {
    value.as_str().and_then(|text| text.parse().ok()).ok_or_else(|| "must be a UUID".into())
}

pub(super) fn file_tools(value: &Value) -> ReadValue<BTreeMap<String, FileTool>> {
    let tools = value.as_object().ok_or("must be an object of tool names")?;
    if tools.len() > LIST_MAX {
        return Err(format!("must have at most {LIST_MAX} tools").into());
    }
    let read = |(tool, value): (&String, &Value)| match file_tool(value) {
        Ok(parsed) => Ok((tool.clone(), parsed)),
        Err(refusal) => Err(refusal.below(tool)),
    };
    tools.iter().map(read).collect()
}

fn file_tool(value: &Value) -> ReadValue<FileTool> {
    let fields = value.as_object().ok_or("must be an object with `kind` and `path`")?;
    if let Some(unknown) = fields.keys().find(|key| *key != "kind" && *key != "path") {
        return Err(ValueRefusal::from("is not known; `kind` and `path` are").below(unknown));
    }
    let field = |key: &str| fields.get(key).ok_or_else(|| ValueRefusal::from("is missing").below(key));
    let kind: FileKind = word(field("kind")?).map_err(|refusal| refusal.below("kind"))?;
    let path = name(field("path")?).map_err(|refusal| refusal.below("path"))?;
    Ok(FileTool { kind, path })
}
