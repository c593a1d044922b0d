//! One stretch of the record, told at a level.

use std::ops::Range;

use super::arguments::{fields, is_path};
use super::ending::CallEnd;
use super::quote::{PassageRoom, counted, density, passage, sentences, shortened, shortened_once, size};
use super::results::{ToldResult, lines_of_file, shown};
use super::span::{CallLine, Line, Span, UnreadStretch};
use super::tasks::list_size;

/// How much of a stretch is told; the higher, the less. At [`OUTCOME`] it is what the agent said last, with the calls
/// counted; at [`BRIEF`] the same in a sentence, at [`LEAST`] in the beginning of one.
pub(super) type Level = usize;
pub(super) const OUTCOME: Level = 5;
pub(super) const BRIEF: Level = 6;
pub(super) const LEAST: Level = 7;

/// At which level calls are told at least whose effect lasts.
pub(super) const LASTING: Level = 3;

/// Quarter tokens of one passage of the agent's, of one call's arguments and of its result, by level.
const AGENT: [usize; 8] = [2_500, 900, 450, 240, 130, 420, 160, 60];
const ARGUMENTS: [usize; 7] = [420, 240, 150, 110, 70, 0, 0];
const RESULT: [usize; 7] = [900, 320, 140, 70, 24, 0, 0];
const HARNESS: [usize; 8] = [1_500, 700, 400, 200, 100, 60, 0, 0];
/// Beginning and end of the user's words, by a level of their own.
pub(super) const USER: [(usize, usize); 5] = [(6_000, 2_000), (4_500, 1_500), (1_500, 700), (400, 200), (140, 60)];
/// From so many quarter tokens of a beginning on, what a user pasted is told by its beginning and its end.
const WHOLE_PASTE: usize = 1_500;
/// A tool that is called so seldom says with each call what no other says.
const SELDOM: usize = 4;
/// The most that is told of the newest call of a rare tool, arguments and result each.
const NEWEST_ARGUMENTS: usize = 2_000;
const NEWEST_RESULT: usize = 1_500;
/// An answer of the user's of so many quarter tokens at most means little without the question before it.
const BRIEF_ANSWER: usize = 60;

/// A part of one turn.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    pub lines: Range<usize>,
    /// The turn ends with it.
    pub closes: bool,
}

/// Tells stretches of a span.
pub(super) struct Teller<'s, 'a> {
    pub span: &'s Span<'a>,
    /// The level of the user's words, by line.
    pub user_levels: &'s [usize],
    /// Lines with the newest call of each tool.
    pub newest: &'s std::collections::HashSet<usize>,
    /// Lines with calls that are told at every level: what they did lasts.
    pub lasting: std::collections::HashSet<usize>,
    /// Lines with calls whose results stand whole behind the conversation.
    pub recalled: &'s std::collections::HashSet<usize>,
    /// How many times the usual room a passage, a call's arguments and its result have.
    pub detail: usize,
}

/// A line as it is told; calls that are alike in a row are told once.
struct ToldLine {
    text: String,
    /// What the calls that it tells of have in common, where it tells of calls.
    alike: Option<String>,
    calls: u32,
    first: u32,
    last: u32,
}

impl Teller<'_, '_> {
    /// The stretch at a level, each line ended by a newline.
    pub fn told(&self, stretch: &Stretch, level: Level) -> String {
        let last_words = self.last_words(stretch);
        let mut told: Vec<ToldLine> = Vec::new();
        let mut calls = 0;
        for at in stretch.lines.clone() {
            match &self.span.lines[at] {
                Line::User { number, text, runs } => told.push(self.user(at, *number, text, *runs)),
                Line::Harness { text } => told.extend(harness(text, level)),
                Line::Notes { text } if level < OUTCOME => told.push(plain(format!(
                    "Notes of an earlier part: {}",
                    shortened(text, 2 * AGENT[level], AGENT[level])
                ))),
                Line::Other { text } if level <= OUTCOME => {
                    told.push(plain(format!("Another agent: {}", shortened(text, 2 * AGENT[level], AGENT[level]))));
                }
                Line::Unread(stretch) => told.push(plain(unread(*stretch))),
                Line::Agent { text } if level < OUTCOME => {
                    told.extend(self.agent(at, text, level, last_words == Some(at)))
                }
                // The user's words are told, wherever they stand, and what lasts.
                Line::Call(call) if self.lasting.contains(&at) => self.call(&mut told, at, call, level.min(LASTING)),
                Line::Call(call) if level < OUTCOME || call.said.is_some() => {
                    self.call(&mut told, at, call, level.min(OUTCOME - 1));
                }
                Line::Call(_) => calls += 1,
                Line::Notes { .. } | Line::Agent { .. } | Line::Other { .. } => {}
            }
        }
        if level >= OUTCOME {
            told.extend(self.outcome(stretch, level));
        }
        let mut text: String = told.iter().map(ToldLine::line).collect();
        if calls > 0 {
            text.push_str(&format!("  ({})\n", counted(calls, "call")));
        }
        text
    }

