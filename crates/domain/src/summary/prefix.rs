//! Asking for a summary at the end of the session's own context, whose beginning the provider has cached.

use serde_json::value::RawValue;

use super::{SummaryTask, prompt};
use crate::model::format::Format;
use crate::record::quote::shortened;

/// How much of the first kept message is quoted, in quarter tokens.
const QUOTED: usize = 240;

/// A session's context as it was last handed out, to the byte.
#[derive(Debug, Clone)]
pub struct SessionPrefix {
    pub format: Format,
    /// The session's model.
    pub model: String,
    pub system: Option<Box<RawValue>>,
    pub tools: Option<Box<RawValue>>,
    pub messages: Vec<Box<RawValue>>,
    /// Size of all of it.
    pub tokens: u64,
    /// The text of the first message that stays after the compaction, where it has one.
    pub kept_from: Option<String>,
}

impl SessionPrefix {
    /// All of it as texts.
    pub fn texts(&self) -> Vec<&str> {
        self.system.iter().chain(&self.tools).chain(&self.messages).map(|raw| raw.get()).collect()
    }
}

fn quoted(kept: &str) -> String {
    shortened(&kept.split_whitespace().collect::<Vec<_>>().join(" "), QUOTED, 0)
}

/// The message that follows the prefix: what is asked of the model that has just been the agent.
pub fn instruction(task: &SummaryTask, prefix: &SessionPrefix) -> String {
    let mut text = "The task rests here for a moment. The older part of this conversation is about to be replaced by \
                    notes, from which you will carry on, and you write them now. Do not go on with the task, call no \
                    tools and answer no question: write the notes and nothing else, with no greeting, no remark and \
                    no code fence around the whole."
        .to_owned();
    if let Some(kept) = prefix.kept_from.as_deref().map(quoted).filter(|kept| !kept.is_empty()) {
        text.push_str(&format!(
            "\n\nThe end of the conversation stays word for word, from the message on that begins like this: \
             \"{kept}\". The notes are about what comes before it."
        ));
    }
    let numbered = prompt::numbered(task);
    if !numbered.is_empty() {
        text.push_str(&format!(
            "\n\nThe same conversation in brief, with its numbers:\n\n<conversation>\n{numbered}\n</conversation>"
        ));
    }
    text.push_str("\n\n");
    text.push_str(&prompt::request(task));
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::{task, user};
    use super::*;

    #[test]
    fn the_instruction_names_the_rest_and_asks_as_ever() {
        let mut prefix = SessionPrefix {
            format: Format::OpenaiChat,
            model: "m".into(),
            system: None,
            tools: None,
            messages: Vec::new(),
            tokens: 0,
            kept_from: Some("Now the lexer,\nplease.".into()),
        };
        let task = task(vec![user("hi")]);
        let text = instruction(&task, &prefix);
        assert!(text.contains("\"Now the lexer, please.\""), "{text}");
        assert!(text.ends_with(&prompt::request(&task)) && text.contains("u1 User: hi"), "{text}");
        prefix.kept_from = None;
        assert!(!instruction(&task, &prefix).contains("word for word, from"));
    }
}
