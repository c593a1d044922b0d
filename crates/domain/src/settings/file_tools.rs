//! The file tools of the common agents.

use std::collections::BTreeMap;

use super::{FileKind, FileTool};

/// The tools known by name: the one default of the setting `file_tools`. `path` may name alternatives, separated by `|`:
/// the first that is there counts, a path or a list of paths. Names and arguments as documented in November 2026, by pi
/// (`read`, `write`, `edit`), Claude Code (capitalised), opencode (`filePath`, `multiedit`), Gemini CLI (`read_file`,
/// `write_file`, `replace`; `absolute_path` in older versions), Codex (`view_image`) and SWE-agent (`open`, `create`).
/// Tools that take more than that to tell, or that it does not name, are known by structure: `summary::files::recognise`.
pub fn default_file_tools() -> BTreeMap<String, FileTool> {
    const PATH: &str = "path|file_path|filePath";
    const FILE_PATH: &str = "file_path";
    const GEMINI: &str = "file_path|absolute_path|path";
    const NOTEBOOK: &str = "notebook_path";
    let tools = [
        ("read", FileKind::Read, PATH),
        ("write", FileKind::Write, PATH),
        ("edit", FileKind::Edit, PATH),
        ("Read", FileKind::Read, FILE_PATH),
        ("Write", FileKind::Write, FILE_PATH),
        ("Edit", FileKind::Edit, FILE_PATH),
        ("MultiEdit", FileKind::Edit, FILE_PATH),
        ("NotebookRead", FileKind::Read, NOTEBOOK),
        ("NotebookEdit", FileKind::Edit, NOTEBOOK),
        ("read_file", FileKind::Read, GEMINI),
        ("write_file", FileKind::Write, GEMINI),
        ("replace", FileKind::Edit, GEMINI),
        ("multiedit", FileKind::Edit, PATH),
        ("view_image", FileKind::Read, PATH),
        ("open", FileKind::Read, "path"),
        ("create", FileKind::Write, "filename|path"),
    ];
    tools.into_iter().map(|(name, kind, path)| (name.to_owned(), FileTool { kind, path: path.to_owned() })).collect()
}
