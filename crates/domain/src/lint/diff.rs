//! Changes between two lists of items, as a patch.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::doc::Doc;

/// What a change does; the words are those of JSON Patch (RFC 6902).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    Add,
    Remove,
    Replace,
}

/// One step of a patch. Applied in order to the list of items, the steps give the repaired copy.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PatchStep {
    pub op: Op,
    /// The item as it was given, counted from 0; for `add`, the given item that it is put before.
    pub index: usize,
    /// JSON pointer into the list of items, as it is when this step's turn has come.
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_it_is")]
    #[schema(value_type = Option<Object>)]
    pub value: Option<Arc<RawValue>>,
}

fn as_it_is<S: Serializer>(value: &Option<Arc<RawValue>>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_deref().serialize(serializer)
}

/// A patch from `old` to `new`. Linear; not always the shortest.
pub fn diff(old: &[Doc], new: &[Doc]) -> Vec<PatchStep> {
    let mut left = counts(old);
    let mut right = counts(new);
    let (mut i, mut j) = (0, 0);
    let mut changes = Vec::new();
    let mut add = |op: Op, index: usize, at: usize, value: Option<&Doc>| {
        let value = value.map(|doc| Arc::clone(&doc.text));
        changes.push(PatchStep { op, index, path: format!("/{at}"), value });
    };
    loop {
        match (old.get(i), new.get(j)) {
            (None, None) => break,
            (Some(before), Some(after)) if before.says_the_same(after) => {
                take(&mut left, before);
                take(&mut right, after);
                (i, j) = (i + 1, j + 1);
            }
            (Some(before), after) => {
                let comes_later = right.get(key(before)).is_some_and(|count| *count > 0);
                let came = after.filter(|after| left.get(key(after)).is_none_or(|count| *count == 0));
                match (came, comes_later) {
                    (Some(after), true) => {
                        add(Op::Add, i, j, Some(after));
                        take(&mut right, after);
                        j += 1;
                    }
                    (Some(after), false) => {
                        add(Op::Replace, i, j, Some(after));
                        take(&mut left, before);
                        take(&mut right, after);
                        (i, j) = (i + 1, j + 1);
                    }
                    (None, _) => {
                        add(Op::Remove, i, j, None);
                        take(&mut left, before);
                        i += 1;
                    }
                }
            }
            (None, Some(after)) => {
                add(Op::Add, i, j, Some(after));
                j += 1;
            }
        }
    }
    changes
}

/// How often each item occurs from here on.
fn counts(docs: &[Doc]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for doc in docs {
        *counts.entry(key(doc)).or_default() += 1;
    }
    counts
}

fn key(doc: &Doc) -> &str {
    doc.text.get()
}

fn take<'d>(counts: &mut HashMap<&'d str, usize>, doc: &'d Doc) {
    if let Some(count) = counts.get_mut(key(doc)) {
        *count = count.saturating_sub(1);
    }
}
