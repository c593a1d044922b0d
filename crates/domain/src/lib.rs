//! Pure functions and types: no I/O, no clock, no randomness, nothing of the other layers.

pub mod chapter;
pub mod compaction;
pub mod context;
pub mod format;
pub mod hook;
pub mod lint;
pub mod model;
pub mod record;
pub mod redaction;
pub mod search;
pub mod settings;
pub mod summary;
pub mod tokens;
pub mod transcript;

#[cfg(test)]
#[path = "../../../tests/support/data.rs"]
mod data;
#[cfg(test)]
#[path = "../../../tests/support/made_up.rs"]
mod made_up;