    fn user(&self, at: usize, number: u32, text: &str, runs: bool) -> ToldLine {
        if runs {
            return plain(format!("u{number} User: [the request that stands below this record]"));
        }
        let (head, tail) = self.room_of_user(at);
        plain(format!("u{number} User: {}", users_words(text, head, tail)))
    }

    /// How much is told of the user's words in a line: beginning and end.
    pub fn room_of_user(&self, at: usize) -> (usize, usize) {
        USER[self.user_levels.get(at).copied().unwrap_or(USER.len() - 1).min(USER.len() - 1)]
    }

    fn agent(&self, at: usize, text: &str, level: Level, is_last: bool) -> Option<ToldLine> {
        let announces = matches!(self.span.lines.get(at + 1), Some(Line::Call(_)));
        if announces && level >= 3 && density(text) == 0 && sentences(text).len() == 1 {
            return None;
        }
        let all = AGENT[level] * self.detail * if is_last { 2 } else { 1 };
        let room = PassageRoom { all, sentence: 400, announces: announces && level >= 2, is_outcome: false };
        let told = passage(text, room, |part| self.span.usual.holds(part));
        (!told.is_empty()).then(|| plain(format!("Agent: {told}")))
    }

    /// The line with the agent's last words of a turn that ends with this stretch.
    fn last_words(&self, stretch: &Stretch) -> Option<usize> {
        let said = |at: &usize| matches!(self.span.lines[*at], Line::Agent { .. });
        stretch.lines.clone().rev().find(said).filter(|_| stretch.closes)
    }

