//! A request's body, field by field.

use serde_json::Value;
use serde_json::value::RawValue;

/// Raw JSON goes in to the byte: a provider's cache knows bytes, not values.
pub(super) struct RequestBody(String);

impl RequestBody {
    pub(super) fn new(model: &str) -> RequestBody {
        RequestBody("{".to_owned()).field("model", &Value::from(model))
    }

    pub(super) fn field(self, name: &str, value: &Value) -> RequestBody {
        self.raw(name, &value.to_string())
    }

    pub(super) fn optional(self, name: &str, value: Option<Value>) -> RequestBody {
        match value {
            Some(value) => self.field(name, &value),
            None => self,
        }
    }

    pub(super) fn raw(mut self, name: &str, json: &str) -> RequestBody {
        let comma = if self.0.len() > 1 { "," } else { "" };
        self.0.push_str(&format!("{comma}\"{name}\":"));
        self.0.push_str(json);
        self
    }

    /// An array of `first`, the raw items and `last`.
    pub(super) fn around(
        self,
        name: &str,
        first: Option<String>,
        items: &[Box<RawValue>],
        last: &Value,
    ) -> RequestBody {
        let last = last.to_string();
        let first = first.as_deref().into_iter();
        let all: Vec<&str> = first.chain(items.iter().map(|item| item.get())).chain([last.as_str()]).collect();
        self.raw(name, &format!("[{}]", all.join(",")))
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
