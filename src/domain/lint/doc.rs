//! The items of a transcript while they are mended.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::model::item::ItemError;
use crate::domain::model::json;

/// An item as text and as what the text says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Doc {
    pub(super) text: String,
    /// Shared by all rounds that leave the item as it is: a parsed text takes many times its size.
    pub(super) value: Arc<Value>,
    /// How many halves of characters the text has; in `value` each is U+FFFD.
    pub(super) halves: usize,
}

impl Doc {
    pub(super) fn of(value: Value) -> Doc {
        Doc { text: value.to_string(), value: Arc::new(value), halves: 0 }
    }

    /// The same for whoever reads the JSON.
    pub(super) fn says_the_same(&self, other: &Doc) -> bool {
        self.halves == other.halves && self.value == other.value
    }

    pub(super) fn parse(text: &str) -> Result<Doc, ItemError> {
        let value = json::parse_lenient(text).map_err(|error| ItemError::new("", error.to_string()))?;
        if !value.is_object() {
            return Err(ItemError::new("", "must be an object"));
        }
        Ok(Doc { text: text.to_owned(), value: Arc::new(value), halves: json::lone_surrogates(text) })
    }
}
