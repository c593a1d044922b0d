//! The use cases. The only layer that opens transactions; it cannot see `llm`, so nothing here waits on a model. Hooks are
//! called from here, but never within a transaction and never by an append.

pub mod chapters;
pub mod compaction;
pub mod core;
pub mod events;
pub mod hooks;
pub mod ingest;
pub mod navigation;
pub mod ops;
pub mod path;
pub mod rebuild;
pub mod recall;
pub mod sessions;
pub mod stateless;
