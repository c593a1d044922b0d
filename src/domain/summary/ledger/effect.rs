//! Which calls change nothing, and which argument says what a call acts on.

use serde_json::{Map, Value};

const READING: [&str; 33] = [
    "read",
    "view",
    "cat",
    "ls",
    "list",
    "glob",
    "grep",
    "search",
    "find",
    "get",
    "fetch",
    "query",
    "lookup",
    "show",
    "describe",
    "count",
    "calculate",
    "think",
    "inspect",
    "status",
    "head",
    "tail",
    "stat",
    "scroll",
    "goto",
    "load",
    "retrieve",
    "check",
    "diff",
    "websearch",
    "webfetch",
    "browse",
    "print",
];

const CHANGING: [&str; 27] = [
    "write", "create", "update", "delete", "remove", "send", "edit", "insert", "replace", "set", "put", "post",
    "patch", "run", "exec", "execute", "book", "cancel", "modify", "add", "move", "rename", "submit", "push", "apply",
    "upload", "buy",
];

const SHELL_TOOLS: [&str; 9] =
    ["bash", "shell", "sh", "exec_command", "local_shell", "run_shell_command", "terminal", "execute_bash", "command"];

const INSPECTING: [&str; 26] = [
    "ls", "cat", "grep", "rg", "find", "head", "tail", "pwd", "wc", "which", "file", "stat", "tree", "du", "df", "ps",
    "whoami", "date", "cd", "echo", "sort", "uniq", "cut", "tr", "jq", "diff",
];

const GIT_INSPECTING: [&str; 5] = ["status", "log", "diff", "show", "blame"];

const TARGETS: [&str; 22] = [
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "filename",
    "file",
    "notebook_path",
    "command",
    "cmd",
    "url",
    "uri",
    "query",
    "pattern",
    "input",
    "patch",
    "id",
    "name",
    "title",
    "prompt",
    "description",
    "to",
    "message",
];

/// Returns true if name and arguments are those of a call that changes nothing; false if they are not recognised.
pub fn is_read_only(name: &str, arguments: &Value) -> bool {
    let field = |key: &str| arguments.get(key).and_then(Value::as_str);
    if SHELL_TOOLS.contains(&name.to_ascii_lowercase().as_str()) {
        return field("command").or_else(|| field("cmd")).is_some_and(inspects);
    }
    if field("command") == Some("view") {
        return true;
    }
    let words = name_words(name);
    // Names of MCP tools start with their server's: the verb is then not the first word.
    let reads = words.iter().any(|word| READING.contains(&word.as_str()));
    reads && !words.iter().any(|word| CHANGING.contains(&word.as_str()))
}

/// Shell commands, chained or piped, without redirection or substitution, each of which only looks.
fn inspects(command: &str) -> bool {
    let command = command.replace("2>&1", "").replace("2>/dev/null", "").replace("&&", ";");
    let suspicious = [">", "`", "$(", "<(", "\n", "-delete", "-exec", "-ok", "-fprint", "--output", "-o "];
    if command.trim().is_empty() || suspicious.iter().any(|part| command.contains(part)) {
        return false;
    }
    command.split([';', '|', '&']).all(|one| one.trim().is_empty() || looks(one))
}

/// Returns true if one shell command only looks.
fn looks(command: &str) -> bool {
    let mut words = command.split_whitespace();
    match words.next() {
        Some("git") => {
            let mut verb = words.next();
            if verb == Some("-C") {
                verb = words.nth(1);
            }
            verb.is_some_and(|verb| GIT_INSPECTING.contains(&verb))
        }
        Some("sed") => words.next() == Some("-n") && !command.contains(" -i") && !command.contains("w "),
        Some(program) => INSPECTING.contains(&program),
        None => false,
    }
}

/// `getUserById`, `mcp__fs__read-file` → lower-case words.
fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for c in name.chars().take(200) {
        let starts = !c.is_alphanumeric() || (c.is_uppercase() && previous_lower);
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    words
}

/// The key of the argument that says what the call acts on: a known one, else the first string, else the first.
pub fn target_key(fields: &Map<String, Value>) -> Option<&str> {
    let known = TARGETS.iter().find_map(|key| fields.get_key_value(*key));
    known
        .or_else(|| fields.iter().find(|(key, _)| key.ends_with("_id")))
        .or_else(|| fields.iter().find(|(_, value)| value.is_string()))
        .or_else(|| fields.iter().next())
        .map(|(key, _)| key.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tells_looking_from_changing() {
        let bash = |command: &str| is_read_only("Bash", &json!({"command": command}));
        assert!(bash("ls -la src") && bash("git diff HEAD"));
        assert!(bash("cd src && git -C /x log --oneline 2>&1 | head -20; echo done"));
        assert!(bash("cat a.log | grep -c Error || sed -n 1,5p b"));
        assert!(
            !bash("echo a | xargs rm") && !bash("git -C /x push") && !bash("sed -i s/a/b/ f") && !bash("ls & rm x")
        );
        assert!(!bash("echo $(rm x)") && !bash("sort a -o b"));
        assert!(!bash("ls; rm -rf x") && !bash("git push") && !bash("cat a > b") && !bash("find . -delete"));
        for name in ["read", "get_user_details", "WebSearch", "mcp__fs__read-file", "searchDirectFlight"] {
            assert!(is_read_only(name, &json!({})), "{name}");
        }
        for name in ["edit", "get_or_create", "book_reservation", "frobnicate", "apply_patch"] {
            assert!(!is_read_only(name, &json!({})), "{name}");
        }
        assert!(is_read_only("str_replace_editor", &json!({"command": "view", "path": "a"})));
    }
}
