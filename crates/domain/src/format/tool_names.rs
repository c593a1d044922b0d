//! Names of tools by call id, for results that don't say whose they are.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::item::{Item, ItemError};
use crate::model::json;
use crate::model::message::Message;

/// The names of the calls of a context. Stored items are read on demand, once.
pub struct ToolNames<'a> {
    read: fn(&Value) -> Result<Item, ItemError>,
    unread: Vec<&'a str>,
    names: HashMap<String, String>,
}

impl<'a> ToolNames<'a> {
    /// `read` is the format's own reader.
    pub fn new(read: fn(&Value) -> Result<Item, ItemError>) -> ToolNames<'a> {
        ToolNames { read, unread: Vec::new(), names: HashMap::new() }
    }

    /// Takes in a stored item that goes out as it is.
    pub fn note_item(&mut self, item: &'a str) {
        self.unread.push(item);
    }

    /// Takes in a message that is written.
    pub fn note_message(&mut self, message: &Message) {
        for call in message.tool_calls() {
            self.names.insert(call.id.clone(), call.name.clone());
        }
    }

    /// The name of the tool that a call is for.
    pub fn name(&mut self, call_id: &str) -> String {
        for item in std::mem::take(&mut self.unread) {
            let read = json::parse_lenient(item).ok().and_then(|value| (self.read)(&value).ok());
            for call in read.iter().filter_map(|item| item.message.as_ref()).flat_map(Message::tool_calls) {
                self.names.insert(call.id.clone(), call.name.clone());
            }
        }
        self.names.get(call_id).cloned().unwrap_or_else(|| "unknown".to_owned())
    }
}
