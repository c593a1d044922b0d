//! Files that are written whole more than once: what was written before the last time stands nowhere any more.

use std::borrow::Cow;
use std::collections::HashMap;

use super::arguments::{fields, is_path};
use super::effect::is_read_only;
use crate::model::message::ToolCall;

/// Parts of the names of tools, or of their commands, that write a whole file.
const WRITING: [&str; 2] = ["write", "create"];
/// Files that are known, and bytes of a path.
const MOST_FILES: usize = 4_096;
const MOST_PATH: usize = 400;

/// The newest line in which each file was written whole.
#[derive(Debug, Default)]
pub(super) struct RewrittenFiles {
    newest: HashMap<String, usize>,
}

impl RewrittenFiles {
    /// Learns from the calls of a span that returned, the newest first.
    pub fn learn(&mut self, at: usize, call: &ToolCall) {
        if self.newest.len() < MOST_FILES
            && let Some(path) = written(call)
        {
            self.newest.entry(path.into_owned()).or_insert(at);
        }
    }

    /// The path that a call changed, where the file was written whole after that.
    pub fn overtaken<'c>(&self, at: usize, call: &'c ToolCall) -> Option<Cow<'c, str>> {
        if self.newest.is_empty() || is_read_only(&call.name, &call.arguments) {
            return None;
        }
        path(call).filter(|path| self.newest.get(path.as_ref()).is_some_and(|newest| *newest > at))
    }
}

/// The file that a call names.
fn path(call: &ToolCall) -> Option<Cow<'_, str>> {
    fields(call)
        .into_iter()
        .find(|(name, value)| is_path(name, value) && value.len() <= MOST_PATH)
        .map(|(_, path)| path)
}

/// The file that a call writes whole: beside its path it has one text of several lines, and no number that says where.
fn written(call: &ToolCall) -> Option<Cow<'_, str>> {
    let writes = |word: &str| WRITING.iter().any(|part| word.to_ascii_lowercase().contains(part));
    let all = fields(call);
    let is_command = |(name, value): &(&str, Cow<'_, str>)| *name == "command" && writes(value);
    if !writes(&call.name) && !all.iter().any(is_command) {
        return None;
    }
    let texts = all.iter().filter(|(_, value)| value.trim().contains('\n')).count();
    let says_where = all.iter().any(|(_, value)| value.parse::<f64>().is_ok());
    path(call).filter(|_| texts == 1 && !says_where)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::message::{Message, Role};
    use crate::record::testing::{call_with, result, said};
    use crate::record::{RecordSource, testing};
    use crate::settings::Estimator;

    fn write(id: &str, path: &str, marks: &str) -> Message {
        let content: String = (0..6).map(|n| format!("const {marks}_{n} = {n};\n")).collect();
        call_with(id, "Write", json!({"file_path": path, "content": content}))
    }

    #[test]
    fn the_last_version_of_a_file_is_told() {
        let source = RecordSource::of([
            said(Role::User, "Bau das Spiel."),
            write("a", "game.gd", "FIRST"),
            result("a", "ok"),
            call_with("b", "Edit", json!({"file_path": "game.gd", "old_string": "x", "new_string": "MIDDLE = 1"})),
            result("b", "ok"),
            write("c", "game.gd", "LAST"),
            result("c", "ok"),
            write("d", "other.gd", "OTHER"),
            result("d", "ok"),
            call_with("e", "Edit", json!({"file_path": "game.gd", "old_string": "x", "new_string": "NEWEST = 1"})),
            result("e", "ok"),
            testing::call("f", "read", "game.gd"),
            result("f", "const LAST_0"),
        ]);
        let told = source.record(4_000, Estimator::Pi);
        for shown in ["Write(game.gd, […])", "Edit(game.gd, […])", "LAST_0", "OTHER_0", "NEWEST = 1"] {
            assert!(told.contains(shown), "{shown}: {told}");
        }
        for gone in ["FIRST_", "MIDDLE"] {
            assert!(!told.contains(gone), "{gone}: {told}");
        }
    }

    #[test]
    fn what_says_where_or_holds_one_line_writes_no_whole_file() {
        for arguments in [
            json!({"path": "a.rs", "content": "one line"}),
            json!({"path": "a.rs", "insert_line": 4, "text": "a\nb"}),
            json!({"path": "a.rs", "old": "a\nb", "new": "c\nd"}),
            json!({"content": "a\nb"}),
        ] {
            let message = call_with("a", "write", arguments);
            assert!(message.tool_calls().all(|call| written(call).is_none()), "{message:?}");
        }
    }
}
