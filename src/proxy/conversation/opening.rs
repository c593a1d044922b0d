//! How a conversation begins, as far as one is told from another by it.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::user_text::{sums_up, without_surroundings};
use crate::domain::transcript::{TextKey, text_key};
use crate::proxy::said;
use crate::proxy::speech::answered;

/// Characters of a system prompt that count.
const SYSTEM_CHARS: usize = 400;
/// Items among which something is said that is no preamble.
const MOST_PREAMBLE: usize = 8;

/// The beginning of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Of the first message of the user's.
    pub first: Option<TextKey>,
    /// Of everything up to the first answer; none where there is no answer yet.
    pub hash: Option<blake3::Hash>,
    /// Of what was said before the first answer.
    pub asked: blake3::Hash,
    pub has_tools: bool,
    /// Of the system prompt.
    pub system: Option<TextKey>,
    /// As `hash`, without what a harness writes anew with every request; none where nothing else was said.
    pub lasting: Option<blake3::Hash>,
    /// Of the first answer.
    pub answer: Option<blake3::Hash>,
    /// It holds a summary of what came before.
    pub is_summed_up: bool,
}

impl Opening {
    /// Reads the items up to the first answer, and to the first message of the user's. Gives with it how many items there
    /// are up to the first answer.
    pub fn of(format: Format, items: &[Box<RawValue>], fixed: Fixed<'_>) -> (Opening, usize) {
        let messages = items.iter().map(|raw| format::accept(format, raw.get()).ok()?.message);
        Opening::of_messages(messages, fixed)
    }

    /// The same of messages.
    pub fn of_messages(messages: impl Iterator<Item = Option<Message>>, fixed: Fixed<'_>) -> (Opening, usize) {
        let mut opening = Opening::before_anything(fixed);
        let (mut hasher, mut lasting) = (blake3::Hasher::new(), blake3::Hasher::new());
        let (mut behind, mut has_words) = (0, false);
        for (at, message) in messages.enumerate() {
            let Some(message) = message.filter(is_speech) else { continue };
            let text = message.plain_text();
            let key = said::key(&message, &text);
            if message.role == Role::User {
                opening.first = opening.first.or(Some(key));
            }
            let is_answer = message.role == Role::Assistant;
            if opening.hash.is_none() {
                if is_answer {
                    opening.asked = hasher.finalize();
                    opening.answer = Some(answer_hash(&message));
                }
                add(&mut hasher, &message, &key);
                opening.hash = is_answer.then(|| hasher.finalize());
                opening.is_summed_up |= sums_up(&message);
                behind = at + 1;
            }
            let own = if is_answer { text.clone() } else { without_surroundings(&text) };
            // An answer to nothing but a preamble is a part of that.
            if is_answer && has_words || !is_answer && (!own.is_empty() || text.trim().is_empty()) {
                add(&mut lasting, &message, &said::key(&message, &own));
                has_words |= !is_answer;
            }
            if is_answer && has_words {
                opening.lasting = Some(lasting.finalize());
            }
            let is_begun = opening.lasting.is_some() || at >= MOST_PREAMBLE;
            if opening.first.is_some() && opening.hash.is_some() && is_begun {
                break;
            }
        }
        match opening.hash {
            Some(_) => (opening, behind),
            None => (Opening { asked: hasher.finalize(), ..opening }, 0),
        }
    }

    fn before_anything(fixed: Fixed<'_>) -> Opening {
        Opening {
            first: None,
            hash: None,
            asked: blake3::Hasher::new().finalize(),
            has_tools: fixed.tools.is_some_and(is_filled_list),
            system: fixed.system.and_then(system_key),
            lasting: None,
            answer: None,
            is_summed_up: false,
        }
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

fn add(hasher: &mut blake3::Hasher, message: &Message, key: &TextKey) {
    hasher.update(message.role.into_str().as_bytes()).update(key);
    message.tool_calls().for_each(|call| _ = hasher.update(call.id.as_bytes()).update(call.name.as_bytes()));
}

fn answer_hash(message: &Message) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    answered(message, &mut hasher);
    hasher.finalize()
}

/// What stands beside the messages of a conversation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fixed<'f> {
    pub tools: Option<&'f RawValue>,
    pub system: Option<&'f RawValue>,
}

/// Stands for a system prompt: for its beginning, without digits, since many tell the time of day.
fn system_key(system: &RawValue) -> Option<TextKey> {
    let texts: Vec<String> = match serde_json::from_str(system.get()).ok()? {
        Value::String(text) => vec![text],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| Some(block.get("text")?.as_str()?.to_owned())).collect()
        }
        _ => return None,
    };
    let whole = texts.join("\n");
    let beginning: String = whole.chars().filter(|letter| !letter.is_numeric()).take(SYSTEM_CHARS).collect();
    (!beginning.trim().is_empty()).then(|| text_key(&beginning))
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
    said::says(message) || message.tool_calls().next().is_some()
}
