//! OpenAI Responses: a flat list of items, each one message, call, result or piece of reasoning.

mod item_ids;
mod links;
mod parts;
mod read;
mod sent;
mod tools;
mod write;
mod write_item;

#[cfg(test)]
pub(crate) mod tests;

use serde_json::Value;

use super::keys::Object;
use crate::model::format::Format;
use crate::model::message::Opaque;

pub use item_ids::{ItemIds, is_own_id};
pub use read::read;
pub use tools::shows_nothing;
pub use write::{write, write_with};

/// Longest `call_id` and longest tool name that the API takes.
pub(super) const MAX_ID: usize = 64;
const MAX_NAME: usize = 128;

/// The key by which an item of this kind names the call that it is or answers. The output of a local shell call has no
/// `call_id`: its own id is that of its call.
pub fn call_key(kind: &str) -> &'static str {
    if kind == "local_shell_call_output" { "id" } else { "call_id" }
}

fn opaque(value: Object) -> Opaque {
    Opaque { format: Format::OpenaiResponses, value: Value::Object(value) }
}
