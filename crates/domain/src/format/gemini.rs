//! Gemini `contents`: `{role, parts}`, each part with one kind of data. Results travel in the user's contents.
//!
//! Facts as of November 2026, where the API refuses a context:
//!
//! - A content has the role `user` or `model` (none means the user's) and at least one part with data.
//! - A content with calls follows one of the user or of results, so a context can't begin with it, and neighbouring
//!   contents of the model are one where the later one calls.
//! - The results of a content's calls are all in the content behind it, as many as there are calls. Calls and results
//!   may lack ids; then they are paired by name and order.
//! - Gemini 3 models want the `thoughtSignature` of the first call of each step since the user last spoke. For calls
//!   that another model made a stated word stands in its place ([`NO_SIGNATURE`]).
//!
//! Names are taken as the REST API writes them, and as the SDKs write them in Python (`function_call`).

mod content;
mod fields;
mod links;
mod media;
mod read;
mod read_part;
mod sign;
mod write;
mod write_part;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::keys::Object;
use crate::model::format::Format;
use crate::model::message::Opaque;

pub(super) use fields::SIGNATURES;
pub use fields::{has_call, has_result};
pub use read::read;
pub use write::{spoken, write};

/// Stands for the signature of a call that another model made.
pub const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Longest tool name that every model takes; what came from the provider may be longer.
const MAX_NAME: usize = 64;
const MAX_OWN_NAME: usize = 128;

fn opaque(value: Object) -> Opaque {
    Opaque { format: Format::Gemini, value: Value::Object(value) }
}

/// Takes the parts of thinking out of a content; returns whether any went, and whether anything is left.
pub fn strip_thoughts(content: &mut Value) -> (bool, bool) {
    let Some(parts) = content.get_mut("parts").and_then(Value::as_array_mut) else { return (false, true) };
    let before = parts.len();
    parts.retain(|part| !part.as_object().is_some_and(fields::is_thought));
    (parts.len() < before, !parts.is_empty())
}
