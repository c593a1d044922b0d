//! How a call ended and what its result says of it: one answer for the ledger, the built-in summariser and whoever else asks.

use serde_json::Value;

use super::text::first_line;
use crate::domain::model::message::ToolResult;

mod measured;
mod telling;

pub use measured::measures;
pub use telling::{is_receipt, telling};

/// End of a call that has a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    Ok,
    Failed,
    /// The user did not let it run.
    Refused,
}

/// Lines at either end of a result that are looked at.
const EDGE: usize = 12;
/// Larger results are not read as JSON.
const MAX_JSON: usize = 100_000;

/// Returns true if a result tells of a failure or a refusal, marked as one or not.
pub fn failed(result: &ToolResult) -> bool {
    end(result.is_error, &result.plain_text()) != CallEnd::Ok
}

/// Tells how a call ended: by the mark of its result, its exit code, and what the text says.
pub fn end(is_error: bool, text: &str) -> CallEnd {
    const REFUSALS: [&str; 5] = [
        "doesn't want to proceed",
        "user rejected",
        "rejected by user",
        "user denied",
        "[Request interrupted by user for tool use]",
    ];
    let opening: String = text.chars().take(200).collect();
    if REFUSALS.iter().any(|words| opening.contains(words)) {
        return CallEnd::Refused;
    }
    let failed = is_error || exit_code(text).map_or_else(|| reads_as_failure(text), |code| code != 0);
    if failed { CallEnd::Failed } else { CallEnd::Ok }
}

/// The first and the last lines that say something.
fn edges(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let first = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    first.take(most).chain(last.take(most))
}

/// The exit code that a shell's result names.
fn exit_code(text: &str) -> Option<i64> {
    const MARKS: [&str; 9] = [
        "exit code",
        "exit status",
        "exited with code",
        "exit_code",
        "command exited with code",
        "command failed with exit code",
        "process exited with code",
        "the command completed with exit code",
        "returncode>",
    ];
    if text.trim_start().starts_with('{') && text.len() < MAX_JSON {
        let value: Value = serde_json::from_str(text).ok()?;
        return [value.get("metadata"), Some(&value)]
            .into_iter()
            .flatten()
            .find_map(|one| one.get("exit_code")?.as_i64());
    }
    edges(text, 3).find_map(|line| {
        let line: String = line.chars().take(80).collect::<String>().to_lowercase();
        let line = line.trim_start_matches(['[', '(', '<', '*', '"', ' ']);
        let rest = MARKS.iter().find_map(|mark| line.strip_prefix(mark))?;
        let number = rest.trim_start_matches([':', '=', ' ', '*', '"']);
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
        number.get(..end)?.parse().ok()
    })
}

fn reads_as_failure(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches("<tool_use_error>").trim_start();
    if text.starts_with('{') && text.len() < MAX_JSON {
        return serde_json::from_str(text).is_ok_and(|value: Value| tells_failure(&value));
    }
    opens_as_error(first_line(text)) || ends_in_traceback(text) || text.lines().rev().take(EDGE).any(is_verdict)
}

fn tells_failure(value: &Value) -> bool {
    let said = value.get("error").is_some_and(|error| match error {
        Value::Null => false,
        Value::Bool(failed) => *failed,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Number(code) => code.as_i64() != Some(0),
    });
    let denied = ["success", "ok"].iter().any(|key| value.get(key) == Some(&Value::Bool(false)));
    let marked = ["isError", "is_error"].iter().any(|key| value.get(key) == Some(&Value::Bool(true)));
    let state = value.get("status").and_then(Value::as_str).is_some_and(|state| matches!(state, "error" | "failed"));
    said || denied || marked || state
}

