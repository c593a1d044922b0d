//! Reading a session's path: what of it is shown, single entries, long stretches in batches.

pub(crate) mod batches;
pub mod entries;
pub(crate) mod file_lists;
pub mod openings;
pub mod shown;
pub mod view;
