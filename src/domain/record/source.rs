//! What a record is written from: the messages before the cut as they are stored, of a very long history the first ones
//! and the newest, and the messages behind the cut.

use std::collections::VecDeque;

use super::quote::{GAP, prefix, suffix};
use super::span::{RecordItem, RecordPlace, UnreadStretch};
use super::{RecordParts, write};
use crate::domain::model::message::{Block, Message, Role};
use crate::domain::model::record_numbers::RecordNumbers;
use crate::domain::model::user_text::{UserText, UserTextClassifier};
use crate::domain::settings::Estimator;
use crate::domain::summary::SummaryTask;
use crate::domain::summary::transcript::strip;
use crate::domain::tokens::count_text;

/// Messages from the first on that are told whatever the length of the history.
const FIRST: usize = 64;
/// The newest messages before the cut, by number and by stored bytes.
const NEWEST: usize = 4_096;
const NEWEST_BYTES: usize = 16 << 20;
/// Messages behind the cut that are looked at for what was made of earlier ones.
const BEHIND: usize = 512;
/// Characters of a text of which nothing is told; its beginning and its end are.
const LONGEST_TEXT: usize = 240_000;

/// Messages for a record, taken in path order.
#[derive(Debug, Clone, Default)]
pub struct RecordSource {
    first: Vec<(Message, RecordPlace)>,
    unread: UnreadStretch,
    newest: VecDeque<NewestMessage>,
    bytes: usize,
    /// What `first` holds, in numbers.
    begun: UnreadStretch,
    kept: VecDeque<Message>,
    classifier: UserTextClassifier,
}

#[derive(Debug, Clone)]
struct NewestMessage {
    message: Message,
    place: RecordPlace,
    depth: i64,
    bytes: usize,
    holds: UnreadStretch,
}

impl RecordSource {
    /// Of which depth on a history is read whose numbers are known: its first messages, and all from here on.
    pub fn ranges(known: Option<RecordNumbers>, end: i64) -> Vec<(i64, i64)> {
        let first = i64::try_from(FIRST).unwrap_or(i64::MAX);
        match known.filter(|known| known.depth > first && known.depth <= end) {
            Some(known) => vec![(0, first - 1), (known.depth, i64::MAX)],
            None => vec![(0, i64::MAX)],
        }
    }

    /// Goes on behind what is known in numbers.
    pub fn skip_to(&mut self, known: RecordNumbers) {
        self.unread = UnreadStretch {
            messages: known.messages.saturating_sub(self.begun.messages),
            users: known.users.saturating_sub(self.begun.users),
            calls: known.calls.saturating_sub(self.begun.calls),
        };
    }

    /// Takes in the next message before the cut, which takes so many bytes where it is stored.
    pub fn take_before(&mut self, mut message: Message, place: RecordPlace, depth: i64, bytes: usize) {
        lighten(&mut message);
        let holds = self.holds(&message);
        if self.newest.is_empty() && self.unread.messages == 0 && self.first.len() < FIRST {
            self.begun.add(holds);
            self.first.push((message, place));
            return;
        }
        let bytes = bytes.min(4 * LONGEST_TEXT);
        self.bytes += bytes;
        self.newest.push_back(NewestMessage { message, place, depth, bytes, holds });
        while self.newest.len() > NEWEST || self.bytes > NEWEST_BYTES && self.newest.len() > 1 {
            let Some(gone) = self.newest.pop_front() else { break };
            self.bytes -= gone.bytes;
            self.unread.add(gone.holds);
        }
    }

    /// Takes in the next message behind the cut.
    pub fn take_behind(&mut self, mut message: Message) {
        lighten(&mut message);
        self.kept.push_back(message);
        if self.kept.len() > BEHIND {
            self.kept.pop_front();
        }
    }

    fn holds(&mut self, message: &Message) -> UnreadStretch {
        let is_said = matches!(self.classifier.classify(message), UserText::Said(text) if !text.trim().is_empty());
        let calls = u32::try_from(message.tool_calls().count()).unwrap_or(u32::MAX);
        UnreadStretch { messages: 1, users: u32::from(is_said), calls }
    }

    /// Where the next reading may begin. `None`: at the first message.
    pub fn numbers(&self) -> Option<RecordNumbers> {
        let front = self.newest.front().filter(|_| self.unread.messages > 0)?;
        let mut before = self.begun;
        before.add(self.unread);
        let UnreadStretch { messages, users, calls } = before;
        Some(RecordNumbers { depth: front.depth, messages, users, calls })
    }

    /// Returns true if there is nothing to tell of.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.newest.is_empty()
    }

    /// The record in at most so many tokens.
    pub fn record(&self, room: u64, estimator: Estimator) -> String {
        let mut before: Vec<RecordItem<'_>> =
            self.first.iter().map(|(message, place)| RecordItem::Message(message, *place)).collect();
        if self.unread.messages > 0 {
            before.push(RecordItem::Unread(self.unread));
        }
        before.extend(self.newest.iter().map(|newest| RecordItem::Message(&newest.message, newest.place)));
        let kept: Vec<Message> = self.kept.iter().cloned().collect();
        let parts = RecordParts { before: &before, kept: &kept };
        write(&parts, room, |text| u64::from(count_text(estimator, text)))
    }
}

impl UnreadStretch {
    fn add(&mut self, other: UnreadStretch) {
        self.messages = self.messages.saturating_add(other.messages);
        self.users = self.users.saturating_add(other.users);
        self.calls = self.calls.saturating_add(other.calls);
    }
}

/// Takes out what no record tells: the bytes of media, what providers keep for a replay, the middle of very long texts.
fn lighten(message: &mut Message) {
    strip(message);
    for block in &mut message.content {
        if let Block::ToolResult(result) = block {
            for block in &mut result.content {
                if let Block::Text { text, .. } = block
                    && text.len() > LONGEST_TEXT
                {
                    let half = LONGEST_TEXT / 2;
                    *text = format!("{}\n{GAP}\n{}", prefix(text, half), suffix(text, half));
                }
            }
        }
    }
}

/// A record of what a task for a summariser holds, in as many tokens as the task may answer with.
pub fn of_task(task: &SummaryTask) -> String {
    let previous = task.previous.as_deref().map(|notes| Message::text(Role::CompactionSummary, notes));
    let messages = previous.iter().chain(task.messages.iter());
    let before: Vec<RecordItem<'_>> = messages.map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
    let parts = RecordParts { before: &before, kept: &[] };
    write(&parts, u64::from(task.max_output_tokens), |text| u64::from(count_text(Estimator::O200k, text)))
}
