//! Anthropic Messages: `{role, content}` with a string or blocks; results travel in user messages.

mod links;
pub mod marks;
mod media;
pub mod pictures;
mod read;
mod read_block;
mod sent;
mod server;
pub mod systems;
mod write;
mod write_block;

#[cfg(test)]
pub(crate) mod tests;

pub use read::read;
pub use write::{spoken, write, write_within};

/// Said by the user where a context would start with somebody else.
pub const OPENING: &str = "(The conversation is taken up at an answer of the assistant.)";

/// Longest tool name that the API takes; ids have no stated limit, so theirs is only a sane one.
pub(super) const MAX_NAME: usize = 128;
pub(super) const MAX_ID: usize = 256;
