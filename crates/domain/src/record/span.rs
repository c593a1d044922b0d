//! The span as the record tells it: who said what, which call returned what, in order and with numbers.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::arguments::{ArgumentShapes, arguments_text};
use super::effect::{command_of, inspects, is_read_only};
use super::ending::{self, CallEnd};
use super::frames::{drop_data, drop_frames};
use super::pasted::{cut_long_words, drop_alike};
use super::quote::{names, prefix, shortened, words};
use super::repeated::{RepeatedWords, UserMessage, lines_of_request, without_lines};
use super::results::{ResultShapes, users_reply};
use super::rewritten::RewrittenFiles;
use super::spoken::spoken;
use super::tasks::list_size;
use super::text_results::is_written;
use super::usual::UsualSentences;
use super::words::hashed;
use crate::model::abandoned::is_abandoned;
use crate::model::approval::{self, McpApproval};
use crate::model::code_block::last_block;
use crate::model::message::{Block, Message, Role, ToolCall, ToolResult};
use crate::model::program_replies::{self, SeenMessage};
use crate::model::user_text::handed_over::{given_to_skill, handed_over};
use crate::model::user_text::{self, UserText, UserTextClassifier};

/// Where a message of the path stands once the record is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPlace {
    /// The record alone tells of it.
    Told,
    /// It stays as it is, before the record.
    Kept,
    /// The request that the agent works on: it follows the record as a message.
    Running,
    /// It stays as it is, and a model that writes notes reads it: the notes need not repeat it.
    Stays,
}

/// What stands before the cut, in order.
#[derive(Debug, Clone, Copy)]
pub enum RecordItem<'a> {
    Message(&'a Message, RecordPlace),
    Unread(UnreadStretch),
}

/// Messages that were not read again, since the room would not hold a word of them: they are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnreadStretch {
    pub messages: u32,
    /// Messages of the user's own, and calls: what comes behind is numbered on from there.
    pub users: u32,
    pub calls: u32,
}

/// One line of the record.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// The user's words, the n-th message of theirs on the path.
    User {
        number: u32,
        text: String,
        runs: bool,
    },
    /// A command of the harness's that the user ran: no request, but a turn begins with it.
    Command {
        text: String,
    },
    /// What a harness or another program wrote in the user's role.
    Harness {
        text: String,
    },
    /// Notes on what came before, which somebody else wrote.
    Notes {
        text: String,
    },
    /// Another agent's words in the user's role, behind its name.
    Other {
        text: String,
    },
    /// Messages that were not read.
    Unread(UnreadStretch),
    Agent {
        text: String,
    },
    /// A command in the agent's words.
    Block(AnsweredBlock),
    Call(CallLine<'a>),
}

/// A command that the agent wrote as a block, and what a program answered to it in the user's role.
#[derive(Debug)]
pub(super) struct AnsweredBlock {
    pub command: String,
    pub output: String,
}

/// A call, the n-th on the path, and what it returned.
#[derive(Debug)]
pub(super) struct CallLine<'a> {
    /// 0 where it was written as text: such a one has none.
    pub number: u32,
    pub call: &'a ToolCall,
    pub result: Option<&'a ToolResult>,
    pub end: CallEnd,
    /// What the user said to it, and that the result is that and nothing else.
    pub said: Option<String>,
    pub is_reply: bool,
}

impl CallLine<'_> {
    /// What stands before the tool's name.
    pub fn sign(&self) -> String {
        if self.number == 0 { String::new() } else { format!("#{} ", self.number) }
    }
}

/// Everything before the cut, ready to be told.
#[derive(Debug, Default)]
pub(super) struct Span<'a> {
    pub lines: Vec<Line<'a>>,
    /// Instructions that stand nowhere else: of the system's roles, oldest first.
    pub instructions: Vec<String>,
    pub results: ResultShapes<'a>,
    pub arguments: ArgumentShapes<'a>,
    pub usual: UsualSentences,
    pub rewritten: RewrittenFiles,
    /// Lines with calls, or commands in the agent's words, that do more than read and have ended, and were not made again in the
    /// same words; the newest first.
    /// What keeps the list of tasks is told by the list.
    pub lasting: Vec<usize>,
    /// Lines in which a harness says what it said before, word for word.
    pub said_again: HashSet<usize>,
    pub repeated: RepeatedWords,
    /// The newest line in whose call's arguments a name stands.
    last_use: HashMap<&'a str, usize>,
}

