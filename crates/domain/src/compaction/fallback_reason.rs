//! The words of `fallback.reason`, but for those of refused answers.

/// Why the upstream that was wanted did not write the summary, or not all of it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::EnumMessage, strum::IntoStaticStr, strum::VariantArray, strum::Display,
)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum FallbackReason {
    /// A model was asked for, and no upstream has one.
    NoUpstream,
    /// The upstream is not configured.
    UnknownUpstream,
    /// No model was asked, for its summary could not have paid for the call.
    TooSmall,
    /// A summary would have taken more calls than the upstream's `max_calls`.
    CallLimit,
    /// The context was larger than its window, and could not wait for a model.
    WindowFull,
    /// No whole answer came in time.
    Timeout,
    /// The upstream could not be reached.
    Connect,
    /// The connection ended before the answer did.
    Dropped,
    /// The upstream refused its key.
    Unauthorized,
    /// The upstream asked to be left alone for a while.
    RateLimited,
    /// The upstream answered with a status of 500 or more.
    ServerError,
    /// The upstream refused the call for another reason.
    Rejected,
    /// The quota or the credit is used up.
    Quota,
    /// The answer is not what this API sends.
    Malformed,
    /// The answer has more bytes than are read, or the summary is larger than what it replaces.
    TooLarge,
    /// The prompt does not fit the model's window.
    ContextOverflow,
    /// No slot of the upstream became free in time.
    Busy,
    /// The upstream was not asked: it failed too often of late.
    CircuitOpen,
    /// A fault of ours.
    Internal,
}
