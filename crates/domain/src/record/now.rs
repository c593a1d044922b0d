//! What the calls prove about now, each left out where nothing proves it. No sentence of it comes from prose.

use std::collections::{HashMap, HashSet};

use super::arguments::{fields, is_path};
use super::effect::{command_of, is_read_only, is_shell};
use super::ending::CallEnd;
use super::levels::NEWEST_TURNS;
use super::quote::shortened;
use super::results::{ToldResult, shown};
use super::span::{CallLine, Line, Span, words_of};
use super::told::mark;
use crate::model::message::ToolCall;
use crate::model::user_text::replies::reads_as_refusal;

/// Entries of each list.
const MOST: usize = 6;
/// An error is a late one among so many of the newest calls.
const LATE_CALLS: usize = 12;
/// Quarter tokens of one entry's arguments and of its result.
const ARGUMENTS: usize = 120;
const RESULT: usize = 160;
/// So much of a command is looked at, in quarter tokens.
const MOST_COMMAND: usize = 1_000;
/// Parts of the names of tools that change what a path names.
const CHANGING: [&str; 9] = ["edit", "write", "create", "replace", "patch", "apply", "delete", "move", "insert"];

/// Returns true if a tool's name says that it changes a file that it is given.
pub(super) fn changes_files(tool: &str) -> bool {
    let name = tool.to_ascii_lowercase();
    CHANGING.iter().any(|part| name.contains(part))
}

/// The lines behind the record. Empty where the calls prove nothing. `behind`: the calls that stay behind the record.
pub(super) fn told(span: &Span<'_>, behind: &[&ToolCall]) -> String {
    let calls: Vec<(usize, &CallLine<'_>)> = span
        .lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| match line {
            Line::Call(call) if was_run(call) => Some((at, call)),
            _ => None,
        })
        .collect();
    let runs = Runs::of(&calls);
    let mut text = String::new();
    let mut list = |heading: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            text.push_str(&format!("{heading}\n{}\n", entries.join("\n")));
        }
    };
    let entry = |place: &usize| line(span, calls[*place]);
    let again: HashSet<(&str, String)> = behind.iter().map(|call| words_of(call)).collect();
    // Run in other words on the same files, it says no longer how they are.
    let was_tried_otherwise = |place: &usize| {
        let target = RunTarget::of(calls[*place].1.call);
        let words = calls[*place].1.words();
        let later = calls[*place + 1..].iter().map(|(_, line)| line.call).chain(behind.iter().copied());
        later.into_iter().any(|call| words_of(call) != words && RunTarget::of(call).is_of(&target))
    };
    // What was run for requests of long ago stands with them, the newest call stands right above, and what is run again
    // behind the record says itself how it is now.
    let begin = span.last_turns(NEWEST_TURNS);
    let is_recent = |place: &usize| {
        let (at, line) = calls[*place];
        at >= begin && *place + 1 < calls.len() && !again.contains(&line.words()) && !was_tried_otherwise(place)
    };
    // In a long turn what failed at its beginning is told there.
    let is_late = |place: &usize| *place + LATE_CALLS >= calls.len();
    let checks: Vec<usize> = runs.checks(&calls).into_iter().filter(is_recent).collect();
    let changes = |call: &ToolCall| !is_read_only(&call.name, &call.arguments);
    let is_changed_behind = behind.iter().any(|call| changes(call));
    let is_stale = |place: &usize| {
        let later = calls.iter().enumerate().skip(place + 1);
        is_changed_behind || later.into_iter().any(|(later, (_, line))| !checks.contains(&later) && changes(line.call))
    };
    let (stale, standing): (Vec<usize>, Vec<usize>) = checks.iter().copied().partition(is_stale);
    list("Ran more than once, and nothing but reading was called since:", standing.iter().map(entry).collect());
    list("Ran more than once; what was called since may have changed the outcome:", stale.iter().map(entry).collect());
    list(
        "Ended lately with an error or an exit code other than 0; nothing like it was run since:",
        runs.failures(&calls, &checks).iter().filter(|place| is_late(place) && is_recent(place)).map(entry).collect(),
    );
    list("Files changed since the newest of those runs:", changed_since(&calls, checks.iter().max().copied()));
    text
}

/// Returns false for what was refused, be it that only the text of its result says so.
fn was_run(call: &CallLine<'_>) -> bool {
    call.end != CallEnd::Refused && call.result.is_none_or(|result| !reads_as_refusal(&shown(result)))
}

/// What a command works on: the tool, the files that it names, and how its parts begin.
struct RunTarget<'c> {
    tool: &'c str,
    names: HashSet<String>,
}

