//! One stretch of the record, told at a level.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::arguments::{arguments_text, is_path};
use super::effect::is_read_only;
use super::ending::CallEnd;
use super::quote::{
    GAP, PassageRoom, counted, density, passage, passages, sentences, shortened, shortened_once, size, trimmed,
};
use super::results::{ToldResult, is_line_count, lines_of_file, lines_shown, names_page, shown};
use super::span::{AnsweredBlock, BLOCKS, CallLine, HARNESS as HARNESS_TOOL, Line, Span, UnreadStretch};
use super::tasks::{list_size, one_task};
use crate::model::abandoned::is_abandoned;
use crate::model::user_text::replies::reads_as_refusal;

/// How deep lists and objects in arguments are looked into.
const DEEPEST: usize = 4;

/// How much of a stretch is told; the higher, the less. At [`OUTCOME`] it is what the agent said last, with the calls
/// counted; at [`BRIEF`] the same in a sentence, at [`LEAST`] in a short one or not at all.
pub(super) type Level = usize;
pub(super) const OUTCOME: Level = 5;
pub(super) const BRIEF: Level = 6;
pub(super) const LEAST: Level = 7;

/// At which level calls are told at least whose effect lasts.
pub(super) const LASTING: Level = 3;

/// Quarter tokens of one passage of the agent's, of one call's arguments and of its result, by level.
const AGENT: [usize; 8] = [2_500, 900, 450, 240, 130, 420, 160, 100];
const ARGUMENTS: [usize; 7] = [420, 240, 150, 110, 70, 0, 0];
const RESULT: [usize; 7] = [900, 320, 140, 70, 24, 0, 0];
/// The same of results that are JSON.
const DATA: [usize; 7] = [1_200, 700, 420, 280, 160, 60, 0];
const HARNESS: [usize; 8] = [1_500, 700, 400, 200, 100, 60, 0, 0];
/// Beginning and end of the user's words, by a level of their own.
pub(super) const USER: [(usize, usize); 5] = [(6_000, 2_000), (4_500, 1_500), (1_500, 700), (400, 200), (140, 60)];
/// How many times the room of a passage of the agent's notes have, at which level at least.
const NOTES: usize = 3;
const LEAST_OF_NOTES: Level = 2;
/// The beginning of words that the user says again later on, in quarter tokens.
const AGAIN: usize = 60;
/// From so many quarter tokens of a beginning on, what a user pasted is told by its beginning and its end.
const WHOLE_PASTE: usize = 1_500;
/// A tool that is called so seldom says with each call what no other says.
const SELDOM: usize = 4;
/// The most that is told of the newest call of a rare tool, arguments and result each.
const NEWEST_ARGUMENTS: usize = 2_000;
const NEWEST_RESULT: usize = 1_500;
/// The least that is told of a refusal whose flag is missing: the user's words stand at its end.
const REFUSAL: usize = 500;
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
    /// Lines with calls and commands that are told at every level: what they did lasts.
    pub lasting: std::collections::HashSet<usize>,
    /// Lines with calls whose results stand whole behind the conversation.
    pub recalled: &'s std::collections::HashSet<usize>,
    /// The line with which the newest turns begin.
    pub newest_from: usize,
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
    kind: ToldKind,
    /// The tools that worked on files in calls that are only counted, each with the files' names.
    files: WorkedOn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ToldKind {
    Text,
    /// Nothing is told of the calls but how many they are.
    Count,
    /// The calls looked at something with this tool.
    Looks(String),
}

