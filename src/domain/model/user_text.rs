//! Words of the user, told apart from what a harness or a tool put under the user's name.

mod harness;
pub mod replies;

use super::chapter_task::asks_for_chapters;
use super::framed::is_framed;
use super::message::{Block, Message, Role};

/// Kind of a message, for a reader who looks for the user's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserText {
    /// The user's own words.
    Said(String),
    /// A tool's output in the user's name.
    Output(String),
    /// A harness's own summary of what came before.
    Continued(String),
    /// The model's, a tool's, or nobody's.
    Other,
}

/// One [`UserText`] for each message.
pub fn of(messages: &[Message]) -> Vec<UserText> {
    let mut classifier = UserTextClassifier::default();
    messages.iter().map(|message| classifier.classify(message)).collect()
}

/// Tells the messages of a span apart one by one, oldest first.
#[derive(Debug, Default)]
pub struct UserTextClassifier {
    answered: bool,
}

impl UserTextClassifier {
    pub fn classify(&mut self, message: &Message) -> UserText {
        self.answered |= message.role == Role::Assistant;
        if message.role == Role::User { tell(&message.plain_text(), self.answered) } else { UserText::Other }
    }
}

/// Returns true if a message in a user's role holds no word of a user: a harness's preamble, an echo, a tool's output, a
/// summary. Told from the message alone, so that it can be recorded when the message arrives.
pub fn is_by_harness(message: &Message) -> bool {
    // Who shows an image, asks about it.
    if message.role != Role::User || message.content.iter().any(Block::is_media) {
        return false;
    }
    let text = message.plain_text();
    !text.trim().is_empty() && !matches!(tell(&text, false), UserText::Said(_))
}

fn tell(text: &str, answered: bool) -> UserText {
    if is_framed(text) || asks_for_chapters(text) {
        return UserText::Other;
    }
    let said = harness::own_part(text);
    let said = said.trim();
    if harness::continues(said) {
        return UserText::Continued(said.to_owned());
    }
    if harness::is_nobodys(said) {
        return UserText::Other;
    }
    // The task itself may end with a prompt too.
    if harness::is_output(said) || answered && ends_at_prompt(said) {
        return UserText::Output(said.to_owned());
    }
    UserText::Said(said.to_owned())
}

fn ends_at_prompt(text: &str) -> bool {
    text.lines().next_back().is_some_and(|line| {
        let line = line.trim_end();
        line.ends_with("bash-$") || line == "$" || line.ends_with(":~$")
    })
}

#[cfg(test)]
mod tests;
