//! Answers of hooks. An empty body, `null` and an object without the fields of its event say nothing; what is no
//! JSON object, or has such a field in another form, is no answer.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;
use uuid::Uuid;

use super::Event;
use crate::model::compaction::FileLists;

/// A reason is kept up to this many characters.
const MAX_REASON_CHARS: usize = 300;

/// Fault of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadAnswer {
    #[error("the answer is not JSON in UTF-8")]
    NotJson,
    #[error("the answer is not a JSON object")]
    NotAnObject,
    #[error("`{0}` has the wrong form")]
    Field(&'static str),
}

/// How many unread fields are named, and how much of each name.
const MAX_NAMED: usize = 8;
const MAX_NAME_CHARS: usize = 60;

/// Verdict of a `before_*` hook.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Pass,
    /// Not to be done, for this reason.
    Cancel(Option<String>),
    Replace(Given),
}

/// A summary made by a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub summary: String,
    pub first_kept_entry_id: Option<Uuid>,
    /// An object.
    pub details: Option<Value>,
}

/// A tool result made shorter by a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// `None`: the only result with that call id is meant.
    pub entry_id: Option<Uuid>,
    pub tool_call_id: String,
    pub text: String,
}

/// `{cancel, reason?}` or `{compaction: {summary, first_kept_entry_id?, details?}}`.
pub fn before_compact(body: &[u8]) -> Result<Verdict, BadAnswer> {
    verdict(&object(body)?, "compaction")
}

/// `{cancel, reason?}` or `{compaction: {summary, details?}}`; `summary` is an older name of `compaction`.
pub fn before_navigate(body: &[u8]) -> Result<Verdict, BadAnswer> {
    let fields = object(body)?;
    verdict(&fields, if is_absent(&fields, "compaction") { "summary" } else { "compaction" })
}

/// The fields of a good answer that nobody reads, as a sentence.
pub fn unread(event: Event, body: &[u8]) -> Option<String> {
    let fields = object(body).ok()?;
    let mut names = match event {
        Event::BeforeCompact => besides(&fields, &["cancel", "reason", "compaction"], ""),
        Event::BeforeNavigate => besides(&fields, &["cancel", "reason", "compaction", "summary"], ""),
        Event::PruneToolResults => besides(&fields, &["results"], ""),
        Event::FormatMessages => besides(&fields, &["text"], ""),
        Event::BuildSummary => unread_given(&fields, &["summary", "details"], ""),
        Event::AfterCompact | Event::AfterNavigate | Event::ChapterRequested => besides(&fields, &[], ""),
    };
    let inner = |name: &str| fields.get(name).and_then(Value::as_object);
    match event {
        Event::BeforeCompact => {
            let given = ["summary", "first_kept_entry_id", "details"];
            names.extend(inner("compaction").into_iter().flat_map(|it| unread_given(it, &given, "compaction.")));
        }
        Event::BeforeNavigate => {
            for holder in ["compaction", "summary"] {
                let below = format!("{holder}.");
                names
                    .extend(inner(holder).into_iter().flat_map(|it| unread_given(it, &["summary", "details"], &below)));
            }
        }
        Event::PruneToolResults => {
            let results = fields.get("results").and_then(Value::as_array).into_iter().flatten();
            let read = ["entry_id", "tool_call_id", "text"];
            names.extend(results.filter_map(Value::as_object).flat_map(|it| besides(it, &read, "results.")));
        }
        _ => {}
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.truncate(MAX_NAMED);
    (!names.is_empty()).then(|| format!("not used: {}", names.join(", ")))
}

/// Lists the fields of a hook's summary that nobody reads; of its details, the file lists are read.
fn unread_given(fields: &Map<String, Value>, read: &[&str], below: &str) -> Vec<String> {
    let mut names = besides(fields, read, below);
    if let Some(Value::Object(details)) = fields.get("details") {
        match FileLists::deserialize(details) {
            Ok(_) => names.extend(besides(details, &["read_files", "modified_files"], &format!("{below}details."))),
            Err(_) => names.push(format!("`{below}details`")),
        }
    }
    names
}

/// The names of fields besides those that are read; a field that says nothing is not missed.
fn besides(fields: &Map<String, Value>, read: &[&str], below: &str) -> Vec<String> {
    let more = fields.iter().filter(|(name, value)| !value.is_null() && !read.contains(&name.as_str()));
    more.map(|(name, _)| {
        format!("`{below}{}`", name.replace('\0', "").chars().take(MAX_NAME_CHARS).collect::<String>())
    })
    .collect()
}

/// `{summary, details?}`.
pub fn build_summary(body: &[u8]) -> Result<Option<Given>, BadAnswer> {
    let fields = object(body)?;
    if is_absent(&fields, "summary") { Ok(None) } else { given(&fields).map(Some) }
}

/// `{text}`.
pub fn format_messages(body: &[u8]) -> Result<Option<String>, BadAnswer> {
    text(&object(body)?, "text")
}

/// `{results: [{entry_id?, tool_call_id, text}]}`.
pub fn prune_tool_results(body: &[u8]) -> Result<Vec<Shortened>, BadAnswer> {
    let fields = object(body)?;
    let bad = BadAnswer::Field("results");
    match fields.get("results") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(results)) => {
            results.iter().map(|result| shortened(result.as_object().ok_or(bad)?).map_err(|_| bad)).collect()
        }
        Some(_) => Err(bad),
    }
}

