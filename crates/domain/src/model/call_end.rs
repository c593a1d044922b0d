//! How a call ended.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is known of a call's end. That it worked is never known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case", from = "StoredEnd")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CallEnd {
    /// There is a result, and nothing of the protocol says that the call failed.
    #[default]
    Returned,
    /// Flagged as an error, or with an exit code, a status field or a status of HTTP that says so.
    Failed,
    /// The protocol says that it was not let run.
    Refused,
    /// There is no result.
    Open,
}

impl CallEnd {
    /// Returns true if the protocol says that the call did not do what it was to do.
    pub fn went_wrong(self) -> bool {
        matches!(self, CallEnd::Failed | CallEnd::Refused)
    }
}

/// An end as it was ever stored: earlier versions kept the error flag beside an entry, and words of their own in ledgers.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredEnd {
    Flag(bool),
    Word(String),
}

impl From<StoredEnd> for CallEnd {
    fn from(stored: StoredEnd) -> CallEnd {
        match stored {
            StoredEnd::Flag(true) => CallEnd::Failed,
            StoredEnd::Flag(false) => CallEnd::Returned,
            StoredEnd::Word(word) => match word.as_str() {
                "failed" | "error" => CallEnd::Failed,
                "refused" => CallEnd::Refused,
                "open" | "no_result" => CallEnd::Open,
                _ => CallEnd::Returned,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_earlier_versions_stored_is_read() {
        let read = |stored: Value| serde_json::from_value::<CallEnd>(stored).unwrap();
        for (stored, end) in [
            (json!("ok"), CallEnd::Returned),
            (json!("error"), CallEnd::Failed),
            (json!("no_result"), CallEnd::Open),
            (json!(true), CallEnd::Failed),
            (json!(false), CallEnd::Returned),
        ] {
            assert_eq!(read(stored), end);
            assert_eq!(read(json!(end)), end);
        }
        assert_eq!(json!(CallEnd::Refused), "refused");
        assert_eq!(read(json!("refused")), CallEnd::Refused);
    }
}
