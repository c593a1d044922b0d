//! The calls that no result has come to yet: what the user says to one of them is told with it.

use std::collections::HashMap;

use serde_json::Value;

use crate::domain::model::message::{Block, Message, Role, ToolCall};
use crate::domain::model::user_text::replies::replies;
use crate::domain::summary::text::{brief, clip};

/// The most that is told of a call or a question, in characters.
const LONGEST: usize = 160;
/// Calls that are waited for.
const MOST_OPEN: usize = 256;

/// Names and texts of calls, by their ids.
#[derive(Debug, Default)]
pub struct LastCalls(HashMap<String, (String, String)>);

impl LastCalls {
    /// What the user said in the results of this message, each with the question or the call that it was said to. Takes in the
    /// calls of the agent's.
    pub fn replies(&mut self, message: &Message) -> Vec<(String, String)> {
        if message.role == Role::Assistant {
            let calls = message.content.iter().filter_map(|block| match block {
                Block::ToolCall(call) => Some((call.id.clone(), (call.name.clone(), told(call)))),
                _ => None,
            });
            if self.0.len() > MOST_OPEN {
                self.0.clear();
            }
            self.0.extend(calls);
            return Vec::new();
        }
        let results = message.content.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        });
        let said = results.flat_map(|result| {
            let (name, call) = self.0.remove(&result.tool_call_id).unwrap_or_else(unknown);
            let asked = move |question: Option<String>| question.map_or(call.clone(), |one| clip(&one, LONGEST));
            replies(&name, result).into_iter().map(move |reply| (asked(reply.question), reply.said))
        });
        said.collect()
    }
}

/// Name and text of a call that was made before this span.
fn unknown() -> (String, String) {
    (String::new(), "may I call this tool?".to_owned())
}

fn told(call: &ToolCall) -> String {
    let argument = match &call.arguments {
        Value::Object(fields) => fields.values().find_map(Value::as_str).unwrap_or_default(),
        other => other.as_str().unwrap_or_default(),
    };
    format!("may I call {}({})?", call.name, brief(argument, LONGEST))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::domain::model::identifier::IdentifierKind;
    use crate::domain::summary::identifiers::{IdentifierSpan, carry};
    use crate::domain::summary::testing::{assistant, call, failed, result, user};

    #[test]
    fn what_the_user_said_to_a_call_is_carried_with_it() {
        let refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\ntoo slow.";
        let answered = "User has answered your questions: \"Which one?\"=\"React\". You can now continue.";
        let mut span = IdentifierSpan::default();
        for message in [
            user("Build the page of the shop for me."),
            call("a", "Bash", json!({"command": "make all"})),
            failed("a", refused),
            call("b", "AskUserQuestion", json!({"questions": []})),
            result("b", answered),
            assistant("Then it is so."),
        ] {
            span.add_entry(&message, None);
        }
        let carried = carry(&[], span, 1_000);
        let said = carried.iter().filter(|one| one.kind == IdentifierKind::Request);
        let said: Vec<_> = said.map(|one| (one.asked.as_deref(), one.text.as_str())).collect();
        let first = (None, "Build the page of the shop for me.");
        assert_eq!(said, [first, (Some("may I call Bash(make all)?"), "too slow."), (Some("Which one?"), "React")]);
    }
}
