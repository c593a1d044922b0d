//! The use cases. The only layer that opens transactions; it cannot see `llm`, so nothing here waits on a model.

pub mod append;
pub mod clock;
pub mod compactions;
pub mod context;
mod counting;
pub mod error;
pub mod export;
pub mod gauges;
pub mod head;
pub mod history;
pub mod idempotency;
pub mod keys;
pub mod navigation;
pub mod plan;
pub mod readiness;
pub mod recount;
pub mod sessions;
pub mod state;
pub(crate) mod stretches;
pub mod tool_calls;
pub mod view;
pub mod work;
