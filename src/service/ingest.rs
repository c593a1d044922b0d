//! Taking in what was said: appends, and whole transcripts of which the new part is appended.

pub mod append;
mod returned_context;
pub mod transcript;
