//! What a record is written from: the messages before the cut as they are stored, of a very long history the first ones
//! and the newest, and the messages behind the cut.

use std::collections::{HashMap, VecDeque};

use uuid::Uuid;

use super::lighten::strip;
use super::numbers::{CitedNumbers, PathMessage, PathNumbers, PathPart};
use super::places::OpenPlaces;
use super::quote::{GAP, prefix, suffix};
use super::span::{RecordItem, RecordPlace, UnreadStretch};
use super::text_results::{TextResults, is_written};
use super::{RecordParts, beside, shown, write};
use crate::context::elision;
use crate::model::compaction::Elision;
use crate::model::message::{Block, Message};
use crate::model::record_numbers::{NumberMarks, RecordNumbers};
use crate::model::user_text::{UserText, UserTextClassifier};
use crate::redaction::Redaction;
use crate::settings::Estimator;
use crate::tokens::count_text;

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
    first: Vec<PathMessage>,
    unread: UnreadStretch,
    newest: VecDeque<NewestMessage>,
    bytes: usize,
    /// What `first` holds, in numbers.
    begun: UnreadStretch,
    kept: VecDeque<(PathMessage, UnreadStretch)>,
    /// What stands behind the cut before `kept`, in numbers.
    passed: UnreadStretch,
    given: Option<String>,
    recalled: Vec<String>,
    classifier: UserTextClassifier,
    redaction: Redaction,
    places: OpenPlaces,
    text_results: TextResults,
    /// All that was taken in or skipped so far, in numbers.
    counted: UnreadStretch,
    marks: NumberMarks,
}

#[derive(Debug, Clone)]
struct NewestMessage {
    of: PathMessage,
    bytes: usize,
    holds: UnreadStretch,
}

