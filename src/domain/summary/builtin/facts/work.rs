//! What was done to files, file by file.

use std::collections::HashMap;

use serde_json::Value;

use super::super::super::files::{FileOps, FileTable, OpenFile};
use super::super::super::text::{clip, one_line, whole, words};
use crate::domain::model::message::ToolCall;
use crate::domain::summary::ledger::{PURPOSE, file_work};

/// Names of what was changed in one file.
const MAX_NAMES: usize = 6;
const NAME_CHARS: usize = 48;
/// Part of a text that is searched for names, in lines.
const MAX_LINES: usize = 400;
/// Longer paths are told by their last parts; ledger and file lists have them whole.
const MAX_PATH: usize = 120;

const WRITTEN: &str = "written";
const EDITED: &str = "edited";

const PURPOSE_CHARS: usize = 90;
/// First lines of a new file in which it may say what it is.
const OPENING_LINES: usize = 12;
/// Words that a purpose has at least, the file's own name aside.
const LEAST_WORDS: usize = 4;

/// How often a file was written and edited, which functions and types were touched, and what for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileWork {
    pub path: String,
    pub written: u32,
    pub edited: u32,
    pub names: Vec<String>,
    /// What it was made for, or edited for last.
    pub purpose: Option<String>,
}

impl FileWork {
    /// `src/a.rs: written, edited ×3 (login, check_token) — keep the session`.
    pub fn told(&self) -> String {
        let times = |word: &str, count: u32| match count {
            0 => None,
            1 => Some(word.to_owned()),
            many => Some(format!("{word} ×{many}")),
        };
        let verbs: Vec<String> =
            [times(WRITTEN, self.written), times(EDITED, self.edited)].into_iter().flatten().collect();
        let names = if self.names.is_empty() { String::new() } else { format!(" ({})", self.names.join(", ")) };
        let purpose = self.purpose.iter().map(|purpose| format!("{PURPOSE}{purpose}")).collect::<String>();
        format!("{}: {}{names}{purpose}", self.path, verbs.join(", "))
    }

    /// Reads what [`told`](FileWork::told) wrote. `None`: it is something else.
    pub fn read(item: &str) -> Option<FileWork> {
        let (path, said) = file_work(item)?;
        let (verbs, names) = match said.split_once(" (") {
            Some((verbs, names)) => (verbs, names.strip_suffix(')')?),
            None => (said, ""),
        };
        let mut work = FileWork { path: path.to_owned(), ..FileWork::default() };
        for verb in verbs.split(", ") {
            let (word, times) = verb.split_once(" ×").unwrap_or((verb, "1"));
            let times = times.parse().ok()?;
            match word {
                WRITTEN => work.written = times,
                EDITED => work.edited = times,
                _ => return None,
            }
        }
        work.names = names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        work.purpose = item.split_once(PURPOSE).map(|(_, purpose)| purpose.to_owned());
        Some(work)
    }

    /// The same, with what the call was said to be for, where nothing is told of it yet.
    pub fn said_to(mut self, purpose: Option<&String>) -> FileWork {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or_default();
        let tells = |purpose: &&String| enough(&purpose.replace(&self.path, " ").replace(name, " "));
        let said = purpose.filter(tells).and_then(|purpose| purpose_of(purpose));
        self.purpose = self.purpose.or(said);
        self
    }

    fn add(&mut self, newer: FileWork) {
        self.names.retain(|name| !newer.names.contains(name));
        self.names.extend(newer.names);
        let surplus = self.names.len().saturating_sub(MAX_NAMES);
        self.names.drain(..surplus);
        let made = self.written > 0 && newer.written == 0;
        self.purpose = if made { self.purpose.take().or(newer.purpose) } else { newer.purpose.or(self.purpose.take()) };
        self.written = self.written.saturating_add(newer.written);
        self.edited = self.edited.saturating_add(newer.edited);
    }
}

/// One entry for each file, where it was touched last.
pub fn joined(all: impl IntoIterator<Item = FileWork>) -> Vec<FileWork> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut joined: Vec<Option<FileWork>> = Vec::new();
    for newer in all {
        let earlier = places.insert(newer.path.clone(), joined.len()).and_then(|at| joined.get_mut(at)?.take());
        joined.push(Some(match earlier {
            Some(mut work) => {
                work.add(newer);
                work
            }
            None => newer,
        }));
    }
    joined.into_iter().flatten().collect()
}