impl Teller<'_, '_> {
    /// The stretch at a level, each line ended by a newline and in its place.
    pub fn told(&self, stretch: &Stretch, level: Level) -> String {
        if is_abandoned() {
            return String::new();
        }
        let last_words = self.last_words(stretch);
        let mut outcome = if level >= OUTCOME { self.outcome(stretch, level) } else { HashMap::new() };
        let mut told: Vec<ToldLine> = Vec::new();
        let mut commands = 0;
        for at in stretch.lines.clone() {
            let (line, before) = (&self.span.lines[at], told.len());
            match line {
                Line::User { number, text, runs } => told.push(self.user(at, *number, text, *runs)),
                Line::Command { text } if text.starts_with('[') => told.push(plain(format!("Harness: {text}"))),
                Line::Command { text } => told.push(plain(format!("User ran: {text}"))),
                Line::Harness { text } => told.extend(self.harness(at, text, level)),
                Line::Block(block) if self.lasting.contains(&at) => {
                    told.push(self.block(at, block, level.min(LASTING)))
                }
                Line::Block(block) if level < OUTCOME => told.push(self.block(at, block, level)),
                Line::Block(_) => commands += 1,
                Line::Notes { text } => told.push(plain(format!("Notes of an earlier part: {}", notes(text, level)))),
                Line::Other { text } if level <= OUTCOME => {
                    told.push(plain(format!("Another agent: {}", shortened(text, 2 * AGENT[level], AGENT[level]))));
                }
                Line::Unread(stretch) => told.push(plain(unread(*stretch))),
                Line::Agent { text } if level < OUTCOME => {
                    told.extend(self.agent(at, text, level, last_words == Some(at)))
                }
                Line::Agent { .. } => told.extend(outcome.remove(&at)),
                // The user's words are told, wherever they stand, and what lasts.
                Line::Call(call) if self.lasting.contains(&at) => self.call(&mut told, at, call, level.min(LASTING)),
                Line::Call(call) if level < OUTCOME || call.said.is_some() || call.end == CallEnd::Refused => {
                    self.call(&mut told, at, call, level.min(OUTCOME - 1));
                }
                Line::Call(call) => match outcome.remove(&at) {
                    Some(line) => told.push(line),
                    None => count(&mut told, call),
                },
                Line::Other { .. } => {}
            }
            // They ran before what is told next.
            if commands > 0 && told.len() > before {
                told.insert(before, plain(commands_counted(std::mem::take(&mut commands))));
            }
        }
        if commands > 0 {
            told.push(plain(commands_counted(commands)));
        }
        told.iter().map(ToldLine::line).collect()
    }

    /// A command in the agent's words, with what a program answered.
    fn block(&self, at: usize, block: &AnsweredBlock, level: Level) -> ToldLine {
        let room = ARGUMENTS[level] * self.detail;
        let command = shortened(&block.command, room * 3 / 5, room * 2 / 5);
        let output = self.output(at, BLOCKS, &block.command, &block.output, RESULT[level]);
        plain(format!("- `{command}` → {output}"))
    }

    /// What a program wrote in the user's role, without what it writes each time.
    fn harness(&self, at: usize, text: &str, level: Level) -> Option<ToldLine> {
        // What it says again in the same words is told where it said it first.
        let told = (HARNESS[level] > 0 && !self.span.said_again.contains(&at)).then(|| {
            let text = unwrapped(text);
            self.output(at, HARNESS_TOOL, "", &text, HARNESS[level])
        });
        // How many lines it wrote says nothing.
        told.filter(|told| !is_line_count(told)).map(|told| plain(format!("Harness: {told}")))
    }

    fn output(&self, at: usize, tool: &str, arguments: &str, text: &str, room: usize) -> String {
        let room = room * self.detail;
        let result =
            ToldResult { tool, arguments, text, room, room_of_data: room, may_be_counted: false, failed: false };
        let heard = self.span.heard_behind(at);
        self.span.results.told(&result, |word| heard.holds(word))
    }

    pub fn user_line(&self, at: usize, number: u32, text: &str) -> String {
        self.user(at, number, text, false).line()
    }

    fn user(&self, at: usize, number: u32, text: &str, runs: bool) -> ToldLine {
        if runs {
            return plain(format!("u{number} User: [the request that stands below this record]"));
        }
        if let Some(last) = self.span.repeated.last_of(at).filter(|_| size(text) > 2 * AGAIN) {
            return plain(format!("u{number} User: {} (the same words as u{last})", shortened(text, AGAIN, 0)));
        }
        let (head, tail) = self.room_of_user(at);
        let words = users_words(text, head, tail, |part| self.span.repeated.stands_elsewhere(at, part));
        plain(format!("u{number} User: {words}"))
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
        let room = PassageRoom { announces: announces && level >= 2, ..PassageRoom::of(all, 400) };
        let told = passage(text, room, |part| self.span.usual.holds(part));
        (!told.is_empty()).then(|| plain(format!("Agent: {told}")))
    }

    /// The line with the agent's last words of a turn that ends with this stretch.
    fn last_words(&self, stretch: &Stretch) -> Option<usize> {
        let said = |at: &usize| matches!(self.span.lines[*at], Line::Agent { .. });
        stretch.lines.clone().rev().find(said).filter(|_| stretch.closes)
    }

