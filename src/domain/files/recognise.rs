//! Tools whose use of files takes more than a name and an argument to tell.

use serde_json::Value;

use super::{FileOps, argument, patch};
use crate::domain::message::ToolCall;
use crate::domain::settings::FileKind;

/// Adds what a call did to files: text editor tools with a `command`, patches (also through a shell), and edits
/// of whatever file is open.
pub fn recognise(call: &ToolCall, open_file: Option<&str>, ops: &mut FileOps) {
    match call.name.as_str() {
        "str_replace_based_edit_tool" | "str_replace_editor" | "text_editor" => text_editor(call, ops),
        "apply_patch" => patches(&call.arguments, ops),
        "shell" | "local_shell" | "shell_command" | "exec_command" | "container.exec" | "bash" | "Bash"
            if names_apply_patch(&call.arguments) =>
        {
            patches(&call.arguments, ops);
        }
        "edit" | "insert" => {
            if let Some(path) = open_file {
                ops.add(FileKind::Edit, path);
            }
        }
        _ => {}
    }
}

fn text_editor(call: &ToolCall, ops: &mut FileOps) {
    let kind = match call.arguments.get("command").and_then(Value::as_str) {
        Some("view") => FileKind::Read,
        Some("create") => FileKind::Write,
        Some("str_replace" | "insert" | "undo_edit") => FileKind::Edit,
        _ => return,
    };
    if let Some(path) = argument(call, "path") {
        ops.add(kind, path);
    }
}

fn patches(arguments: &Value, ops: &mut FileOps) {
    for text in strings(arguments).into_iter().filter(|text| patch::holds_patch(text)) {
        patch::collect(text, ops);
    }
}

fn names_apply_patch(arguments: &Value) -> bool {
    strings(arguments).iter().any(|text| text.contains("apply_patch"))
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