/// How many lines behind a result are heard for what was made of it: of the agent's words, and of calls.
const WORDS_BEHIND: usize = 6;
const CALLS_BEHIND: usize = 3;
/// Characters of arguments that are looked through for names.
const MOST_ARGUMENT: usize = 3_000;
/// What stands for a tool where none is named: outputs of commands in the agent's words, and what else a harness writes.
pub(super) const BLOCKS: &str = "```";
pub(super) const HARNESS: &str = "";
/// Before a message that a model reads and that stays with the agent.
const STAYS: &str = "[stays with the agent word for word] ";
/// Names the command that a user ran, and how much of it is told.
const COMMAND: &str = "<command-name>";
const MOST_COMMAND: usize = 80;
const MOST_NOTICE: usize = 240;
/// What Codex says where the user broke its turn off.
const ABORTED: [&str; 2] = ["<turn_aborted>", "</turn_aborted>"];
/// Lines before a loaded skill among which the call that loaded it stands.
const SKILL_REACH: usize = 8;
/// Shorter names stand everywhere.
const SHORTEST_NAME: usize = 6;

impl<'a> Span<'a> {
    /// Reads the messages before the cut, from the first on.
    pub fn of(items: &[RecordItem<'a>]) -> Span<'a> {
        let replies = by_programs(items);
        let mut reading = SpanReading::default();
        for (at, item) in items.iter().enumerate().take_while(|_| !is_abandoned()) {
            reading.is_reply = replies.contains(&at);
            match item {
                RecordItem::Message(message, place) => reading.take(message, *place),
                RecordItem::Unread(stretch) => reading.skip(*stretch),
            }
        }
        let mut span = reading.span;
        span.lines = with_outputs(span.lines);
        span.drop_what_stands_below();
        let of_users = span.lines.iter_mut().filter_map(|line| match line {
            Line::User { text, .. } => Some(text),
            _ => None,
        });
        let mut of_users: Vec<&mut String> = of_users.collect();
        drop_data(&mut of_users);
        for text in &mut of_users {
            drop_alike(text);
            cut_long_words(text);
        }
        drop_frames(of_users);
        span.usual = UsualSentences::of(agent_texts(&span.lines));
        let mut said = HashSet::new();
        let is_again = |(at, line): (usize, &Line<'_>)| match line {
            Line::Harness { text } => (!said.insert(hashed(text))).then_some(at),
            _ => None,
        };
        span.said_again = span.lines.iter().enumerate().filter_map(is_again).collect();
        span.repeated = RepeatedWords::of(&user_messages(&span.lines), agent_texts(&span.lines));
        span.learn();
        span.lasting = span.lasting_lines();
        span
    }

    /// Takes into account what the messages behind the record say.
    pub fn hear(&mut self, kept: &[Message]) {
        self.repeated.hear(kept, &user_messages(&self.lines));
    }

    /// Leaves out of what was said before the request below the record the lines that stand in that as well.
    fn drop_what_stands_below(&mut self) {
        let mut below = HashSet::new();
        for line in &self.lines {
            if let Line::User { text, runs: true, .. } = line {
                below.extend(lines_of_request(text));
            }
        }
        if below.is_empty() {
            return;
        }
        for line in &mut self.lines {
            if let Line::User { text, runs: false, .. } | Line::Agent { text } = line
                && let Some(shorter) = without_lines(text, &below)
            {
                *text = shorter;
            }
        }
    }

    /// Learns from the newest calls what those of each tool have in common.
    fn learn(&mut self) {
        let calls = || {
            self.lines.iter().enumerate().rev().filter_map(|(at, line)| match line {
                Line::Call(call) => Some((at, call)),
                _ => None,
            })
        };
        let (mut results, mut arguments) = (ResultShapes::default(), ArgumentShapes::default());
        let (mut rewritten, mut last_use) = (RewrittenFiles::default(), HashMap::new());
        for (at, line) in calls() {
            arguments.learn(line.call);
            if line.end == CallEnd::Returned {
                rewritten.learn(at, line.call);
            }
            if let Some(result) = line.result {
                results.learn(&line.call.name, &arguments_text(line.call), &result.plain_text());
            }
            for text in texts(&line.call.arguments) {
                for word in names(text).flat_map(words).filter(|word| word.len() >= SHORTEST_NAME) {
                    last_use.entry(word).or_insert(at);
                }
            }
        }
        for (at, line) in self.lines.iter().enumerate().rev() {
            match line {
                Line::Block(block) => results.learn(BLOCKS, &block.command, &block.output),
                // What is told once is no wrapper.
                Line::Harness { text } if !self.said_again.contains(&at) => results.learn(HARNESS, "", text),
                _ => {}
            }
        }
        (self.results, self.arguments, self.last_use) = (results, arguments, last_use);
        self.rewritten = rewritten;
    }

    fn lasting_lines(&self) -> Vec<usize> {
        let mut run = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let (words, lasts) = match line {
                Line::Call(line) if list_size(line.call).is_some() => continue,
                Line::Call(line) => {
                    let reads = is_read_only(&line.call.name, &line.call.arguments);
                    let stands = self.rewritten.overtaken(at, line.call).is_none();
                    (line.words(), line.end != CallEnd::Open && !reads && stands)
                }
                Line::Block(block) => ((BLOCKS, block.command.clone()), !inspects(&block.command)),
                _ => continue,
            };
            run.push((at, words, lasts));
        }
        let mut times: HashMap<&(&str, String), usize> = HashMap::new();
        run.iter().for_each(|(_, words, _)| *times.entry(words).or_default() += 1);
        let lasting = run.iter().rev().filter(|(_, words, lasts)| *lasts && times.get(words) == Some(&1));
        lasting.map(|(at, _, _)| *at).collect()
    }

    /// The calls of [`Span::lasting`].
    pub fn lasting_calls(&self) -> impl Iterator<Item = (usize, &CallLine<'a>)> {
        self.lasting.iter().filter_map(|at| match self.lines.get(*at) {
            Some(Line::Call(line)) => Some((*at, line)),
            _ => None,
        })
    }

    /// The line with which the last so many turns begin.
    pub fn last_turns(&self, turns: usize) -> usize {
        let requests = self.lines.iter().enumerate().rev().filter(|(_, line)| matches!(line, Line::User { .. }));
        requests.take(turns).last().map_or(0, |(at, _)| at)
    }

    /// What the agent said right behind a line, and the arguments of the calls that followed.
    pub fn heard_behind(&self, at: usize) -> HeardBehind<'_> {
        let mut said = HashSet::new();
        let (mut spoken, mut called) = (0, 0);
        for line in self.lines.iter().skip(at + 1).take(4 * WORDS_BEHIND) {
            match line {
                Line::Agent { text } if spoken < WORDS_BEHIND => {
                    spoken += 1;
                    said.extend(words(super::quote::prefix(text, 6_000)));
                }
                Line::Call(call) if called < CALLS_BEHIND => {
                    called += 1;
                    said.extend(texts(&call.call.arguments).into_iter().flat_map(words));
                }
                Line::Block(block) if called < CALLS_BEHIND => {
                    called += 1;
                    said.extend(words(super::quote::prefix(&block.command, MOST_ARGUMENT)));
                }
                _ => {}
            }
        }
        HeardBehind { span: self, at, said }
    }
}

