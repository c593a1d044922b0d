//! The use cases. The only layer that opens transactions; it cannot see `llm`, so nothing here waits on a model. Hooks are
//! called from here, but never within a transaction and never by an append.

pub mod append;
pub mod chapters;
pub mod clock;
pub mod compactions;
pub mod context;
mod counting;
pub mod error;
pub mod events;
pub mod export;
pub mod gauges;
pub mod head;
pub mod history;
pub mod hooks;
pub mod idempotency;
pub mod keys;
pub mod navigation;
pub mod plan;
pub mod readiness;
pub mod recount;
pub mod search;
pub mod sessions;
pub mod state;
pub(crate) mod stretches;
pub mod tool_calls;
pub mod transcript;
pub mod view;
pub mod work;
