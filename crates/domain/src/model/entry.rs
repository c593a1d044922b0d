//! Entries: the nodes of a session's tree.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::message::Role;
use super::program_replies::{self, SeenMessage};
use super::shape::Shape;
use crate::model::entry_type::EntryType;
use crate::model::format::Format;

/// The small columns of an entry: all that planning needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryMeta {
    pub id: Uuid,
    /// Position in its session, given under the session's lock: 0, 1, 2, …
    pub seq: i64,
    /// Distance from the root of its path: 0 for the first entry. A path holds each depth once.
    pub depth: i64,
    pub kind: EntryType,
    pub role: Option<Role>,
    /// Tokens that this entry adds to a context (0 where it adds none), by the session's estimator.
    pub tokens: u32,
    /// Sum of `tokens` from the root to this entry, itself included.
    pub path_tokens: i64,
    /// The context size that the provider reported with this answer, where it is trustworthy.
    pub usage: Option<u32>,
    pub shape: Shape,
}

impl EntryMeta {
    /// Says that the entry puts a message before the model by itself.
    pub fn is_visible(&self) -> bool {
        self.kind.holds_message() && self.role.is_some()
    }

    /// Says that it is the agent's.
    pub fn is_answer(&self) -> bool {
        self.role == Some(Role::Assistant)
    }

    /// Says that the user wrote it, as far as that was told when it arrived: no harness, and none of these agents.
    pub fn is_by_user(&self, agents: &[String]) -> bool {
        let is_agents = self.shape.speaker.as_ref().is_some_and(|speaker| agents.contains(speaker));
        self.role == Some(Role::User) && !self.shape.by_harness && !is_agents
    }

    /// Says that it holds words of the user's, be it beside results.
    pub fn has_users_words(&self, agents: &[String]) -> bool {
        self.is_by_user(agents) && (self.shape.results.is_empty() || self.shape.mixed) && !self.shape.chapter_task
    }

    /// Says that a turn begins here: with something that is not the agent's own doing.
    pub fn starts_turn(&self) -> bool {
        let by_role = match self.role {
            Some(Role::User) => self.shape.results.is_empty(),
            Some(Role::BashExecution | Role::Custom | Role::BranchSummary) => true,
            _ => false,
        };
        self.is_visible() && (by_role || self.kind == EntryType::Chapter)
    }

    /// Says that it is an instruction rather than history: not counted among the newest messages.
    pub fn is_instruction(&self) -> bool {
        matches!(self.role, Some(Role::System | Role::Developer))
    }
}

/// A whole entry: the head and the item as it came.
#[derive(Debug, Clone)]
pub struct Entry {
    pub head: EntryMeta,
    pub parent_id: Option<Uuid>,
    pub source_id: Option<String>,
    pub source_format: Format,
    /// The raw JSON text of the item, byte for byte.
    pub item: String,
    pub created_at: DateTime<Utc>,
}

/// The places of a path's messages that a program sent in the user's role.
pub fn by_programs(path: &[EntryMeta]) -> HashSet<usize> {
    let (mut depth, mut is_behind_gap) = (-1, false);
    let mut seen = Vec::new();
    for (place, head) in path.iter().enumerate() {
        is_behind_gap |= head.depth > depth + 1;
        depth = head.depth;
        let shape = &head.shape;
        if let Some(role @ (Role::Assistant | Role::User)) = head.role.filter(|_| head.is_visible()) {
            let message = SeenMessage {
                is_answer: role == Role::Assistant,
                calls_tools: !shape.calls.is_empty(),
                holds_block: shape.holds_block,
                reply_form: shape.reply_form,
                by_harness: shape.by_harness,
                is_behind_gap: std::mem::take(&mut is_behind_gap),
            };
            seen.push((place, message));
        }
    }
    program_replies::among(&seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;
    use crate::model::entry_type::EntryType;
    use crate::model::format::Format;
    use crate::model::open_calls::OpenCalls;
    use crate::model::shape::Shape;

    /// A path of messages, the agent's with `A:` before them.
    fn path_of(texts: &[&str]) -> Vec<EntryMeta> {
        let head = |(seq, text): (i64, &&str)| {
            let said = text.strip_prefix("A:");
            let (role, name) = if said.is_some() { (Role::Assistant, "assistant") } else { (Role::User, "user") };
            let item = serde_json::json!({"role": name, "content": said.unwrap_or(text)}).to_string();
            let item = format::read(Format::OpenaiChat, &item).unwrap();
            EntryMeta {
                id: uuid::Uuid::nil(),
                seq,
                depth: seq,
                kind: EntryType::Message,
                role: Some(role),
                tokens: 1,
                path_tokens: 1,
                usage: None,
                shape: Shape::of(&item, seq, &OpenCalls::default(), &[]),
            }
        };
        (0..).zip(texts).map(head).collect()
    }

    fn found(texts: &[&str]) -> Vec<usize> {
        let mut places: Vec<usize> = by_programs(&path_of(texts)).into_iter().collect();
        places.sort_unstable();
        places
    }

    const ACT: &str = "A:I look.\n```bash\nls\n```";

    #[test]
    fn programs_answer_in_one_form_and_people_do_not() {
        let prompt = "a.rs\nb.rs\n(Current directory: /src)\nbash-$";
        let complaint = "Your answer has no command. Write one:\n```\ncommand\n```";
        let shell = ["Fix it.", ACT, prompt, ACT, prompt, "A:I wonder.", complaint, ACT, "no such file", ACT, prompt];
        assert_eq!(found(&shell), [2, 4, 6, 8, 10]);
        let elements = "<code>0</code>\n<printed>\na.rs\n</printed>";
        let printed = ["Fix it.", ACT, elements, ACT, elements, ACT, elements, "A:It is done.", "Now the tests, too."];
        assert_eq!(found(&printed), [2, 4, 6], "what a person says behind the last answer is theirs");
        let people = ["Write it.", ACT, "Now in Rust.", ACT, "支付也要。", ACT, "And the tests > 3", ACT, "Danke."];
        assert_eq!(found(&people), [0; 0]);
        let wrapped =
            ["<ask>One</ask> please", ACT, "<ask>Two</ask> please", ACT, "<ask>Three</ask> now", ACT, "<ask>4</ask> x"];
        assert_eq!(found(&wrapped), [0; 0], "words stand outside of the elements");
    }

    #[test]
    fn a_reply_whose_command_was_not_read_is_known_by_its_form() {
        let prompt = "done\n$";
        let mut path = path_of(&[prompt, ACT, prompt, ACT, prompt, ACT, prompt, ACT]);
        path.iter_mut().for_each(|head| head.depth += 40);
        assert!(by_programs(&path).contains(&0));
        path[0].shape.reply_form = 0;
        assert!(!by_programs(&path).contains(&0), "it may be the task");
    }
}
