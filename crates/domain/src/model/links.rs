//! Ids by which a provider's blocks and items rest on one another, besides calls and their results.
//!
//! A provider refuses what names an id that is not there (as of November 2026): a call without the program that made it
//! (`caller`), a program's output without the program, what was approved without its approval. They are told by where
//! the ids stand, so that kinds which come later are known as well.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::format::Format;
use super::json::is_default;
use super::message::{Block, CallKind, Message, Opaque, ToolCall};

/// The ids that an entry stands for, and those that it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Links {
    #[serde(skip_serializing_if = "is_default")]
    pub opens: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub needs: Vec<String>,
    /// Of those that it rests on, the ones for which nothing more is to come: a program has its output.
    #[serde(skip_serializing_if = "is_default")]
    pub closes: Vec<String>,
}

/// Where a call or its result says what code made it.
const CALLERS: [&str; 2] = ["/caller/tool_id", "/caller/caller_id"];

/// Returns true if code of the provider made the call.
pub fn is_made_by_code(call: &ToolCall) -> bool {
    let names = |opaque: &Opaque| CALLERS.iter().any(|pointer| text(&opaque.value, pointer).is_some());
    call.opaque.as_ref().is_some_and(names)
}

impl Links {
    pub const NONE: Links = Links { opens: Vec::new(), needs: Vec::new(), closes: Vec::new() };

    pub fn of(message: &Message) -> Links {
        let mut links = Links::NONE;
        message.content.iter().for_each(|block| links.add(block));
        links
    }

    fn add(&mut self, block: &Block) {
        match block {
            Block::ToolCall(call) => {
                self.add_named(call.opaque.as_ref(), &CALLERS);
                if call.kind == CallKind::Server {
                    self.add_named(call.opaque.as_ref(), &["/approval_request_id"]);
                }
            }
            Block::ToolResult(result) => self.add_named(result.opaque.as_ref(), &CALLERS),
            Block::Raw(opaque) if opaque.format == Format::OpenaiResponses => self.add_item(opaque),
            _ => {}
        }
    }

    /// An item that nobody else can read: what answers another one is called by its name and `_output`.
    fn add_item(&mut self, item: &Opaque) {
        let kind = text(&item.value, "/type").unwrap_or_default();
        match text(&item.value, "/call_id") {
            Some(id) if kind.ends_with("_output") => {
                self.needs.push(id.to_owned());
                self.closes.push(id.to_owned());
            }
            Some(id) => self.opens.push(id.to_owned()),
            None => {}
        }
        self.add_named(Some(item), &["/caller/caller_id", "/approval_request_id"]);
    }

    fn add_named(&mut self, opaque: Option<&Opaque>, pointers: &[&str]) {
        let Some(opaque) = opaque else { return };
        self.needs.extend(pointers.iter().filter_map(|pointer| text(&opaque.value, pointer)).map(str::to_owned));
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|id| !id.is_empty())
}
