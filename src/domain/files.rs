//! Files that an agent read, wrote and edited, told from its tool calls.

mod patch;
mod recognise;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::compaction::FileLists;
use super::message::{Message, ToolCall};
use super::settings::{FileKind, FileTool};
use super::summary::text::quarters;

/// Paths by what was done with them. A path may be in several sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOps {
    pub read: BTreeSet<String>,
    pub written: BTreeSet<String>,
    pub edited: BTreeSet<String>,
}

/// The file that an agent named last, for tools that go on with it.
#[derive(Debug, Clone, Default)]
pub struct OpenFile(Option<String>);

/// Which tools touch files. The default table comes with recognisers for tools that no table can describe
/// (patches, commands in one argument); a session's own table stands alone.
#[derive(Debug, Clone, Copy)]
pub struct FileTable<'a> {
    tools: &'a BTreeMap<String, FileTool>,
    recognise: bool,
}

/// The tools known by name. `path` may name alternatives, separated by `|`: the first that is there counts.
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
        ("open", FileKind::Read, "path"),
        ("create", FileKind::Write, "filename|path"),
    ];
    tools.into_iter().map(|(name, kind, path)| (name.to_owned(), FileTool { kind, path: path.to_owned() })).collect()
}

impl<'a> FileTable<'a> {
    pub fn new(tools: &'a BTreeMap<String, FileTool>) -> FileTable<'a> {
        FileTable { tools, recognise: *tools == default_file_tools() }
    }
}

impl FileOps {
    /// Starts from what an earlier summary passes on.
    pub fn seed(&mut self, lists: &FileLists) {
        self.read.extend(lists.read_files.iter().cloned());
        self.edited.extend(lists.modified_files.iter().cloned());
    }

    /// Adds what the calls of these messages, in order, did.
    pub fn collect<'m>(&mut self, messages: impl IntoIterator<Item = &'m Message>, table: FileTable<'_>) {
        let mut open_file = OpenFile::default();
        messages.into_iter().for_each(|message| self.note(message, table, &mut open_file));
    }

    /// Adds what the calls of the next message did.
    pub fn note(&mut self, message: &Message, table: FileTable<'_>, open_file: &mut OpenFile) {
        for call in message.tool_calls() {
            let known = table.tools.get(&call.name).and_then(|tool| Some((tool.kind, argument(call, &tool.path)?)));
            if let Some((kind, path)) = known {
                self.add(kind, path);
                open_file.0 = Some(path.to_owned());
            } else if table.recognise {
                recognise::recognise(call, open_file.0.as_deref(), self);
            }
        }
    }

    /// What was changed, and what was only read: disjoint, sorted by UTF-16 code units.
    pub fn lists(&self) -> FileLists {
        let modified: BTreeSet<&String> = self.edited.union(&self.written).collect();
        let read = self.read.iter().filter(|path| !modified.contains(path));
        FileLists { read_files: sorted(read), modified_files: sorted(modified.iter().copied()) }
    }

    fn add(&mut self, kind: FileKind, path: &str) {
        let set = match kind {
            FileKind::Read => &mut self.read,
            FileKind::Write => &mut self.written,
            FileKind::Edit => &mut self.edited,
        };
        set.insert(path.to_owned());
    }
}

impl FileLists {
    /// The lists as a summary shows them, in about `max_tokens` (four characters each): what was changed first. A
    /// list that is cut says so in its last line.
    pub fn within(&self, max_tokens: u32) -> FileLists {
        let mut room = (max_tokens as usize).saturating_mul(4);
        let mut shorten = |paths: &[String]| {
            let fits = |path: &&String| {
                let cost = quarters(path) + 1;
                room = room.saturating_sub(cost);
                room > 0
            };
            let mut shown: Vec<String> = paths.iter().take_while(fits).cloned().collect();
            if shown.len() < paths.len() {
                shown.push(format!("(… {} more)", paths.len() - shown.len()));
            }
            shown
        };
        let modified_files = shorten(&self.modified_files);
        FileLists { read_files: shorten(&self.read_files), modified_files }
    }
}

fn argument<'c>(call: &'c ToolCall, names: &str) -> Option<&'c str> {
    names.split('|').find_map(|name| {
        let value = call.arguments.get(name).and_then(Value::as_str);
        value.filter(|path| !path.is_empty())
    })
}

fn sorted<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut paths: Vec<String> = paths.cloned().collect();
    paths.sort_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
    paths
}

#[cfg(test)]
mod tests;
