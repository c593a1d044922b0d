//! Tools whose use of files takes more than a name and an argument to tell.

use serde_json::Value;

use super::arguments::arguments;
use super::ops::FileOps;
use super::{patch, structure};
use crate::model::message::{CallKind, ToolCall};
use crate::record::ending::shown::last_part;
use crate::settings::FileKind;

/// Adds what a call did to files: text editors with a `command`, patches (as a tool of their own, in free text, through
/// a shell), lists of files, what parts of names and arguments tell, and edits of whatever file is open.
pub fn recognise(call: &ToolCall, open_file: Option<&str>, ops: &mut FileOps) {
    let is_known = by_name(call, ops) || structure::note(call, ops);
    if let Some(path) = open_file.filter(|_| !is_known && ["edit", "insert"].contains(&call.name.as_str())) {
        ops.add(FileKind::Edit, path);
    }
}

/// Returns true if the call named a file.
fn by_name(call: &ToolCall, ops: &mut FileOps) -> bool {
    let name = bare(&call.name);
    match bare(last_part(&call.name)).as_str() {
        // Anthropic's editor, of several generations, also in SWE-agent; OpenHands' later one, Goose's, Kiro's.
        "strreplacebasededittool" | "strreplaceeditor" | "texteditor" | "fileeditor" | "fswrite" => {
            return text_editor(call, ops);
        }
        "readmanyfiles" => return many(call, ops),
        _ => {}
    }
    match name.as_str() {
        "shell" | "localshell" | "shellcommand" | "execcommand" | "containerexec" | "bash" | "runshellcommand"
        | "executebash" | "terminal" | "unifiedexec" => {
            names_apply_patch(&call.arguments) && patches(&call.arguments, ops)
        }
        _ if name.ends_with("applypatch") => patch_tool(call, ops),
        _ => (name == "patch" || call.kind == CallKind::Custom) && patches(&call.arguments, ops),
    }
}

/// The letters and digits of a name, in lower case: `apply-patch`, `ApplyPatch` and `apply_patch` are one tool.
fn bare(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn text_editor(call: &ToolCall, ops: &mut FileOps) -> bool {
    let kind = match call.arguments.get("command").and_then(Value::as_str) {
        Some("view") => FileKind::Read,
        Some("create" | "write") => FileKind::Write,
        Some("str_replace" | "insert" | "undo_edit" | "append") => FileKind::Edit,
        // Whatever it is, it is no edit that is known.
        Some(_) => {
            arguments(call, "path").into_iter().for_each(|path| ops.note_other(path));
            return true;
        }
        None => return false,
    };
    add(kind, arguments(call, "path"), ops)
}

fn add(kind: FileKind, paths: Vec<&str>, ops: &mut FileOps) -> bool {
    paths.iter().for_each(|path| ops.add(kind, path));
    !paths.is_empty()
}

/// A patch as text, or one operation of OpenAI's built-in tool.
fn patch_tool(call: &ToolCall, ops: &mut FileOps) -> bool {
    match call.arguments.get("type").and_then(Value::as_str) {
        Some("create_file") => add(FileKind::Write, arguments(call, "path"), ops),
        Some("update_file") => add(FileKind::Edit, arguments(call, "path"), ops),
        Some("delete_file") => {
            arguments(call, "path").into_iter().for_each(|path| ops.delete(path));
            true
        }
        _ => patches(&call.arguments, ops),
    }
}

/// Gemini CLI's `read_many_files`: paths, and patterns that name no one file.
fn many(call: &ToolCall, ops: &mut FileOps) -> bool {
    let named = ["paths", "include"].into_iter().flat_map(|key| arguments(call, key));
    add(FileKind::Read, named.filter(|path| !path.contains(['*', '?', '[', '{'])).collect(), ops);
    true
}

fn patches(arguments: &Value, ops: &mut FileOps) -> bool {
    let mut any = false;
    for text in strings(arguments).into_iter().filter(|text| patch::holds_patch(text)) {
        any |= patch::collect(text, ops);
    }
    any
}

fn names_apply_patch(arguments: &Value) -> bool {
    strings(arguments).iter().any(|text| text.contains("apply_patch") || text.contains("applypatch"))
}

/// The strings in a value, however deep.
pub fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
