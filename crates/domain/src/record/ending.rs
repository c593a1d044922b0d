//! How a call ended, by what the protocol shows and by nothing else.
//!
//! Fields that are by name a status, an exit code or an error tell it, in the result's JSON or beside its text, and so do
//! lines in which a wrapper names the exit code. Words tell nothing: what a file, a script or a log says stands in most
//! results, in every language, and says of it what it says of anything.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::values;
use crate::model::approval::{self, McpApproval};
use crate::model::format::Format;
use crate::model::message::{Opaque, ToolResult};

pub mod shown;

pub use crate::model::call_end::CallEnd;
use shown::ShownText;

/// Field of Claude Code's lines.
const DENIAL: &str = "toolDenialKind";
/// Lines above the output in which a wrapper says how it went.
const HEADER_LINES: usize = 8;
/// A line of more bytes says more than an exit code.
const LONGEST_LINE: usize = 120;
/// Longer results are no record of how a call ended.
const LONGEST_JSON: usize = 100_000;

/// A line that is nothing but an exit code, as shells and the tools around them write it.
static EXIT_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:the )?(?:process |command )*(?:exit(?:ed|s)?|completed|finished|failed|return(?:ed)?)(?:[ _-]?(?:with|exit|code|status))+[^\w-]{0,4}(-?\d{1,10})\W*(?:</\w+>\W*)?$").ok()
});

/// The first line of an answer of HTTP.
static STATUS_LINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^HTTP/\d(?:\.\d)? (\d{3})(?: .{0,80})?$").ok());

/// A header of HTTP.
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[A-Za-z0-9-]{1,60}:(?: .*)?$").ok());

/// The end of a call with this result.
pub fn end(result: Option<&ToolResult>) -> CallEnd {
    result.map_or(CallEnd::Open, |result| end_of(result.name.as_deref().unwrap_or_default(), result))
}

/// The end of a call of `tool` with this result: what a tool only shows is not of its own end.
pub fn end_of(tool: &str, result: &ToolResult) -> CallEnd {
    if is_denied(result) {
        return CallEnd::Refused;
    }
    let failed = result.is_error || outcome_failed(result) || text_failed(ShownText::by(tool), result);
    if failed { CallEnd::Failed } else { CallEnd::Returned }
}

/// What stands beside a result's text and tells how its call ended.
pub fn kept(beside: Opaque) -> Option<Opaque> {
    if let Some(answer) = McpApproval::of(&beside) {
        return Some(Opaque { format: beside.format, value: answer.kept() });
    }
    let Opaque { format, value } = beside;
    let value = match format {
        Format::ClaudeCode => json!({DENIAL: value.get(DENIAL)?}),
        Format::OpenaiResponses => {
            let outcomes: Vec<Value> =
                value.get("output")?.as_array()?.iter().filter_map(|chunk| chunk.get("outcome").cloned()).collect();
            json!({"output": outcomes.into_iter().map(|outcome| json!({"outcome": outcome})).collect::<Vec<_>>()})
        }
        _ => return None,
    };
    Some(Opaque { format, value })
}

/// Returns true if a field of the harness says that the call was not let run, as Claude Code's lines have one, or if the
/// user refused to approve it.
fn is_denied(result: &ToolResult) -> bool {
    let line = result.opaque.as_ref().filter(|opaque| opaque.format == Format::ClaudeCode);
    line.is_some_and(|line| line.value[DENIAL].is_string()) || approval::is_refusal(result)
}

/// Returns true if an output of OpenAI's shell has an exit code beside its text that says so.
fn outcome_failed(result: &ToolResult) -> bool {
    let item = result.opaque.as_ref().filter(|opaque| opaque.format == Format::OpenaiResponses);
    let chunks = item.and_then(|item| item.value.get("output")?.as_array());
    let code = |chunk: &Value| chunk.pointer("/outcome/exit_code").and_then(number);
    chunks.into_iter().flatten().filter_map(code).any(|code| code != 0)
}

fn text_failed(shown: ShownText, result: &ToolResult) -> bool {
    if shown == ShownText::Files {
        return false;
    }
    let text = result.plain_text();
    match (text.len() <= LONGEST_JSON).then(|| values::parsed(&text)).flatten() {
        Some(Value::Object(fields)) => {
            wrapper_code(&fields).is_some_and(|code| code != 0)
                || shown == ShownText::Nothing && fields_say_failed(&fields)
        }
        Some(_) => false,
        None => exit_code(&text).map_or_else(|| http_status(&text).is_some_and(is_failure), |code| code != 0),
    }
}

