//! Finding again what a context does not show: search, tool calls with their original results, export.

pub mod export;
pub mod search;
pub mod search_all;
pub mod tool_calls;
