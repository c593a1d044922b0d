//! The calls of a span as steps that worked or failed.

use std::collections::HashMap;

use super::super::super::text::{brief, clip, first_line};
use super::super::super::user_text::UserText;
use super::todos;
use crate::domain::model::message::{Message, Role, ToolResult};
use crate::domain::summary::ledger::{self, LedgerCall};

/// A call, or a command in a transcript that writes calls as text.
#[derive(Debug, Clone)]
pub struct CallStep {
    /// Tool and target.
    pub key: String,
    /// Key of the attempt, the same for every attempt at the same; see [`signature`].
    pub attempt: String,
    pub outcome: StepOutcome,
    /// Result of the call, in one short line.
    pub says: String,
    pub read_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    Ok,
    Failed,
    /// The user did not let it run.
    Refused,
    None,
}

const KEY_CHARS: usize = 120;
const SAYS_CHARS: usize = 120;
const SHELLS: [&str; 10] = [
    "bash",
    "shell",
    "sh",
    "exec_command",
    "local_shell",
    "run_shell_command",
    "terminal",
    "execute_bash",
    "command",
    "$",
];

/// The steps in order; keeping a todo list is none.
pub fn of(messages: &[Message], told: &[UserText], calls: &[LedgerCall<'_>]) -> Vec<CallStep> {
    if calls.is_empty() {
        return typed(messages, told);
    }
    calls.iter().filter(|call| !todos::is_todo(call)).map(step).collect()
}

fn step(call: &LedgerCall<'_>) -> CallStep {
    let key = ledger::describe(call.call, KEY_CHARS);
    let (outcome, says) = match call.result {
        None => (StepOutcome::None, String::new()),
        Some(result) => {
            let text = result.plain_text();
            (outcome(result, &text), telling(&text))
        }
    };
    CallStep { attempt: signature(&key), read_only: ledger::is_read_only(call.call), key, outcome, says }
}

/// Commands in code fences, each answered by output in the user's name.
fn typed(messages: &[Message], told: &[UserText]) -> Vec<CallStep> {
    let pairs = messages.iter().zip(told.iter().skip(1));
    pairs
        .filter_map(|(message, answer)| {
            let UserText::Output(output) = answer else { return None };
            let command = (message.role == Role::Assistant).then(|| fenced(&message.plain_text())).flatten()?;
            let key = format!("$: {}", brief(&command, KEY_CHARS));
            let outcome = if reads_as_error(output) { StepOutcome::Failed } else { StepOutcome::Ok };
            Some(CallStep { attempt: signature(&key), read_only: false, key, outcome, says: telling(output) })
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

/// Returns true if a result tells of a failure or a refusal, marked as one or not.
pub fn failed(result: &ToolResult) -> bool {
    outcome(result, &result.plain_text()) != StepOutcome::Ok
}

fn outcome(result: &ToolResult, text: &str) -> StepOutcome {
    let refused = ["doesn't want to proceed", "user rejected", "rejected by user", "user denied"];
    if refused.iter().any(|words| text.get(..200.min(text.len())).unwrap_or(text).contains(words)) {
        return StepOutcome::Refused;
    }
    if result.is_error || reads_as_error(text) { StepOutcome::Failed } else { StepOutcome::Ok }
}

fn reads_as_error(text: &str) -> bool {
    let start: String = first_line(text).chars().take(60).collect::<String>().to_lowercase();
    ["error", "traceback", "fatal:", "exception", "command failed", "permission denied", "your proposed edit has"]
        .iter()
        .any(|cue| start.starts_with(cue))
        || start.contains("command not found")
}

/// The line of a result that tells most: the first that names an error, else the first that is no mere receipt.
fn telling(text: &str) -> String {
    let text = text.trim_start_matches("<tool_use_error>");
    let lines = || text.lines().take(400).map(str::trim);
    let error = lines().find(|line| {
        ["error", "Error", "fatal", "E   ", "panicked", "--- FAIL"].iter().any(|cue| line.starts_with(cue))
            || line.contains("Error: ")
    });
    let traceback = || text.lines().rev().map(str::trim).find(|line| line.contains("Error")).unwrap_or_default();
    let line = match error {
        Some(line) => line.to_owned(),
        None if text.starts_with("Traceback") => traceback().to_owned(),
        None => {
            // Package managers print the command first.
            let says = |line: &&str| line.chars().any(char::is_alphanumeric) && !line.starts_with("> ");
            let mut said = lines().filter(says);
            let first = said.next().unwrap_or_default();
            // A bare exit code says less than what follows it.
            let more = if first.starts_with("Exit code") { said.next() } else { None };
            more.map_or_else(|| first.to_owned(), |more| format!("{first}: {more}"))
        }
    };
    let line = line.trim_end_matches("</tool_use_error>");
    let receipt = line.starts_with("The file ") && line.contains("updated")
        || ["File created", "Successfully replaced text", "(no output)"]
            .iter()
            .any(|opening| line.starts_with(opening));
    if receipt { String::new() } else { shown(line) }
}

/// JSON says little in its first hundred characters.
fn shown(line: &str) -> String {
    let width = if line.starts_with(['{', '[']) { SAYS_CHARS / 2 } else { SAYS_CHARS };
    clip(&brief(line, SAYS_CHARS), width)
}

/// Returns the key that attempts at the same share: the same target, or for a shell the same program and subcommand.
pub fn signature(key: &str) -> String {
    let Some((tool, target)) = key.split_once(": ") else { return key.to_owned() };
    if !SHELLS.contains(&tool.to_ascii_lowercase().as_str()) {
        return clip(key, KEY_CHARS);
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
    pub blocked: Vec<String>,
    pub refused: Vec<String>,
    pub pending: Vec<String>,
    /// Last results of read-only calls, and the newest actions.
    pub results: Vec<String>,
    pub lookups: usize,
}

/// Ends a step without a result.
pub const NO_RESULT: &str = ": no result yet";
/// Unanswered failures count as obstacles among this many of the newest steps, or a quarter of all.
const RECENT: usize = 20;
/// Failed lookups are obstacles only at the very end.
const LAST: usize = 3;

/// Sorts the steps: of attempts at the same thing the last one counts, and says how many failed before it.
pub fn progress(steps: &[CallStep]) -> Progress {
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut worked: HashMap<&str, usize> = HashMap::new();
    let mut tries: HashMap<&str, (u32, u32)> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        last.insert(&step.key, at);
        let tries = tries.entry(&step.key).or_default();
        tries.0 += 1;
        tries.1 += u32::from(step.outcome == StepOutcome::Failed);
        if step.outcome == StepOutcome::Ok {
            worked.insert(&step.attempt, at);
        }
    }
    let recent = steps.len() - RECENT.max(steps.len() / 4).min(steps.len());
    let mut progress = Progress::default();
    let mut actions = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        progress.lookups += usize::from(step.read_only);
        if last.get(step.key.as_str()) != Some(&at) {
            continue;
        }
        let (times, failures) = tries.get(step.key.as_str()).copied().unwrap_or_default();
        let told = told(step, times, failures);
        let mended = worked.get(step.attempt.as_str()).is_some_and(|&later| later > at);
        match step.outcome {
            StepOutcome::None => progress.pending.push(format!("{}{NO_RESULT}", step.key)),
            StepOutcome::Refused => progress.refused.push(step.key.clone()),
            StepOutcome::Ok if step.read_only => progress.results.push(told),
            StepOutcome::Ok => actions.push(told),
            StepOutcome::Failed if mended || at < recent || step.read_only && at + LAST < steps.len() => {}
            StepOutcome::Failed => progress.blocked.push(told),
        }
    }
    progress.results.extend(actions.iter().rev().take(3).rev().cloned());
    progress.done = actions;
    progress
}

fn told(step: &CallStep, times: u32, failures: u32) -> String {
    let repeats = match (times, failures) {
        (1, _) => String::new(),
        (n, 0) => format!(" (×{n})"),
        (n, failed) if step.outcome == StepOutcome::Ok => format!(" (×{n}, {failed} failed before)"),
        (n, _) => format!(" (×{n})"),
    };
    let key = &step.key;
    match step.outcome {
        StepOutcome::Failed => format!("{key}{repeats} failed: {}", step.says),
        _ if step.read_only => format!("{key}: {}", step.says),
        _ if step.says.is_empty() => format!("{key}{repeats} → ok"),
        _ => format!("{key}{repeats} → {}", step.says),
    }
}
