use serde_json::{Value, json};

use crate::model::compaction::SessionFiles;
use crate::settings::default_file_tools;
use crate::summary::files::{FileOps, FileTable, OpenFile};
use crate::summary::testing::call;

fn files(calls: &[(&str, Value)]) -> SessionFiles {
    let tools = default_file_tools();
    let (mut ops, mut open) = (FileOps::default(), OpenFile::default());
    for (name, arguments) in calls {
        ops.note(&call("c", name, arguments.clone()), FileTable::new(&tools), &mut open);
    }
    ops.session_files()
}

fn lists(read: &[&str], modified: &[&str], deleted: &[&str], other: &[&str]) -> SessionFiles {
    let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    SessionFiles {
        read_files: owned(read),
        modified_files: owned(modified),
        deleted_files: owned(deleted),
        other_paths: owned(other),
    }
}

/// Agent, tool and arguments of a call that changes `a.rs`.
fn changing() -> Vec<(&'static str, &'static str, Value)> {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n*** End Patch";
    let (old, new) = ("x", "y");
    vec![
        ("Claude Code", "Edit", json!({"file_path": "a.rs", "old_string": old, "new_string": new})),
        ("Codex", "apply_patch", json!({"input": patch})),
        ("Gemini CLI", "replace", json!({"file_path": "a.rs", "old_string": old, "new_string": new})),
        ("Qwen Code", "edit", json!({"file_path": "a.rs", "old_string": old, "new_string": new})),
        ("opencode", "write", json!({"filePath": "a.rs", "content": new})),
        ("pi", "edit", json!({"path": "a.rs", "oldText": old, "newText": new})),
        ("Cline, Roo", "write_to_file", json!({"path": "a.rs", "content": new})),
        ("Cline", "replace_in_file", json!({"path": "a.rs", "diff": new})),
        ("Roo", "apply_diff", json!({"path": "a.rs", "diff": new})),
        ("Roo", "insert_content", json!({"path": "a.rs", "line": 1, "content": new})),
        ("Cursor", "edit_file", json!({"target_file": "a.rs", "instructions": "x", "code_edit": new})),
        ("Cursor", "search_replace", json!({"file_path": "a.rs", "old_string": old, "new_string": new})),
        ("Windsurf", "write_to_file", json!({"TargetFile": "a.rs", "CodeContent": new, "EmptyFile": false})),
        (
            "Windsurf",
            "replace_file_content",
            json!({"TargetFile": "a.rs", "ReplacementChunks": [{"TargetContent": old}]}),
        ),
        ("Zed", "edit_file", json!({"display_description": "x", "path": "a.rs", "mode": "edit"})),
        ("OpenHands", "str_replace_editor", json!({"command": "str_replace", "path": "a.rs", "old_str": old})),
        ("SWE-agent", "create", json!({"filename": "a.rs"})),
        ("Goose", "developer__text_editor", json!({"command": "write", "path": "a.rs", "file_text": new})),
        ("JetBrains", "replace_text_in_file", json!({"pathInProject": "a.rs", "oldText": old, "newText": new})),
        ("JetBrains", "create_new_file", json!({"pathInProject": "a.rs", "text": new})),
        ("MCP filesystem", "mcp__filesystem__write_file", json!({"path": "a.rs", "content": new})),
        ("MCP filesystem", "edit_file", json!({"path": "a.rs", "edits": [{"oldText": old, "newText": new}]})),
        ("Continue", "edit_existing_file", json!({"filepath": "a.rs", "changes": new})),
        ("Continue", "single_find_and_replace", json!({"filepath": "a.rs", "old_string": old, "new_string": new})),
        ("Copilot", "insert_edit_into_file", json!({"filePath": "a.rs", "code": new, "explanation": "x"})),
        ("Copilot", "create_file", json!({"filePath": "a.rs", "content": new})),
        ("Copilot", "multi_replace_string_in_file", json!({"replacements": [{"filePath": "a.rs", "oldString": old}]})),
        ("Serena", "replace_symbol_body", json!({"name_path": "A/b", "relative_path": "a.rs", "body": new})),
        ("Serena", "delete_lines", json!({"relative_path": "a.rs", "start_line": 1, "end_line": 2})),
        ("Serena", "rename_symbol", json!({"name_path": "A/b", "relative_path": "a.rs", "new_name": "c"})),
        ("Amp", "create_file", json!({"path": "a.rs", "content": new})),
        ("Augment", "str-replace-editor", json!({"command": "str_replace", "path": "a.rs"})),
        ("Augment", "save-file", json!({"path": "a.rs", "file_content": new})),
        ("Kiro", "fsWrite", json!({"path": "a.rs", "text": new})),
        ("Kiro", "strReplace", json!({"path": "a.rs", "oldStr": old, "newStr": new})),
        ("Kimi CLI", "StrReplaceFile", json!({"path": "a.rs", "edit": {"old": old, "new": new}})),
        ("Droid", "Create", json!({"file_path": "a.rs", "content": new})),
        ("Crush", "multiedit", json!({"file_path": "a.rs", "edits": []})),
        ("Hermes", "patch", json!({"path": "a.rs", "old_string": old, "new_string": new})),
        ("of one's own", "datei_write", json!({"file": "a.rs"})),
    ]
}

