use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::compaction::FileLists;
use crate::model::message::{Block, CallKind, Role, ToolCall};
use crate::settings::FileKind;

fn calls(calls: &[(&str, Value)]) -> Message {
    let content = calls.iter().map(|(name, arguments)| {
        Block::ToolCall(ToolCall {
            id: String::new(),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
            arguments_text: None,
            kind: CallKind::Function,
            opaque: None,
        })
    });
    Message { role: Role::Assistant, content: content.collect(), stop: None, opaque: None }
}

fn collected(list: &[(&str, Value)]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let tools = default_file_tools();
    let mut ops = FileOps::default();
    ops.note(&calls(list), FileTable::new(&tools), &mut OpenFile::default());
    (ops.read.into_iter().collect(), ops.written.into_iter().collect(), ops.edited.into_iter().collect())
}

fn expect(list: &[(&str, Value)], read: &[&str], written: &[&str], edited: &[&str]) {
    let (is_read, is_written, is_edited) = collected(list);
    assert_eq!((is_read, is_written, is_edited), (owned(read), owned(written), owned(edited)));
}

fn owned(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn knows_the_tools_of_common_agents_by_name() {
    expect(
        &[("read", json!({"path": "a"})), ("write", json!({"path": "b"})), ("edit", json!({"path": "c"}))],
        &["a"],
        &["b"],
        &["c"],
    );
    expect(
        &[
            ("Read", json!({"file_path": "a"})),
            ("Write", json!({"file_path": "b"})),
            ("MultiEdit", json!({"file_path": "c"})),
            ("NotebookEdit", json!({"notebook_path": "d"})),
        ],
        &["a"],
        &["b"],
        &["c", "d"],
    );
    expect(
        &[("read_file", json!({"absolute_path": "/a"})), ("replace", json!({"file_path": "b", "old_string": ""}))],
        &["/a"],
        &[],
        &["b"],
    );
}

#[test]
fn a_path_that_is_none_is_no_file() {
    expect(
        &[
            ("read", json!({"path": ""})),
            ("read", json!({"path": 7})),
            ("read", json!("x")),
            ("grep", json!({"path": "a"})),
        ],
        &[],
        &[],
        &[],
    );
}

#[test]
fn text_editors_say_what_they_do_in_an_argument() {
    let editor = |command: &str, path: &str| ("str_replace_based_edit_tool", json!({"command": command, "path": path}));
    expect(
        &[
            editor("view", "a"),
            editor("create", "b"),
            editor("str_replace", "c"),
            editor("insert", "d"),
            editor("x", "e"),
        ],
        &["a"],
        &["b"],
        &["c", "d"],
    );
}

#[test]
fn patches_are_read_wherever_they_are() {
    let patch = "*** Begin Patch\n*** Add File: new.rs\n+*** Update File: not a marker\n*** Update File: old.rs\n\
                 *** Move to: moved.rs\n@@\n-x\n*** Delete File: gone.rs\n*** End Patch";
    let (written, edited) = (["moved.rs", "new.rs"], ["gone.rs", "old.rs"]);
    expect(&[("apply_patch", json!({"input": patch}))], &[], &written, &edited);
    expect(&[("apply_patch", json!(patch))], &[], &written, &edited);
    expect(&[("shell", json!({"command": ["apply_patch", patch]}))], &[], &written, &edited);
    let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF");
    expect(&[("shell", json!({"command": ["bash", "-lc", heredoc]}))], &[], &written, &edited);
    expect(&[("shell", json!({"command": ["cat", patch]}))], &[], &[], &[]);
}

#[test]
fn an_edit_without_a_path_changes_the_open_file() {
    let edit = || ("edit", json!({"search": "x", "replace": "y"}));
    expect(&[edit(), ("open", json!({"path": "a"})), edit()], &["a"], &[], &["a"]);
    expect(&[("create", json!({"filename": "b"})), edit()], &[], &["b"], &["b"]);
}

#[test]
fn a_session_table_goes_before_what_is_told_by_structure() {
    let tool = |kind, path: &str| FileTool { kind, path: path.to_owned() };
    let tools = BTreeMap::from([
        ("cat".to_owned(), tool(FileKind::Read, "file")),
        ("edit_view".to_owned(), tool(FileKind::Read, "path")),
    ]);
    let mut ops = FileOps::default();
    let list =
        [("cat", json!({"file": "a"})), ("edit_view", json!({"path": "b"})), ("edit_file", json!({"path": "c"}))];
    ops.note(&calls(&list), FileTable::new(&tools), &mut OpenFile::default());
    let (read, edited) = (["a".to_owned(), "b".to_owned()].into(), ["c".to_owned()].into());
    assert_eq!(ops, FileOps { read, edited, ..FileOps::default() });
}

#[test]
fn lists_are_disjoint_and_sorted_as_javascript_sorts() {
    let mut ops = FileOps::default();
    ops.seed(&FileLists { read_files: owned(&["\u{fb01}", "🙂", "b", "c"]), modified_files: owned(&["b"]) });
    ops.written.insert("c".to_owned());
    // By UTF-8 the ligature would come first.
    assert_eq!(ops.lists(), FileLists { read_files: owned(&["🙂", "\u{fb01}"]), modified_files: owned(&["b", "c"]) });
}

proptest! {
    #[test]
    fn what_is_passed_on_is_never_lost(
        names in prop::collection::vec((0..3_u8, "[a-c]"), 0..20),
        seeds in (prop::collection::vec("[a-d]", 0..4), prop::collection::vec("[a-d]", 0..4)),
    ) {
        let tools = default_file_tools();
        let list: Vec<(&str, Value)> = names
            .iter()
            .map(|(kind, path)| (["read", "write", "edit"][usize::from(*kind)], json!({"path": path})))
            .collect();
        let mut ops = FileOps::default();
        ops.seed(&FileLists { read_files: seeds.0.clone(), modified_files: seeds.1.clone() });
        ops.note(&calls(&list), FileTable::new(&tools), &mut OpenFile::default());
        let lists = ops.lists();
        let mut all: Vec<String> = [lists.read_files.clone(), lists.modified_files.clone()].concat();
        all.sort();
        let named = names.into_iter().map(|(_, path)| path);
        let wanted: BTreeSet<String> = named.chain(seeds.0).chain(seeds.1.clone()).collect();
        prop_assert_eq!(all, wanted.into_iter().collect::<Vec<_>>());
        prop_assert!(seeds.1.iter().all(|path| lists.modified_files.contains(path)));
    }
}
