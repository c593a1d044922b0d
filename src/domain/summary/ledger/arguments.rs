//! The arguments of a call in a few words.

use serde_json::Value;

use crate::domain::model::message::ToolCall;
use crate::domain::record::effect::{self, PLAIN_TARGETS, command_of, target_key};
use crate::domain::summary::files;
use crate::domain::summary::text::{brief, clip, one_line};

/// Characters of a tool's name.
pub(super) const NAME_CHARS: usize = 64;
/// Characters of a call as a summary tells it.
pub const TOLD_CHARS: usize = 120;
const REST_CHARS: usize = 80;
/// Longer arguments that hold a text to be written are not shown: the file has it.
const LONGEST_CONTENT: usize = 24;
/// As much of one is shown where it is all that a call is given.
const CONTENT_SHOWN: usize = 60;

/// Arguments that hold a text to be written.
const CONTENT: [&str; 21] = [
    "content",
    "new_string",
    "old_string",
    "new_str",
    "old_str",
    "file_text",
    "new_source",
    "text",
    "patch",
    "input",
    "code",
    "edits",
    "todos",
    "old",
    "new",
    "newText",
    "oldText",
    "replacement_text",
    "diff",
    "thought",
    "prompt",
];

/// The target and the other arguments, `key=value` each; what is too long for its place is left out. Arguments that are
/// no object are the target as they are.
pub(super) fn shown(call: &ToolCall, width: usize) -> (String, String) {
    let Value::Object(fields) = &call.arguments else {
        return match &call.arguments {
            Value::Null => Default::default(),
            other => (value(other, width), String::new()),
        };
    };
    let target = target_key(fields);
    let mut rest = String::new();
    // How long a command may take, and the like, says nothing of what it did.
    let others = fields.iter().filter(|(key, _)| Some(key.as_str()) != target && !effect::is_shell(&call.name));
    for (key, field) in others {
        let shown = value(field, REST_CHARS - 16);
        let separator = if rest.is_empty() { "" } else { ", " };
        let size = rest.chars().count() + shown.chars().count() + key.chars().count() + 3;
        let cut = field.is_string() && shown.ends_with('…');
        if !says_nothing(key, field) && !cut && size < REST_CHARS {
            rest.push_str(&format!("{separator}{key}={shown}"));
        }
    }
    (target.map(|key| acted_on(call, key, width)).unwrap_or_default(), rest)
}

/// The argument that says what is acted on.
fn acted_on(call: &ToolCall, key: &str, width: usize) -> String {
    let field = call.arguments.get(key).unwrap_or(&Value::Null);
    let text = match command_of(&call.arguments) {
        Some(command) if effect::is_shell(&call.name) && ["command", "cmd"].contains(&key) => {
            clip(&plain_command(&command), width)
        }
        _ if !PLAIN_TARGETS.contains(&key) && is_content(key, field) => match field {
            Value::String(text) => brief(text, CONTENT_SHOWN),
            _ => return String::new(),
        },
        _ => value(field, width),
    };
    if PLAIN_TARGETS.contains(&key) { text } else { format!("{}={text}", clip(key, 40)) }
}

fn says_nothing(key: &str, field: &Value) -> bool {
    // What a command is for, it says itself.
    matches!(field, Value::Null | Value::Bool(false)) || is_content(key, field) || key == "description"
}

/// Returns true for a text to be written, and the like, that is no short word.
fn is_content(key: &str, field: &Value) -> bool {
    let long = match field {
        Value::String(text) => text.len() > LONGEST_CONTENT,
        Value::Array(_) | Value::Object(_) => true,
        _ => false,
    };
    CONTENT.contains(&key) && long
}

/// A value on one line; of a patch the files that it names.
fn value(value: &Value, width: usize) -> String {
    match value {
        Value::String(text) => match files::patched(text) {
            paths if paths.is_empty() => brief(text, width),
            paths => clip(&one_line(&paths.join(" ")), width),
        },
        Value::Object(_) | Value::Array(_) => leaves(value, width),
        other => other.to_string(),
    }
}

/// The single values in a list or an object, as many as there is room for.
fn leaves(value: &Value, width: usize) -> String {
    let mut shown = String::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let leaf = match value {
            Value::Object(fields) => {
                open.extend(fields.values().rev());
                continue;
            }
            Value::Array(items) => {
                open.extend(items.iter().rev());
                continue;
            }
            Value::String(text) => brief(text, width),
            Value::Null => continue,
            other => other.to_string(),
        };
        if shown.chars().count() + leaf.chars().count() + 3 > width {
            shown.push_str(" …");
            break;
        }
        shown.push_str(if shown.is_empty() { "" } else { " " });
        shown.push_str(&leaf);
    }
    shown
}

/// `name: src/a.rs`: a call in a few words.
pub fn describe(call: &ToolCall, width: usize) -> String {
    let (target, _) = shown(call, width);
    let key = call.arguments.as_object().and_then(target_key).unwrap_or_default();
    let target = target.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')).unwrap_or(&target);
    if target.is_empty() { clip(&call.name, NAME_CHARS) } else { format!("{}: {target}", clip(&call.name, NAME_CHARS)) }
}

/// [`describe`] for a summary: of a shell's command what it does, of another call the other arguments too.
pub fn described(call: &ToolCall, width: usize) -> String {
    if effect::is_shell(&call.name)
        && let Some(command) = command_of(&call.arguments)
    {
        let patched = files::patched(&command);
        let command =
            if patched.is_empty() { plain_command(&command) } else { format!("apply_patch {}", patched.join(" ")) };
        return format!("{}: {}", clip(&call.name, NAME_CHARS), clip(&command, width));
    }
    let short = describe(call, width);
    let (_, rest) = shown(call, width);
    let names_file = call.arguments.as_object().and_then(target_key).is_some_and(|key| PLAIN_TARGETS.contains(&key));
    if rest.is_empty() || names_file { short } else { format!("{short}, {rest}") }
}

/// A command without the change of folder before it, its comments, and what cuts its output short.
pub(super) fn plain_command(command: &str) -> String {
    let lines: Vec<&str> =
        command.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let text = lines.join(" ").replace("\"$(cat <<'EOF' ", "\"").replace(" 2>&1", "").replace(" 2>/dev/null", "");
    let mut text = text.split(" EOF").next().unwrap_or_default().trim();
    while let Some((_, rest)) =
        text.split_once(" && ").filter(|(first, _)| first.starts_with("cd ") && !first.contains(';'))
    {
        text = rest.trim_start();
    }
    while let Some((rest, last)) = text.rsplit_once('|') {
        let mut words = last.split_whitespace();
        let cuts = words.next().is_some_and(|word| matches!(word, "tail" | "head" | "cat"))
            && words.all(|word| word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit()));
        if !cuts || rest.trim().is_empty() {
            break;
        }
        text = rest.trim_end();
    }
    one_line(text)
}