/// The user's messages that the record tells.
fn user_messages<'l>(lines: &'l [Line<'_>]) -> Vec<UserMessage<'l>> {
    let mut messages = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Line::User { number, text, runs: false } = line {
            messages.push(UserMessage { at, number: *number, text });
        }
    }
    messages
}

/// What the agent said.
fn agent_texts<'l>(lines: &'l [Line<'_>]) -> impl DoubleEndedIterator<Item = &'l str> {
    lines.iter().filter_map(|line| match line {
        Line::Agent { text } => Some(text.as_str()),
        _ => None,
    })
}

/// The places of the items that a program sent in the user's role.
fn by_programs(items: &[RecordItem<'_>]) -> HashSet<usize> {
    // Where the agent calls tools there are none, and nothing needs to be looked at.
    let calls = |item: &RecordItem<'_>| matches!(item, RecordItem::Message(message, _) if message.tool_calls().next().is_some());
    if items.iter().any(calls) {
        return HashSet::new();
    }
    let mut seen = Vec::new();
    let mut is_behind_gap = false;
    for (at, item) in items.iter().enumerate() {
        match item {
            RecordItem::Message(message, _) => {
                if let Some(message) = SeenMessage::of(message) {
                    seen.push((at, SeenMessage { is_behind_gap: std::mem::take(&mut is_behind_gap), ..message }));
                }
            }
            RecordItem::Unread(_) => is_behind_gap = true,
        }
    }
    program_replies::among(&seen)
}

/// Takes the last block of an agent's message together with the output right behind it.
fn with_outputs(lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    // Who calls tools writes blocks for people.
    if lines.iter().any(|line| matches!(line, Line::Call(call) if call.number > 0)) {
        return lines;
    }
    let mut joined: Vec<Line<'_>> = Vec::with_capacity(lines.len());
    for line in lines {
        let block = match (joined.last(), &line) {
            (Some(Line::Agent { text }), Line::Harness { .. }) => last_block(text),
            _ => None,
        };
        match (block, line) {
            (Some((words, command)), Line::Harness { text: output }) => {
                joined.pop();
                if !words.is_empty() {
                    joined.push(Line::Agent { text: words });
                }
                joined.push(Line::Block(AnsweredBlock { command, output }));
            }
            (_, line) => joined.push(line),
        }
    }
    joined
}

impl<'a> CallLine<'a> {
    /// The call as it is compared with others.
    pub fn words(&self) -> (&'a str, String) {
        words_of(self.call)
    }
}

/// The same words are the same call. Of a command the command alone counts: what it is for and how long it may take is told
/// otherwise each time.
pub(super) fn words_of(call: &ToolCall) -> (&str, String) {
    (call.name.as_str(), command_of(&call.arguments).unwrap_or_else(|| call.arguments.to_string()))
}

/// What was said and done behind a line.
pub(super) struct HeardBehind<'s> {
    span: &'s Span<'s>,
    at: usize,
    said: HashSet<&'s str>,
}

impl HeardBehind<'_> {
    /// Returns true if the agent spoke of this word next, or a later call names it.
    pub fn holds(&self, word: &str) -> bool {
        self.said.contains(word) || self.span.last_use.get(word).is_some_and(|last| *last > self.at)
    }
}

