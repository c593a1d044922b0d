//! Pure functions and types: no I/O, no clock, no randomness, nothing of the other layers.

pub mod accounting;
pub mod branch;
pub mod compaction;
pub mod cut;
pub mod entry;
pub mod files;
pub mod fit;
pub mod format;
pub mod guard;
pub mod identifiers;
pub mod json;
pub mod ledger;
pub mod mask;
pub mod message;
pub mod models;
pub mod overflow;
pub mod pairing;
pub mod prepare;
pub mod prune;
pub mod settings;
pub mod shape;
pub mod summary;
pub mod tokens;
pub mod usage;
pub mod verify;
pub mod view;
