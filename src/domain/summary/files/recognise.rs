//! Tools whose use of files takes more than a name and an argument to tell.

use serde_json::Value;

use super::arguments::arguments;
use super::ops::FileOps;
use super::patch;
use crate::domain::model::message::{CallKind, ToolCall};
use crate::domain::settings::FileKind;

/// Adds what a call did to files: text editors with a `command`, patches (as a tool of their own, in free text, through
/// a shell), lists of files, and edits of whatever file is open.
pub fn recognise(call: &ToolCall, open_file: Option<&str>, ops: &mut FileOps) {
    let name = bare(&call.name);
    match name.as_str() {
        // Anthropic's editor, of several generations, also in SWE-agent; OpenHands' later one.
        "strreplacebasededittool" | "strreplaceeditor" | "texteditor" | "fileeditor" => text_editor(call, ops),
        "shell" | "localshell" | "shellcommand" | "execcommand" | "containerexec" | "bash" | "runshellcommand"
        | "executebash" | "terminal" | "unifiedexec"
            if names_apply_patch(&call.arguments) =>
        {
            patches(&call.arguments, ops);
        }
        "readmanyfiles" => many(call, ops),
        "edit" | "insert" if call.name == name => {
            if let Some(path) = open_file {
                ops.add(FileKind::Edit, path);
            }
        }
        _ if name.ends_with("applypatch") => patch_tool(call, ops),
        _ if name == "patch" || call.kind == CallKind::Custom => patches(&call.arguments, ops),
        _ => {}
    }
}

/// The letters and digits of a name, in lower case: `apply-patch`, `ApplyPatch` and `apply_patch` are one tool.
fn bare(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn text_editor(call: &ToolCall, ops: &mut FileOps) {
    let kind = match call.arguments.get("command").and_then(Value::as_str) {
        Some("view") => FileKind::Read,
        Some("create") => FileKind::Write,
        Some("str_replace" | "insert" | "undo_edit") => FileKind::Edit,
        _ => return,
    };
    arguments(call, "path").into_iter().for_each(|path| ops.add(kind, path));
}

/// A patch as text, or one operation of OpenAI's built-in tool.
fn patch_tool(call: &ToolCall, ops: &mut FileOps) {
    let kind = match call.arguments.get("type").and_then(Value::as_str) {
        Some("create_file") => FileKind::Write,
        Some("update_file" | "delete_file") => FileKind::Edit,
        _ => return patches(&call.arguments, ops),
    };
    arguments(call, "path").into_iter().for_each(|path| ops.add(kind, path));
}

/// Gemini CLI's `read_many_files`: paths, and patterns that name no one file.
fn many(call: &ToolCall, ops: &mut FileOps) {
    let named = ["paths", "include"].into_iter().flat_map(|key| arguments(call, key));
    let single = named.filter(|path| !path.contains(['*', '?', '[', '{']));
    single.for_each(|path| ops.add(FileKind::Read, path));
}

fn patches(arguments: &Value, ops: &mut FileOps) {
    for text in strings(arguments).into_iter().filter(|text| patch::holds_patch(text)) {
        patch::collect(text, ops);
    }
}

fn names_apply_patch(arguments: &Value) -> bool {
    strings(arguments).iter().any(|text| text.contains("apply_patch") || text.contains("applypatch"))
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
