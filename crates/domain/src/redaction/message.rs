//! Messages without secrets.

use std::borrow::Cow;

use serde_json::Value;

use super::found::mark;
use super::{Redaction, named};
use crate::model::message::{Block, Media, Message, ToolCall};

impl Redaction {
    /// Replaces the secrets in all that a message says. What only its own provider reads stays.
    pub fn redact_message(&self, message: &mut Message, place: Option<&str>) {
        self.redact_blocks(message, |_| place.map(str::to_owned));
    }

    /// The same where each block of it has a place of its own.
    pub fn redact_blocks(&self, message: &mut Message, mut place: impl FnMut(&Block) -> Option<String>) {
        if self.is_on() {
            for block in &mut message.content {
                let place = place(block);
                self.redact_block(block, place.as_deref());
            }
        }
    }

    /// Replaces the secrets in a text that is kept.
    pub fn redact_text(&self, text: &mut String, place: Option<&str>) {
        if let Cow::Owned(redacted) = self.redact(text, place) {
            *text = redacted;
        }
    }

    /// Replaces the secrets in all texts of a JSON value.
    pub fn redact_json(&self, value: &mut Value) {
        if self.is_on() {
            self.redact_value(value, None, None);
        }
    }

    fn redact_block(&self, block: &mut Block, place: Option<&str>) {
        match block {
            Block::Text { text, .. } | Block::Thinking { text, .. } => self.redact_text(text, place),
            Block::Image { source } | Block::Document { source } => self.redact_media(source, place),
            Block::ToolCall(call) => self.redact_call(call, place),
            Block::ToolResult(result) => result.content.iter_mut().for_each(|block| self.redact_block(block, place)),
            Block::Raw(_) => {}
        }
    }

    fn redact_media(&self, media: &mut Media, place: Option<&str>) {
        for text in [&mut media.text, &mut media.url, &mut media.filename].into_iter().flatten() {
            // What a `data:` URL holds is no text.
            if !text.starts_with("data:") {
                self.redact_text(text, place);
            }
        }
    }

    fn redact_call(&self, call: &mut ToolCall, place: Option<&str>) {
        if self.redact_value(&mut call.arguments, None, place) {
            call.arguments_text = None;
        }
    }

    /// Returns true if the value has changed. Bounded by the depth that a parsed JSON text can have.
    fn redact_value(&self, value: &mut Value, name: Option<&str>, place: Option<&str>) -> bool {
        match value {
            Value::String(text) => {
                if let Some(kind) = name.and_then(|name| named::of_field(name, text)) {
                    *text = mark(kind, place);
                    return true;
                }
                match self.redact(text, place) {
                    Cow::Owned(redacted) => {
                        *text = redacted;
                        true
                    }
                    Cow::Borrowed(_) => false,
                }
            }
            // Each is looked at, whatever was found before.
            Value::Array(items) => {
                items.iter_mut().filter_map(|item| self.redact_value(item, name, place).then_some(())).count() > 0
            }
            Value::Object(fields) => {
                let changed =
                    |(name, value): (&String, &mut Value)| self.redact_value(value, Some(name), place).then_some(());
                fields.iter_mut().filter_map(changed).count() > 0
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}
