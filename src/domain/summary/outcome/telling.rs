//! What a result tells, in one line.

use std::cmp::Reverse;

use serde_json::Value;

use super::measured::measures;
use super::{EDGE, MAX_JSON};
use crate::domain::summary::text::{brief, clip, first_line, one_line, without_colours};

/// Openings of lines that a tool prints whatever it has done.
const RECEIPTS: [&str; 37] = [
    "Requirement already satisfied",
    "(Open file",
    "bash-$",
    "File updated.",
    "=== RUN",
    "=== PAUSE",
    "=== CONT",
    "(Current directory",
    "[tool_result ",
    "[argument ",
    "File created",
    "File written",
    "Successfully replaced",
    "Successfully wrote",
    "(no output)",
    "Your command ran successfully",
    "Tool ran without output",
    "Here's the result of running",
    "[File: ",
    "Text replaced.",
    "Todos have been modified",
    "Launching skill",
    "Updated task #",
    "Command running in background",
    "Exit code",
    "Exit Code",
    "Command exited with code",
    "Process exited with code",
    "Chunk ID",
    "Wall time",
    "Original token count",
    "Total output lines",
    "Output:",
    "<output>",
    "<returncode>",
    "Shell cwd was reset",
    "Now ",
];

/// Last lines of a result that are searched for what was measured.
const MEASURED_AMONG: usize = 40;

/// The line of a result that tells most, at most `width` characters: an error, the verdict of a test run, the last that was
/// measured, else the first that is no mere receipt. Of JSON its first fields.
pub fn telling(text: &str, width: usize) -> String {
    let text = without_colours(text);
    let text = text.split("<system-reminder>").next().unwrap_or_default();
    let text = text.trim().trim_start_matches("<tool_use_error>");
    if text.starts_with(['{', '['])
        && text.len() < MAX_JSON
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        return fields(&value, width);
    }
    if first_line(text).starts_with("The file ")
        && ["updated", "edited", "created"].iter().any(|done| first_line(text).contains(done))
    {
        return String::new();
    }
    let lines = || text.lines().take(400).map(str::trim);
    let error = lines().find(|line| is_error_line(line));
    let traceback = || text.lines().rev().map(str::trim).find(|line| line.contains("Error"));
    let verdict =
        || text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(EDGE).find(|line| sums_up(line));
    let says = |line: &&str| {
        // Package managers print the command first, and so does a shell that traces.
        let echo = line.starts_with("> ") || line.starts_with("+ ");
        line.chars().any(char::is_alphanumeric) && !echo && !line.ends_with(':') && !is_receipt(line)
    };
    let line = error
        .or_else(|| text.starts_with("Traceback").then(traceback).flatten())
        .or_else(verdict)
        .or_else(|| measured(text, says))
        .or_else(|| lines().find(says));
    let line = line.unwrap_or_default().trim_end_matches("</tool_use_error>").trim_start_matches(['#', '*', ' ']);
    let counted = error.and_then(|error| verdict().filter(|verdict| *verdict != error));
    with_verdict(brief(line, width), counted, width)
}

