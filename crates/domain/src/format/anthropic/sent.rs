//! A message of a context that is about to be sent, for what is settled over the whole of it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::json;

/// A written message and the entry that it is of.
pub struct Sent {
    pub entry: Option<usize>,
    pub text: String,
}

impl Sent {
    pub fn role(&self) -> String {
        role_of(&self.text)
    }

    pub fn value(&self) -> Value {
        json::parse_lenient(&self.text).unwrap_or_default()
    }
}

/// The role of a message; empty where it has none. The rest of the message is not read.
pub fn role_of(message: &str) -> String {
    #[derive(Deserialize)]
    struct MessageHeader<'h> {
        #[serde(borrow)]
        role: Cow<'h, str>,
    }
    serde_json::from_str(message).map(|header: MessageHeader<'_>| header.role.into_owned()).unwrap_or_default()
}

/// The blocks of a message; content that is a string is one.
pub fn blocks_of(message: &Value) -> Vec<Value> {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(text) => vec![json!({"type": "text", "text": text})],
        None => Vec::new(),
    }
}

/// Hands the blocks of a message to `each`, those that lie in a result or in a document too, in their order.
pub fn each_block(message: &mut Value, each: &mut impl FnMut(&mut Value)) {
    fn walk(content: Option<&mut Value>, levels: usize, each: &mut impl FnMut(&mut Value)) {
        let Some(Value::Array(blocks)) = content.filter(|_| levels > 0) else { return };
        for block in blocks {
            each(block);
            walk(block.get_mut("content"), levels - 1, each);
            walk(block.pointer_mut("/source/content"), levels - 1, each);
        }
    }
    // A message, a result in it, a document in that.
    walk(message.get_mut("content"), 3, each);
}

/// Leaves the newest `room` blocks of a kind: `change` does away with each of the others, and `note` is told the entry of
/// each message that had one. `sign` is a text that every message with such a block has.
pub fn keep_newest(
    sent: &mut [Sent],
    sign: &str,
    mut room: usize,
    is_one: impl Fn(&Value) -> bool,
    change: impl Fn(&mut Value),
    mut note: impl FnMut(Option<usize>),
) {
    for message in sent.iter_mut().rev().filter(|message| message.text.contains(sign)) {
        let mut value = message.value();
        let mut found = 0;
        each_block(&mut value, &mut |block| found += usize::from(is_one(block)));
        let mut gone = found.saturating_sub(room);
        room = room.saturating_sub(found);
        if gone == 0 {
            continue;
        }
        each_block(&mut value, &mut |block| {
            if gone > 0 && is_one(block) {
                gone -= 1;
                change(block);
            }
        });
        message.text = value.to_string();
        note(message.entry);
    }
}
