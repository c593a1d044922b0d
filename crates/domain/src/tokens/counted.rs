//! Counts of tokens.

/// The tokens of a message: all of it, and each of its tool results in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    pub total: u32,
    pub results: Vec<u32>,
}

/// A count as tokens, at most as many as there is room for.
pub(super) fn saturate(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
