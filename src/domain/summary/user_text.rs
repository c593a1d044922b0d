//! Words of the user, told apart from what a harness or a tool put under the user's name.

use std::collections::HashSet;

use super::framing;
use crate::domain::model::message::{Message, Role};

/// Elements that harnesses add to a user's message.
const ADDED: [&str; 17] = [
    "system-reminder",
    "environment_context",
    "user_instructions",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "task-notification",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "ide_opened_file",
    "ide_selection",
    "uploaded_files",
    "attached_files",
    "tool_use_error",
];

/// Openings of messages that nobody wrote.
const NOBODY: [&str; 4] = ["[Request interrupted", "Caveat:", "# AGENTS.md instructions", "[trimmed"];

/// Openings of a tool's output in transcripts without tool messages.
const OUTPUT: [&str; 9] = [
    "[File: ",
    "OBSERVATION:",
    "Observation:",
    "EXECUTION RESULT",
    "<returncode>",
    "<output>",
    "Your command ran successfully",
    "Your proposed edit has introduced",
    "[The command completed",
];

/// Opens the summary that Claude Code leaves in place of what it forgot.
pub const CONTINUED: &str = "This session is being continued from a previous conversation";

/// Kind of a message, for a reader who looks for the user's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserText {
    /// The user's own words.
    Said(String),
    /// A tool's output in the user's name.
    Output(String),
    /// A harness's own summary of what came before.
    Continued(String),
    /// The model's, a tool's, or nobody's.
    Other,
}

/// One [`UserText`] for each message.
pub fn of(messages: &[Message]) -> Vec<UserText> {
    let mut classifier = UserTextClassifier::default();
    messages.iter().map(|message| classifier.classify(message)).collect()
}

/// Tells the messages of a span apart one by one, oldest first.
#[derive(Debug, Default)]
pub struct UserTextClassifier {
    answered: bool,
}

impl UserTextClassifier {
    pub fn classify(&mut self, message: &Message) -> UserText {
        self.answered |= message.role == Role::Assistant;
        if message.role == Role::User { tell(&message.plain_text(), self.answered) } else { UserText::Other }
    }
}

fn tell(text: &str, answered: bool) -> UserText {
    if framing::is_framed(text) {
        return UserText::Other;
    }
    let said = without_added(text);
    let said = said.trim();
    if said.starts_with(CONTINUED) {
        return UserText::Continued(said.to_owned());
    }
    if !said.chars().any(char::is_alphanumeric) || NOBODY.iter().any(|opening| said.starts_with(opening)) {
        return UserText::Other;
    }
    // The task itself may end with a prompt too.
    if OUTPUT.iter().any(|opening| said.starts_with(opening)) || answered && ends_at_prompt(said) {
        return UserText::Output(said.to_owned());
    }
    UserText::Said(said.to_owned())
}

fn ends_at_prompt(text: &str) -> bool {
    text.lines().next_back().is_some_and(|line| {
        let line = line.trim_end();
        line.ends_with("bash-$") || line == "$" || line.ends_with(":~$")
    })
}

/// The text without the elements that harnesses add. What is opened and never closed stays.
fn without_added(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut unclosed: HashSet<&str> = HashSet::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tail) = rest.split_at(at);
        kept.push_str(before);
        let end = added(tail).filter(|name| !unclosed.contains(name)).and_then(|name| {
            let close = format!("</{name}>");
            let end = tail.find(&close).map(|end| end + close.len());
            if end.is_none() {
                unclosed.insert(name);
            }
            end
        });
        let end = end.unwrap_or_else(|| {
            kept.push('<');
            1
        });
        rest = &tail[end..];
    }
    kept.push_str(rest);
    kept
}

fn added(tail: &str) -> Option<&'static str> {
    ADDED.into_iter().find(|name| {
        let after = tail[1..].strip_prefix(name);
        after.is_some_and(|after| after.starts_with(['>', ' ', '\n']))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assistant, user};
    use super::*;

    fn said(text: &str) -> UserText {
        of(&[assistant("ok"), user(text)]).pop().unwrap()
    }

    #[test]
    fn finds_the_users_words() {
        let words = |text: &str| UserText::Said(text.to_owned());
        assert_eq!(said("Fix it <system-reminder>be nice</system-reminder>now < 3"), words("Fix it now < 3"));
        assert_eq!(said("<system-reminder>open"), words("<system-reminder>open"));
        assert_eq!(
            said("<command-name>/clear</command-name>\n<command-args>x</command-args>"),
            words("<command-args>x</command-args>")
        );
        assert_eq!(said("<local-command-stdout>Bye!</local-command-stdout>"), UserText::Other);
        assert_eq!(said("[Request interrupted by user]"), UserText::Other);
        assert!(matches!(said("344\n(Open file: n/a)\nbash-$"), UserText::Output(_)));
        assert!(matches!(of(&[user("Solve this.\nbash-$")]).pop(), Some(UserText::Said(_))));
        assert!(matches!(said(&format!("{CONTINUED} that ran out")), UserText::Continued(_)));
    }

    #[test]
    fn many_open_tags_are_no_trouble() {
        let text = "<system-reminder><bash-input>".repeat(50_000);
        assert_eq!(said(&text), UserText::Said(text));
    }
}
