//! A message of a context that is about to be sent, for what is settled over the whole of it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::model::json;

/// A written message and the entry that it is of.
pub struct Sent {
    pub entry: Option<usize>,
    pub text: String,
}

impl Sent {
    pub fn role(&self) -> String {
        #[derive(Deserialize)]
        struct MessageHeader<'h> {
            #[serde(borrow)]
            role: Cow<'h, str>,
        }
        serde_json::from_str(&self.text).map(|header: MessageHeader<'_>| header.role.into_owned()).unwrap_or_default()
    }

    pub fn value(&self) -> Value {
        json::parse_lenient(&self.text).unwrap_or_default()
    }
}

/// The blocks of a message; content that is a string is one.
pub fn blocks_of(message: &Value) -> Vec<Value> {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(text) => vec![json!({"type": "text", "text": text})],
        None => Vec::new(),
    }
}

/// Hands the blocks of a message to `each`, those that lie in a result too, in their order.
pub fn each_block(message: &mut Value, each: &mut impl FnMut(&mut Value)) {
    fn walk(content: Option<&mut Value>, levels: usize, each: &mut impl FnMut(&mut Value)) {
        let Some(Value::Array(blocks)) = content.filter(|_| levels > 0) else { return };
        for block in blocks {
            each(block);
            walk(block.get_mut("content"), levels - 1, each);
        }
    }
    walk(message.get_mut("content"), 2, each);
}