    /// What came of it, by line: the agent's last words, or where it said none the newest call.
    fn outcome(&self, stretch: &Stretch, level: Level) -> HashMap<usize, ToldLine> {
        if level >= BRIEF && !stretch.closes {
            return HashMap::new();
        }
        let said = |at: usize| match &self.span.lines[at] {
            Line::Agent { text } => Some((at, text.as_str())),
            _ => None,
        };
        let (places, said): (Vec<usize>, Vec<&str>) = stretch.lines.clone().filter_map(said).unzip();
        if said.is_empty() {
            return self.newest_call(stretch).filter(|_| stretch.closes).into_iter().collect();
        }
        let all = AGENT[level] / if stretch.closes { 1 } else { 2 };
        let is_outcome = stretch.closes && !self.is_answered_in_brief(stretch);
        let ends_with_call =
            stretch.lines.clone().next_back().is_some_and(|at| matches!(self.span.lines[at], Line::Call(_)));
        let announces = !stretch.closes || ends_with_call;
        let room = PassageRoom { announces, is_outcome, is_whole: level >= LEAST, ..PassageRoom::of(all, all) };
        // Where room is short, what the agent says to every request is not told of each.
        if level >= LEAST && said.iter().all(|text| self.span.usual.holds(text)) {
            return HashMap::new();
        }
        let told = passages(&said, room, |part| self.span.usual.holds(part));
        let told = places.into_iter().zip(told).filter(|(_, told)| !told.is_empty());
        told.map(|(at, told)| (at, plain(format!("Agent: {told}")))).collect()
    }

    /// Returns true if what the user says next means little without what it answers.
    fn is_answered_in_brief(&self, stretch: &Stretch) -> bool {
        match self.span.lines.get(stretch.lines.end) {
            Some(Line::User { text, .. }) => size(text) <= BRIEF_ANSWER,
            Some(_) => false,
            None => true,
        }
    }

    fn newest_call(&self, stretch: &Stretch) -> Option<(usize, ToldLine)> {
        let call = |at: usize| match &self.span.lines[at] {
            Line::Call(call) => Some((at, call)),
            _ => None,
        };
        let (at, line) = stretch.lines.clone().rev().find_map(call)?;
        let mut told = Vec::new();
        self.call(&mut told, at, line, OUTCOME - 1);
        told.pop().map(|line| (at, line))
    }

    /// What telling of a line takes at [`LASTING`].
    pub fn cost_of_lasting(&self, at: usize) -> usize {
        let mut told = Vec::new();
        match &self.span.lines[at] {
            Line::Call(line) => self.call(&mut told, at, line, LASTING),
            Line::Block(block) => told.push(self.block(at, block, LASTING)),
            _ => {}
        }
        told.iter().map(|line| size(&line.line())).sum()
    }

    fn call(&self, told: &mut Vec<ToldLine>, at: usize, line: &CallLine<'_>, level: Level) {
        let seldom = self.span.arguments.calls(&line.call.name) <= SELDOM;
        let newest = self.newest.contains(&at);
        let room = RESULT[level] * self.detail * if (seldom || newest) && level < 4 { 3 } else { 1 };
        // Of turns that are long over, the outcome is enough.
        let is_needed = newest && seldom && level < 4 && at >= self.newest_from;
        let arguments = if is_needed { NEWEST_ARGUMENTS } else { ARGUMENTS[level] * self.detail };
        // The list stands behind the conversation, or a newer one in what is kept.
        let tasks = list_size(line.call).filter(|_| line.end == CallEnd::Returned);
        if let Some(tasks) = tasks {
            return push(told, line, format!("({})", counted(tasks, "task")));
        }
        let task = one_task(line.call, line.result).filter(|_| line.end == CallEnd::Returned);
        if let Some(task) = task {
            return push(told, line, format!("({task})"));
        }
        let arguments = match self.span.rewritten.overtaken(at, line.call) {
            Some(path) => format!("{path}, {GAP}"),
            None => self.span.arguments.told(line.call, arguments),
        };
        let room = room.min(NEWEST_RESULT * self.detail);
        let seen = self.lines_read(at, line, room).map(|lines| format!(" → {lines}"));
        let outcome = seen.clone().unwrap_or_else(|| self.returned(at, line, room, level));
        // What was only looked at is told in a row.
        let is_look = seen.is_some()
            || self.may_be_counted(at, line, level) && outcome.strip_prefix(" → ").is_some_and(is_line_count);
        if is_look {
            return look(told, line, format!("{arguments}{outcome}"));
        }
        push(told, line, format!("({arguments}){outcome}"));
    }

