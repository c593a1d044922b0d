//! Calls that an agent writes as text, and results that a harness gives as text in the user's role: both are told as calls and
//! results are.

mod written;

use serde_json::Value;

use crate::model::message::{Block, CallKind, Message, Role, ToolCall, ToolResult};
use crate::model::user_text::call_replies::{TextResult, users_part};
use crate::model::user_text::{UserText, UserTextClassifier, texts, without_surroundings};
use crate::model::written_call::behind_label;

use super::quote::GAP;
use super::values;
use written::{WrittenCall, call_at_end, element_call, marked_call};

/// Begins the id of a call that was written as text. No call of the ledger has such an id: it has no number.
const WRITTEN: char = '\0';
/// Begins a result in the form of models that write their calls as JSON.
const TOOL_RESPONSE: [&str; 2] = ["<tool_response>", "</tool_response>"];

/// Returns true if the agent wrote the call as text.
pub(super) fn is_written(call: &ToolCall) -> bool {
    call.id.starts_with(WRITTEN)
}

/// Calls of the last answer that wait for their results, in order: id and tool.
#[derive(Debug, Clone, Default)]
pub(super) struct TextResults {
    open: Vec<(String, String)>,
    /// Calls that were written as text so far.
    written: u32,
    /// What stands before each result that answers such a call.
    label: Option<String>,
}

impl TextResults {
    /// Makes results of the next message's texts that are some, and a call of what the message before it wrote as one.
    pub fn pair(&mut self, message: &mut Message, before: Option<&mut Message>) {
        if message.role == Role::User
            && let Some(before) = before.filter(|before| before.role == Role::Assistant)
            && before.tool_calls().next().is_none()
        {
            self.take_written(message, before);
        }
        match message.role {
            Role::Assistant => {
                let calls = message.tool_calls().filter(|call| call.kind != CallKind::Server);
                self.open = calls.map(|call| (call.id.clone(), call.name.clone())).collect();
            }
            Role::User if !self.open.is_empty() => self.pair_texts(message),
            _ => {}
        }
    }

    /// Makes a call of the end of the agent's text, where the message behind it answers such a call.
    fn take_written(&mut self, message: &mut Message, before: &mut Message) {
        let said = before.plain_text();
        let head = texts(message).find_map(TextResult::of);
        let call = match head {
            Some(head) => element_call(&said, head.tool),
            None => marked_call(&said).filter(|_| {
                let is_response = texts(message).any(|text| text.trim_start().starts_with(TOOL_RESPONSE[0]));
                let mut classifier = UserTextClassifier { answered: true, calls_tools: false };
                is_response || matches!(classifier.classify(message), UserText::Output(_))
            }),
        };
        let answered = message.plain_text();
        let labelled = if call.is_none() && head.is_none() { self.labelled(&answered) } else { None };
        let call = call.or_else(|| labelled.and_then(|_| call_at_end(&said)));
        let Some(WrittenCall { words, name, arguments }) = call else { return };
        self.written = self.written.saturating_add(1);
        let id = format!("{WRITTEN}{}", self.written);
        if head.is_none() {
            let response =
                answered.trim().strip_prefix(TOOL_RESPONSE[0]).and_then(|text| text.strip_suffix(TOOL_RESPONSE[1]));
            let text = response.or(labelled).map_or_else(|| answered.clone(), |response| response.trim().to_owned());
            message.content = vec![Block::ToolResult(result(id.clone(), name.clone(), text))];
        } else {
            self.open = vec![(id.clone(), name.clone())];
        }
        before.content.retain(|block| !matches!(block, Block::Text { .. }));
        if !words.is_empty() {
            before.content.push(Block::text(words));
        }
        before.content.push(Block::ToolCall(ToolCall {
            id,
            name,
            arguments: Value::Object(arguments),
            arguments_text: None,
            kind: CallKind::Function,
            opaque: None,
        }));
    }

    /// What a text says behind its label, where that is JSON or a single word, or where such stood behind the same label
    /// before: a user doesn't speak so.
    fn labelled<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let (label, told) = behind_label(text)?;
        let is_known = self.label.as_deref() == Some(label);
        let is_word = !told.is_empty() && !told.contains(char::is_whitespace);
        if !is_known && !is_word && values::parsed(told).is_none() {
            return None;
        }
        self.label = Some(label.to_owned());
        Some(told)
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
            // What the harness tells with every message is no part of the result.
            let told = without_surroundings(&told);
            // The user's words stand by themselves.
            let told = if told.is_empty() && said.is_some() { GAP.to_owned() } else { told };
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
    use crate::record::RecordSource;
    use crate::record::testing::call;
    use crate::settings::Estimator;

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