    /// What came of it, in the agent's last words; where it said none, the newest call.
    fn outcome(&self, stretch: &Stretch, level: Level) -> Option<ToldLine> {
        if level >= BRIEF && !stretch.closes {
            return None;
        }
        let said: Vec<&str> = stretch
            .lines
            .clone()
            .filter_map(|at| match &self.span.lines[at] {
                Line::Agent { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        if said.is_empty() {
            return self.newest_call(stretch).filter(|_| stretch.closes);
        }
        let all = AGENT[level] / if stretch.closes { 1 } else { 2 };
        let is_outcome = stretch.closes && !self.is_answered_in_brief(stretch);
        let ends_with_call =
            stretch.lines.clone().next_back().is_some_and(|at| matches!(self.span.lines[at], Line::Call(_)));
        let room = PassageRoom { all, sentence: 220, announces: !stretch.closes || ends_with_call, is_outcome };
        let told = passage(&said.join("\n"), room, |part| self.span.usual.holds(part));
        (!told.is_empty()).then(|| plain(format!("Agent: {told}")))
    }

    /// Returns true if what the user says next means little without what it answers.
    fn is_answered_in_brief(&self, stretch: &Stretch) -> bool {
        match self.span.lines.get(stretch.lines.end) {
            Some(Line::User { text, .. }) => size(text) <= BRIEF_ANSWER,
            Some(_) => false,
            None => true,
        }
    }

    fn newest_call(&self, stretch: &Stretch) -> Option<ToldLine> {
        let call = |at: usize| match &self.span.lines[at] {
            Line::Call(call) => Some((at, call)),
            _ => None,
        };
        let (at, line) = stretch.lines.clone().rev().find_map(call)?;
        let mut told = Vec::new();
        self.call(&mut told, at, line, OUTCOME - 1);
        told.pop()
    }

    /// What telling of a call takes at [`LASTING`].
    pub fn cost_of_lasting(&self, at: usize, line: &CallLine<'_>) -> usize {
        let mut told = Vec::new();
        self.call(&mut told, at, line, LASTING);
        told.iter().map(|line| size(&line.line())).sum()
    }

    fn call(&self, told: &mut Vec<ToldLine>, at: usize, line: &CallLine<'_>, level: Level) {
        let seldom = self.span.arguments.calls(&line.call.name) <= SELDOM;
        let newest = self.newest.contains(&at);
        let room = RESULT[level] * self.detail * if (seldom || newest) && level < 4 { 3 } else { 1 };
        let arguments = if newest && seldom && level < 4 { NEWEST_ARGUMENTS } else { ARGUMENTS[level] * self.detail };
        // The list stands behind the conversation, or a newer one in what is kept.
        let tasks = list_size(line.call).filter(|_| line.end == CallEnd::Returned);
        let (arguments, outcome) = match tasks {
            Some(tasks) => (counted(tasks, "task"), String::new()),
            None => (
                self.span.arguments.told(line.call, arguments),
                self.returned(at, line, room.min(NEWEST_RESULT * self.detail), level),
            ),
        };
        let alike = format!("{}({arguments}){outcome}", line.call.name);
        if let Some(before) = told.last_mut().filter(|before| before.alike.as_deref() == Some(alike.as_str())) {
            before.calls += 1;
            before.last = line.number;
        } else {
            told.push(ToldLine {
                text: String::new(),
                alike: Some(alike),
                calls: 1,
                first: line.number,
                last: line.number,
            });
        }
    }

    fn returned(&self, at: usize, line: &CallLine<'_>, room: usize, level: Level) -> String {
        let refused = if line.end == CallEnd::Refused { "refused, " } else { "" };
        let reply = |said: &String| format!(" → {refused}the user: {}", shortened(said, NEWEST_RESULT, 300));
        let said = line.said.as_ref().map(reply).unwrap_or_default();
        let Some(result) = line.result else { return format!("{said} → no result") };
        if self.recalled.contains(&at) {
            return format!("{said} → [stands below]");
        }
        if line.is_reply {
            return said;
        }
        let text = shown(result);
        if line.end == CallEnd::Refused && text.trim().is_empty() {
            return " → refused".to_owned();
        }
        let failed = line.end.went_wrong();
        let lines = lines_of_file(&text);
        if !failed && lines > 6 && size(&text) > room && only_reads(line) {
            return format!("{said} → {}", counted(lines, "line"));
        }
        let arguments: Vec<String> = fields(line.call).into_iter().map(|(_, value)| value.into_owned()).collect();
        let room = if failed { room.max(RESULT[2] * self.detail) } else { room };
        let result = ToldResult { tool: &line.call.name, arguments: &arguments.join("\n"), text: &text, room };
        let heard = self.span.heard_behind(at);
        let told = self.span.results.told(&result, |word| heard.holds(word));
        let told = if level >= 4 { told.replace('\n', " ") } else { told };
        format!("{said} → {}{told}", mark(line.end, &told))
    }
}

impl ToldLine {
    fn line(&self) -> String {
        let Some(alike) = &self.alike else { return format!("{}\n", self.text) };
        match self.calls {
            1 => format!("- #{} {alike}\n", self.first),
            calls => format!("- #{}-#{} {alike} (×{calls})\n", self.first, self.last),
        }
    }
}

/// Says that a call did not do what it was to do, where what is told of its result does not begin with that.
pub(super) fn mark(end: CallEnd, told: &str) -> &'static str {
    match end {
        CallEnd::Refused => "refused: ",
        CallEnd::Failed if !told.starts_with("exit ") => "failed: ",
        _ => "",
    }
}

/// Words of the user's in a little room: where much of them goes, whole sentences stay, for the half of one misleads.
pub(super) fn users_words(text: &str, head: usize, tail: usize) -> String {
    if head >= WHOLE_PASTE || size(text) <= head + tail {
        return shortened_once(text, head, tail);
    }
    passage(text, PassageRoom { all: head + tail, sentence: head, announces: false, is_outcome: false }, |_| false)
}

fn plain(text: String) -> ToldLine {
    ToldLine { text, alike: None, calls: 0, first: 0, last: 0 }
}

fn unread(stretch: UnreadStretch) -> String {
    let UnreadStretch { messages, users, calls } = stretch;
    format!("[{messages} messages of that time are not told here, {users} of the user's and {calls} calls among them]")
}

fn harness(text: &str, level: Level) -> Option<ToldLine> {
    (HARNESS[level] > 0)
        .then(|| plain(format!("Harness: {}", shortened(text, HARNESS[level] * 2 / 3, HARNESS[level] / 3))))
}

/// Returns true if a call names a file and else nothing but numbers and marks: what it returns stands in the file.
fn only_reads(line: &CallLine<'_>) -> bool {
    let fields = fields(line.call);
    let bare = |value: &str| value.parse::<f64>().is_ok() || matches!(value, "true" | "false" | "null");
    fields.iter().any(|(name, value)| is_path(name, value))
        && fields.iter().all(|(name, value)| is_path(name, value) || bare(value))
}