    /// Returns true if a call only looked at something, as others of its tool did: it can look again.
    fn may_be_counted(&self, at: usize, line: &CallLine<'_>, level: Level) -> bool {
        let seldom = self.span.arguments.calls(&line.call.name) <= SELDOM;
        let is_page = || names_page(&arguments_text(line.call));
        let reads = is_read_only(&line.call.name, &line.call.arguments);
        level > 0 && !seldom && !self.newest.contains(&at) && reads && !is_page()
    }

    /// How many lines a call read of a file that it names, where they are too many to be told: they stand in the file.
    fn lines_read(&self, at: usize, line: &CallLine<'_>, room: usize) -> Option<String> {
        let result = line.result.filter(|_| !self.recalled.contains(&at) && !line.is_reply && line.said.is_none())?;
        if line.end.went_wrong() || !only_reads_a_file(line) {
            return None;
        }
        let text = shown(result);
        let file = self.span.results.without_wrapper(&line.call.name, &text);
        let lines = lines_of_file(file);
        (lines > 6 && size(&text) > room).then(|| lines_shown(lines, &text))
    }

    fn returned(&self, at: usize, line: &CallLine<'_>, room: usize, level: Level) -> String {
        let refused = if line.end == CallEnd::Refused { "refused, " } else { "" };
        let reply = |said: &String| format!(" → {refused}the user: {}", shortened(said, NEWEST_RESULT, 300));
        let said = line.said.as_ref().map(reply).unwrap_or_default();
        let Some(result) = line.result else {
            // What a harness gives as text may stand behind the record.
            return format!("{said} → {}", if line.number == 0 { GAP } else { "no result" });
        };
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
        let arguments = arguments_text(line.call);
        let room = if failed { room.max(RESULT[2] * self.detail) } else { room };
        let room = if reads_as_refusal(&text) { room.max(REFUSAL) } else { room };
        let may_be_counted = self.may_be_counted(at, line, level);
        let room_of_data = room.max(DATA[level] * self.detail);
        let result = ToldResult {
            tool: &line.call.name,
            arguments: &arguments,
            text: &text,
            room,
            room_of_data,
            may_be_counted,
            failed,
        };
        let heard = self.span.heard_behind(at);
        let told = self.span.results.told(&result, |word| heard.holds(word));
        // On one line too, lines don't read as one.
        let told = if level >= 4 { told.replace(":\n", ": ").replace('\n', "; ") } else { told };
        format!("{said} → {}{told}", mark(line.end, &told))
    }
}

