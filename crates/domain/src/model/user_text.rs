//! Words of the user, told apart from what a harness, a tool or another agent put under the user's name.
//!
//! Each block of a message is judged by itself: what stands beside the user's words takes none of them away.

mod agents;
pub mod call_replies;
pub mod handed_over;
mod harness;
pub mod replies;

use super::approval;
use super::chapter_task::asks_for_chapters;
use super::framed::is_framed;
use super::message::{Block, Message, Role};
use super::running;
use call_replies::TextResult;

pub use agents::{NAME_CHARS, attributed, name_of, named};
pub use harness::without_surroundings;

/// Kind of a message, for a reader who looks for the user's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserText {
    /// The user's own words.
    Said(String),
    /// A tool's output in the user's name.
    Output(String),
    /// A harness's own summary of what came before.
    Continued(String),
    /// Another agent's words in the user's role, behind its name.
    Agent(String),
    /// The model's, a tool's, or nobody's.
    Other,
}

/// One [`UserText`] for each message.
pub fn of(messages: &[Message]) -> Vec<UserText> {
    let mut classifier = UserTextClassifier::default();
    messages.iter().map(|message| classifier.classify(message)).collect()
}

/// Tells the messages of a span apart one by one, oldest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserTextClassifier {
    /// The agent has spoken.
    pub answered: bool,
    /// It has called a tool: results have a role of their own.
    pub calls_tools: bool,
}

impl UserTextClassifier {
    pub fn classify(&mut self, message: &Message) -> UserText {
        self.answered |= message.role == Role::Assistant;
        self.calls_tools |= message.tool_calls().next().is_some();
        if message.role == Role::User { judge(message, *self) } else { UserText::Other }
    }
}

/// Returns true if a message in a user's role holds no word of a user: a harness's preamble, an echo, a tool's output, a
/// summary, another agent's words, leave for a call. Told from the message alone, so that it can be recorded when the
/// message arrives.
pub fn is_by_harness(message: &Message) -> bool {
    // Who shows an image, asks about it.
    if message.role != Role::User || message.content.iter().any(Block::is_media) {
        return false;
    }
    if approval::is_all_of(message) {
        return true;
    }
    let says = texts(message).any(|text| !text.trim().is_empty());
    says && !matches!(judge(message, UserTextClassifier::default()), UserText::Said(_))
}

/// Returns true if a message in a user's role is a summary of what came before, a harness's or this service's.
pub fn sums_up(message: &Message) -> bool {
    let is_summary = |text: &str| {
        is_framed(text)
            || harness::is_summary_element(text)
            || matches!(tell(text, UserTextClassifier::default()), UserText::Continued(_))
    };
    message.role == Role::User && texts(message).any(is_summary)
}

/// Returns true if a harness marks words of the user's in the message.
pub fn marks_users_words(message: &Message) -> bool {
    call_replies::is_frame(texts(message)) && texts(message).any(|text| call_replies::users_part(text).is_some())
}

/// The message in parts, each of one kind of words: what a harness says and what the user says beside it are told
/// apart. One where there is nothing to part.
pub fn parts(message: Message) -> Vec<Message> {
    if message.role != Role::User || texts(&message).nth(1).is_none() {
        return vec![message];
    }
    let mut telling = TellingMessage::of(&message, UserTextClassifier::default());
    let Message { role, content, stop, opaque } = message;
    let mut parts: Vec<(Option<std::mem::Discriminant<UserText>>, Vec<Block>)> = vec![(None, Vec::new())];
    for block in content {
        let kind = match &block {
            Block::Text { text, .. } => Some(std::mem::discriminant(&telling.tell(text))),
            _ => None,
        };
        match parts.last_mut() {
            Some((of, blocks)) if kind.is_none() || of.is_none() || *of == kind => {
                *of = of.or(kind);
                blocks.push(block);
            }
            _ => parts.push((kind, vec![block])),
        }
    }
    let part = |(_, content): (_, Vec<Block>)| Message { role, content, stop, opaque: opaque.clone() };
    parts.into_iter().map(part).collect()
}

/// The texts of a message, block by block.
pub fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        _ => None,
    })
}

/// What the blocks of a message say together: the user's words where there are any, else what stands there.
fn judge(message: &Message, behind: UserTextClassifier) -> UserText {
    let mut telling = TellingMessage::of(message, behind);
    texts(message).map(|text| telling.tell(text)).fold(UserText::Other, UserText::with)
}

impl UserText {
    fn with(self, next: UserText) -> UserText {
        use UserText::{Agent, Continued, Other, Output, Said};
        let joined = |mut first: String, second: &str| {
            first.push('\n');
            first.push_str(second);
            first
        };
        match (self, next) {
            (Said(first), Said(second)) => Said(joined(first, &second)),
            (Said(text), _) | (_, Said(text)) => Said(text),
            (Continued(first), Continued(second)) => Continued(joined(first, &second)),
            (Continued(text), _) | (_, Continued(text)) => Continued(text),
            (Agent(first), Agent(second)) => Agent(joined(first, &second)),
            (Agent(text), _) | (_, Agent(text)) => Agent(text),
            (Output(first), Output(second)) => Output(joined(first, &second)),
            (Output(text), _) | (_, Output(text)) => Output(text),
            (Other, Other) => Other,
        }
    }
}

/// Tells the texts of a message apart, in order.
struct TellingMessage {
    behind: UserTextClassifier,
    /// A harness writes such messages around the user's words.
    is_frame: bool,
    /// The last text was the head of a result alone.
    is_behind_head: bool,
}

impl TellingMessage {
    fn of(message: &Message, behind: UserTextClassifier) -> TellingMessage {
        TellingMessage { behind, is_frame: call_replies::is_frame(texts(message)), is_behind_head: false }
    }

    fn tell(&mut self, text: &str) -> UserText {
        if !self.is_frame {
            return tell(text, self.behind);
        }
        let head = TextResult::of(text);
        let is_behind_head = std::mem::replace(&mut self.is_behind_head, head.is_some_and(|head| head.text.is_empty()));
        match call_replies::users_part(text) {
            Some((said, _)) => tell(&said, self.behind),
            None if head.is_some() || is_behind_head => UserText::Output(text.trim().to_owned()),
            None => tell(text, self.behind),
        }
    }
}

fn tell(text: &str, behind: UserTextClassifier) -> UserText {
    if is_framed(text) || asks_for_chapters(text) {
        return UserText::Other;
    }
    let Some(whole) = running::asked(text) else { return UserText::Other };
    // A harness's own elements around another agent's words.
    if let Some(words) = agents::words(whole) {
        return UserText::Agent(words);
    }
    if let Some(told) = harness::introduced(whole) {
        return UserText::Output(told.to_owned());
    }
    let own = harness::own_part(whole);
    let said = own.trim();
    if harness::continues(said) {
        return UserText::Continued(said.to_owned());
    }
    if let Some(words) = agents::words(said) {
        return UserText::Agent(words);
    }
    let is_whole = said.len() == whole.trim().len();
    if said.is_empty() || !is_whole && !said.chars().any(char::is_alphanumeric) {
        return UserText::Other;
    }
    // The task itself may end with a prompt too.
    let acts_by_words = behind.answered && !behind.calls_tools;
    if harness::is_output(said, acts_by_words) || behind.answered && ends_at_prompt(said) {
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
