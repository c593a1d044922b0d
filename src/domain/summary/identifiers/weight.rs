//! How much it weighs that an identifier is kept.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::rules;
use crate::domain::model::identifier::TrackedIdentifier;

/// The weight of a rule: no other reaches it.
pub(super) const RULE: u32 = u32::MAX;
pub(super) const MAX_WEIGHT: u32 = 400;
/// Weight that one use adds, by who wrote it.
pub(super) const BY_USER: u32 = 64;
pub(super) const BY_MODEL: u32 = 8;
pub(super) const IN_CALL: u32 = 6;
pub(super) const PRINTED: u32 = 1;
/// The most that output of tools adds, however often it repeats itself.
pub(super) const MOST_PRINTED: u32 = 5;

impl TrackedIdentifier {
    pub fn rule(text: impl Into<String>) -> TrackedIdentifier {
        TrackedIdentifier { text: text.into(), weight: RULE }
    }

    /// Returns true if it is a rule of the user's.
    pub fn is_rule(&self) -> bool {
        self.weight == RULE
    }
}

impl<'de> Deserialize<'de> for TrackedIdentifier {
    /// A bare string is one from a record without weights.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TrackedIdentifier, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = value.get("text").unwrap_or(&value).as_str().unwrap_or_default().to_owned();
        let weight = value.get("weight").and_then(Value::as_u64).and_then(|weight| u32::try_from(weight).ok());
        let weight = weight.unwrap_or(if rules::is_rule(&text) { RULE } else { PRINTED });
        Ok(TrackedIdentifier { text, weight })
    }
}
