//! The ids of items: of the provider's own making, or of a framework that repeats one for all.
//!
//! Facts as of November 2026: an id is refused that does not begin as those of its kind do, is longer than 64 characters
//! or holds others than letters, digits, `_` and `-`; so is an item whose id another one has. Most kinds may go without;
//! an answer without one is a plain text, and reasoning without one is taken where it is encrypted.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{MAX_ID, call_key};
use crate::format::keys::Object;
use crate::format::outgoing::{is_word, word};
use crate::format::refused;
use crate::model::format::Format;

/// How the ids of each kind begin, where the provider's refusals say so. Of ids of other kinds, the length alone is looked
/// at.
const PREFIXES: [(&str, &str); 11] = [
    ("message", "msg"),
    ("reasoning", "rs"),
    ("function_call", "fc"),
    ("custom_tool_call", "ctc"),
    ("web_search_call", "ws"),
    ("file_search_call", "fs"),
    ("code_interpreter_call", "ci"),
    ("image_generation_call", "ig"),
    ("computer_call", "cu"),
    ("mcp_call", "mcp"),
    ("mcp_list_tools", "mcpl"),
];

/// The ids of items in a context. `sendable`: as the provider takes them; one that is not of its form is left out.
/// `given`: as they came, for a client that knows its items by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema, strum::EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ItemIds {
    #[default]
    Sendable,
    Given,
}

/// Why the API takes no such id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdFault {
    TooLong,
    /// Not of the form that the provider gives to items of this kind.
    Foreign,
}

/// What is wrong with the id of an item of this kind.
pub fn id_fault(kind: &str, id: &str) -> Option<IdFault> {
    match prefix(kind) {
        _ if call_key(kind) == "id" => None,
        _ if id.len() > MAX_ID => Some(IdFault::TooLong),
        Some(prefix) if !id.starts_with(prefix) || !is_word(id, MAX_ID) => Some(IdFault::Foreign),
        _ => None,
    }
}

/// Returns true if an item of this kind may have the id.
pub fn is_own_id(kind: &str, id: &str) -> bool {
    id_fault(kind, id).is_none()
}

fn prefix(kind: &str) -> Option<&'static str> {
    PREFIXES.iter().find(|(known, _)| *known == kind).map(|(_, prefix)| *prefix)
}

/// What becomes of an item whose id the provider did not give.
pub enum WithoutId {
    Removed,
    /// It needs one: it gets one of the right form.
    Changed,
    /// It is nothing without its own id.
    Dropped,
}

/// Takes an id that the provider did not give off an item.
pub fn take_off(kind: &str, item: &mut Object) -> WithoutId {
    let is_answered = item.get("call_id").is_some_and(Value::is_string);
    match (kind, prefix(kind)) {
        ("reasoning", _) if !item.get("encrypted_content").is_some_and(Value::is_string) => return WithoutId::Dropped,
        ("message", _) => {
            item.shift_remove("id");
            mend_message(item);
        }
        ("reasoning" | "function_call" | "custom_tool_call" | "configuration_update", _) => {}
        // Its `call_id` names it.
        (_, None) if is_answered && kind != "local_shell_call" => {}
        (_, prefix) => {
            let given = item.get("id").and_then(Value::as_str).unwrap_or_default();
            let id = match prefix {
                None => word(given, MAX_ID).into_owned(),
                Some(prefix) => {
                    let digest = blake3::hash(format!("{given}{}", Value::Object(item.clone())).as_bytes()).to_hex();
                    format!("{prefix}_{}", &digest.as_str()[..24])
                }
            };
            item.insert("id".to_owned(), id.into());
            return WithoutId::Changed;
        }
    }
    item.shift_remove("id");
    WithoutId::Removed
}

/// A list of spoken parts, and a status, belong to an answer with an id: without one it is a plain text.
fn mend_message(item: &mut Object) {
    let was_list = item.get("content").is_some_and(Value::is_array);
    if let Value::Object(mended) = refused::mended(Format::OpenaiResponses, Value::Object(std::mem::take(item))) {
        *item = mended;
    }
    if was_list && item.get("content").is_some_and(Value::is_string) {
        item.shift_remove("status");
    }
}
