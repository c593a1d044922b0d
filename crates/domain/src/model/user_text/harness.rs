//! What harnesses write in a user's name: elements, openings of whole messages, and requests that they wrap.

use std::collections::HashSet;

/// Elements that harnesses add to a user's message, with all that they hold.
const ADDED: [&str; 28] = [
    "system-reminder",
    "environment_context",
    "environment_details",
    "user_instructions",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-contents",
    "task-notification",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "uploaded_files",
    "attached_files",
    "attachments",
    "additional_data",
    "reminderInstructions",
    "tool_use_error",
    "turn_aborted",
    "user_shell_command",
    "subagent_notification",
    "session_context",
    "post-tool-use-hook",
];

/// Elements that tell of where and when a conversation goes on, and with what rules. Harnesses write them anew with every
/// request. What a user has attached is none of them.
const SURROUNDINGS: [&str; 6] =
    ["system-reminder", "environment_context", "environment_details", "user_instructions", "session_context", "env"];

/// Elements that harnesses put around their own summary of what came before.
const SUMMARIES: [&str; 2] = ["state_snapshot", "conversation-summary"];

/// Elements around the user's own words.
const WRAPS: [&str; 5] = ["command-args", "user_query", "user-request", "userRequest", "user_message"];

/// How the name of an element begins and ends, letters alone, that harnesses put around the user's own words.
const USERS: &str = "user";
const USERS_WORDS: [&str; 6] = ["query", "request", "message", "input", "prompt", "task"];
/// Parts of the names of elements that are a harness's own.
const SYSTEMS: [&str; 3] = ["system", "ephemeral", "reminder"];
/// Elements of one text that are looked at.
const MOST_ELEMENTS: usize = 64;

/// Lines of a harness's own before what else a text says: how each begins and ends.
const LINES: [(&str, &str); 4] = [
    ("[Request interrupted", "]"),
    ("Caveat: The messages below were generated", ""),
    ("[trimmed", "]"),
    // How much smaller a picture is shown.
    ("[Image: original ", "]"),
];

/// Heads instructions that a harness hands over, and the element that they stand in.
pub(super) const HANDED: &str = "# AGENTS.md instructions";
pub(super) const HANDED_OPEN: &str = "<INSTRUCTIONS>";
pub(super) const HANDED_CLOSE: &str = "</INSTRUCTIONS>";

/// Opens a skill's text, which ends with what the user gave it.
pub(super) const SKILL: &str = "Base directory for this skill:";
pub(super) const GIVEN: &str = "\nARGUMENTS:";

/// Openings of texts that are a harness's to their end.
const NOBODY: [&str; 7] = [
    "This is the Gemini CLI.",
    "This is the Qwen Code.",
    "# TODO LIST ",
    "# task_progress ",
    "[ERROR] You did not use a tool",
    "[TASK RESUMPTION]",
    "(The user did not provide a new message",
];

/// Heads the request in a message that an editor's extension fills with its context.
const MY_REQUEST: [&str; 2] = ["\n## My request for Codex:", "\n## My request:"];
const EDITOR: &str = "# Context from my IDE setup:";

/// Openings of a tool's output in transcripts without tool messages: nobody writes so, and those that a user may write too.
const OUTPUT: [&str; 4] = ["[File: ", "<returncode>", "<output>", "[The command completed"];
const WORDED_OUTPUT: [&str; 5] = [
    "OBSERVATION:",
    "Observation:",
    "EXECUTION RESULT",
    "Your command ran successfully",
    "Your proposed edit has introduced",
];

/// Openings of the summary that a harness leaves in place of what it forgot.
const CONTINUED: [&str; 4] = [
    "This session is being continued from a previous conversation",
    "This is a session continuation summary",
    "Another language model started to solve this problem and produced a summary",
    "The conversation history before this point was compacted into the following summary",
];