/// The exit code in what is put around a command's output.
fn wrapper_code(fields: &Map<String, Value>) -> Option<i64> {
    let wrapper = fields.get("metadata").and_then(Value::as_object);
    let codes = ["exit_code", "exitCode", "returncode", "return_code", "exit_status"];
    codes.iter().find_map(|name| number(fields.get(*name).or_else(|| wrapper?.get(*name))?))
}

/// The exit code that a result in JSON names.
pub(super) fn code_of_json(text: &str) -> Option<i64> {
    match (text.len() <= LONGEST_JSON).then(|| values::parsed(text)).flatten()? {
        Value::Object(fields) => wrapper_code(&fields),
        _ => None,
    }
}

fn fields_say_failed(fields: &Map<String, Value>) -> bool {
    let denied = ["success", "ok"].iter().any(|name| fields.get(*name).is_some_and(is_false));
    let marked = ["is_error", "isError"].iter().any(|name| fields.get(*name).is_some_and(is_true));
    let statuses = ["status", "status_code", "statusCode", "http_status", "httpStatus"];
    let status = statuses.iter().find_map(|name| number(fields.get(*name)?));
    let error = fields.get("error").is_some_and(|error| !is_nothing(error));
    denied || marked || error || status.is_some_and(is_failure)
}

/// Of a status of HTTP.
fn is_failure(status: i64) -> bool {
    (400..600).contains(&status)
}

/// The exit code that a line of a wrapper names, where the line says nothing else: the first line (Claude Code, Codex,
/// mini-swe-agent) or one above `Output:` (Codex), the last where it names the command or is framed (OpenHands, pi,
/// Copilot), or one among the last that name a process (Gemini CLI, Qwen Code) or above an element of one line (Crush). Any
/// other may be a script's own.
pub fn exit_code(text: &str) -> Option<i64> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let header: Vec<&str> = lines.take(HEADER_LINES).collect();
    let above = header.iter().position(|line| line.eq_ignore_ascii_case("output:")).unwrap_or(1);
    let above = header.iter().take(above).find_map(|line| exit_line(line));
    above.or_else(|| exit_code_below(text))
}

fn exit_code_below(text: &str) -> Option<i64> {
    const NAMES: [&str; 3] = ["Signal:", "Background PIDs:", "Process Group PGID:"];
    let mut is_trailer = false;
    for line in text.lines().rev().map(str::trim).filter(|line| !line.is_empty()) {
        let lower = line.get(..16).unwrap_or(line).to_ascii_lowercase();
        let names_it = ["[", "<", "command ", "process ", "the command "].iter().any(|start| lower.starts_with(start));
        if let Some(code) = exit_line(line) {
            return (names_it || is_trailer).then_some(code);
        }
        let is_named = NAMES.iter().any(|name| line.starts_with(name)) || is_element(line);
        let is_framed = line.starts_with('[') && line.ends_with(']');
        if !is_named && !is_framed {
            return None;
        }
        is_trailer |= is_named;
    }
    None
}

/// Returns true if a line is an element and nothing else.
pub(super) fn is_element(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(name, _)| name);
    name.is_some_and(|name| {
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        is_name && line.strip_suffix('>').is_some_and(|rest| rest.ends_with(&format!("</{name}")))
    })
}

/// The code of a line that is nothing but an exit code.
pub fn exit_line(line: &str) -> Option<i64> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    EXIT_LINE.as_ref()?.captures(line)?.get(1)?.as_str().parse().ok()
}

/// The status of an answer of HTTP that a text is: nothing stands before its first line, and behind that a header, an empty
/// line or nothing. Of several, as redirects make them, the last. A list or a log of such lines is none.
fn http_status(text: &str) -> Option<i64> {
    let mut lines = text.lines().map(str::trim_end).peekable();
    let mut newest = None;
    while let Some(status) = lines.next_if(|line| line.starts_with("HTTP/")) {
        newest = Some(STATUS_LINE.as_ref()?.captures(status)?.get(1)?.as_str().parse().ok()?);
        while lines.next_if(|line| HEADER.as_ref().is_some_and(|header| header.is_match(line))).is_some() {}
        if lines.next().is_some_and(|line| !line.is_empty()) {
            return None;
        }
    }
    newest
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn is_false(value: &Value) -> bool {
    matches!(value, Value::Bool(false)) || value.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("false"))
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || value.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
}

/// What programs write where there is no error.
fn is_nothing(value: &Value) -> bool {
    const WORDS: [&str; 4] = ["", "false", "null", "none"];
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => WORDS.iter().any(|word| text.trim().eq_ignore_ascii_case(word)),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests;
