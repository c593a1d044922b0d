//! A fault of an item, and what finding faults has in common over the formats.

use serde_json::Value;

use crate::format::violation_code::ViolationCode;
use crate::model::json;

/// A row of the table that an item shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: ViolationCode,
    pub detail: String,
}

/// The faults of one item, as they are found.
#[derive(Debug, Default)]
pub struct Faults(pub(super) Vec<Fault>);

impl Faults {
    /// The same of one part after the other is one fault: an item may have a million of them.
    pub fn add(&mut self, code: ViolationCode, detail: impl Into<String>) {
        let fault = Fault { code, detail: detail.into() };
        if self.0.last() != Some(&fault) {
            self.0.push(fault);
        }
    }
}

/// A system message of Anthropic's without words, which changes the configuration from there on: it may stand anywhere.
pub fn is_system_directive(message: &Value) -> bool {
    message.get("role").is_some_and(|role| role == "system")
        && message.get("content").and_then(Value::as_array).is_some_and(Vec::is_empty)
        && message.get("output_config").and_then(Value::as_object).is_some_and(|config| !config.is_empty())
}

/// The faults of arguments, which are JSON in a string with no escaped half of a character in it.
pub(super) fn check_arguments(arguments: Option<&Value>, found: &mut Faults) {
    let Some(text) = arguments.and_then(Value::as_str) else {
        return found.add(ViolationCode::InvalidArguments, "the arguments are no string");
    };
    if json::parse_lenient(text).is_err() {
        found.add(ViolationCode::InvalidArguments, "the arguments are no JSON");
    }
    if json::lone_surrogates(text) > 0 {
        found.add(ViolationCode::HalfCharacter, "half of a character in the arguments");
    }
}

/// Arguments that are JSON in a string, whole again.
pub(super) fn mend_arguments(arguments: Option<&mut Value>) {
    if let Some(Value::String(text)) = arguments
        && let std::borrow::Cow::Owned(whole) = json::mend_surrogates(text)
    {
        *text = whole;
    }
}