    #[test]
    fn calls_that_are_written_as_text_are_told_as_calls_without_a_number() {
        let agent = |text: &str| Message::text(Role::Assistant, text);
        let source = RecordSource::of([
            user(&["<task>\nPrüf den Start.\n</task>"]),
            agent(
                "I look.\n\n<read_file>\n<args>\n<file>\n<path>backend/main.py</path>\n</file>\n</args>\n</read_file>",
            ),
            user(&[
                "[read_file for 'backend/main.py'] Result:\n\n1 | import uvicorn",
                "<environment_details>x</environment_details>",
            ]),
            agent("<execute_command>\n<command>pip install -r requirements.txt</command>\n</execute_command>"),
            user(&["[execute_command for 'pip install'] Result:", "error: no wheel for pandas"]),
            agent("I list.\n<function=execute_bash>\n<parameter=command>ls backend</parameter>\n</function>"),
            user(&["OBSERVATION:\nmain.py"]),
            agent("<tool_call>\n{\"name\": \"get_order\", \"arguments\": {\"id\": \"W12\"}}\n</tool_call>"),
            user(&["<tool_response>\n{\"status\": \"shipped\"}\n</tool_response>"]),
            agent("Alles <b>gut</b>."),
            user(&["Danke."]),
            agent("<ask_followup_question>\n<question>Welcher Port?</question>\n</ask_followup_question>"),
            user(&[
                "[ask_followup_question for 'Welcher Port?'] Result:\n<answer>\n5177\n</answer>\n<environment_details>y</environment_details>",
            ]),
        ]);
        let told = source.record(4_000, Estimator::Pi);
        for shown in [
            "Agent: I look.",
            "- read_file(backend/main.py) → ",
            "import uvicorn",
            "- execute_command(pip install -r requirements.txt) → error: no wheel for pandas",
            "- execute_bash(ls backend) → ",
            "- get_order(W12) → ",
            "shipped",
            "u2 User: Danke.",
            "- ask_followup_question(Welcher Port?) → the user: […]\nu3 User: 5177",
        ] {
            assert!(told.contains(shown), "{shown}: {told}");
        }
        for hidden in ["- #", "<args>", "<function", "Harness:", "tool_response", "environment_details"] {
            assert!(!told.contains(hidden), "{hidden}: {told}");
        }
        let numbers = source.path_numbers();
        assert_eq!((numbers.last_user, numbers.last_call), (3, 0));
    }

    #[test]
    fn json_behind_a_label_answers_a_call_that_ends_the_text_before() {
        let agent = |text: &str| Message::text(Role::Assistant, text);
        let source = RecordSource::of([
            user(&["Buche HAT232 um."]),
            agent("Thought:\nI look.\nAction:\n{\"name\": \"find_user\", \"arguments\": {\"zip\": \"89073\"}}"),
            user(&["API output: mia_9"]),
            agent("Thought: who it is.\nAction:\n{\"name\": \"get_user\", \"arguments\": {\"id\": \"mia_9\"}}"),
            user(&["API output: {\"reservations\": [\"EQ1G6C\", \"BOH180\"]}"]),
            agent("Action:\n```json\n{\"name\": \"update\",\n\"arguments\": {\"id\": \"EQ1G6C\"}}\n```"),
            user(&["API output: Error: payment method not found"]),
            agent("Action:\n{\"name\": \"respond\", \"arguments\": {\"content\": \"Welche Karte?\"}}"),
            user(&["Note: meine andere, die {blaue}."]),
            agent("Gut."),
        ]);
        let told = source.record(4_000, Estimator::Pi);
        for shown in [
            "- find_user(89073) → mia_9",
            "- get_user(mia_9) → reservations EQ1G6C, BOH180",
            "- update(EQ1G6C) → ",
            "payment method not found",
            "User: Note: meine andere, die {blaue}.",
        ] {
            assert!(told.contains(shown), "{shown}: {told}");
        }
        assert!(!told.contains("API output") && told.matches("Action:").count() == 1, "{told}");
    }
}