/// What a call that worked did to files.
pub fn of(call: &ToolCall, table: FileTable<'_>, open: &mut OpenFile) -> Vec<FileWork> {
    let mut ops = FileOps::default();
    ops.note_call(call, table, open);
    if ops.written.is_empty() && ops.edited.is_empty() {
        return Vec::new();
    }
    let names = names_in(&call.arguments);
    let work = |path: &String, written, edited| FileWork {
        path: short(path),
        written,
        edited,
        names: names.clone(),
        purpose: None,
    };
    let opening = opening_of(&call.arguments);
    let written = ops.written.iter().map(|path| work(path, 1, 0).said_to(opening.as_ref()));
    written.chain(ops.edited.iter().map(|path| work(path, 0, 1))).collect()
}

/// A purpose on one line, as far as it ends whole.
fn purpose_of(text: &str) -> Option<String> {
    let line = one_line(text).replace(PURPOSE, ", ").replace("; ", ", ");
    whole(line.trim_end_matches(['.', ':', ',']), PURPOSE_CHARS)
}

/// What a new file says of itself: the first line of its comment or its title, before there is anything else.
fn opening_of(arguments: &Value) -> Option<String> {
    let content = ["content", "file_text", "text"].iter().find_map(|key| arguments.get(key)?.as_str())?;
    let lines = content.lines().map(str::trim).filter(|line| !line.is_empty()).take(OPENING_LINES);
    let mut opening = lines.take_while(|line| line.starts_with(OPENS) || is_package(line));
    opening.find_map(|line| comment(line).filter(|said| describes(said))).map(str::to_owned)
}

/// Characters that a comment's line begins with.
const OPENS: [char; 7] = ['/', '#', '*', '"', '-', '<', '%'];

/// Returns true for the line that says what a file is part of.
fn is_package(line: &str) -> bool {
    ["package ", "module ", "namespace "].iter().any(|word| line.starts_with(word))
}

/// The text of a comment's line, or of a title.
fn comment(line: &str) -> Option<&str> {
    const MARKS: [&str; 12] = ["//! ", "/// ", "// ", "/** ", "/* ", "* ", "# ", "## ", "\"\"\"", "-- ", "<!-- ", "% "];
    let said = MARKS.iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(said.trim_end_matches(['*', '/', '"', '>', '-', ' ']).trim())
}

fn describes(said: &str) -> bool {
    const OTHERS: [&str; 9] = ["copyright", "spdx", "license", "eslint", "prettier", "todo", "generated", "@", "-*-"];
    let lower = said.to_lowercase();
    let other = OTHERS.iter().any(|word| lower.contains(word)) || said.contains(['{', ';', '=']);
    !other && enough(said)
}

fn enough(said: &str) -> bool {
    !said.is_ascii() || words(said).take(LEAST_WORDS).count() == LEAST_WORDS
}

/// A long path's last parts.
fn short(path: &str) -> String {
    let path = path.trim();
    if path.chars().count() <= MAX_PATH {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = path.rsplit(['/', '\\']).filter(|part| !part.is_empty()).take(3).collect();
    parts.reverse();
    clip(&parts.join("/"), MAX_PATH)
}

/// Names that are defined in the texts of a call's arguments, as far as one line tells.
fn names_in(arguments: &Value) -> Vec<String> {
    let Value::Object(fields) = arguments else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    let texts = fields.iter().filter(|(key, _)| !key.starts_with("old")).flat_map(|(_, value)| strings(value));
    for line in texts.flat_map(str::lines).take(MAX_LINES) {
        if names.len() >= MAX_NAMES {
            break;
        }
        if let Some(name) = defined(line).filter(|name| !names.iter().any(|known| known == name)) {
            names.push(name.to_owned());
        }
    }
    names
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().take(20).flat_map(strings).collect(),
        Value::Object(fields) => {
            fields.iter().filter(|(key, _)| !key.starts_with("old")).flat_map(|(_, value)| strings(value)).collect()
        }
        _ => Vec::new(),
    }
}

