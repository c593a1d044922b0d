//! Data that the service stores: messages, entries and their shapes, items and their formats, compactions as they stand
//! in the tree. Types, and what follows from one of them alone.

pub mod abandoned;
pub mod anti_thrash;
pub mod approval;
pub mod call_end;
pub mod chapter_task;
pub mod code_block;
pub mod compaction;
pub mod early_results;
pub mod entry;
pub mod entry_type;
pub mod fold;
pub mod format;
pub mod framed;
pub mod handle;
pub mod item;
pub mod json;
pub mod links;
pub mod message;
pub mod metadata;
pub mod open_calls;
pub mod pictures;
pub mod program_replies;
pub mod record_numbers;
pub mod running;
pub mod shape;
pub mod strategy;
pub mod usage;
pub mod user_text;
pub mod written_call;
