//! What a result of a tool holds besides the tool's own words, told by the words of its name.

/// Whose text a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownText {
    /// The tool's own: its fields are of its end.
    Nothing,
    /// What a command printed, perhaps in a wrapper: `{"success": false}` is what a program wrote.
    Commands,
    /// A file as it is: whatever stands in it, it was read.
    Files,
}

/// Tools that run whatever command they are given.
const SHELLS: [&str; 6] = ["bash", "shell", "sh", "terminal", "exec", "powershell"];
/// With a command behind them: `execute_command`, `runCommand`.
const RUNS: [&str; 2] = ["run", "execute"];
const COMMANDS: [&str; 4] = ["command", "commands", "cmd", "script"];
/// Tools that show a file are named by these words alone. With another (`read_emails`) it is no file that is read.
const READS: [&str; 6] = ["read", "view", "cat", "open", "get", "fs"];
const FILES: [&str; 10] =
    ["file", "files", "text", "media", "contents", "content", "many", "multiple", "image", "notebook"];

impl ShownText {
    pub fn by(tool: &str) -> ShownText {
        let words = words(last_part(tool));
        let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
        let alone = words.iter().all(|word| READS.contains(&word.as_str()) || FILES.contains(&word.as_str()));
        // `open` and `get` read a file only where they say so.
        let reads = any(&["read", "view", "cat"]) || any(&["open", "get"]) && any(&["file", "files"]);
        if any(&SHELLS) || any(&RUNS) && any(&COMMANDS) {
            ShownText::Commands
        } else if reads && alone {
            ShownText::Files
        } else {
            ShownText::Nothing
        }
    }
}

/// The tool's own name behind a server's, as in `mcp__files__read_file` and `developer.shell`.
pub fn last_part(name: &str) -> &str {
    let name = name.rsplit("__").next().unwrap_or(name);
    name.rsplit(['.', '/', ':']).next().unwrap_or(name)
}

/// The words of a name in lower case: `readFile`, `read-file` and `read_file` have the same.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for c in name.chars() {
        let begins = !before.is_alphanumeric() || c.is_uppercase() && before.is_lowercase();
        match words.last_mut() {
            Some(word) if c.is_alphanumeric() && !begins => word.extend(c.to_lowercase()),
            _ if c.is_alphanumeric() => words.push(c.to_lowercase().collect()),
            _ => {}
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_told_by_the_words_of_its_name() {
        for (of, tools) in [
            (
                ShownText::Commands,
                "Bash shell execute_command run_shell_command run_terminal_cmd exec_command container.exec shell_command \
                 developer__shell execute_bash runCommands PowerShell command_run",
            ),
            (
                ShownText::Files,
                "Read read_file readFile read_many_files view_file view cat fs_read open_file mcp__filesystem__read_text_file \
                 get_file_contents NotebookRead",
            ),
            (
                ShownText::Nothing,
                "read_emails get_user open send_command execute_trade open_account edit_file view_orders file_write_ok x",
            ),
        ] {
            for tool in tools.split_whitespace() {
                assert_eq!(ShownText::by(tool), of, "{tool}");
            }
        }
        assert_eq!(ShownText::by(""), ShownText::Nothing);
    }
}