/// The name that a line of code defines: `pub fn login(` → `login`.
fn defined(line: &str) -> Option<&str> {
    const BEFORE: [&str; 12] = [
        "pub(crate) ",
        "pub(super) ",
        "pub ",
        "export ",
        "default ",
        "async ",
        "static ",
        "abstract ",
        "private ",
        "public ",
        "protected ",
        "unsafe ",
    ];
    const DEFINES: [&str; 12] = [
        "fn ",
        "def ",
        "func ",
        "function ",
        "class ",
        "struct ",
        "enum ",
        "trait ",
        "interface ",
        "type ",
        "const fn ",
        "impl ",
    ];
    let mut line = line.trim_start_matches('+').trim_start();
    while let Some(rest) = BEFORE.iter().find_map(|word| line.strip_prefix(word)) {
        line = rest;
    }
    let (mark, mut rest) = DEFINES.iter().find_map(|mark| Some((*mark, line.strip_prefix(*mark)?)))?;
    if mark == "func " && rest.starts_with('(') {
        // A method of Go: its receiver comes first.
        rest = rest.split_once(") ")?.1;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let defines = mark != "type " || after.trim_start().starts_with(['=', 's', 'i', '<']);
    (defines && name.len() > 1 && name.len() <= NAME_CHARS && !name.starts_with(|c: char| c.is_ascii_digit()))
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::super::testing::call;
    use super::*;
    use crate::domain::settings::default_file_tools;

    fn done(name: &str, arguments: Value) -> Vec<FileWork> {
        let message = call("c", name, arguments);
        let tools = default_file_tools();
        of(message.tool_calls().next().expect("a call"), FileTable::new(&tools), &mut OpenFile::default())
    }

    #[test]
    fn tells_what_was_changed() {
        let text = "impl Login {\n    pub async fn check(&self) {}\n}\nfn login() {}";
        let write = done("Write", json!({"file_path": "src/a.rs", "content": text}));
        assert_eq!(write[0].told(), "src/a.rs: written (Login, check, login)");
        let edit =
            |new: &str| done("Edit", json!({"file_path": "src/a.rs", "old_string": "fn gone() {}", "new_string": new}));
        let all = joined(write.into_iter().chain(edit("let x = 1;")).chain(edit("def login(user):")));
        assert_eq!(all[0].told(), "src/a.rs: written, edited ×2 (Login, check, login)");
        assert_eq!(FileWork::read(&all[0].told()), Some(all[0].clone()));
        let patch = |folder: &str| {
            let patch = format!(
                "*** Begin Patch\n*** Update File: {folder}/cmd/cli/main.go\n+func (r *Runner) Start() {{\n*** End Patch"
            );
            done("apply_patch", json!({"input": patch}))[0].told()
        };
        assert_eq!(patch("/home/somebody/work"), "/home/somebody/work/cmd/cli/main.go: edited (Start)");
        assert_eq!(patch(&"/a/long/way".repeat(12)), "cmd/cli/main.go: edited (Start)");
        assert!(done("Read", json!({"file_path": "src/a.rs"})).is_empty());
    }

    #[test]
    fn tells_what_for() {
        let text = "// Copyright of Ann\npackage b\n\n// Scan is a no-op where there is no terminal.\nfunc Scan() {}";
        let write = done("Write", json!({"file_path": "b.go", "content": text}));
        assert_eq!(write[0].told(), "b.go: written (Scan) — Scan is a no-op where there is no terminal");
        let edit = |purpose: &str| {
            let edit = done("Edit", json!({"file_path": "b.go", "new_string": "x"}));
            edit[0].clone().said_to(Some(&purpose.to_owned()))
        };
        let all = joined([write[0].clone(), edit("close the terminal; on errors too")]);
        assert_eq!(all[0].told(), "b.go: written, edited (Scan) — Scan is a no-op where there is no terminal");
        let all =
            joined([edit("open it twice — or so"), edit("close the terminal; on errors too."), edit("update b.go")]);
        assert_eq!(all[0].told(), "b.go: edited ×3 — close the terminal, on errors too");
        assert_eq!(FileWork::read(&all[0].told()), Some(all[0].clone()));
    }

    #[test]
    fn reads_nothing_else() {
        for item in ["bash: cargo test → ok", "Decided: use tabs", "a: edited ×x", "x: edited, deleted"] {
            assert_eq!(FileWork::read(item), None, "{item}");
        }
    }
}
