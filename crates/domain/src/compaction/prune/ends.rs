//! The ends that stay of what is cut in the middle.

/// How many characters of head and tail stay of what is longer than `max_chars`.
pub(super) fn kept_ends(max_chars: u32) -> (u32, u32) {
    let tail = max_chars / 3;
    (max_chars - tail, tail)
}
