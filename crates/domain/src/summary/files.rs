//! Files that an agent read, wrote and edited, told from its tool calls.

mod arguments;
mod ops;
mod patch;
mod recognise;
mod structure;

use std::collections::BTreeMap;

use crate::model::message::{Message, ToolCall};
use crate::settings::{FileTool, default_file_tools};
use arguments::arguments;

pub use ops::FileOps;
pub(super) use recognise::strings;

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

#[cfg(test)]
mod tests;
