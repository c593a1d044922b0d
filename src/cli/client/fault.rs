//! Why a service gave no answer, in words that say what to do.

use std::fmt::Write;

use reqwest::Url;
use serde_json::Value;

use crate::cli::text::visible;

/// Faults of single fields that are told.
const MOST_FIELDS: usize = 5;

/// A call that brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error(
        "nothing answers at {url} ({cause}): start `contextd serve` there, or name another place with --url or CONTEXTD_URL"
    )]
    Away { url: String, cause: String },
    #[error("{url} gave no answer within {seconds} s; --timeout allows more")]
    Silent { url: String, seconds: u64 },
    #[error("the connection to {url} broke off: {cause}")]
    Broken { url: String, cause: String },
    /// The service said why not.
    #[error("{words}")]
    Refused { status: u16, words: String },
    #[error("what answers at {url} is not contextd: it sent {what}")]
    Stranger { url: String, what: String },
    #[error("no session has the id or the external id `{}`; `contextd sessions` lists them", visible(.name))]
    NoSession { name: String },
    #[error("several sessions have the external id `{}`: name one by its id", visible(.name))]
    Ambiguous { name: String },
    #[error("the answer is longer than {bytes} bytes")]
    TooLong { bytes: usize },
}

impl Fault {
    /// A connection that was not made, or broke.
    pub fn broken(url: &Url, error: reqwest::Error) -> Fault {
        let (url, is_away) = (url.to_string(), error.is_connect());
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let cause = visible(&cause.to_string());
        if is_away { Fault::Away { url, cause } } else { Fault::Broken { url, cause } }
    }

    /// An answer that is none of contextd's.
    pub fn stranger(url: &Url, what: &str) -> Fault {
        Fault::Stranger { url: url.to_string(), what: visible(what) }
    }

    /// What a problem document says.
    pub fn problem(status: u16, body: &str) -> Fault {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let of = |name: &str| visible(body[name].as_str().unwrap_or_default());
        let (title, detail, code) = (of("title"), of("detail"), of("code"));
        let mut words = if title.is_empty() { "refused".to_owned() } else { title };
        if !detail.is_empty() {
            let _ = write!(words, ": {detail}");
        }
        let fields = body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        for field in fields.iter().take(MOST_FIELDS) {
            let part = |name: &str| visible(field[name].as_str().unwrap_or_default());
            let _ = write!(words, "; {} {}", part("pointer"), part("detail"));
        }
        let _ = write!(words, " ({code}, HTTP {status})");
        if status == 401 {
            words += ". --key or CONTEXTD_API_KEY gives a key; `contextd keys create` makes one";
        }
        Fault::Refused { status, words }
    }

    /// The status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Fault::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the same call may have an answer later.
    pub fn is_passing(&self) -> bool {
        match self {
            Fault::Away { .. } | Fault::Silent { .. } | Fault::Broken { .. } => true,
            Fault::Refused { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}
