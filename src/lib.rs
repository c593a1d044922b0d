//! contextd manages the context of LLM agents: a lossless tree of entries, background compaction,
//! and a rebuilt context that is valid for its provider. `docs/ARCHITECTURE.md` is the map.

pub mod api;
pub mod background;
pub mod backoff;
pub mod cli;
pub mod config;
pub mod families;
pub mod hooks;
pub mod lifecycle;
pub mod llm;
pub mod proxy;
pub mod service;
pub mod store;
pub mod telemetry;
pub mod trace;
pub mod ui;
pub mod worker;

pub use contextd_domain as domain;

#[cfg(test)]
#[path = "../tests/support/codes_page.rs"]
mod codes_page;
