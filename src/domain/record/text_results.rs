//! Results that a harness gives as text in the user's role, as the results of the calls that they name.

use crate::domain::model::message::{Block, CallKind, Message, Role, ToolResult};
use crate::domain::model::user_text::call_replies::{TextResult, users_part};

/// Calls of the last answer that wait for their results, in order: id and tool.
#[derive(Debug, Clone, Default)]
pub(super) struct TextResults {
    open: Vec<(String, String)>,
}

impl TextResults {
    /// Makes results of the next message's texts that are some.
    pub fn pair(&mut self, message: &mut Message) {
        match message.role {
            Role::Assistant => {
                let calls = message.tool_calls().filter(|call| call.kind != CallKind::Server);
                self.open = calls.map(|call| (call.id.clone(), call.name.clone())).collect();
            }
            Role::User if !self.open.is_empty() => self.pair_texts(message),
            _ => {}
        }
    }

    fn pair_texts(&mut self, message: &mut Message) {
        for result in message.tool_results() {
            self.open.retain(|(id, _)| *id != result.tool_call_id);
        }
        let names_call = |text: &str| TextResult::of(text).is_some_and(|head| self.is_open(head.tool));
        let is_head = |block: &Block| matches!(block, Block::Text { text, .. } if names_call(text));
        if !message.content.iter().any(is_head) {
            return;
        }
        let mut blocks = std::mem::take(&mut message.content).into_iter().peekable();
        while let Some(block) = blocks.next() {
            let Block::Text { text, .. } = &block else {
                message.content.push(block);
                continue;
            };
            let Some((id, tool, told)) = self.take(text) else {
                message.content.push(block);
                continue;
            };
            let behind = match blocks.peek() {
                Some(Block::Text { text, .. }) if told.is_empty() && TextResult::of(text).is_none() => {
                    Some(text.clone())
                }
                _ => None,
            };
            if behind.is_some() {
                blocks.next();
            }
            let told = behind.unwrap_or(told);
            let (said, told) = users_part(&told).map_or((None, told.clone()), |(said, rest)| (Some(said), rest));
            message.content.push(Block::ToolResult(result(id, tool, told)));
            message.content.extend(said.map(Block::text));
        }
    }

    fn is_open(&self, tool: &str) -> bool {
        self.open.iter().any(|(_, name)| name == tool)
    }

    /// The call that a text is the result of, which waits no longer, and what it returned.
    fn take(&mut self, text: &str) -> Option<(String, String, String)> {
        let head = TextResult::of(text)?;
        let at = self.open.iter().position(|(_, name)| name == head.tool)?;
        let (id, tool) = self.open.remove(at);
        Some((id, tool, head.text.to_owned()))
    }
}

fn result(tool_call_id: String, tool: String, text: String) -> ToolResult {
    ToolResult {
        tool_call_id,
        name: Some(tool),
        content: vec![Block::text(text)],
        is_error: false,
        kind: CallKind::Function,
        opaque: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::record::RecordSource;
    use crate::domain::record::testing::call;
    use crate::domain::settings::Estimator;

    fn user(texts: &[&str]) -> Message {
        Message::new(Role::User, texts.iter().map(|text| Block::text(*text)).collect())
    }

    #[test]
    fn a_text_behind_the_name_of_a_call_is_its_result() {
        let surroundings = "<environment_details>\n# Current Mode\nACT\n</environment_details>";
        let reminder = "# TODO LIST UPDATE REQUIRED - You MUST include it.";
        let source = RecordSource::of([
            user(&["<task>\nZieh die Dienste um.\n</task>", surroundings]),
            call("a", "execute_command", "terraform plan"),
            user(&["[execute_command for 'terraform plan'] Result:\nError: no project id", reminder, surroundings]),
            call("b", "read_file", "main.tf"),
            user(&["[read_file for 'main.tf'] Result:", "terraform { required = 1 }", surroundings]),
            call("c", "attempt_completion", "Fertig."),
            user(&[
                "[attempt_completion] Result:\nThe user has provided feedback:\n<feedback>\nNur Region Zürich!\n</feedback>",
                surroundings,
            ]),
        ]);
        let told = source.record(4_000, Estimator::Pi);
        for shown in ["User: Zieh die Dienste um.", "Error: no project id", "User: Nur Region Zürich!"] {
            assert!(told.contains(shown), "{shown}: {told}");
        }
        for hidden in ["TODO LIST", "Current Mode", "<task>", "no result", "] Result:"] {
            assert!(!told.contains(hidden), "{hidden}: {told}");
        }
        assert_eq!(source.path_numbers().last_user, 2);
    }
}
