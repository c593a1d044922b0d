//! Tokens of one answer.

/// `input` is the whole prompt, `cached` the part of it that a cache served, `cache_write` the part that one took in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    pub cache_write: u64,
}