impl ToldLine {
    fn line(&self) -> String {
        let Some(alike) = &self.alike else { return format!("{}\n", self.text) };
        let numbers = match (self.first, self.last) {
            (0, 0) => String::new(),
            (first, last) if first == last => format!("#{first} "),
            (first, last) => format!("#{first}-#{last} "),
        };
        match (&self.kind, self.calls) {
            (ToldKind::Count, calls) => not_told(calls, self.first, self.last, &self.files.told()),
            (ToldKind::Looks(tool), 1) => {
                let (arguments, seen) = alike.rsplit_once(" → ").unwrap_or((alike, ""));
                format!("- {numbers}{tool}({arguments}) → {seen}\n")
            }
            (ToldKind::Looks(tool), _) => format!("- {numbers}{tool}({alike})\n"),
            (ToldKind::Text, 1) => format!("- {numbers}{alike}\n"),
            (ToldKind::Text, calls) => format!("- {numbers}{alike} (×{calls})\n"),
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

/// Words of the user's in a little room: where much of them goes, whole sentences stay, for the half of one misleads. What
/// is hardly longer than the room stays whole: a cut would save little and may take the condition of a consent. Sentences that
/// are told elsewhere, as `elsewhere` says, give way first.
pub(super) fn users_words(text: &str, head: usize, tail: usize, elsewhere: impl Fn(&str) -> bool) -> String {
    let room = (head + tail) * 3 / 2;
    if size(text) <= room {
        return trimmed(text);
    }
    let own = own_words(text);
    let text = own.as_deref().unwrap_or(text);
    if size(text) <= room {
        return trimmed(text);
    }
    if head >= WHOLE_PASTE {
        return shortened_once(text, head, tail);
    }
    passage(text, PassageRoom { begins: true, ..PassageRoom::of(head + tail, head) }, elsewhere)
}

/// Somebody's notes on what came before: nothing else tells of that, so that they are told at every level, in whole sentences.
fn notes(text: &str, level: Level) -> String {
    let room = NOTES * AGENT[level.min(LEAST_OF_NOTES)];
    passage(text, PassageRoom { begins: true, ..PassageRoom::of(room, room / 4) }, |_| false)
}

/// A text whose sentences are not broken into lines: half of one may say the contrary.
fn unwrapped(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.lines() {
        let goes_on =
            line.starts_with(char::is_lowercase) && joined.ends_with(|c: char| c.is_alphanumeric() || c == ',');
        match (joined.is_empty(), goes_on) {
            (true, _) => {}
            (false, true) => joined.push(' '),
            (false, false) => joined.push('\n'),
        }
        joined.push_str(line);
    }
    joined
}

/// A text without the lines that it quotes, where it has others: what somebody else said, or printed.
fn own_words(text: &str) -> Option<String> {
    let is_quoted = |line: &str| line == ">" || line.starts_with("> ");
    let is_own = |line: &str| !is_quoted(line) && !line.trim().is_empty();
    if !text.lines().any(is_quoted) || !text.lines().any(is_own) {
        return None;
    }
    let mut own: Vec<&str> = Vec::new();
    for line in text.lines() {
        // Between two gaps there is nothing.
        let last = own.iter().rposition(|line| !line.trim().is_empty());
        match (is_quoted(line), last.filter(|last| own[*last] == GAP)) {
            (true, Some(last)) => own.truncate(last + 1),
            (true, None) => own.push(GAP),
            (false, _) => own.push(line),
        }
    }
    Some(own.join("\n").trim().to_owned())
}

fn plain(text: String) -> ToldLine {
    ToldLine { text, alike: None, calls: 0, first: 0, last: 0, kind: ToldKind::Text, files: WorkedOn::default() }
}

fn of_call(line: &CallLine<'_>, alike: String, kind: ToldKind) -> ToldLine {
    let (first, last) = (line.number, line.number);
    ToldLine { text: String::new(), alike: Some(alike), calls: 1, first, last, kind, files: WorkedOn::default() }
}

/// Tells of a call; one that is like the one before it is counted there.
fn push(told: &mut Vec<ToldLine>, line: &CallLine<'_>, rest: String) {
    let alike = format!("{}{rest}", line.call.name);
    match told.last_mut().filter(|before| before.alike.as_deref() == Some(alike.as_str())) {
        Some(before) => (before.calls, before.last) = (before.calls + 1, line.number),
        None => told.push(of_call(line, alike, ToldKind::Text)),
    }
}

/// Tells of a call that looked at something, in a row with those of the same tool right before.
fn look(told: &mut Vec<ToldLine>, line: &CallLine<'_>, seen: String) {
    let kind = ToldKind::Looks(line.call.name.clone());
    match told.last_mut().filter(|before| before.kind == kind && (line.number == 0 || before.last + 1 == line.number)) {
        Some(before) => {
            before.alike.get_or_insert_default().push_str(&format!("; {seen}"));
            (before.calls, before.last) = (before.calls + 1, line.number);
        }
        None => told.push(of_call(line, seen, kind)),
    }
}

/// Counts a call that is not told, with those right before it: what is told between two calls keeps its place.
fn count(told: &mut Vec<ToldLine>, line: &CallLine<'_>) {
    if let Some(before) = told.last_mut().filter(|before| before.kind == ToldKind::Count) {
        (before.calls, before.last) = (before.calls + 1, line.number);
    } else {
        told.push(of_call(line, String::new(), ToldKind::Count));
    }
    if let (Some(counted), Some(file)) = (told.last_mut(), file_worked_on(line)) {
        counted.files.add(&line.call.name, file);
    }
}

/// The name of the file that a call has changed, as far as that shows: it names one, and did more than read.
fn file_worked_on<'c>(line: &CallLine<'c>) -> Option<&'c str> {
    let call = line.call;
    if line.end != CallEnd::Returned || is_read_only(&call.name, &call.arguments) {
        return None;
    }
    let mut texts = call.arguments.as_object()?.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let (_, path) = texts.find(|(name, text)| is_path(name, text) && !text.ends_with(['/', '\\']))?;
    path.rsplit(['/', '\\']).next().filter(|name| name.contains('.') && !name.contains(char::is_whitespace))
}

/// Names of files that are told with counted calls.
const MOST_FILES: usize = 24;

/// Tools with the names of the files that they worked on, each once, in order.
#[derive(Debug, Default)]
struct WorkedOn {
    tools: Vec<(String, Vec<String>)>,
    is_cut: bool,
}

impl WorkedOn {
    fn add(&mut self, tool: &str, file: &str) {
        if self.tools.iter().any(|(known, files)| known == tool && files.iter().any(|one| one == file)) {
            return;
        }
        if self.tools.iter().map(|(_, files)| files.len()).sum::<usize>() >= MOST_FILES {
            self.is_cut = true;
            return;
        }
        match self.tools.last_mut().filter(|(last, _)| last == tool) {
            Some((_, files)) => files.push(file.to_owned()),
            None => self.tools.push((tool.to_owned(), vec![file.to_owned()])),
        }
    }

