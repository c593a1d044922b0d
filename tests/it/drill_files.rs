//! Files that the tools of widely used agents touch, under default settings, in the wire format of each agent.

use serde_json::{Value, json};

use crate::app::App;

const PATCH: &str = "*** Begin Patch\n*** Add File: new.rs\n+fn new() {}\n*** Update File: old.rs\n*** Move to: moved.rs\n\
                     @@ fn old()\n-a\n+b\n*** Delete File: gone.rs\n*** End Patch";
const PATCHED: [&str; 4] = ["gone.rs", "moved.rs", "new.rs", "old.rs"];
/// Of these, what is there no more.
const GONE: [&str; 2] = ["gone.rs", "old.rs"];

type Case = (&'static str, &'static str, Value, &'static [&'static str], &'static [&'static str]);

/// Agent, tool, arguments; the files read and the files changed.
fn functions() -> Vec<Case> {
    let editor = |command: &str| json!({"command": command, "path": "/w/a.py"});
    let heredoc = format!("cd /w && apply_patch <<'EOF'\n{PATCH}\nEOF");
    let mut cases: Vec<Case> = vec![
        ("pi", "read", json!({"path": "a"}), &["a"], &[]),
        ("pi", "write", json!({"path": "a", "content": ""}), &[], &["a"]),
        ("pi", "edit", json!({"path": "a", "oldText": "x", "newText": "y"}), &[], &["a"]),
        ("Claude Code", "Read", json!({"file_path": "/w/a"}), &["/w/a"], &[]),
        ("Claude Code", "Write", json!({"file_path": "/w/a", "content": ""}), &[], &["/w/a"]),
        ("Claude Code", "Edit", json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"}), &[], &["/w/a"]),
        ("Claude Code", "MultiEdit", json!({"file_path": "/w/a", "edits": []}), &[], &["/w/a"]),
        ("Claude Code", "NotebookEdit", json!({"notebook_path": "/w/a.ipynb"}), &[], &["/w/a.ipynb"]),
        ("Claude Code", "Grep", json!({"pattern": "x", "path": "/w"}), &[], &[]),
        ("Codex", "apply_patch", json!({"input": PATCH}), &[], &PATCHED),
        ("Codex", "shell", json!({"command": ["apply_patch", PATCH]}), &[], &PATCHED),
        ("Codex", "shell", json!({"command": ["bash", "-lc", heredoc]}), &[], &PATCHED),
        ("Codex", "shell_command", json!({"command": heredoc}), &[], &PATCHED),
        ("Codex", "exec_command", json!({"cmd": heredoc}), &[], &PATCHED),
        ("Codex", "container.exec", json!({"cmd": ["bash", "-lc", heredoc]}), &[], &PATCHED),
        ("Codex", "shell", json!({"command": ["bash", "-lc", "sed -n 1,20p src/a.rs"]}), &[], &[]),
        ("Codex", "view_image", json!({"path": "a.png"}), &["a.png"], &[]),
        ("Gemini CLI", "read_file", json!({"absolute_path": "/w/a"}), &["/w/a"], &[]),
        ("Gemini CLI", "read_file", json!({"file_path": "a", "limit": 5}), &["a"], &[]),
        ("Gemini CLI", "read_file", json!({"path": "/w/a"}), &["/w/a"], &[]),
        ("Gemini CLI", "write_file", json!({"file_path": "/w/a", "content": ""}), &[], &["/w/a"]),
        ("Gemini CLI", "replace", json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"}), &[], &["/w/a"]),
        (
            "Gemini CLI",
            "read_many_files",
            json!({"paths": ["README.md", "src/**/*.ts"], "include": ["b"]}),
            &["README.md", "b"],
            &[],
        ),
        ("Gemini CLI", "run_shell_command", json!({"command": "ls"}), &[], &[]),
        ("SWE-agent", "open", json!({"path": "a.py", "line_number": 3}), &["a.py"], &[]),
        ("SWE-agent", "create", json!({"filename": "a.py"}), &[], &["a.py"]),
        ("opencode", "read", json!({"filePath": "/w/a", "offset": 1}), &["/w/a"], &[]),
        ("opencode", "write", json!({"filePath": "/w/a", "content": ""}), &[], &["/w/a"]),
        ("opencode", "edit", json!({"filePath": "/w/a", "oldString": "x", "newString": "y"}), &[], &["/w/a"]),
        ("opencode", "multiedit", json!({"filePath": "/w/a", "edits": []}), &[], &["/w/a"]),
        ("opencode", "patch", json!({"patchText": PATCH}), &[], &PATCHED),
        ("opencode", "apply_patch", json!({"patchText": PATCH}), &[], &PATCHED),
        ("OpenHands", "apply_patch", json!({"patch": PATCH}), &[], &PATCHED),
        ("OpenHands", "execute_bash", json!({"command": "cat a"}), &[], &[]),
    ];
    for (agent, tool) in [
        ("Anthropic", "str_replace_based_edit_tool"),
        ("Anthropic, SWE-agent, OpenHands", "str_replace_editor"),
        ("OpenHands", "file_editor"),
    ] {
        cases.push((agent, tool, editor("view"), &["/w/a.py"], &[]));
        for change in ["create", "str_replace", "insert", "undo_edit"] {
            cases.push((agent, tool, editor(change), &[], &["/w/a.py"]));
        }
        cases.push((agent, tool, editor("think"), &[], &[]));
    }
    cases
}

async fn files(app: &App, format: &str, items: Value) -> Value {
    let session = app.session(json!({})).await;
    app.append(&session, format, items).await;
    app.get(&format!("{session}/files")).await.expect(200)
}

/// What `files` answers where these were read and changed, and tools that are not known named `other`.
fn expected(read: &[&str], changed: &[&str], other: &[&str]) -> Value {
    let (deleted, modified): (Vec<&str>, Vec<&str>) = changed.iter().partition(|path| GONE.contains(path));
    json!({"read_files": read, "modified_files": modified, "deleted_files": deleted, "other_paths": other})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_table_knows_the_tools_of_common_agents() {
    let app = App::shared();
    let mut wrong = Vec::new();
    for (agent, tool, arguments, read, changed) in functions() {
        let other: &[&str] = match (&arguments["command"], tool) {
            (_, "Grep") => &["/w"],
            (command, _) if *command == "think" => &["/w/a.py"],
            _ => &[],
        };
        let expected = expected(read, changed, other);
        let function = json!({"name": tool, "arguments": arguments.to_string()});
        let chat = json!([{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": function}]}]);
        let anthropic = json!([{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": tool, "input": arguments}]}]);
        for (format, items) in [("openai_chat", chat), ("anthropic", anthropic)] {
            let found = files(app, format, items).await;
            if found != expected {
                wrong.push(format!("{agent} {tool} {arguments} as {format}: {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_are_seen_in_every_form_that_codex_has() {
    let app = App::shared();
    let heredoc = format!("apply_patch <<'PATCH'\n{PATCH}\nPATCH");
    let operation = |kind: &str, path: &str| json!({"type": "apply_patch_call", "call_id": path, "status": "completed", "operation": {"type": kind, "path": path, "diff": "+x"}});
    for (items, changed) in [
        (json!([{"type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "input": PATCH}]), &PATCHED[..]),
        (json!([{"type": "custom_tool_call", "call_id": "a", "name": "exec", "input": PATCH}]), &PATCHED),
        (
            json!([{"type": "local_shell_call", "call_id": "a", "status": "completed", "action": {"type": "exec", "command": ["bash", "-lc", heredoc]}}]),
            &PATCHED,
        ),
        (
            json!([{"type": "shell_call", "call_id": "a", "status": "completed", "action": {"commands": [heredoc]}}]),
            &PATCHED,
        ),
        (
            json!([
                operation("create_file", "a.rs"),
                operation("update_file", "b.rs"),
                operation("delete_file", "gone.rs")
            ]),
            &["a.rs", "b.rs", "gone.rs"],
        ),
    ] {
        let found = files(app, "openai_responses", items.clone()).await;
        assert_eq!(found, expected(&[], changed, &[]), "{items}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn swe_agents_edit_changes_the_open_file() {
    let app = App::shared();
    let call = |id: &str, name: &str, arguments: Value| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
    };
    let items = json!([
        call("1", "open", json!({"path": "a.py"})),
        call("2", "edit", json!({"search": "x", "replace": "y"})),
        call("3", "create", json!({"filename": "b.py"})),
        call("4", "insert", json!({"text": "z"})),
    ]);
    assert_eq!(files(app, "openai_chat", items).await, expected(&[], &["a.py", "b.py"], &[]));
}
