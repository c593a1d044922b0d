//! The calls of a path and the messages of the user's own, by their numbers.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use uuid::Uuid;

use super::ending::{self, CallEnd};
use super::span::{RecordPlace, UnreadStretch};
use super::text_results::is_written;
use crate::model::message::{Block, Message, Role, ToolCall, ToolResult};
use crate::model::user_text::{UserText, UserTextClassifier};

/// A message of the path, and its entry where it has one.
#[derive(Debug, Clone)]
pub(super) struct PathMessage {
    pub message: Message,
    pub place: RecordPlace,
    pub entry: Option<Uuid>,
    pub depth: i64,
}

/// A stretch of the path as it is walked for its numbers.
pub(super) enum PathPart<'s> {
    Message(&'s PathMessage),
    Unread(UnreadStretch),
}

/// Numbers that a text cites.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CitedNumbers {
    pub calls: BTreeSet<u32>,
    pub users: BTreeSet<u32>,
}

/// A call of the path.
#[derive(Debug)]
pub struct NumberedCall<'a> {
    pub entry: Option<Uuid>,
    pub call: &'a ToolCall,
    pub result: Option<&'a ToolResult>,
    pub end: CallEnd,
}

impl NumberedCall<'_> {
    /// All that it says: tool, arguments and result.
    pub fn text(&self) -> String {
        let result = self.result.map(|result| result.plain_text()).unwrap_or_default();
        format!("{} {}\n{result}", self.call.name, self.call.arguments)
    }
}

/// Words of the user's own on the path.
#[derive(Debug)]
pub struct NumberedWords {
    pub entry: Option<Uuid>,
    pub text: String,
}

/// Words of the agent's, said behind the message of the user's of this number.
#[derive(Debug)]
pub struct AgentsWords<'a> {
    pub text: &'a str,
    pub behind: u32,
}

/// All that has a number on a path. What was not read again is only counted.
#[derive(Debug, Default)]
pub struct PathNumbers<'a> {
    pub calls: BTreeMap<u32, NumberedCall<'a>>,
    pub users: BTreeMap<u32, NumberedWords>,
    /// What the agent said, in order.
    pub said: Vec<AgentsWords<'a>>,
    /// The last number of each.
    pub last_call: u32,
    pub last_user: u32,
}

impl<'a> PathNumbers<'a> {
    pub(super) fn of(parts: impl Iterator<Item = PathPart<'a>>) -> PathNumbers<'a> {
        let mut walk = NumberWalk::default();
        for part in parts {
            match part {
                PathPart::Message(of) => walk.take(&of.message, of.entry),
                PathPart::Unread(stretch) => {
                    walk.numbers.last_call += stretch.calls;
                    walk.numbers.last_user += stretch.users;
                    walk.classifier.calls_tools |= stretch.calls > 0;
                }
            }
        }
        walk.numbers
    }
}

#[derive(Default)]
struct NumberWalk<'a> {
    numbers: PathNumbers<'a>,
    classifier: UserTextClassifier,
    /// Numbers of calls that have no result yet, oldest first, by their id: an id may come again.
    open: HashMap<&'a str, VecDeque<u32>>,
}

impl<'a> NumberWalk<'a> {
    fn take(&mut self, message: &'a Message, entry: Option<Uuid>) {
        let said = self.classifier.classify(message);
        for block in &message.content {
            match block {
                Block::ToolCall(call) => self.called(call, entry),
                Block::ToolResult(result) => self.returned(result),
                Block::Text { text, .. } if message.role == Role::Assistant => {
                    self.numbers.said.push(AgentsWords { text, behind: self.numbers.last_user });
                }
                _ => {}
            }
        }
        if message.role == Role::User
            && let UserText::Said(text) = said
            && (!text.trim().is_empty() || message.content.iter().any(Block::is_media))
        {
            self.numbers.last_user += 1;
            self.numbers.users.insert(self.numbers.last_user, NumberedWords { entry, text });
        }
    }

    fn called(&mut self, call: &'a ToolCall, entry: Option<Uuid>) {
        if is_written(call) {
            return;
        }
        self.numbers.last_call += 1;
        let number = self.numbers.last_call;
        self.open.entry(call.id.as_str()).or_default().push_back(number);
        self.numbers.calls.insert(number, NumberedCall { entry, call, result: None, end: CallEnd::Open });
    }

    fn returned(&mut self, result: &'a ToolResult) {
        let open = self.open.get_mut(result.tool_call_id.as_str()).and_then(VecDeque::pop_front);
        if let Some(call) = open.and_then(|number| self.numbers.calls.get_mut(&number)) {
            (call.result, call.end) = (Some(result), ending::end_of(&call.call.name, result));
        }
    }
}