    fn told(&self) -> String {
        let tools = self.tools.iter().map(|(tool, files)| format!("{tool} {}", files.join(", ")));
        let more = self.is_cut.then(|| GAP.to_owned());
        tools.chain(more).collect::<Vec<_>>().join(", ")
    }
}

/// Stands before the files that counted calls worked on.
pub(super) const WORKED_ON: &str = "with ";

/// The line that counts calls which are not told, with the files that they worked on.
pub(super) fn not_told(calls: u32, first: u32, last: u32, files: &str) -> String {
    let files = if files.is_empty() { String::new() } else { format!(", {WORKED_ON}{files}") };
    match last - first + 1 {
        // Written as text, they have no numbers.
        _ if last == 0 => format!("  ({}{files})\n", counted(calls as usize, "call")),
        1 => format!("  (1 call: #{first}{files})\n"),
        all if all == calls => format!("  ({calls} calls: #{first}-#{last}{files})\n"),
        _ => format!("  ({} among #{first}-#{last}{files})\n", counted(calls as usize, "call")),
    }
}

/// The line that counts commands in the agent's words which are not told.
pub(super) fn commands_counted(commands: usize) -> String {
    format!("  ({} in the agent's messages)", counted(commands, "command"))
}

fn unread(stretch: UnreadStretch) -> String {
    let UnreadStretch { messages, users, calls } = stretch;
    format!("[{messages} messages of that time are not told here, {users} of the user's and {calls} calls among them]")
}

/// Returns true if a call names one file and else nothing but numbers and marks: what it returns stands in the file. Which of
/// several files its lines are of would not show.
fn only_reads_a_file(line: &CallLine<'_>) -> bool {
    let Value::Object(fields) = &line.call.arguments else { return false };
    let leaves: Vec<(&str, &Value)> = fields.iter().flat_map(|(name, value)| leaves(name, value, 0)).collect();
    let is_file = |name: &str, text: &str| is_path(name, text) && !names_page(text);
    let names_file = |(name, value): &(&str, &Value)| value.as_str().is_some_and(|text| is_file(name, text));
    // Anthropic's editor of texts views with a command of its own.
    let is_bare = |(name, value): &(&str, &Value)| match value {
        Value::String(text) => {
            let is_mark = matches!(text.as_str(), "true" | "false" | "null");
            is_mark || text.parse::<f64>().is_ok() || (*name, text.as_str()) == ("command", "view")
        }
        _ => true,
    };
    leaves.iter().filter(|leaf| names_file(leaf)).count() == 1
        && leaves.iter().all(|leaf| names_file(leaf) || is_bare(leaf))
}

/// Values that hold no others, each with the name that is nearest.
fn leaves<'v>(name: &'v str, value: &'v Value, depth: usize) -> Vec<(&'v str, &'v Value)> {
    match value {
        Value::Array(parts) if depth < DEEPEST => parts.iter().flat_map(|part| leaves(name, part, depth + 1)).collect(),
        Value::Object(fields) if depth < DEEPEST => {
            fields.iter().flat_map(|(name, value)| leaves(name, value, depth + 1)).collect()
        }
        Value::Array(_) | Value::Object(_) => Vec::new(),
        _ => vec![(name, value)],
    }
}