/// What a harness says in a short message of its own that begins with a label in brackets, or is one element of a notice.
fn notice_of(text: &str) -> Option<String> {
    let label = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).filter(|(label, _)| !label.contains('\n'));
    if label.is_some() && text.len() <= MOST_NOTICE {
        return Some(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let said = text.strip_prefix(ABORTED[0])?.strip_suffix(ABORTED[1])?;
    Some(format!("[turn_aborted] {}", shortened(said, MOST_NOTICE, 0)))
}

/// The texts of a call's arguments, each up to a bound.
fn texts(arguments: &Value) -> Vec<&str> {
    let values: Vec<&Value> = match arguments {
        Value::Object(fields) => fields.values().collect(),
        other => vec![other],
    };
    let mut found = Vec::new();
    for value in values {
        match value {
            Value::String(text) => found.push(text.as_str()),
            Value::Array(parts) => found.extend(parts.iter().filter_map(Value::as_str)),
            _ => {}
        }
    }
    found.into_iter().map(|text| super::quote::prefix(text, MOST_ARGUMENT)).collect()
}

#[derive(Default)]
struct SpanReading<'a> {
    span: Span<'a>,
    classifier: UserTextClassifier,
    users: u32,
    calls: u32,
    /// A program sent the message at hand: its number is a user's message's, its words are not.
    is_reply: bool,
    /// Places of calls that have no result yet, oldest first, by their id: an id may come again.
    open: HashMap<&'a str, VecDeque<usize>>,
}

impl<'a> SpanReading<'a> {
    fn skip(&mut self, stretch: UnreadStretch) {
        self.users += stretch.users;
        self.calls += stretch.calls;
        self.classifier.calls_tools |= stretch.calls > 0;
        if stretch.messages > 0 {
            self.span.lines.push(Line::Unread(stretch));
        }
    }

    fn take(&mut self, message: &'a Message, place: RecordPlace) {
        let hidden = place != RecordPlace::Kept;
        match message.role {
            Role::System | Role::Developer => {
                let text = shown_text(&message.content);
                if hidden && !text.trim().is_empty() {
                    self.span.instructions.push(text);
                }
            }
            Role::User => self.by_user(message, place),
            Role::Assistant | Role::Tool => self.worked(message, hidden),
            Role::BashExecution | Role::Custom => {
                self.push_text(hidden, shown_text(&message.content), |text| Line::Harness { text })
            }
            Role::BranchSummary | Role::CompactionSummary => {
                self.push_text(hidden, shown_text(&message.content), |text| Line::Notes { text });
            }
        }
    }

    fn push_text(&mut self, hidden: bool, text: String, line: impl Fn(String) -> Line<'a>) {
        if hidden && !text.trim().is_empty() {
            self.span.lines.push(line(text));
        }
    }

