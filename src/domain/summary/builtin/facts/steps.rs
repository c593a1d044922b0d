//! The calls of a span as steps that worked or failed.

use std::collections::HashMap;

use super::super::super::files::{FileTable, OpenFile};
use super::super::super::outcome::{self, CallEnd};
use super::super::super::text::{brief, clip, first_line};
use super::super::super::user_text::UserText;
use super::work::{self, FileWork};
use super::{closing, todos};
use crate::domain::model::message::{Message, Role};
use crate::domain::settings::default_file_tools;
use crate::domain::summary::ledger::{self, LedgerCall, TOLD_CHARS};

/// A call, or a command in a transcript that writes calls as text.
#[derive(Debug, Clone)]
pub struct CallStep {
    /// Tool and target.
    pub key: String,
    /// Key of the attempt, the same for every attempt at the same; see [`signature`].
    pub attempt: String,
    /// `None`: no result came.
    pub end: Option<CallEnd>,
    /// Result of the call, in one short line.
    pub says: String,
    pub read_only: bool,
    /// What it does to files, where it works.
    pub files: Vec<FileWork>,
}

impl CallStep {
    pub fn worked(&self) -> bool {
        self.end == Some(CallEnd::Ok)
    }

    /// Returns true for a failure that stops nobody: a lookup that found nothing or that work went on after, or a slip in
    /// the call itself.
    fn stops_nobody(&self, went_on: bool) -> bool {
        const SLIPS: [&str; 6] = [
            "InputValidationError",
            "has not been read yet",
            "has been modified since read",
            "String to replace not found",
            "Invalid `",
            "Unknown tool",
        ];
        self.read_only && (went_on || self.says.is_empty()) || SLIPS.iter().any(|slip| self.says.contains(slip))
    }
}

const SAYS_CHARS: usize = 90;

/// The steps in order; keeping a todo list is none.
pub fn of(messages: &[Message], told: &[UserText], calls: &[LedgerCall<'_>]) -> Vec<CallStep> {
    if calls.is_empty() {
        return typed(messages, told);
    }
    let tools = default_file_tools();
    let (table, mut open) = (FileTable::new(&tools), OpenFile::default());
    let purposes = purposes(messages);
    let steps = calls.iter().filter(|call| !todos::is_todo(call)).map(|call| {
        let mut step = step(call, table, &mut open);
        let purpose = purposes.get(call.call.id.as_str());
        step.files = step.files.into_iter().map(|work| work.said_to(purpose)).collect();
        step
    });
    steps.collect()
}

/// What the agent said right before a call that it is for, by the call's id.
fn purposes(messages: &[Message]) -> HashMap<&str, String> {
    let mut found = HashMap::new();
    let mut announced: Option<String> = None;
    for message in messages {
        let text = if message.role == Role::Assistant { message.plain_text() } else { String::new() };
        if message.role != Role::Assistant || !text.trim().is_empty() {
            announced = closing::purpose(&text);
        }
        if message.tool_calls().next().is_some() {
            let purpose = announced.take();
            found.extend(message.tool_calls().filter_map(|call| Some((call.id.as_str(), purpose.clone()?))));
        }
    }
    found
}

fn step(call: &LedgerCall<'_>, table: FileTable<'_>, open: &mut OpenFile) -> CallStep {
    let text = call.result.map(|result| (result.is_error, result.plain_text()));
    let end = text.as_ref().map(|(is_error, text)| outcome::end(*is_error, text));
    let read_only = ledger::is_read_only(call.call);
    let files = work::of(call.call, table, open);
    CallStep {
        attempt: signature(&ledger::describe(call.call, TOLD_CHARS)),
        key: ledger::described(call.call, TOLD_CHARS),
        says: text.map(|(_, text)| outcome::telling(&text, SAYS_CHARS)).unwrap_or_default(),
        end,
        read_only,
        files,
    }
}

/// Commands in code fences, each answered by output in the user's name.
fn typed(messages: &[Message], told: &[UserText]) -> Vec<CallStep> {
    let pairs = messages.iter().zip(told.iter().skip(1));
    pairs
        .filter_map(|(message, answer)| {
            let UserText::Output(output) = answer else { return None };
            let command = (message.role == Role::Assistant).then(|| fenced(&message.plain_text())).flatten()?;
            let key = format!("$: {}", brief(&command, TOLD_CHARS));
            let says = outcome::telling(output, SAYS_CHARS);
            let end = Some(outcome::end(false, output));
            Some(CallStep { attempt: signature(&key), read_only: false, key, end, says, files: Vec::new() })
        })
        .collect()
}

/// The first line of the last code fence.
fn fenced(text: &str) -> Option<String> {
    let mut fences = text.split("```");
    let last = fences.by_ref().skip(1).step_by(2).last()?;
    let (language, code) = last.split_once('\n').unwrap_or(("", last));
    let code = if code.trim().is_empty() { language } else { code };
    Some(first_line(code).to_owned()).filter(|line| !line.is_empty())
}

/// Returns the key that attempts at the same share: the same target, or for a shell the same program and subcommand.
pub fn signature(key: &str) -> String {
    let Some((tool, target)) = key.split_once(": ") else { return key.to_owned() };
    if !ledger::is_shell(tool) {
        let target =
            target.split_once(", ").filter(|(_, rest)| rest.contains('=')).map_or(target, |(target, _)| target);
        return clip(&format!("{tool}: {target}"), TOLD_CHARS);
    }
    let commands = target.split(['&', ';', '|', '\n']).map(str::trim);
    let Some(command) = commands.filter(|one| !one.is_empty()).find(|one| !one.starts_with("cd ")) else {
        return key.to_owned();
    };
    let words = command.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains('='));
    let words: Vec<&str> = words.take(3).collect();
    let taken = if matches!(words.get(1), Some(&"run")) { 3 } else { 2 };
    let program: Vec<&str> = words.iter().take(taken).map(|word| word.trim_end_matches('…')).collect();
    format!("$ {}", program.join(" "))
}

