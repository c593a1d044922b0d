//! Tools that no table names, told by parts of their names and by arguments that are paths.

use serde_json::{Map, Value};

use super::ops::FileOps;
use crate::model::message::ToolCall;
use crate::record::ending::shown::{ShownText, last_part, words};
use crate::settings::FileKind;

/// Words in the names of tools that change a file. Those of twenty editors (November 2026) name their deed by one of
/// these: `write_to_file`, `search_replace`, `insert_edit_into_file`, `str-replace-editor`, `create_text_file`.
const EDITS: [&str; 10] =
    ["edit", "multiedit", "replace", "patch", "apply", "insert", "append", "update", "modify", "undo"];
const WRITES: [&str; 4] = ["write", "create", "save", "copy"];
/// These are about a file itself only where nothing else is named: `delete_lines` and `rename_symbol` change one.
const DELETES: [&str; 2] = ["delete", "remove"];
const MOVES: [&str; 2] = ["move", "rename"];
const WHOLE: [&str; 6] = ["file", "files", "path", "paths", "tool", "fs"];
/// What is made or moved by these is no file.
const FOLDERS: [&str; 4] = ["directory", "directories", "folder", "dir"];

/// Arguments that name the file, letters alone: editors write `file_path`, `filePath`, `TargetFile`, `pathInProject`.
const PATHS: [&str; 17] = [
    "path",
    "paths",
    "filepath",
    "filepaths",
    "absolutepath",
    "absolutefilepath",
    "relativepath",
    "targetfile",
    "targetpath",
    "notebookpath",
    "targetnotebook",
    "pathinproject",
    "fspath",
    "filename",
    "file",
    "files",
    "uri",
];
/// Where a file was before it was moved or copied, and where it is then.
const FROM: [&str; 7] = ["source", "sourcepath", "src", "from", "oldpath", "originalpath", "originalfilepath"];
const TO: [&str; 8] = ["destination", "destinationpath", "dest", "dst", "to", "newpath", "newfilepath", "topath"];
/// A longer text is no path.
const LONGEST: usize = 1_024;

/// What a tool does to the file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileDeed {
    Read,
    Write,
    Edit,
    Delete,
    Move,
    Copy,
    Unknown,
}

impl FileDeed {
    fn by(tool: &str) -> FileDeed {
        let words = words(last_part(tool));
        let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
        let whole =
            |of: &[&str]| words.iter().all(|word| of.contains(&word.as_str()) || WHOLE.contains(&word.as_str()));
        if any(&FOLDERS) {
            FileDeed::Unknown
        } else if any(&DELETES) && whole(&DELETES) {
            FileDeed::Delete
        } else if any(&MOVES) && whole(&MOVES) {
            FileDeed::Move
        } else if any(&["copy"]) && whole(&["copy"]) {
            FileDeed::Copy
        } else if any(&EDITS) || any(&DELETES) || any(&MOVES) {
            FileDeed::Edit
        } else if any(&WRITES) {
            FileDeed::Write
        } else if ShownText::by(tool) == ShownText::Files {
            FileDeed::Read
        } else {
            FileDeed::Unknown
        }
    }
}

/// Adds the files that a call names. Returns true if it names any.
pub fn note(call: &ToolCall, ops: &mut FileOps) -> bool {
    let Value::Object(fields) = &call.arguments else { return false };
    if ShownText::by(&call.name) == ShownText::Commands {
        return false;
    }
    let deed = FileDeed::by(&call.name);
    let (from, to) = (named(fields, &FROM), named(fields, &TO));
    let mut paths = named(fields, &PATHS);
    match deed {
        FileDeed::Move if !to.is_empty() => {
            paths.iter().chain(&from).for_each(|path| ops.delete(path));
            to.iter().for_each(|path| ops.add(FileKind::Write, path));
            return true;
        }
        FileDeed::Copy if !to.is_empty() => {
            to.iter().for_each(|path| ops.add(FileKind::Write, path));
            return true;
        }
        _ => {}
    }
    for list in fields.values().filter_map(Value::as_array) {
        paths.extend(list.iter().filter_map(Value::as_object).flat_map(|fields| named(fields, &PATHS)));
    }
    for path in &paths {
        match deed {
            FileDeed::Read => ops.add(FileKind::Read, path),
            FileDeed::Write => ops.add(FileKind::Write, path),
            FileDeed::Edit | FileDeed::Move => ops.add(FileKind::Edit, path),
            FileDeed::Delete => ops.delete(path),
            FileDeed::Copy | FileDeed::Unknown => ops.note_other(path),
        }
    }
    !paths.is_empty()
}

/// The paths in the arguments of these names.
fn named<'v>(fields: &'v Map<String, Value>, names: &[&str]) -> Vec<&'v str> {
    let mut found = Vec::new();
    for (key, value) in fields {
        let name: String = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        if !names.contains(&name.as_str()) {
            continue;
        }
        // What is called a path is one; of other names the value has to look like it.
        let is_said = name.contains("path");
        let is_path = |text: &&str| is_path(text) && (is_said || text.contains(['/', '\\', '.']));
        match value {
            Value::String(text) => found.extend(Some(text.as_str()).filter(is_path)),
            Value::Array(list) => found.extend(list.iter().filter_map(Value::as_str).filter(is_path)),
            _ => {}
        }
    }
    found
}

fn is_path(text: &str) -> bool {
    let is_address = text.contains("://") && !text.starts_with("file://");
    !text.trim().is_empty() && text.len() <= LONGEST && !is_address && !text.contains(['\n', '*', '?'])
}

#[cfg(test)]
mod tests;
