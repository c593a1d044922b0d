//! Clues in a message that the work still rests on it, told by flags, by the focus topic and by what is named again later.

use std::collections::HashSet;

use crate::model::message::{Block, Message, Role};
use crate::record::ending::{self, CallEnd};
use crate::summary::identifiers;
use crate::summary::user_text::{UserText, UserTextClassifier};

/// Identifiers that are looked at in one message.
const MAX_IDENTIFIERS: usize = 40;
/// More of a text than this is not searched.
const MAX_TEXT: usize = 32_000;

const FOCUS: u64 = 60;
const ERROR: u64 = 10;
/// Worth of a mere request.
pub(super) const REQUEST: u64 = 8;
const STILL_USED: u64 = 3;
const MOST_USED: u64 = 15;

/// Clues of one message: what it holds that is worth keeping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clues {
    /// A request of the user.
    pub request: bool,
    /// A result in it is flagged as an error.
    pub error: bool,
    /// It is about the focus topic.
    pub focus: bool,
    pub identifiers: Vec<String>,
}

impl Clues {
    /// Reads a message. `focus_topic` is compared without case.
    pub fn of(message: &Message, focus_topic: Option<&str>) -> Clues {
        let topic = focus_topic.map(|topic| topic.trim().to_lowercase()).filter(|topic| !topic.is_empty());
        let mut clues = Clues::default();
        // What opens as a tool's output does is one, as far as a message tells by itself.
        let mut classifier = UserTextClassifier { answered: true, calls_tools: false };
        let asks = matches!(classifier.classify(message), UserText::Said(_));
        for block in &message.content {
            let text = match block {
                Block::Text { text, .. } => text.clone(),
                Block::ToolCall(call) => format!("{} {}", call.name, call.arguments),
                Block::ToolResult(result) => {
                    clues.error |= ending::end(Some(result)) == CallEnd::Failed;
                    result.plain_text()
                }
                _ => continue,
            };
            clues.read(message.role, block, start_of(&text), topic.as_deref());
        }
        clues.request &= asks;
        clues
    }

    fn read(&mut self, role: Role, block: &Block, text: &str, topic: Option<&str>) {
        self.focus |= topic.is_some_and(|topic| text.to_lowercase().contains(topic));
        self.request |= role == Role::User && matches!(block, Block::Text { .. });
        let room = MAX_IDENTIFIERS.saturating_sub(self.identifiers.len());
        self.identifiers.extend(identifiers::extract(text, room).into_iter().map(str::to_owned));
    }

    /// How much it is worth, where these identifiers are still used.
    pub(super) fn worth(&self, used: &HashSet<&str>) -> u64 {
        let still_used = self.identifiers.iter().filter(|identifier| used.contains(identifier.as_str())).count() as u64;
        [(self.focus, FOCUS), (self.error, ERROR), (self.request, REQUEST)]
            .into_iter()
            .filter_map(|(holds, worth)| holds.then_some(worth))
            .sum::<u64>()
            + (still_used * STILL_USED).min(MOST_USED)
    }
}

fn start_of(text: &str) -> &str {
    text.char_indices().nth(MAX_TEXT).map_or(text, |(end, _)| &text[..end])
}