/// What a model that writes notes is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownSpan {
    /// What the notes are to stand for.
    pub record: String,
    /// What stays in the context behind them.
    pub tail: String,
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

    /// With notes that a caller or a hook gave in place of earlier messages.
    pub fn with_given(self, given: Option<String>) -> RecordSource {
        RecordSource { given, ..self }
    }

    /// With the ids of calls whose results were asked for again, the newest first.
    pub fn with_recalled(self, recalled: Vec<String>) -> RecordSource {
        RecordSource { recalled, ..self }
    }

    /// Without the secrets of what it takes in.
    pub fn with_redaction(self, redaction: Redaction) -> RecordSource {
        RecordSource { redaction, ..self }
    }

    /// Goes on behind what is known in numbers, some of which are marked.
    pub fn skip_to(&mut self, known: RecordNumbers, marks: &NumberMarks) {
        let first = i64::try_from(FIRST).unwrap_or(i64::MAX);
        self.marks.fill(marks, first..known.depth);
        self.marks.begin(known);
        self.places.forget();
        self.text_results = TextResults::default();
        self.counted = UnreadStretch { messages: known.messages, users: known.users, calls: known.calls };
        self.unread = UnreadStretch {
            messages: known.messages.saturating_sub(self.begun.messages),
            users: known.users.saturating_sub(self.begun.users),
            calls: known.calls.saturating_sub(self.begun.calls),
        };
    }

    /// Takes in the next message before the cut, which takes so many bytes where it is stored.
    pub fn take_before(
        &mut self,
        mut message: Message,
        (place, entry): (RecordPlace, Option<Uuid>),
        depth: i64,
        bytes: usize,
    ) {
        let before = self.counted;
        let holds = self.arrived(&mut message);
        if holds.users > 0 {
            self.marks.note_user(before.users.saturating_add(1), depth);
        }
        if holds.calls > 0 {
            self.marks.note_call(before.calls.saturating_add(1), depth);
        }
        let of = PathMessage { message, place, entry, depth };
        if self.newest.is_empty() && self.unread.messages == 0 && self.first.len() < FIRST {
            self.begun.add(holds);
            self.first.push(of);
            return;
        }
        let bytes = bytes.min(4 * LONGEST_TEXT);
        self.bytes += bytes;
        self.newest.push_back(NewestMessage { of, bytes, holds });
        while self.newest.len() > NEWEST || self.bytes > NEWEST_BYTES && self.newest.len() > 1 {
            let Some(gone) = self.newest.pop_front() else { break };
            self.bytes -= gone.bytes;
            self.unread.add(gone.holds);
        }
    }

    /// Takes in the next message behind the cut.
    pub fn take_behind(&mut self, mut message: Message, entry: Option<Uuid>) {
        let holds = self.arrived(&mut message);
        self.kept.push_back((PathMessage { message, place: RecordPlace::Kept, entry, depth: i64::MAX }, holds));
        if self.kept.len() > BEHIND
            && let Some((_, gone)) = self.kept.pop_front()
        {
            self.passed.add(gone);
        }
    }

    /// The message as it is told from, and what it holds in numbers.
    fn arrived(&mut self, message: &mut Message) -> UnreadStretch {
        let numbers = (self.counted.users, self.counted.calls);
        let before = match self.kept.back_mut() {
            Some((of, _)) => Some(of),
            None => self.newest.back_mut().map(|newest| &mut newest.of).or(self.first.last_mut()),
        };
        self.text_results.pair(message, before.map(|of| &mut of.message));
        self.places.redact(message, &self.redaction, numbers, &self.classifier);
        lighten(message);
        let holds = self.holds(message);
        self.counted.add(holds);
        holds
    }

    fn holds(&mut self, message: &Message) -> UnreadStretch {
        let is_media = message.content.iter().any(Block::is_media);
        let is_said =
            matches!(self.classifier.classify(message), UserText::Said(text) if is_media || !text.trim().is_empty());
        let calls = u32::try_from(message.tool_calls().filter(|call| !is_written(call)).count()).unwrap_or(u32::MAX);
        UnreadStretch { messages: 1, users: u32::from(is_said), calls }
    }

    /// The same with results as these elisions show them: a hook has its reasons.
    pub fn shortened(mut self, elisions: &[Elision]) -> RecordSource {
        let mut by_entry: HashMap<Uuid, Vec<Elision>> = HashMap::new();
        for elision in elisions {
            by_entry.entry(elision.entry_id).or_default().push(elision.clone());
        }
        if !by_entry.is_empty() {
            let before = self.first.iter_mut().chain(self.newest.iter_mut().map(|newest| &mut newest.of));
            for of in before.chain(self.kept.iter_mut().map(|(of, _)| of)) {
                if let Some(elisions) = of.entry.and_then(|entry| by_entry.get(&entry)) {
                    elision::apply(&mut of.message, elisions);
                }
            }
        }
        self
    }

    /// Where the next reading may begin. `None`: at the first message.
    pub fn numbers(&self) -> Option<RecordNumbers> {
        let front = self.newest.front().filter(|_| self.unread.messages > 0)?;
        let mut before = self.begun;
        before.add(self.unread);
        let UnreadStretch { messages, users, calls } = before;
        Some(RecordNumbers { depth: front.of.depth, messages, users, calls })
    }

    /// Returns true if calls stand before the cut.
    pub fn has_calls(&self) -> bool {
        self.begun.calls + self.unread.calls > 0 || self.newest.iter().any(|newest| newest.holds.calls > 0)
    }

    /// Where the numbers before the cut stand.
    pub fn marks(&self) -> NumberMarks {
        self.marks.clone()
    }

    /// Returns true if there is nothing to tell of.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.newest.is_empty()
    }

    /// The record in at most so many tokens.
    pub fn record(&self, room: u64, estimator: Estimator) -> String {
        let (before, kept) = (self.before(|of| of.place), self.behind());
        write(&self.parts_of(&before, &kept), room, |text| u64::from(count_text(estimator, text)))
    }

    /// The same for a model that writes notes, in all the detail that the room allows, with what stays before the cut and
    /// behind it. Where earlier notes tell of what comes before the depth `newer_from`, that is only counted.
    pub fn shown(&self, room: u64, newer_from: Option<i64>, estimator: Estimator) -> ShownSpan {
        let count = |text: &str| u64::from(count_text(estimator, text));
        let is_told =
            |of: &PathMessage| of.place == RecordPlace::Kept || newer_from.is_none_or(|from| of.depth >= from);
        let place = |of: &PathMessage| match of.place {
            _ if !is_told(of) => RecordPlace::Kept,
            RecordPlace::Told => RecordPlace::Told,
            _ => RecordPlace::Stays,
        };
        let (before, kept) = (self.before(place), self.behind());
        let tail = shown::tail(&self.tail_items(), room / shown::TAIL_SHARE, count);
        let left = room.saturating_sub(count(&tail));
        let parts = self.parts_of(&before, &kept);
        // Earlier notes tell of what was given before them.
        let parts = RecordParts { given: parts.given.filter(|_| newer_from.is_none()), ..parts };
        ShownSpan { record: shown::record(&parts, left, count), tail }
    }

    /// What a text that stands for the span lacks, in at most so many tokens. Empty: nothing.
    pub fn beside(&self, text: &str, cited: &CitedNumbers, room: u64) -> String {
        let (before, kept) = (self.before(|of| of.place), self.behind());
        beside::told(&self.parts_of(&before, &kept), text, cited, room)
    }

    fn parts_of<'p>(&'p self, before: &'p [RecordItem<'p>], kept: &'p [Message]) -> RecordParts<'p> {
        RecordParts { before, kept, given: self.given.as_deref(), recalled: &self.recalled }
    }

    /// The calls and the user's messages of the whole path, by their numbers.
    pub fn path_numbers(&self) -> PathNumbers<'_> {
        PathNumbers::of(self.parts())
    }

    /// All messages that were read, from both sides of the cut.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        let of = |part| match part {
            PathPart::Message(of) => Some(&of.message),
            PathPart::Unread(_) => None,
        };
        self.parts().filter_map(of)
    }

    fn parts(&self) -> impl Iterator<Item = PathPart<'_>> {
        let unread = |stretch: UnreadStretch| {
            (stretch.messages > 0 || stretch.calls > 0 || stretch.users > 0).then_some(PathPart::Unread(stretch))
        };
        let first = self.first.iter().map(PathPart::Message).chain(unread(self.unread));
        let newest = self.newest.iter().map(|newest| PathPart::Message(&newest.of)).chain(unread(self.passed));
        first.chain(newest).chain(self.kept.iter().map(|(of, _)| PathPart::Message(of)))
    }

    fn before(&self, place: impl Fn(&PathMessage) -> RecordPlace) -> Vec<RecordItem<'_>> {
        let mut before: Vec<RecordItem<'_>> =
            self.first.iter().map(|of| RecordItem::Message(&of.message, place(of))).collect();
        if self.unread.messages > 0 {
            before.push(RecordItem::Unread(self.unread));
        }
        before.extend(self.newest.iter().map(|newest| RecordItem::Message(&newest.of.message, place(&newest.of))));
        before
    }

    fn behind(&self) -> Vec<Message> {
        self.kept.iter().map(|(of, _)| of.message.clone()).collect()
    }

    /// What stays behind the cut, numbered on from what stands before it.
    fn tail_items(&self) -> Vec<RecordItem<'_>> {
        let mut before = self.begun;
        before.add(self.unread);
        self.newest.iter().for_each(|newest| before.add(newest.holds));
        before.add(self.passed);
        let counted = UnreadStretch { messages: 0, ..before };
        let kept = self.kept.iter().map(|(of, _)| RecordItem::Message(&of.message, RecordPlace::Told));
        std::iter::once(RecordItem::Unread(counted)).chain(kept).collect()
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

impl RecordSource {
    /// Of messages that are not read from a session.
    pub fn of(messages: impl IntoIterator<Item = Message>) -> RecordSource {
        let mut source = RecordSource::default();
        for (depth, message) in messages.into_iter().enumerate() {
            source.take_before(message, (RecordPlace::Told, None), depth as i64, 0);
        }
        source
    }
}