impl<'c> RunTarget<'c> {
    fn of(call: &'c ToolCall) -> RunTarget<'c> {
        let mut names = HashSet::new();
        let Some(command) = command_of(&call.arguments) else {
            let paths = fields(call).into_iter().filter(|(name, value)| is_path(name, value));
            names.extend(paths.map(|(_, value)| value.into_owned()));
            return RunTarget { tool: &call.name, names };
        };
        for part in shortened(&command, MOST_COMMAND, 0).split(['&', ';', '\n']) {
            // What a pipe does with the output says nothing of it either.
            let words: Vec<&str> = part.split('|').next().unwrap_or_default().split_whitespace().collect();
            // Where it is run says nothing of what is run.
            if words.first() == Some(&"cd") || words.len() < 2 {
                continue;
            }
            names.insert(words[..2].join(" "));
            let is_file = |word: &&str| !word.starts_with('-') && word.trim_matches(['.', '/']).contains(['.', '/']);
            let bare = words.iter().map(|word| word.trim_matches(['\'', '"']));
            names.extend(bare.filter(is_file).map(str::to_owned));
        }
        RunTarget { tool: &call.name, names }
    }

    fn is_of(&self, other: &RunTarget<'_>) -> bool {
        // Another tool may reach the same file.
        let shares = |name: &String| other.names.contains(name) && (self.tool == other.tool || !name.contains(' '));
        self.names.iter().any(shares)
    }
}

/// Calls of the same tool with the same arguments.
struct Runs {
    /// By each call's place the newest of the same, and how many there are.
    newest: Vec<(usize, usize)>,
}

impl Runs {
    fn of(calls: &[(usize, &CallLine<'_>)]) -> Runs {
        let mut by_words: HashMap<(&str, String), (usize, usize)> = HashMap::new();
        for (place, (_, line)) in calls.iter().enumerate() {
            let runs = by_words.entry(line.words()).or_insert((place, 0));
            *runs = (place, runs.1 + 1);
        }
        let newest = calls.iter().map(|(_, line)| by_words.get(&line.words()).copied().unwrap_or_default()).collect();
        Runs { newest }
    }

    /// The newest runs of what was run at least twice and does more than look at something, oldest first.
    fn checks(&self, calls: &[(usize, &CallLine<'_>)]) -> Vec<usize> {
        let is_check = |place: &usize| {
            let (newest, runs) = self.newest[*place];
            let line = calls[*place].1;
            // The same command is the same run. Of other tools the same arguments may name something else, as a click on a
            // page's third button does.
            let is_run = is_shell(&line.call.name)
                || command_of(&line.call.arguments).is_some() && !changes_files(&line.call.name)
                || fields(line.call).is_empty();
            let only_looks = is_read_only(&line.call.name, &line.call.arguments);
            newest == *place && runs > 1 && line.result.is_some() && is_run && !only_looks
        };
        newest(calls.len(), is_check)
    }

    fn failures(&self, calls: &[(usize, &CallLine<'_>)], checks: &[usize]) -> Vec<usize> {
        let stands = |place: &usize| {
            calls[*place].1.end.went_wrong() && self.newest[*place].0 == *place && !checks.contains(place)
        };
        newest(calls.len(), stands)
    }
}

/// The newest places for which this holds, oldest first.
fn newest(count: usize, holds: impl Fn(&usize) -> bool) -> Vec<usize> {
    let mut found: Vec<usize> = (0..count).rev().filter(holds).take(MOST).collect();
    found.reverse();
    found
}

fn changed_since(calls: &[(usize, &CallLine<'_>)], check: Option<usize>) -> Vec<String> {
    let Some(check) = check else { return Vec::new() };
    let mut paths: Vec<String> = Vec::new();
    let has_changed = |line: &CallLine<'_>| {
        changes_files(&line.call.name) && !is_read_only(&line.call.name, &line.call.arguments) && !line.end.went_wrong()
    };
    for (_, line) in calls.iter().skip(check + 1).filter(|(_, line)| has_changed(line)) {
        for (name, value) in fields(line.call).into_iter().filter(|(name, value)| is_path(name, value)) {
            let _ = name;
            let path = match line.number {
                0 => format!("- {value} "),
                number => format!("- {value} (#{number})"),
            };
            if !paths.iter().any(|known| known.starts_with(&format!("- {value} "))) {
                paths.push(path);
            }
        }
    }
    let skipped = paths.len().saturating_sub(2 * MOST);
    paths.drain(..skipped);
    paths
}

fn line(span: &Span<'_>, (at, line): (usize, &CallLine<'_>)) -> String {
    let arguments = span.arguments.told(line.call, ARGUMENTS);
    let text = line.result.map(shown).unwrap_or_default();
    let result = ToldResult {
        tool: &line.call.name,
        arguments: &arguments,
        text: &text,
        room: RESULT,
        room_of_data: RESULT,
        may_be_counted: false,
        failed: false,
    };
    let heard = span.heard_behind(at);
    let told = span.results.told(&result, |word| heard.holds(word)).replace('\n', " ");
    let mark = mark(line.end, &told);
    format!("- {}{}({arguments}) → {mark}{}", line.sign(), line.call.name, shortened(&told, 2 * RESULT, 0))
}