/// Returns true if the text is a harness's own summary of what came before.
pub fn continues(text: &str) -> bool {
    CONTINUED.iter().any(|opening| text.starts_with(opening))
}

/// Returns true if the text is nothing but an element around a summary of what came before.
pub fn is_summary_element(text: &str) -> bool {
    let text = text.trim();
    let is_all = |name: &str| element(text, name).is_some_and(|length| length == text.len());
    SUMMARIES.into_iter().any(is_all)
}

/// Returns true if a tool's output opens like this. Words show it only to an agent that has acted by its words
/// (`acts_by_words`): others get results in a role of their own.
pub fn is_output(text: &str, acts_by_words: bool) -> bool {
    let worded = if acts_by_words { &WORDED_OUTPUT[..] } else { &[] };
    OUTPUT.iter().chain(worded).any(|opening| text.starts_with(opening))
}

/// The words in the elements that a text marks as the user's: the others beside them are the harness's. `None`: it marks
/// none, or something stands outside of its elements.
fn marked_words(text: &str) -> Option<String> {
    let (mut words, mut rest, mut is_marked) = (String::new(), text, false);
    for _ in 0..MOST_ELEMENTS {
        let Some(at) = line_with_element(rest) else { break };
        let (before, tail) = rest.split_at(at);
        let (name, inside, behind) = whole_element(tail)?;
        if !before.trim().is_empty() {
            return None;
        }
        if is_users(name) {
            words.push_str(if is_marked { "\n" } else { "" });
            words.push_str(inside.trim());
            is_marked = true;
        }
        rest = behind;
    }
    (is_marked && rest.trim().is_empty()).then_some(words)
}

/// Where a line begins with an element.
fn line_with_element(text: &str) -> Option<usize> {
    if text.starts_with('<') { Some(0) } else { text.find("\n<").map(|at| at + 1) }
}

/// The name of the element that begins here, what it holds, and what stands behind it. It has no attributes.
fn whole_element(tail: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = tail.strip_prefix('<')?.split_once('>')?;
    let is_name =
        !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let (inside, behind) = rest.split_once(&format!("</{name}>")).filter(|_| is_name)?;
    Some((name, inside, behind))
}

fn is_users(name: &str) -> bool {
    let letters: String = name.chars().filter(|c| c.is_alphabetic()).map(|c| c.to_ascii_lowercase()).collect();
    letters.strip_prefix(USERS).is_some_and(|rest| USERS_WORDS.iter().any(|word| rest.ends_with(word)))
}

/// What the element holds that a text ends with, where its first line speaks of that element: a harness says so of what it
/// puts under the user's name.
pub fn introduced(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text.strip_suffix('>')?.rsplit_once("</")?.1;
    let (first, rest) = text.split_once('\n')?;
    let open = format!("<{name}>");
    let letters = name.to_ascii_lowercase();
    let is_systems = SYSTEMS.iter().any(|part| letters.contains(part));
    let speaks_of_it = is_systems && first.contains(&open) && !first.starts_with(&open);
    let at = rest.find(&format!("\n{open}")).map(|at| at + 1).or_else(|| rest.starts_with(&open).then_some(0))?;
    let inside = rest[at + open.len()..].strip_suffix(&format!("</{name}>"))?;
    speaks_of_it.then(|| inside.trim())
}

/// The user's own part of a text: without the elements and lines that harnesses add, out of the elements that they wrap
/// around it. What is opened and never closed stays.
pub fn own_part(text: &str) -> String {
    let marked = marked_words(text);
    let text = marked.as_deref().unwrap_or(text);
    behind_lines(&without_elements(text)).to_owned()
}

/// A text without what a harness writes anew with every request.
pub fn without_surroundings(text: &str) -> String {
    let mut unclosed = HashSet::new();
    let own = without(text, |tail| added(tail, &SURROUNDINGS, &mut unclosed));
    let mut rest = own.trim();
    while let Some(behind) = behind_handed(rest) {
        rest = behind.trim_start();
    }
    if is_nobodys(rest) { String::new() } else { rest.to_owned() }
}

