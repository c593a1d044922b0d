//! Fields of the API's JSON, by pointer: what is missing is empty, so that services of other versions can be asked.

use serde_json::Value;

/// Looks fields up.
pub trait Fields {
    /// A text; empty where there is none.
    fn word(&self, at: &str) -> &str;
    /// A number.
    fn figure(&self, at: &str) -> Option<f64>;
    /// A number that is none below 0; 0 where there is none.
    fn number(&self, at: &str) -> u64;
    /// The members of a list; none where there is no list.
    fn list(&self, at: &str) -> &[Value];
    /// The truth of a field.
    fn is(&self, at: &str) -> bool;
}

impl Fields for Value {
    fn word(&self, at: &str) -> &str {
        self.pointer(at).and_then(Value::as_str).unwrap_or_default()
    }

    fn figure(&self, at: &str) -> Option<f64> {
        self.pointer(at).and_then(Value::as_f64)
    }

    fn number(&self, at: &str) -> u64 {
        self.figure(at).map_or(0, |figure| figure.max(0.0) as u64)
    }

    fn list(&self, at: &str) -> &[Value] {
        self.pointer(at).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn is(&self, at: &str) -> bool {
        self.pointer(at).and_then(Value::as_bool).unwrap_or_default()
    }
}
