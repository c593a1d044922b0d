//! How a call ended, by what the protocol shows and by nothing else.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::values;
use crate::domain::model::message::ToolResult;

/// What is known of a call's end. That it worked is never known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CallEnd {
    /// There is a result, and nothing flags it as an error.
    Returned,
    /// Flagged as an error, or with an exit code, a status field or a status of HTTP that says so.
    Failed,
    /// The protocol says that it was not let run.
    Refused,
    /// There is no result.
    Open,
}

/// Lines at the beginning and at the end of a result that a wrapper writes.
const FIRST_LINES: usize = 8;
const LAST_LINES: usize = 3;

/// A line that is nothing but an exit code, as shells and the tools around them write it.
static EXIT_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:the )?(?:process |command )*(?:exit(?:ed|s)?|completed|return(?:ed)?)(?:[ _-]?(?:with|exit|code|status))+\W{0,4}(-?\d{1,10})\W*(?:</\w+>\W*)?$").ok()
});

/// The end of a call with this result.
pub fn end(result: Option<&ToolResult>) -> CallEnd {
    let Some(result) = result else { return CallEnd::Open };
    if result.is_error || says_failed(&result.plain_text()) { CallEnd::Failed } else { CallEnd::Returned }
}

/// Returns true if a result's text says by a field or by an exit code that the call failed.
fn says_failed(text: &str) -> bool {
    match values::parsed(text) {
        Some(Value::Object(fields)) => fields_say_failed(&fields),
        Some(_) => false,
        None => exit_code(text).is_some_and(|code| code != 0),
    }
}

fn fields_say_failed(fields: &Map<String, Value>) -> bool {
    let wrapper = fields.get("metadata").and_then(Value::as_object);
    let codes = ["exit_code", "exitCode", "returncode", "return_code", "exit_status"];
    let code = codes.iter().find_map(|name| number(fields.get(*name).or_else(|| wrapper?.get(*name))?));
    let denied = ["success", "ok"].iter().any(|name| fields.get(*name).is_some_and(is_false));
    let marked = ["is_error", "isError"].iter().any(|name| fields.get(*name).is_some_and(is_true));
    let status = ["status", "status_code", "statusCode"].iter().find_map(|name| number(fields.get(*name)?));
    let error = fields.get("error").is_some_and(|error| !is_nothing(error));
    code.is_some_and(|code| code != 0)
        || denied
        || marked
        || error
        || status.is_some_and(|status| (400..600).contains(&status))
}

/// The exit code that a line of a wrapper names, where the line says nothing else.
pub fn exit_code(text: &str) -> Option<i64> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let count = lines().count();
    let outer = lines().enumerate().filter(|(at, _)| *at < FIRST_LINES || at + LAST_LINES >= count);
    outer.filter_map(|(_, line)| exit_line(line)).next()
}

/// The code of a line that is nothing but an exit code.
pub fn exit_line(line: &str) -> Option<i64> {
    if line.len() > 120 {
        return None;
    }
    EXIT_LINE.as_ref()?.captures(line)?.get(1)?.as_str().parse().ok()
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn is_false(value: &Value) -> bool {
    matches!(value, Value::Bool(false)) || value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("false"))
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::message::Block;

    fn of(text: &str) -> CallEnd {
        end(Some(&result(text, false)))
    }

    fn result(text: &str, is_error: bool) -> ToolResult {
        ToolResult {
            tool_call_id: "c".to_owned(),
            name: None,
            content: vec![Block::text(text)],
            is_error,
            kind: Default::default(),
            opaque: None,
        }
    }

    #[test]
    fn the_protocol_alone_says_that_a_call_failed() {
        for text in [
            r#"{"success":"false"}"#,
            r#"{"ok": false, "id": 3}"#,
            r#"{"error": "no such user"}"#,
            r#"{"status": 503}"#,
            r#"{"output":"x","metadata":{"exit_code":2}}"#,
            "Exit code 1\nnothing to do",
            "out\nProcess exited with code 2",
            "[The command completed with exit code 127.]",
            "<returncode>1</returncode>\n<output>\nx\n</output>",
            "exit status: 1",
        ] {
            assert_eq!(of(text), CallEnd::Failed, "{text}");
        }
        assert_eq!(end(Some(&result("fine", true))), CallEnd::Failed);
        assert_eq!(end(None), CallEnd::Open);
    }

    #[test]
    fn words_claim_nothing() {
        for text in [
            "Delivery failed: mailbox full",
            r#"{"status":"declined"}"#,
            "Killed",
            "Fehler: Guthaben reicht nicht aus",
            "error: nothing here says how it ended",
            "Exit code: 0\nError: printed by a test that passed",
            "1\n2\n3\n4\n5\n6\n7\n8\n9\nexit code 1 in the middle of a log\nexit 3\n12\n13\n14\n15",
            r#"{"error": null, "rows": 3}"#,
            r#"{"status": 200}"#,
        ] {
            assert_eq!(of(text), CallEnd::Returned, "{text}");
        }
    }
}
