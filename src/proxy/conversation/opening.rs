//! How a conversation begins, as far as one is told from another by it.

use serde_json::value::RawValue;

use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::message::{Message, Role};
use crate::domain::transcript::{TextKey, text_key};

/// The beginning of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Of the first message of the user's.
    pub first: Option<TextKey>,
    /// Of everything up to the first answer; none where there is no answer yet.
    pub hash: Option<blake3::Hash>,
    pub has_tools: bool,
}

impl Opening {
    /// Reads the items up to the first answer, and to the first message of the user's.
    pub fn of(format: Format, items: &[Box<RawValue>], has_tools: bool) -> Opening {
        let messages = items.iter().filter_map(|raw| format::accept(format, raw.get()).ok()?.message);
        Opening::of_messages(messages, has_tools)
    }

    /// The same of messages.
    pub fn of_messages(messages: impl Iterator<Item = Message>, has_tools: bool) -> Opening {
        let mut opening = Opening { first: None, hash: None, has_tools };
        let mut hasher = blake3::Hasher::new();
        for message in messages.filter(is_speech) {
            let key = text_key(&message.plain_text());
            if message.role == Role::User {
                opening.first = opening.first.or(Some(key));
            }
            if opening.hash.is_none() {
                hasher.update(message.role.into_str().as_bytes()).update(&key);
                message.tool_calls().for_each(|call| {
                    hasher.update(call.id.as_bytes()).update(call.name.as_bytes());
                });
                opening.hash = (message.role == Role::Assistant).then(|| hasher.finalize());
            }
            if opening.first.is_some() && opening.hash.is_some() {
                break;
            }
        }
        opening
    }

    /// Returns true if what was said cannot be a side request: it goes on, with tools.
    pub fn is_work(&self) -> bool {
        self.has_tools && self.hash.is_some()
    }

    /// Returns true if this is more of a conversation than `other`, which shares its key: a title may be asked for
    /// before the conversation begins.
    pub fn outweighs(&self, other: &Opening) -> bool {
        (self.has_tools, self.hash.is_some()) > (other.has_tools, other.hash.is_some())
    }
}

/// Returns true if these are tools, and not a list without any.
pub fn is_filled_list(tools: &RawValue) -> bool {
    serde_json::from_str::<Vec<&RawValue>>(tools.get()).is_ok_and(|tools| !tools.is_empty())
}

/// Thinking alone tells no conversation from another, and a system prompt may hold the time of day.
fn is_speech(message: &Message) -> bool {
    if matches!(message.role, Role::System | Role::Developer) {
        return false;
    }
    !message.plain_text().trim().is_empty() || message.tool_calls().next().is_some()
}
