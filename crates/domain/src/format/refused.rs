//! What each provider refuses: one table, for what reads items, for what writes contexts, and for lint.
//!
//! Three parts, each in a file a format:
//!
//! - [`TABLE`] names every row: the code of the fault, the formats that it is one of, and what the provider says of it.
//! - [`faults`] finds those rows that one item shows by itself. Reading marks such an item for repair, pairing writes it
//!   anew instead of handing it out as it came, and lint tells of it.
//! - [`mend`] puts right what reading and writing the item would let pass; all else gets right on that way.
//!
//! Rows that only show in a whole context (a place, a number, a pair) are the writers' and pairing's: their notes bear
//! the row's code. Facts as of November 2026. `tests/data/refusals` holds what the providers' documents and their own
//! error messages say is taken and refused, written down apart from this code, and the tests hold the table to it.

mod anthropic;
mod anthropic_media;
mod fault;
mod gemini;
mod openai_chat;
mod openai_responses;
mod table;

use serde_json::Value;

use crate::model::format::Format;

pub use anthropic::NO_WORDS;
pub(super) use anthropic::{
    is_marked as is_anthropic_marked, is_thinking as is_anthropic_thinking, mend_block as mend_anthropic_block,
    told_to_user as anthropic_told_to_user,
};
pub(super) use anthropic_media::{
    Medium as AnthropicMedium, is_too_large as is_anthropic_too_large, not_shown as anthropic_not_shown,
};
pub use fault::Fault;
use fault::Faults;
pub(super) use fault::is_system_directive;
pub use table::{Refusal, TABLE};

/// What the provider of `format` would refuse of one item. Halves of characters are not among it: a parsed item has none.
pub fn faults(format: Format, value: &Value) -> Vec<Fault> {
    let mut found = Faults::default();
    check(format, value, &mut found);
    found.0
}

fn check(format: Format, value: &Value, found: &mut Faults) {
    match format {
        Format::Anthropic => anthropic::check(value, found),
        Format::Gemini => gemini::check(value, found),
        Format::OpenaiChat => openai_chat::check(value, found),
        Format::OpenaiResponses => openai_responses::check(value, found),
        Format::Native | Format::Pi | Format::ClaudeCode | Format::Codex => {}
    }
}

/// Returns true if the provider would refuse the item as it is.
pub fn is_refused(format: Format, value: &Value) -> bool {
    !faults(format, value).is_empty()
}

/// Puts right what reading and writing the item would let pass. An item without faults stays as it is.
pub fn mend(format: Format, value: &mut Value) {
    match format {
        Format::Anthropic => anthropic::mend(value),
        Format::Gemini => gemini::mend(value),
        Format::OpenaiChat => openai_chat::mend(value),
        Format::OpenaiResponses => openai_responses::mend(value),
        Format::Native | Format::Pi | Format::ClaudeCode | Format::Codex => {}
    }
}

/// [`mend`] of an item that is one's own.
pub fn mended(format: Format, mut value: Value) -> Value {
    mend(format, &mut value);
    value
}

/// Returns true if a stored item has to be looked at before it may go out as it came: it can show what was not known to be
/// refused when it was read. Without parsing; all else is in its shape.
pub fn may_be_refused(format: Format, text: &str) -> bool {
    let signs: &[&str] = match format {
        Format::Anthropic => &[
            "\"cache_control\"",
            "\"is_error\"",
            "\"image\"",
            "\"document\"",
            "\"server_tool_use\"",
            "_tool_result\"",
            "\"caller\"",
        ],
        Format::Gemini => &["houghtSignature", "hought_signature"],
        Format::OpenaiChat => {
            &["\"reasoning", "\"image_url\"", "\"tool_calls\"", "\"function_call\"", "\"tool_call_id\""]
        }
        Format::OpenaiResponses => &["\"reasoning\"", "\"output_text\"", "\\\\u"],
        Format::Native | Format::Pi | Format::ClaudeCode | Format::Codex => &[],
    };
    // A text without a character is what a medium without bytes has.
    signs.iter().any(|sign| text.contains(sign)) || (format.has_provider() && text.contains("\"\""))
}
