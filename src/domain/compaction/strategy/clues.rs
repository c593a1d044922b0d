//! Clues in a message: what it says that the work still rests on, told by rules.

use std::collections::HashSet;

use crate::domain::model::message::{Block, Message, Role};
use crate::domain::summary::user_text::{UserText, UserTextClassifier};
use crate::domain::summary::{identifiers, outcome};

/// Identifiers that are looked at in one message.
const MAX_IDENTIFIERS: usize = 40;
/// More of a text than this is not searched.
const MAX_TEXT: usize = 32_000;

const FOCUS: u64 = 60;
const RULE: u64 = 40;
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
    /// It says what must, must never or is always to be done.
    pub rule: bool,
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
        let asks = matches!(UserTextClassifier::default().classify(message), UserText::Said(_));
        for block in &message.content {
            let text = match block {
                Block::Text { text, .. } => text.clone(),
                Block::ToolCall(call) => format!("{} {}", call.name, call.arguments),
                Block::ToolResult(result) => {
                    clues.error |= outcome::failed(result);
                    result.plain_text()
                }
                _ => continue,
            };
            clues.read(message.role, block, start_of(&text), topic.as_deref());
        }
        clues.request &= asks;
        clues.rule &= asks;
        clues
    }

    fn read(&mut self, role: Role, block: &Block, text: &str, topic: Option<&str>) {
        self.focus |= topic.is_some_and(|topic| text.to_lowercase().contains(topic));
        if matches!(block, Block::Text { .. }) && role == Role::User {
            self.request = true;
            self.rule |= !identifiers::rules(text).is_empty();
        }
        let room = MAX_IDENTIFIERS.saturating_sub(self.identifiers.len());
        self.identifiers.extend(identifiers::extract(text).into_iter().take(room));
    }

    /// How much it is worth, where these identifiers are still used.
    pub(super) fn worth(&self, used: &HashSet<&str>) -> u64 {
        let still_used = self.identifiers.iter().filter(|identifier| used.contains(identifier.as_str())).count() as u64;
        [(self.focus, FOCUS), (self.rule, RULE), (self.error, ERROR), (self.request, REQUEST)]
            .into_iter()
            .filter_map(|(holds, worth)| holds.then_some(worth))
            .sum::<u64>()
            + (still_used * STILL_USED).min(MOST_USED)
    }
}

fn start_of(text: &str) -> &str {
    text.char_indices().nth(MAX_TEXT).map_or(text, |(end, _)| &text[..end])
}
