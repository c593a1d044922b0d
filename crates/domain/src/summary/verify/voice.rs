//! Who put a text into a span.

use crate::model::message::{Block, Message, Role, ToolResult};
use crate::summary::user_text::{UserText, UserTextClassifier};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    User,
    Model,
    Call,
    Tool,
    /// An earlier summary, notes on parts, or what the summary's writer was told besides.
    Note,
}

/// Calls `hear` with every text of a message.
pub(super) fn each_text(message: &Message, classifier: &mut UserTextClassifier, hear: &mut dyn FnMut(Voice, &str)) {
    let kind = classifier.classify(message);
    // What a harness put around the user's words is not the user's.
    let is_bare = matches!(&kind, UserText::Said(said) if said.len() + 16 > message.plain_text().len());
    let voice = match (&kind, message.role) {
        (UserText::Said(text), _) => {
            hear(Voice::User, text);
            Voice::Tool
        }
        (UserText::Output(_) | UserText::Agent(_), _) | (_, Role::Tool | Role::BashExecution | Role::Custom) => {
            Voice::Tool
        }
        (_, Role::Assistant) => Voice::Model,
        _ => Voice::Note,
    };
    for block in &message.content {
        match block {
            Block::Text { .. } if is_bare => {}
            Block::Text { text, .. } => hear(voice, text),
            Block::Thinking { text, .. } => hear(Voice::Model, text),
            Block::ToolCall(call) => {
                hear(Voice::Call, &call.name);
                each_string(&call.arguments, &mut |text| hear(Voice::Call, text));
            }
            Block::ToolResult(result) => each_result_text(result, hear),
            Block::Document { source } => source.text.iter().for_each(|text| hear(Voice::Tool, text)),
            Block::Image { .. } | Block::Raw(_) => {}
        }
    }
}

fn each_result_text(result: &ToolResult, hear: &mut dyn FnMut(Voice, &str)) {
    for block in &result.content {
        match block {
            Block::Text { text, .. } => hear(Voice::Tool, text),
            Block::Document { source } => source.text.iter().for_each(|text| hear(Voice::Tool, text)),
            _ => {}
        }
    }
}

/// Calls `hear` with the keys, strings and numbers of a value, however deep.
fn each_string(value: &serde_json::Value, hear: &mut dyn FnMut(&str)) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Object(fields) => {
                for (key, field) in fields {
                    hear(key);
                    open.push(field);
                }
            }
            serde_json::Value::Array(items) => open.extend(items),
            serde_json::Value::String(text) => hear(text),
            serde_json::Value::Number(number) => hear(&number.to_string()),
            serde_json::Value::Bool(_) | serde_json::Value::Null => {}
        }
    }
}
