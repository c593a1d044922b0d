//! Files that an agent read, wrote and edited, told from its tool calls.

mod arguments;
mod ops;
mod patch;
mod recognise;
mod structure;

use std::collections::{BTreeMap, HashSet};

use crate::domain::model::compaction::FileLists;
use crate::domain::model::message::{Message, ToolCall};
use crate::domain::settings::{FileTool, default_file_tools};
use crate::domain::summary::text::quarters;
use arguments::arguments;

pub use ops::FileOps;

/// The file that an agent named last, for tools that go on with it.
#[derive(Debug, Clone, Default)]
pub struct OpenFile(Option<String>);

/// Which tools touch files: those of the table, and behind it whatever is known by the structure of its calls (patches,
/// commands in one argument, parts of names and arguments that are paths).
#[derive(Debug, Clone, Copy)]
pub struct FileTable<'a> {
    tools: &'a BTreeMap<String, FileTool>,
    /// The default table has SWE-agent's tools, whose edits are of the file that is open.
    edits_open_file: bool,
}

impl<'a> FileTable<'a> {
    pub fn new(tools: &'a BTreeMap<String, FileTool>) -> FileTable<'a> {
        FileTable { tools, edits_open_file: *tools == default_file_tools() }
    }
}

impl FileOps {
    /// Adds what the calls of the next message did.
    pub fn note(&mut self, message: &Message, table: FileTable<'_>, open_file: &mut OpenFile) {
        message.tool_calls().for_each(|call| self.note_call(call, table, open_file));
    }

    /// Adds what one call did.
    pub fn note_call(&mut self, call: &ToolCall, table: FileTable<'_>, open_file: &mut OpenFile) {
        let known = table.tools.get(&call.name).map(|tool| (tool.kind, arguments(call, &tool.path)));
        if let Some((kind, paths)) = known.filter(|(_, paths)| !paths.is_empty()) {
            paths.iter().for_each(|path| self.add(kind, path));
            open_file.0 = paths.last().map(|path| (*path).to_owned());
        } else {
            let open = open_file.0.as_deref().filter(|_| table.edits_open_file);
            recognise::recognise(call, open, self);
        }
    }
}

/// The files that a patch as Codex writes it names, if the text is one.
pub fn patched(text: &str) -> Vec<String> {
    let mut ops = FileOps::default();
    if patch::holds_patch(text) {
        patch::collect(text, &mut ops);
    }
    ops.written.into_iter().chain(ops.edited).collect()
}

impl FileLists {
    /// The lists without the paths that a ledger names, and those that are `told` elsewhere: what was done with them stands
    /// there.
    pub fn beside(&self, ledger: &str, told: &HashSet<&str>) -> FileLists {
        let marks = |c: char| c.is_whitespace() || "(),;".contains(c);
        let named: HashSet<&str> = ledger.split(marks).map(|word| word.trim_end_matches(':')).collect();
        let is_other = |path: &&String| !named.contains(path.as_str()) && !told.contains(path.as_str());
        let others = |paths: &[String]| paths.iter().filter(is_other).cloned().collect();
        FileLists { read_files: others(&self.read_files), modified_files: others(&self.modified_files) }
    }

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

#[cfg(test)]
mod tests;
