//! Which calls change nothing.

use serde_json::Value;

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

const INSPECTING: [&str; 41] = [
    "md5",
    "md5sum",
    "sha256sum",
    "xxd",
    "hexdump",
    "uname",
    "printenv",
    "id",
    "hostname",
    "type",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "cmp",
    "ls",
    "cat",
    "grep",
    "rg",
    "find",
    "head",
    "tail",
    "pwd",
    "wc",
    "which",
    "file",
    "stat",
    "tree",
    "du",
    "df",
    "ps",
    "whoami",
    "date",
    "cd",
    "echo",
    "sort",
    "uniq",
    "cut",
    "tr",
    "jq",
    "diff",
];

const GIT_INSPECTING: [&str; 15] = [
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "rev-parse",
    "ls-files",
    "ls-remote",
    "reflog",
    "describe",
    "shortlog",
    "merge-base",
    "cat-file",
    "rev-list",
    "check-ignore",
];

/// Commands of two or three words that only look.
const INSPECTING_PHRASES: [&str; 16] = [
    "git branch --show-current",
    "git branch -a",
    "git branch -v",
    "git remote -v",
    "git stash list",
    "git worktree list",
    "git config --get",
    "gh pr view",
    "gh pr list",
    "gh pr diff",
    "gh pr checks",
    "gh issue view",
    "gh issue list",
    "gh run view",
    "gh run list",
    "npm ls",
];

/// Returns true for the tools that run commands; `$` is a command typed without a tool.
pub(super) fn is_shell(name: &str) -> bool {
    name == "$" || SHELL_TOOLS.contains(&name.to_ascii_lowercase().as_str())
}

/// The command of a shell's call, where it is one string or a list of words.
pub(super) fn command_of(arguments: &Value) -> Option<String> {
    let command = arguments.get("command").or_else(|| arguments.get("cmd"))?;
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => Some((*script).to_owned()),
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

/// Returns true if name and arguments are those of a call that changes nothing; false if they are not recognised.
pub fn is_read_only(name: &str, arguments: &Value) -> bool {
    if is_shell(name) {
        return command_of(arguments).is_some_and(|command| inspects(&command));
    }
    if arguments.get("command").and_then(Value::as_str) == Some("view") {
        return true;
    }
    // SWE-agent's viewer of files.
    if name == "open" {
        return true;
    }
    let words = name_words(name);
    // Names of MCP tools start with their server's: the verb is then not the first word.
    let reads = words.iter().any(|word| READING.contains(&word.as_str()));
    reads && !words.iter().any(|word| CHANGING.contains(&word.as_str()))
}

/// Returns true for shell commands, chained or piped, without redirection or substitution, each of which only looks.
pub(super) fn inspects(command: &str) -> bool {
    let command = unquoted(command);
    let command = command.replace("2>&1", "").replace("2>/dev/null", "").replace("&&", ";");
    let suspicious = [">", "`", "$(", "<(", "\n", "-delete", "-exec", "-ok", "-fprint", "--output"];
    if command.trim().is_empty() || suspicious.iter().any(|part| command.contains(part)) {
        return false;
    }
    command.split([';', '|', '&']).all(|one| one.trim().is_empty() || looks(one))
}

/// The command with what stands in quotes taken out, unless the shell would run some of it.
fn unquoted(command: &str) -> String {
    let mut plain = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find(['\'', '"']) {
        let quote = if rest[at..].starts_with('"') { '"' } else { '\'' };
        let (before, quoted) = (&rest[..at], &rest[at + 1..]);
        plain.push_str(before);
        let Some(end) = quoted.find(quote).filter(|_| !before.ends_with('\\')) else {
            plain.push(quote);
            rest = quoted;
            continue;
        };
        let inside = &quoted[..end];
        let runs = quote == '"' && (inside.contains("$(") || inside.contains('`') || inside.ends_with('\\'));
        plain.push_str(if runs { inside } else { "_" });
        rest = &quoted[end + 1..];
    }
    plain.push_str(rest);
    plain
}

/// Returns true if one shell command only looks.
fn looks(command: &str) -> bool {
    if INSPECTING_PHRASES.iter().any(|phrase| command.trim().starts_with(phrase)) {
        return true;
    }
    let mut words = command.split_whitespace();
    match words.next() {
        Some("git") => {
            let mut verb = words.next();
            if verb == Some("-C") {
                verb = words.nth(1);
            }
            verb.is_some_and(|verb| GIT_INSPECTING.contains(&verb))
        }
        // Elsewhere it is another option.
        Some("sort" | "tree") => words.all(|word| !word.starts_with("-o")),
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
        assert!(bash(r#"grep -E "a|b; c" x | sort"#) && bash("grep 'a > b' x") && bash("git branch --show-current"));
        assert!(
            !bash(r#"grep "$(rm x)" y"#)
                && !bash("git branch -D x")
                && !bash(r#"echo "a" > b"#)
                && !bash("echo 'a' | sh")
        );
        assert!(
            !bash("echo a | xargs rm") && !bash("git -C /x push") && !bash("sed -i s/a/b/ f") && !bash("ls & rm x")
        );
        assert!(!bash("echo $(rm x)") && !bash("sort a -o b"));
        assert!(bash("find . -name '*.md' -o -name '*.rs' | head -3") && bash("grep -o x a.log"));
        assert!(!bash("ls; rm -rf x") && !bash("git push") && !bash("cat a > b") && !bash("find . -delete"));
        for name in ["read", "get_user_details", "WebSearch", "mcp__fs__read-file", "searchDirectFlight"] {
            assert!(is_read_only(name, &json!({})), "{name}");
        }
        for name in ["edit", "get_or_create", "book_reservation", "frobnicate", "apply_patch"] {
            assert!(!is_read_only(name, &json!({})), "{name}");
        }
        assert!(is_read_only("str_replace_editor", &json!({"command": "view", "path": "a"})));
        assert!(is_read_only("shell", &json!({"command": ["bash", "-lc", "ls -la"]})));
        assert!(!is_read_only("shell", &json!({"command": ["rm", "a"]})));
    }
}
