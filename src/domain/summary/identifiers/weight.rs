//! How much it weighs that an identifier is kept.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use uuid::Uuid;

use super::rules;
use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};

/// The weight of the user's own words: no other reaches it.
pub(super) const WORDS: u32 = u32::MAX;
pub(super) const MAX_WEIGHT: u32 = 400;
/// Weight that one use adds, by who wrote it.
pub(super) const BY_USER: u32 = 64;
pub(super) const BY_MODEL: u32 = 8;
pub(super) const IN_CALL: u32 = 6;
pub(super) const PRINTED: u32 = 1;
/// The most that output of tools adds, however often it repeats itself.
pub(super) const MOST_PRINTED: u32 = 5;

impl TrackedIdentifier {
    pub fn identifier(text: impl Into<String>, weight: u32) -> TrackedIdentifier {
        let (text, kind) = (text.into(), IdentifierKind::Identifier);
        TrackedIdentifier { text, weight, kind, entry: None, asked: None, about: None }
    }

    /// A rule of the user's.
    pub fn rule(text: impl Into<String>) -> TrackedIdentifier {
        TrackedIdentifier { kind: IdentifierKind::Rule, ..TrackedIdentifier::identifier(text, WORDS) }
    }

    /// A rule that no longer holds.
    pub fn replaced(text: impl Into<String>) -> TrackedIdentifier {
        TrackedIdentifier { kind: IdentifierKind::Replaced, ..TrackedIdentifier::identifier(text, 0) }
    }

    /// A request, and the entry that holds it whole, where there is one.
    pub fn request(text: impl Into<String>, entry: Option<Uuid>) -> TrackedIdentifier {
        TrackedIdentifier { kind: IdentifierKind::Request, entry, ..TrackedIdentifier::identifier(text, WORDS) }
    }

    /// Messages that are carried no more, and the entry of the first of them.
    pub(super) fn left_out(count: u32, entry: Option<Uuid>) -> TrackedIdentifier {
        TrackedIdentifier { kind: IdentifierKind::LeftOut, entry, ..TrackedIdentifier::identifier("", count) }
    }

    /// The agent's question that no answer has come to yet.
    pub(super) fn question(text: String) -> TrackedIdentifier {
        TrackedIdentifier { kind: IdentifierKind::Question, ..TrackedIdentifier::identifier(text, 0) }
    }

    /// Returns true if it is a rule that stands.
    pub fn is_rule(&self) -> bool {
        self.kind == IdentifierKind::Rule
    }
}

impl<'de> Deserialize<'de> for TrackedIdentifier {
    /// A bare string is one from a record without weights. In a record without kinds, the weight tells a rule.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TrackedIdentifier, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = value.get("text").unwrap_or(&value).as_str().unwrap_or_default().to_owned();
        let weight = value.get("weight").and_then(Value::as_u64).and_then(|weight| u32::try_from(weight).ok());
        let kind = value.get("kind").and_then(|kind| IdentifierKind::deserialize(kind).ok());
        let entry = value.get("entry").and_then(Value::as_str).and_then(|id| id.parse().ok());
        let asked = value.get("asked").and_then(Value::as_str).map(str::to_owned);
        let about = value.get("about").and_then(Value::as_str).map(str::to_owned);
        Ok(match (kind, weight) {
            (Some(kind), weight) => {
                TrackedIdentifier { text, weight: weight.unwrap_or(PRINTED), kind, entry, asked, about }
            }
            (None, Some(WORDS)) => TrackedIdentifier::rule(text),
            (None, None) if rules::is_rule(&text) => TrackedIdentifier::rule(text),
            (None, weight) => {
                TrackedIdentifier { about, ..TrackedIdentifier::identifier(text, weight.unwrap_or(PRINTED)) }
            }
        })
    }
}