/// Outcome of the steps.
#[derive(Debug, Default)]
pub struct Progress {
    pub done: Vec<String>,
    pub files: Vec<FileWork>,
    pub blocked: Vec<String>,
    pub refused: Vec<String>,
    /// Last results of calls that changed nothing.
    pub results: Vec<String>,
}

/// Ends a step that was broken off.
pub const NO_RESULT: &str = ": no result came, it may have run";
/// Unanswered failures count as obstacles among this many of the newest steps, or a quarter of all.
const RECENT: usize = 20;
/// Failed lookups are obstacles only at the very end.
const LAST: usize = 3;

/// How often something was tried.
#[derive(Debug, Default, Clone, Copy)]
struct Tries {
    all: u32,
    failed: u32,
    last: usize,
}

/// Sorts the steps: of attempts at the same thing the last one counts, and says how many failed before it.
pub fn progress(steps: &[CallStep]) -> Progress {
    let mut worked: HashMap<&str, usize> = HashMap::new();
    let mut tries: HashMap<&str, Tries> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        let tries = tries.entry(&step.key).or_default();
        tries.all += 1;
        tries.failed += u32::from(step.end == Some(CallEnd::Failed));
        tries.last = at;
        if step.worked() {
            worked.insert(&step.attempt, at);
            worked.extend(step.files.iter().map(|file| (file.path.as_str(), at)));
        }
    }
    let answered = steps.iter().rposition(|step| step.end.is_some()).unwrap_or_default();
    let recent = steps.len() - RECENT.max(steps.len() / 4).min(steps.len());
    let mut progress = Progress::default();
    for (at, step) in steps.iter().enumerate() {
        if step.worked() {
            progress.files.extend(step.files.iter().cloned());
        }
        let tries = tries.get(step.key.as_str()).copied().unwrap_or_default();
        if tries.last != at {
            continue;
        }
        let told = told(step, tries);
        let later = |what: &str| worked.get(what).is_some_and(|&later| later > at);
        let mended = later(&step.attempt) || step.files.iter().any(|file| later(&file.path));
        match step.end {
            // The result of the last calls may stand behind the span.
            None if at < answered && !step.read_only => progress.blocked.push(told),
            None => {}
            Some(CallEnd::Refused) => progress.refused.push(step.key.clone()),
            Some(CallEnd::Ok) if step.read_only => progress.results.extend((!step.says.is_empty()).then_some(told)),
            Some(CallEnd::Ok) if !step.files.is_empty() || is_trivial(&step.key) => {}
            Some(CallEnd::Ok) => progress.done.push(told),
            Some(CallEnd::Failed) if mended || at < recent || step.stops_nobody(at + LAST < steps.len()) => {}
            Some(CallEnd::Failed) => progress.blocked.push(told),
        }
    }
    progress.files = work::joined(progress.files);
    progress
}

/// Steps that nobody needs to know of.
fn is_trivial(key: &str) -> bool {
    const TRIVIAL: [&str; 12] = [
        "mkdir",
        "sleep",
        "echo",
        "cd",
        "export",
        "source",
        "touch",
        "chmod",
        "git add",
        "git stash list",
        "pwd",
        "kill",
    ];
    let Some((tool, command)) = key.split_once(": ") else { return false };
    let starts = |word: &&str| command.strip_prefix(*word).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    ledger::is_shell(tool) && TRIVIAL.iter().any(starts) && !command.contains(['&', ';', '|', '>'])
}

fn told(step: &CallStep, tries: Tries) -> String {
    let (key, says) = (&step.key, &step.says);
    let repeats = match (tries.all, tries.failed) {
        (1, _) => String::new(),
        (n, failed) if failed > 0 && step.end == Some(CallEnd::Ok) => format!(" (×{n}, {failed} failed before)"),
        (n, _) => format!(" (×{n})"),
    };
    match step.end {
        None => format!("{key}{NO_RESULT}"),
        Some(CallEnd::Ok) if step.read_only => format!("{key}: {says}"),
        Some(CallEnd::Ok) if says.is_empty() => format!("{key}{repeats} → ok"),
        Some(CallEnd::Ok) => format!("{key}{repeats} → {says}"),
        Some(CallEnd::Failed | CallEnd::Refused) if says.is_empty() => format!("{key}{repeats} failed"),
        Some(CallEnd::Failed | CallEnd::Refused) => format!("{key}{repeats} failed: {says}"),
    }
}
