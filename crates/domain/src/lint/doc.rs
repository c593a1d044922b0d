//! The items of a transcript while they are mended.

use std::sync::Arc;

use blake3::{Hash, Hasher};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::model::item::ItemError;
use crate::model::json;

/// An item as text. What the text says is parsed for whoever looks at it and let go again: a parsed text takes many
/// times its size, so that never more of them than one item are held.
#[derive(Debug, Clone)]
pub(super) struct Doc {
    pub(super) text: Arc<RawValue>,
    /// How many halves of characters the text has; in its value each is U+FFFD.
    pub(super) halves: usize,
    /// Of its value: equal for two items that say the same.
    said: Hash,
}

impl Doc {
    pub(super) fn parse(text: &str) -> Result<Doc, ItemError> {
        let no_json = |error: String| ItemError::new("", error);
        let value = json::parse_lenient(text).map_err(|error| no_json(error.to_string()))?;
        if !value.is_object() {
            return Err(ItemError::new("", "must be an object"));
        }
        let raw = RawValue::from_string(text.to_owned()).map_err(|error| no_json(error.to_string()))?;
        Ok(Doc { text: raw.into(), halves: json::lone_surrogates(text), said: digest(&value) })
    }

    pub(super) fn of(value: &Value) -> Doc {
        // A value is always written.
        let raw = to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Doc { text: raw.into(), halves: 0, said: digest(value) }
    }

    /// This item where the value is what it says, byte for byte; else a new one.
    pub(super) fn saying(&self, value: &Value) -> Doc {
        if self.halves == 0 && self.said == digest(value) { self.clone() } else { Doc::of(value) }
    }

    pub(super) fn value(&self) -> Value {
        json::parse_lenient(self.text.get()).unwrap_or_default()
    }

    /// The same for whoever reads the JSON.
    pub(super) fn says_the_same(&self, other: &Doc) -> bool {
        self.halves == other.halves && self.said == other.said
    }
}

/// Equal for two values that are equal: the order of an object's fields is none of it.
pub(super) fn digest(value: &Value) -> Hash {
    let mut hasher = Hasher::new();
    tell(value, &mut hasher);
    hasher.finalize()
}

fn tell(value: &Value, hasher: &mut Hasher) {
    // Each value begins with what it is and how long it is, so that no two values are told in the same bytes.
    let mut begin = |kind: u8, length: usize| {
        hasher.update(&[kind]).update(&length.to_le_bytes());
    };
    match value {
        Value::Null => begin(b'n', 0),
        Value::Bool(flag) => begin(b'b', usize::from(*flag)),
        Value::Number(number) => {
            begin(b'#', number.as_str().len());
            hasher.update(number.as_str().as_bytes());
        }
        Value::String(text) => {
            begin(b'"', text.len());
            hasher.update(text.as_bytes());
        }
        Value::Array(items) => {
            begin(b'[', items.len());
            items.iter().for_each(|item| tell(item, hasher));
        }
        Value::Object(fields) => {
            begin(b'{', fields.len());
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in sorted {
                hasher.update(&key.len().to_le_bytes()).update(key.as_bytes());
                tell(value, hasher);
            }
        }
    }
}
