//! Why an upstream gave no summary.

use std::sync::LazyLock;
use std::time::Duration;

use regex::RegexSet;

use crate::domain::compaction::fallback_reason::FallbackReason;

/// The longest message kept from an upstream, characters.
const MAX_MESSAGE: usize = 500;

/// Shorter values are not taken for secrets, bytes.
const MIN_SECRET: usize = 6;

/// A failed call. Neither text nor `Debug` holds the prompt or a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    #[error("no whole answer within {0:?}")]
    Timeout(Duration),
    #[error("could not connect")]
    Connect,
    /// The connection ended before the answer did.
    #[error("the connection was cut before the answer was whole")]
    Dropped,
    #[error("status {code}: {message}")]
    Status {
        code: u16,
        /// How long the upstream asked to be left alone.
        retry_after: Option<Duration>,
        message: String,
    },
    /// Out of quota or credit: waiting does not help.
    #[error("quota or billing, status {code}: {message}")]
    Quota { code: u16, message: String },
    #[error("the answer is not what this API sends: {0}")]
    Malformed(&'static str),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The prompt does not fit the model's window.
    #[error("the prompt does not fit the model's window: {message}")]
    ContextOverflow { message: String },
    /// No slot became free in time.
    #[error("no free slot within {0:?}")]
    Busy(Duration),
    /// Not asked: it failed too often of late. Holds the time until it is probed.
    #[error("left alone for {0:?} after repeated failures")]
    CircuitOpen(Duration),
    #[error("internal: {0}")]
    Internal(&'static str),
}

impl UpstreamError {
    /// A stable word for logs, metrics and `fallback.reason`.
    pub fn code(&self) -> &'static str {
        self.reason().into_str()
    }

    fn reason(&self) -> FallbackReason {
        match self {
            UpstreamError::Timeout(_) => FallbackReason::Timeout,
            UpstreamError::Connect => FallbackReason::Connect,
            UpstreamError::Dropped => FallbackReason::Dropped,
            UpstreamError::Status { code: 401 | 403, .. } => FallbackReason::Unauthorized,
            UpstreamError::Status { code: 429, .. } => FallbackReason::RateLimited,
            UpstreamError::Status { code: 500.., .. } => FallbackReason::ServerError,
            UpstreamError::Status { .. } => FallbackReason::Rejected,
            UpstreamError::Quota { .. } => FallbackReason::Quota,
            UpstreamError::Malformed(_) => FallbackReason::Malformed,
            UpstreamError::TooLarge(_) => FallbackReason::TooLarge,
            UpstreamError::ContextOverflow { .. } => FallbackReason::ContextOverflow,
            UpstreamError::Busy(_) => FallbackReason::Busy,
            UpstreamError::CircuitOpen(_) => FallbackReason::CircuitOpen,
            UpstreamError::Internal(_) => FallbackReason::Internal,
        }
    }

    /// Returns true if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            UpstreamError::Timeout(_)
            | UpstreamError::Connect
            | UpstreamError::Dropped
            | UpstreamError::Busy(_)
            | UpstreamError::CircuitOpen(_)
            | UpstreamError::Status { code: 408 | 409 | 429 | 500.., .. } => true,
            UpstreamError::Status { .. }
            | UpstreamError::Quota { .. }
            | UpstreamError::Malformed(_)
            | UpstreamError::TooLarge(_)
            | UpstreamError::ContextOverflow { .. }
            | UpstreamError::Internal(_) => false,
        }
    }

    /// How long the upstream asked to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            UpstreamError::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// An upstream's message made fit for logs: one line, at most 500 characters, no secret, nothing of the prompt.
pub(super) fn cleaned(message: &str, secrets: &[&str], prompt: &[&str]) -> String {
    let mut text = message.to_owned();
    // A header's value may be as short as `a`; such a thing is no secret.
    for secret in secrets.iter().filter(|secret| secret.len() >= MIN_SECRET) {
        text = text.replace(secret, "[redacted]");
    }
    // Clipped before the comparison, so that its cost does not depend on the upstream.
    let text: String = text.chars().take(MAX_MESSAGE).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if prompt.iter().any(|part| quotes(message, part) || quotes(&text, part)) {
        return "(message withheld: it quotes the prompt)".to_owned();
    }
    text
}

/// Returns true if `message` shares a run of characters with `prompt`: never below 24 characters, always from 47 on.
fn quotes(message: &str, prompt: &str) -> bool {
    const RUN: usize = 24;
    let chars: Vec<char> = message.chars().take(MAX_MESSAGE).collect();
    chars.chunks_exact(RUN).any(|run| prompt.contains(&run.iter().collect::<String>()))
}

/// Returns true if an error text is about quota or billing rather than about the rate of calls.
pub(super) fn is_quota(text: &str) -> bool {
    QUOTA.is_match(text)
}

/// A mere link to a billing page does not count: it comes with ordinary rate limits.
static QUOTA: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = [
        r"insufficient[_ ](?:quota|credits|balance|funds)",
        r"quota[_ ]exceeded",
        r"exceeded your (?:current |monthly )?quota",
        r"out of (?:budget|credits)",
        r"(?:^|[^/\w-])billing\b",
        r"credit balance is too low",
        r"usage[_ ]limit[_ ](?:reached|exceeded)",
        r"usage_not_included",
    ];
    let patterns = patterns.iter().map(|pattern| format!("(?i){pattern}"));
    #[expect(clippy::expect_used, reason = "the patterns are constants and tests compile them")]
    RegexSet::new(patterns).expect("constant patterns")
});