#[test]
fn editors_tools_change_the_file_that_they_name() {
    for (agent, tool, arguments) in changing() {
        assert_eq!(files(&[(tool, arguments.clone())]), lists(&[], &["a.rs"], &[], &[]), "{agent}: {tool} {arguments}");
    }
}

#[test]
fn what_is_deleted_or_moved_away_is_told_apart() {
    for (tool, arguments) in [
        ("delete_file", json!({"target_file": "a.rs", "explanation": "x"})),
        ("delete_path", json!({"path": "a.rs"})),
        ("remove-files", json!({"file_paths": ["a.rs"]})),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Delete File: a.rs\n*** End Patch"})),
        ("apply_patch", json!({"type": "delete_file", "path": "a.rs"})),
    ] {
        assert_eq!(files(&[(tool, arguments)]), lists(&[], &[], &["a.rs"], &[]), "{tool}");
    }
    for (tool, arguments) in [
        ("move_file", json!({"source": "a.rs", "destination": "b.rs"})),
        ("move_path", json!({"source_path": "a.rs", "destination_path": "b.rs"})),
        ("rename_file", json!({"path": "a.rs", "new_path": "b.rs"})),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n*** End Patch"})),
    ] {
        assert_eq!(files(&[(tool, arguments)]), lists(&[], &["b.rs"], &["a.rs"], &[]), "{tool}");
    }
    let again = [("delete_file", json!({"path": "a.rs"})), ("write_file", json!({"path": "a.rs"}))];
    assert_eq!(files(&again), lists(&[], &["a.rs"], &[], &[]));
    assert_eq!(
        files(&[("copy_path", json!({"source_path": "a", "destination_path": "b"}))]),
        lists(&[], &["b"], &[], &[])
    );
}

#[test]
fn other_tools_with_a_path_are_told_as_such() {
    for (tool, arguments) in [
        ("list_dir", json!({"relative_workspace_path": "", "path": "src"})),
        ("create_directory", json!({"path": "src"})),
        ("grep", json!({"pattern": "x", "path": "src"})),
        ("format", json!({"files": ["src/"]})),
        ("speichern", json!({"path": "src"})),
        ("text_editor", json!({"command": "think", "path": "src"})),
    ] {
        let path = if tool == "format" { "src/" } else { "src" };
        assert_eq!(files(&[(tool, arguments)]), lists(&[], &[], &[], &[path]), "{tool}");
    }
    let known = [("grep", json!({"path": "a.rs"})), ("view_file", json!({"AbsolutePath": "a.rs"}))];
    assert_eq!(files(&known), lists(&["a.rs"], &[], &[], &[]));
}

#[test]
fn what_names_no_path_names_no_file() {
    for (tool, arguments) in [
        ("bash", json!({"command": "rm a.rs", "path": "/w"})),
        ("fetch", json!({"path": "https://example.org/a"})),
        ("glob", json!({"path": "**/*.rs"})),
        ("send", json!({"from": "ann", "to": "bo", "file": "f_17"})),
        ("update_user", json!({"name": "a.rs"})),
        ("create", json!({"path": ""})),
        ("delete_file", json!({"path": 7})),
    ] {
        assert_eq!(files(&[(tool, arguments)]), lists(&[], &[], &[], &[]), "{tool}");
    }
}
