//! Token counting by the four estimators. All of them are linear in the size of the text.
//!
//! | estimator | text | on top |
//! |---|---|---|
//! | `o200k`, `cl100k` | byte-pair encoding | 4 a message, 6 a tool call, 4 a tool result |
//! | `pi` | UTF-16 units / 4, rounded up once per message | an image is 1,200 tokens |
//! | `praison` | 0.25 an ASCII character, 1.3 any other, at least 1 a text | none |
//!
//! Pictures and documents cost what their provider says, or a stated cost, see [`media`]; base64 is never counted as if it were text.

pub mod accounting;
mod bpe;
mod counted;
pub mod marks;
pub mod media;
pub mod nano_usd;
pub mod overflow;
mod pi;
mod praison;
pub mod prices;
pub mod report;
pub mod snapshot;

use serde_json::Value;

use super::settings::{Estimator, Pictures};
use crate::model::abandoned::is_abandoned;
use crate::model::format::Format;
use crate::model::message::Message;

pub use counted::Counted;

/// Counts the tokens that a message adds to a context. A message without content adds nothing.
pub fn count_message(estimator: Estimator, message: &Message) -> Counted {
    if is_abandoned() {
        return Counted::default();
    }
    match estimator {
        Estimator::O200k => bpe::message(&bpe::O200K, message, None),
        Estimator::Cl100k => bpe::message(&bpe::CL100K, message, None),
        Estimator::Pi => pi::message(message),
        Estimator::Praison => praison::message(message),
    }
}

/// As [`count_message`], of the message that was read from `raw`: some of it only the raw text tells. Pictures are counted
/// as the provider does whose format it is.
pub fn count_item(estimator: Estimator, format: Format, raw: &str, message: &Message) -> Counted {
    count_item_for(None, estimator, format, raw, message)
}

/// As [`count_item`], of a session whose model is known to count pictures in a way of its own.
pub fn count_item_for(
    way: Option<Pictures>,
    estimator: Estimator,
    format: Format,
    raw: &str,
    message: &Message,
) -> Counted {
    let way = way.or_else(|| media::of_format(format));
    match estimator {
        Estimator::Pi => pi::item(format, raw, message),
        Estimator::O200k => bpe::message(&bpe::O200K, message, way),
        Estimator::Cl100k => bpe::message(&bpe::CL100K, message, way),
        Estimator::Praison => count_message(estimator, message),
    }
}

/// The tokens of a text by itself, no message around it.
pub fn count_text(estimator: Estimator, text: &str) -> u32 {
    match estimator {
        Estimator::O200k => bpe::text(&bpe::O200K, text),
        Estimator::Cl100k => bpe::text(&bpe::CL100K, text),
        Estimator::Pi => pi::text(text),
        Estimator::Praison => praison::text(text),
    }
}

/// The tokens of tool schemas, as compact JSON. No tools (`null`, an empty list or object) cost nothing.
pub fn count_tools(estimator: Estimator, tools: &Value) -> u32 {
    let none = match tools {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if none { 0 } else { count_text(estimator, &tools.to_string()) }
}

#[cfg(test)]
mod tests;
