//! A stored content into a normalised message.

use serde_json::Value;

use super::{opaque, read_part};
use crate::format::field::{object, string};
use crate::format::keys::{Object, fail, only, without};
use crate::model::item::{Item, ItemError};
use crate::model::message::{Block, Message, Role};

/// Reads one content. One without parts is an answer that was cut off before it said anything.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let content = object(value, "")?;
    let mut needs_repair = false;
    let role = match string(content, "role", "")? {
        None | Some("user") => Role::User,
        Some("model") => Role::Assistant,
        // Results had a role of their own once.
        Some("function") => {
            needs_repair = true;
            Role::User
        }
        Some(_) => return fail("/role", "expected user or model"),
    };
    let blocks = read_parts(content, role, &mut needs_repair)?;
    needs_repair |= blocks.is_empty();
    let (role, content_blocks) = place_results(role, blocks);
    let around = Some(opaque(without(content, &["parts"])));
    let message = Message { role, content: content_blocks, stop: None, opaque: around };
    Ok(Item::of_message(message, needs_repair))
}

fn read_parts(content: &Object, role: Role, needs_repair: &mut bool) -> Result<Vec<Block>, ItemError> {
    match content.get("parts") {
        None | Some(Value::Null) if only(content, &["role", "parts"]) && content.contains_key("role") => Ok(Vec::new()),
        None | Some(Value::Null) => fail("/parts", "is missing"),
        Some(Value::Array(parts)) => {
            let mut read = Vec::with_capacity(parts.len());
            for (place, part) in parts.iter().enumerate() {
                let at = format!("/parts/{place}");
                read.push(read_part::read(object(part, &at)?, role, &at, needs_repair)?);
            }
            Ok(read)
        }
        Some(_) => fail("/parts", "must be an array of parts"),
    }
}

/// Results come first, and a message of results alone is told apart.
fn place_results(role: Role, mut blocks: Vec<Block>) -> (Role, Vec<Block>) {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    if role != Role::User || !blocks.iter().any(is_result) {
        return (role, blocks);
    }
    blocks.sort_by_key(|block| !is_result(block));
    let role = if blocks.iter().all(is_result) { Role::Tool } else { Role::User };
    (role, blocks)
}