fn shortened(fields: &Map<String, Value>) -> Result<Shortened, BadAnswer> {
    let required = |name| text(fields, name)?.ok_or(BadAnswer::Field("results"));
    Ok(Shortened {
        entry_id: id(fields, "entry_id")?,
        tool_call_id: required("tool_call_id")?,
        text: required("text")?,
    })
}

fn verdict(fields: &Map<String, Value>, replacement: &'static str) -> Result<Verdict, BadAnswer> {
    match fields.get("cancel") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            let reason = text(fields, "reason")?;
            return Ok(Verdict::Cancel(reason.map(|reason| reason.chars().take(MAX_REASON_CHARS).collect())));
        }
        Some(_) => return Err(BadAnswer::Field("cancel")),
    }
    match fields.get(replacement) {
        None | Some(Value::Null) => Ok(Verdict::Pass),
        Some(Value::Object(fields)) => given(fields).map(Verdict::Replace),
        Some(_) => Err(BadAnswer::Field(replacement)),
    }
}

fn given(fields: &Map<String, Value>) -> Result<Given, BadAnswer> {
    let details = match fields.get("details") {
        None | Some(Value::Null) => None,
        Some(details @ Value::Object(_)) => Some(details.clone()),
        Some(_) => return Err(BadAnswer::Field("details")),
    };
    let summary = text(fields, "summary")?.ok_or(BadAnswer::Field("summary"))?;
    Ok(Given { summary, first_kept_entry_id: id(fields, "first_kept_entry_id")?, details })
}

fn object(body: &[u8]) -> Result<Map<String, Value>, BadAnswer> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(BadAnswer::NotAnObject),
        Err(_) => Err(BadAnswer::NotJson),
    }
}

fn is_absent(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).is_none_or(Value::is_null)
}

fn text(fields: &Map<String, Value>, name: &'static str) -> Result<Option<String>, BadAnswer> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.contains('\0') => Ok(Some(text.clone())),
        Some(_) => Err(BadAnswer::Field(name)),
    }
}

fn id(fields: &Map<String, Value>, name: &'static str) -> Result<Option<Uuid>, BadAnswer> {
    text(fields, name)?.map(|text| Uuid::parse_str(&text).map_err(|_| BadAnswer::Field(name))).transpose()
}

#[cfg(test)]
mod tests;