    fn by_user(&mut self, message: &'a Message, place: RecordPlace) {
        let hidden = place != RecordPlace::Kept;
        message.tool_results().for_each(|result| self.returned(result));
        approval::given(message).for_each(|answer| self.approved(answer));
        if hidden {
            self.handed_over(message);
        }
        let by_agent = self.skill_was_called(message);
        match self.classifier.classify(message) {
            // It is counted with the user's messages, and the call that it answers tells what it was given.
            UserText::Said(_) if by_agent => self.users += 1,
            UserText::Said(text) => {
                let media = message.content.iter().filter(|block| block.is_media()).count();
                let text = format!("{}{}", text.trim(), " [image]".repeat(media.min(8)));
                if text.trim().is_empty() {
                    return;
                }
                self.users += 1;
                if self.is_reply {
                    self.push_text(hidden, text, |text| Line::Harness { text });
                    return;
                }
                let (number, runs) = (self.users, place == RecordPlace::Running);
                let mark = if place == RecordPlace::Stays { STAYS } else { "" };
                if hidden {
                    self.span.lines.push(Line::User { number, text: format!("{mark}{}", text.trim()), runs });
                }
            }
            UserText::Output(text) => self.push_text(hidden, text, |text| Line::Harness { text }),
            UserText::Continued(text) => self.push_text(hidden, text, |text| Line::Notes { text }),
            UserText::Agent(text) => self.push_text(hidden, text, |text| Line::Other { text }),
            UserText::Other => self.commanded(message, hidden),
        }
    }

    fn handed_over(&mut self, message: &Message) {
        self.span.instructions.extend(user_text::texts(message).flat_map(handed_over).map(str::to_owned));
    }

    /// Returns true if the message is a skill that the agent called: what it was given stands in the call.
    fn skill_was_called(&self, message: &Message) -> bool {
        let text = shown_text(&message.content);
        let Some(given) = given_to_skill(&text).filter(|given| !given.is_empty()) else { return false };
        let calls = self.span.lines.iter().rev().take(SKILL_REACH).filter_map(|line| match line {
            Line::Call(line) => Some(line.call),
            _ => None,
        });
        calls.flat_map(|call| texts(&call.arguments)).any(|argument| argument.trim() == given)
    }

    /// A command that stands by itself: `<command-name>/review</command-name>`.
    fn commanded(&mut self, message: &Message, hidden: bool) {
        let text = shown_text(&message.content);
        // A notice: that the user broke something off, or that a task was taken up anew, is nowhere else.
        if let Some(notice) = notice_of(text.trim()) {
            self.push_text(hidden, notice, |text| Line::Command { text });
            return;
        }
        let behind = text.split_once(COMMAND).map(|(_, behind)| behind);
        let name = behind.and_then(|behind| behind.split_once('<')).map(|(name, _)| prefix(name.trim(), MOST_COMMAND));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.push_text(hidden, name.to_owned(), |text| Line::Command { text });
        }
    }

    fn worked(&mut self, message: &'a Message, hidden: bool) {
        self.classifier.classify(message);
        for block in &message.content {
            match block {
                Block::Text { text, .. } if message.role == Role::Assistant => {
                    self.push_text(hidden, spoken(text).into_owned(), |text| Line::Agent { text });
                }
                Block::ToolCall(call) => self.called(call, hidden),
                Block::ToolResult(result) => self.returned(result),
                _ => {}
            }
        }
    }

    fn called(&mut self, call: &'a ToolCall, hidden: bool) {
        let number = if is_written(call) { 0 } else { self.calls + 1 };
        self.calls = self.calls.max(number);
        if hidden {
            self.open.entry(call.id.as_str()).or_default().push_back(self.span.lines.len());
            let line = CallLine { number, call, result: None, end: CallEnd::Open, said: None, is_reply: false };
            self.span.lines.push(Line::Call(line));
        }
    }

    fn approved(&mut self, answer: McpApproval<'_>) {
        let at = self.open.get(answer.request).and_then(VecDeque::front);
        if let Some(Line::Call(line)) = at.and_then(|at| self.span.lines.get_mut(*at)) {
            line.said = answer.reason.map(str::to_owned);
        }
    }

    fn returned(&mut self, result: &'a ToolResult) {
        let Some(at) = self.open.get_mut(result.tool_call_id.as_str()).and_then(VecDeque::pop_front) else { return };
        if let Some(Line::Call(line)) = self.span.lines.get_mut(at) {
            line.result = Some(result);
            line.end = ending::end_of(&line.call.name, result);
            let reply = users_reply(line.call, result);
            line.is_reply = reply.is_some();
            line.said = reply.or(line.said.take());
        }
    }
}

/// Text blocks, and a mark for each picture.
fn shown_text(blocks: &[Block]) -> String {
    let shown = |block: &Block| match block {
        Block::Text { text, .. } => Some(text.clone()),
        Block::Image { .. } => Some("[image]".to_owned()),
        Block::Document { .. } => Some("[document]".to_owned()),
        _ => None,
    };
    blocks.iter().filter_map(shown).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
