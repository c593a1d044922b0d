//! Where the lines of a session's file hang.

use serde_json::Value;

use crate::model::item::ItemError;

/// The place of one line in the tree of its file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    /// The line's own id, or a made-up one where the file's version has none.
    pub source_id: Option<String>,
    /// `None`: follows what is before it. `Some(None)`: a root.
    pub parent: Option<Option<String>>,
    /// The first line that a compaction keeps, where the file gives it outside of the compaction.
    pub first_kept: Option<String>,
    /// It stands beside the conversation: the leaf stays where it was.
    pub is_aside: bool,
}

/// A line that spoils its batch, by its index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("item {index}: {error}")]
pub struct LinkError {
    pub index: usize,
    pub error: ItemError,
}

/// Most characters that are told of a parent which is no id at all.
const ODD_CHARS: usize = 64;

/// The parent that a field names. Only `null` is none; what is no id either is no entry's, and so is told of as one that
/// can't be found.
pub fn named_parent(field: &Value) -> Option<String> {
    match field {
        Value::Null => None,
        Value::String(id) => Some(id.clone()),
        odd => Some(odd.to_string().chars().take(ODD_CHARS).collect()),
    }
}

/// The refusal of a second line of one id, which stands in the field `name`.
pub fn twice(index: usize, name: &str, id: &str) -> LinkError {
    LinkError { index, error: ItemError::new(format!("/{name}"), format!("the id {id:?} occurs twice")) }
}