/// The line with the most measures among the last ones, two at least; the last of several.
fn measured<'t>(text: &'t str, says: impl Fn(&&'t str) -> bool) -> Option<&'t str> {
    let prints = |line: &&str| line.len() < 200 && !line.starts_with(['|', '-', '*']) && measures(line) > 1;
    let last = text.lines().rev().map(str::trim).filter(says).take(MEASURED_AMONG).filter(prints);
    last.min_by_key(|line| Reverse(measures(line)))
}

/// An error with what was counted at the end, where both have room.
fn with_verdict(error: String, verdict: Option<&str>, width: usize) -> String {
    let both = verdict.map(|verdict| format!("{error}; {}", one_line(verdict)));
    both.filter(|both| both.chars().count() <= width).unwrap_or(error)
}

fn is_error_line(line: &str) -> bool {
    ["error", "Error", "fatal", "E   ", "panicked", "--- FAIL"].iter().any(|cue| line.starts_with(cue))
        && !line.starts_with("errors")
        || line.contains("Error: ")
}

/// Returns true for a line that a tool prints whatever it has done.
pub fn is_receipt(line: &str) -> bool {
    // A line of a file, with its number.
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let code = numbered.len() < line.len() && numbered.starts_with([':', '→', '|', '\t']);
    let echo = line.contains("] $ ") || line.starts_with("$ ");
    code || echo
        || line.starts_with('(') && line.contains(" more lines ")
        || RECEIPTS.iter().any(|opening| line.starts_with(opening))
        || line.contains("has been updated successfully")
}

/// A line that counts what passed or was found.
fn sums_up(line: &str) -> bool {
    let counted = line.len() < 200 && line.chars().any(|c| c.is_ascii_digit());
    counted
        && (["test result:", "Tests:", "Finished ", "Checked ", "Ran ", "ok  ", "ok\t", "FAIL  ", "FAIL\t", "Done in "]
            .iter()
            .any(|opening| line.starts_with(opening))
            || is_commit(line)
            || [" passed", " failed", " passing", " failing", " issues", " warnings", " errors", "built in "]
                .iter()
                .any(|cue| line.contains(cue)))
}

/// `[main 1a2b3c4] Fix the lexer`
fn is_commit(line: &str) -> bool {
    let inside = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let hash = inside.and_then(|(inside, _)| inside.rsplit(' ').next());
    hash.is_some_and(|hash| hash.len() > 6 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The first short fields of a JSON value, `key value` each; of a list its length and the fields of its first.
fn fields(value: &Value, width: usize) -> String {
    let mut said = String::new();
    let object = match value {
        Value::Object(fields) => fields,
        Value::Array(list) => {
            said = format!("{} entries", list.len());
            match list.first() {
                Some(Value::Object(fields)) => fields,
                _ => return said,
            }
        }
        _ => return clip(&one_line(&value.to_string()), width),
    };
    for (key, value) in object {
        let shown = match value {
            Value::String(text) if !text.trim().is_empty() => one_line(text.get(..400).unwrap_or(text)),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => continue,
        };
        let separator = if said.is_empty() { "" } else { ", " };
        let more = format!("{separator}{key} {shown}");
        if said.chars().count() + more.chars().count() <= width {
            said.push_str(&more);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_came_of_it() {
        let tells = |text: &str| telling(text, 80);
        assert_eq!(tells("The file /a.rs has been updated. Here's the result:\n 1 fn a"), "");
        assert_eq!(tells("The file /a.rs has been updated successfully."), "");
        assert_eq!(
            tells("running 3 tests\ntest a ... ok\ntest result: ok. 3 passed; 0 failed"),
            "test result: ok. 3 passed; 0 failed"
        );
        assert_eq!(tells("Exit code 1\nfatal: no upstream"), "fatal: no upstream");
        assert_eq!(
            tells("=== RUN   TestScan\n--- FAIL: TestScan (0.12s)\nFAIL\nFAIL\texample.org/lex\t0.674s"),
            "--- FAIL: TestScan (0.12s); FAIL example.org/lex 0.674s"
        );
        assert_eq!(tells("Command exited with code 1"), "");
        let framed = "Chunk ID: 1a2b3c\nWall time: 0.5130 seconds\nProcess exited with code 0\nOriginal token count: 376\nOutput:\n";
        assert_eq!(tells(&format!("{framed}on branch main\nnothing to commit")), "on branch main");
        assert_eq!(tells(framed), "");
        assert_eq!(
            tells("warming up\nlexer: 8841 requests in 60 s, p99 412 µs\nstopped after 60 s\nbuild 1a2b"),
            "lexer: 8841 requests in 60 s, p99 412 µs"
        );
        assert_eq!(
            tells("> check\nChecked 26 files in 24ms. No fixes applied."),
            "Checked 26 files in 24ms. No fixes applied."
        );
        assert_eq!(
            tells(r#"{"id": "HATHAT", "user": "mia", "list": [1], "total": 305}"#),
            "id HATHAT, user mia, total 305"
        );
        assert_eq!(tells("ok <system-reminder>obey</system-reminder>"), "ok");
        assert_eq!(tells(r#"[{"flight": "HAT1"}, {"flight": "HAT2"}]"#), "2 entries, flight HAT1");
    }
}
