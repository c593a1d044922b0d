//! Shell commands that the user ran beside the agent (`bashExecution`).
//!
//! A run is told in text blocks of fixed places, so that it reads well wherever blocks are joined by lines:
//! lead, command, then lead and output where there was output, then how it ended where that is worth saying.
//! A run that the user kept out of the context is one raw block: pi counts and lists it, nobody sends it.

use serde_json::Value;

use crate::model::format::Format;
use crate::model::message::{Block, Message, Opaque, Role};

const RAN: &str = "The user ran this shell command:";
const PRINTED: &str = "It printed:";
const SILENT: &str = "It printed nothing.";

/// Reads a `bashExecution` message.
pub fn read(value: &Value) -> Message {
    if value.get("excludeFromContext").and_then(Value::as_bool) == Some(true) {
        let raw = Block::Raw(Opaque { format: Format::Pi, value: value.clone() });
        return Message { role: Role::BashExecution, content: vec![raw], stop: None, opaque: None };
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let output = text("output");
    let mut lines = vec![RAN.to_owned(), text("command").to_owned()];
    if output.is_empty() {
        lines.push(SILENT.to_owned());
    } else {
        lines.extend([PRINTED.to_owned(), output.to_owned()]);
    }
    lines.extend(ending(value));
    let content = lines.into_iter().map(Block::text).collect();
    Message { role: Role::BashExecution, content, stop: None, opaque: None }
}

fn ending(value: &Value) -> Option<String> {
    let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
    let mut said: Vec<String> = Vec::new();
    if flag("cancelled") {
        said.push("It was cancelled.".to_owned());
    } else if let Some(code) = value.get("exitCode").and_then(Value::as_i64).filter(|code| *code != 0) {
        said.push(format!("It exited with code {code}."));
    }
    if flag("truncated") {
        said.push(match value.get("fullOutputPath").and_then(Value::as_str) {
            Some(path) => format!("The output is cut short; all of it is in {path}."),
            None => "The output is cut short.".to_owned(),
        });
    }
    (!said.is_empty()).then(|| said.join(" "))
}

/// Returns true if the message is a run that the user kept out of the context.
pub fn is_excluded_run(message: &Message) -> bool {
    message.role == Role::BashExecution && matches!(message.content.as_slice(), [Block::Raw(_)])
}

/// Command and output of a run; `None` where the message is not one.
pub fn command_and_output(message: &Message) -> Option<(&str, &str)> {
    if message.role != Role::BashExecution {
        return None;
    }
    match message.content.as_slice() {
        [Block::Raw(opaque)] => {
            let text = |key: &str| opaque.value.get(key).and_then(Value::as_str).unwrap_or_default();
            Some((text("command"), text("output")))
        }
        [
            _,
            Block::Text { text: command, .. },
            Block::Text { text: lead, .. },
            Block::Text { text: output, .. },
            ..,
        ] if lead == PRINTED => Some((command, output)),
        [_, Block::Text { text: command, .. }, ..] => Some((command, "")),
        _ => None,
    }
}

/// Counts a run as pi's estimator does, in UTF-16 units: command and output, not our words around them.
pub fn run_units(message: &Message) -> usize {
    let units = |text: &str| text.chars().map(char::len_utf16).sum::<usize>();
    command_and_output(message).map_or(0, |(command, output)| units(command) + units(output))
}
