//! SQL, one file per table family.

pub mod queue;
