//! Where each part of a message is found again: what stands in place of a secret says so.

use std::collections::{HashMap, VecDeque};

use super::text_results::is_written;
use crate::model::message::{Block, Message, Role};
use crate::model::record_numbers::RecordNumber;
use crate::model::user_text::{UserText, UserTextClassifier};
use crate::redaction::Redaction;

/// The calls of a path that wait for their results, by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenPlaces {
    /// Oldest first, by their id: an id may come again.
    open: HashMap<String, VecDeque<u32>>,
}

impl OpenPlaces {
    /// Replaces the secrets of the next message; so many calls and messages of the user's own come before it.
    pub fn redact(
        &mut self,
        message: &mut Message,
        redaction: &Redaction,
        (users, mut calls): (u32, u32),
        classifier: &UserTextClassifier,
    ) {
        if !redaction.is_on() {
            return;
        }
        let said = match message.role {
            Role::User => matches!({ *classifier }.classify(message), UserText::Said(_)),
            _ => false,
        };
        let user = said.then(|| RecordNumber::User(users.saturating_add(1)).to_string());
        redaction.redact_blocks(message, |block| match block {
            Block::ToolCall(call) if !is_written(call) => {
                calls = calls.saturating_add(1);
                self.open.entry(call.id.clone()).or_default().push_back(calls);
                Some(place(calls))
            }
            Block::ToolResult(result) => self.answered(&result.tool_call_id).map(place),
            Block::ToolCall(_) => None,
            _ => user.clone(),
        });
    }

    /// What was made meanwhile is not known.
    pub fn forget(&mut self) {
        self.open.clear();
    }

    fn answered(&mut self, id: &str) -> Option<u32> {
        let waiting = self.open.get_mut(id)?;
        let number = waiting.pop_front();
        if waiting.is_empty() {
            self.open.remove(id);
        }
        number
    }
}

fn place(call: u32) -> String {
    format!("call {}", RecordNumber::Call(call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{call, result, said};
    use crate::record::{RecordPlace, RecordSource};
    use crate::redaction::{RedactSetting, RedactWord};

    #[test]
    fn what_stands_in_place_of_a_secret_says_where_it_is_found() {
        let secret = format!("{}QZ7WDRX3LKPJV5TB", "AKIA");
        let redaction = Redaction::of(&RedactSetting::Word(RedactWord::Auto));
        let mut source = RecordSource::default().with_redaction(redaction);
        let text = |what: &str| format!("{what} {secret} .");
        let messages = [
            said(Role::User, "Begin."),
            call("c", "bash", "ls"),
            result("c", &text("first")),
            said(Role::Assistant, &text("agent")),
            call("d", "bash", &text("argument")),
            call("c", "bash", "ls"),
            result("c", &text("again")),
            result("d", &text("second")),
            result("x", &text("nobody's")),
            said(Role::User, &text("user")),
        ];
        for (depth, message) in messages.into_iter().enumerate() {
            source.take_before(message, (RecordPlace::Told, None), depth as i64, 0);
        }
        source.take_behind(said(Role::User, &text("kept")), None);
        let told: String = source.messages().map(|message| format!("{:?}\n", message.content)).collect();
        for mark in [
            "first [redacted: AWS key, call #1]",
            "agent [redacted: AWS key]",
            "argument [redacted: AWS key, call #2]",
            "again [redacted: AWS key, call #3]",
            "second [redacted: AWS key, call #2]",
            "nobody's [redacted: AWS key]",
            "user [redacted: AWS key, u2]",
            "kept [redacted: AWS key, u3]",
        ] {
            assert!(told.contains(mark), "{mark}: {told}");
        }
        assert_eq!(source.marks().user(2), Some((2, 9)), "the kept tail is not marked: another path may end otherwise");
        assert_eq!(source.marks().user(3), Some((2, 9)));
    }
}
