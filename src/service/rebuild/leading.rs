//! System messages that lead a context, for providers that take them beside the messages.

use anyhow::Context as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::domain::format;
use crate::domain::format::write::Piece;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::format::Format;
use crate::domain::model::json as domain_json;
use crate::domain::model::message::{Block, Message, Opaque, Role};
use crate::service::core::error::Result;

/// Takes leading system messages out of the pieces: this provider has them beside the messages. What no system prompt can
/// say stays among them.
pub(super) fn lead_system(
    pieces: &mut Vec<Piece<'_>>,
    heads: &[EntryMeta],
    given: Option<Box<RawValue>>,
    format: Format,
) -> Result<Option<Box<RawValue>>> {
    let leading: Vec<Message> = pieces.iter().map_while(|piece| system_message(piece, heads)).collect();
    let stays: Vec<bool> = leading.iter().map(|message| is_directive(message, format)).collect();
    let mut place = 0..;
    pieces.retain(|_| place.next().is_some_and(|at| stays.get(at).is_none_or(|stays| *stays)));
    let told = leading.iter().zip(&stays).filter(|(_, stays)| !**stays);
    let texts: Vec<String> = told.map(|(message, _)| message.plain_text()).collect();
    if texts.is_empty() {
        return Ok(given);
    }
    let block = |text: &str| match format {
        Format::Gemini => json!({"text": text}),
        _ => json!({"type": "text", "text": text}),
    };
    let given = given.and_then(|given| domain_json::parse_lenient(given.get()).ok()).unwrap_or_default();
    let mut blocks = match given {
        Value::Null => Vec::new(),
        Value::Array(blocks) if format == Format::Anthropic => blocks,
        Value::Object(mut content) if format == Format::Gemini => match content.shift_remove("parts") {
            Some(Value::Array(parts)) => parts,
            _ => Vec::new(),
        },
        other => format::system::texts(&other).into_iter().map(block).collect(),
    };
    let said = texts.iter().filter(|text| !text.trim().is_empty());
    blocks.extend(said.map(|text| block(text)));
    let system = match format {
        Format::Gemini => json!({"parts": blocks}),
        _ => Value::Array(blocks),
    };
    let text = serde_json::to_string(&system).context("system blocks")?;
    Ok(Some(RawValue::from_string(text).context("system blocks")?))
}

/// Returns a system message; `None` for any other piece.
fn system_message(piece: &Piece<'_>, heads: &[EntryMeta]) -> Option<Message> {
    let is_system = |role| matches!(role, Role::System | Role::Developer);
    match piece {
        Piece::Message { message, .. } => is_system(message.role).then(|| message.clone()),
        Piece::Verbatim { entry, item } => {
            heads.get(*entry)?.role.filter(|role| is_system(*role))?;
            format::read_message(Format::Anthropic, item).ok()?
        }
    }
}

/// Returns true if a system message changes what this provider has beside the words: tools, the configuration.
fn is_directive(message: &Message, format: Format) -> bool {
    let own = |opaque: &Opaque| opaque.format == format && format == Format::Anthropic;
    let configures = |opaque: &Opaque| own(opaque) && opaque.value.get("output_config").is_some_and(Value::is_object);
    message.opaque.as_ref().is_some_and(configures)
        || message.content.iter().any(|block| matches!(block, Block::Raw(opaque) if own(opaque)))
}