fn is_nobodys(text: &str) -> bool {
    NOBODY.iter().any(|opening| text.starts_with(opening))
}

/// What stands behind the instructions that a text begins with.
fn behind_handed(text: &str) -> Option<&str> {
    let begins = text.starts_with(HANDED) || text.starts_with(HANDED_OPEN);
    begins.then(|| text.split_once(HANDED_CLOSE).map_or("", |(_, behind)| behind))
}

/// What stands behind the harness's own lines and instructions that a text begins with.
fn behind_lines(text: &str) -> &str {
    let mut rest = text;
    loop {
        let begun = rest.trim_start();
        let line = begun.lines().next().unwrap_or_default();
        let is_own = |(opening, end): &(&str, &str)| line.starts_with(opening) && line.trim_end().ends_with(end);
        if LINES.iter().any(is_own) {
            rest = begun.get(line.len()..).unwrap_or_default();
        } else if let Some(behind) = behind_handed(begun) {
            rest = behind;
        } else if line.starts_with(SKILL) {
            rest = begun.rsplit_once(GIVEN).map_or("", |(_, given)| given);
        } else if is_nobodys(line) {
            rest = "";
        } else {
            return rest;
        }
    }
}

fn without_elements(text: &str) -> String {
    let text = if text.trim_start().starts_with(EDITOR) { asked(text) } else { text };
    let mut unclosed = HashSet::new();
    without(text, |tail| added(tail, &ADDED, &mut unclosed).or_else(|| wrapping(tail)))
}

/// A text without what is left out of it: `left_out` gives the length of that where something begins with `<`.
fn without(text: &str, mut left_out: impl FnMut(&str) -> Option<usize>) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tail) = rest.split_at(at);
        kept.push_str(before);
        let skipped = left_out(tail).unwrap_or_else(|| {
            kept.push('<');
            1
        });
        rest = &tail[skipped..];
    }
    kept.push_str(rest);
    kept
}

/// The request behind an editor's context, or nothing.
fn asked(text: &str) -> &str {
    MY_REQUEST.iter().find_map(|heading| Some(text.split_once(heading)?.1)).unwrap_or_default()
}

/// Length of an element of one of these names that begins here.
fn added(tail: &str, names: &[&'static str], unclosed: &mut HashSet<&'static str>) -> Option<usize> {
    let name = names.iter().copied().find(|name| opens(tail, name)).filter(|name| !unclosed.contains(name))?;
    let length = element(tail, name);
    if length.is_none() {
        unclosed.insert(name);
    }
    length
}

/// Length of an element of this name that begins here and ends.
fn element(tail: &str, name: &str) -> Option<usize> {
    let close = format!("</{name}>");
    let end = tail.find(&close).filter(|_| opens(tail, name))?;
    Some(end + close.len())
}

/// What the next element of this name holds, and what stands behind it.
pub(super) fn element_inside<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find('<')?;
        let tail = &text[start..];
        if opens(tail, name) {
            let length = element(tail, name)?;
            let inside = &tail[..length - name.len() - "</>".len()];
            return Some((inside.split_once('>').map_or("", |(_, inside)| inside), &tail[length..]));
        }
        from = start + 1;
    }
}

/// Length of a tag that begins here and wraps the user's words.
fn wrapping(tail: &str) -> Option<usize> {
    WRAPS.into_iter().find_map(|name| {
        let opening = format!("<{name}>");
        let closing = format!("</{name}>");
        [opening, closing].iter().find(|tag| tail.starts_with(tag.as_str())).map(String::len)
    })
}

fn opens(tail: &str, name: &str) -> bool {
    let after = tail.get(1..).and_then(|rest| rest.strip_prefix(name));
    after.is_some_and(|after| after.starts_with(['>', ' ', '\n']))
}