/// `error: …`, `error[E0308]`, `Error executing …`, but not `error.rs:12`.
fn opens_as_error(line: &str) -> bool {
    const OPENINGS: [&str; 17] = [
        "execution timed out",
        "command timed out",
        "wrong flag",
        "wrong answer",
        "incorrect flag",
        "incorrect answer",
        "error",
        "traceback",
        "fatal",
        "exception",
        "command failed",
        "permission denied",
        "your proposed edit has",
        "invalid ",
        "ran into ",
        "no such file",
        "inputvalidationerror",
    ];
    let start: String = line.chars().take(100).collect::<String>().to_lowercase();
    let opens = |cue: &&str| {
        let rest = start.strip_prefix(*cue);
        rest.is_some_and(|rest| cue.ends_with(' ') || rest.is_empty() || rest.starts_with([':', '[', ' ', '!', '(']))
    };
    let named = start.split_once(": ").is_some_and(|(name, _)| {
        !name.contains(' ') && name.len() > 5 && (name.ends_with("error") || name.ends_with("exception"))
    });
    OPENINGS.iter().any(opens) || named || start.contains("command not found")
}

fn ends_in_traceback(text: &str) -> bool {
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let name = last.split([':', ' ']).next().unwrap_or_default();
    (name.ends_with("Error") || name.ends_with("Exception") || name == "KeyboardInterrupt")
        && text.lines().rev().take(400).any(|line| line.starts_with("Traceback (most recent call last)"))
}

/// The verdict of a test run or a build that went wrong, whose exit code a pipe has swallowed.
fn is_verdict(line: &str) -> bool {
    const OPENINGS: [&str; 12] = [
        "test result: FAILED",
        "FAILED",
        "FAIL\t",
        "FAIL ",
        "--- FAIL",
        "npm ERR!",
        "npm error",
        "make: ***",
        "BUILD FAILED",
        "error: could not compile",
        "error: aborting",
        "error: test failed",
    ];
    let line = line.trim();
    OPENINGS.iter().any(|opening| line.starts_with(opening)) || line.len() < 200 && counts_failures(line)
}

/// `=== 2 failed, 5 passed in 3.2s ===`, `Tests:  1 failed, 5 passed, 6 total`.
fn counts_failures(line: &str) -> bool {
    let counted =
        line.starts_with("==") || line.starts_with("Tests:") || line.starts_with(|c: char| c.is_ascii_digit());
    let mut before = "0";
    let some = line.split([' ', ',']).filter(|word| !word.is_empty()).any(|word| {
        let some = word.starts_with("failed") && before.parse::<u64>().is_ok_and(|count| count > 0);
        before = word;
        some
    });
    counted && some && (line.contains("passed") || line.contains(" in ") || line.contains("total"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_by_whatever_says_so() {
        for text in [
            "Error: not enough seats on flight HAT290",
            "error[E0308]: mismatched types",
            "Exit code 1\nnothing",
            "some output\n\nCommand exited with code 2",
            "[The command completed with exit code 127.]",
            "<returncode>1</returncode>",
            r#"{"output":"x","metadata":{"exit_code":2}}"#,
            r#"{"error": "no such user"}"#,
            r#"{"success": false}"#,
            "collecting\n=== 2 failed, 5 passed in 3.2s ===",
            "test result: FAILED. 3 passed; 1 failed",
            "Traceback (most recent call last)\n  File \"a.py\"\nValueError: no",
            "ValueError: invalid literal",
            "EXECUTION TIMED OUT",
            "Wrong flag!",
            "<tool_use_error>Error: File has not been read yet</tool_use_error>",
        ] {
            assert_eq!(end(false, text), CallEnd::Failed, "{text}");
        }
        for text in [
            "error.rs:12: fn failed()",
            "Exit code: 0\nOutput:\nError: printed by a test that passed",
            "=== 7 passed, 0 failed in 3.2s ===",
            r#"{"error": null, "rows": 3}"#,
            "0 errors, 0 warnings",
            "Errors are handled in lib.rs",
        ] {
            assert_eq!(end(false, text), CallEnd::Ok, "{text}");
        }
        assert_eq!(end(true, "The user doesn't want to proceed with this tool use."), CallEnd::Refused);
        assert_eq!(end(true, "anything"), CallEnd::Failed);
    }
}
