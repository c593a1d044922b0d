//! One normalised message into items.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::tools::AgentTool;
use super::{MAX_ID, MAX_NAME, parts};
use crate::format::keys::Object;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes, own};
use crate::format::refused;
use crate::format::write::ItemFault;
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Message, Role, ToolCall, ToolResult};

const FORMAT: Format = Format::OpenaiResponses;

/// The types of the output items that the calls so far are answered with, by call id.
pub type OutputTypes = HashMap<String, &'static str>;

/// The type of the output item that answers a call item; `None` where it is no call of the agent's.
pub fn output_type(call_type: &str) -> Option<&'static str> {
    match call_type {
        "function_call" => Some("function_call_output"),
        "custom_tool_call" => Some("custom_tool_call_output"),
        other => AgentTool::by_call(other).map(|tool| tool.output),
    }
}

/// The type of the item that a call is written as.
pub fn call_type(call: &ToolCall) -> &str {
    let own_type = own(call.opaque.as_ref(), FORMAT).and_then(|item| item["type"].as_str());
    own_type.unwrap_or(if call.kind == CallKind::Custom { "custom_tool_call" } else { "function_call" })
}

/// Writes the items of one message, in the order of its blocks; neighbouring parts share a message item.
pub fn write(message: &Message, types: &OutputTypes, notes: &mut Notes<'_>) -> Vec<Value> {
    // What another agent said is kept whole.
    let around = own(message.opaque.as_ref(), FORMAT).filter(|item| item["type"] == "agent_message");
    if let Some(whole) = around {
        return vec![whole.clone()];
    }
    let (items, parts) = (Vec::new(), Vec::new());
    let mut writer = ItemWriter { message, items, parts, hosted: None, looked_at: 0, has_message: false };
    for block in &message.content {
        writer.block(block, types, notes);
    }
    writer.flush();
    if writer.items.is_empty() {
        notes.add(NoteCode::EmptyMessageDropped, "nothing in this message can be sent");
    }
    writer.items
}

struct ItemWriter<'m> {
    message: &'m Message,
    items: Vec<Value>,
    /// Parts of the message item that is being filled.
    parts: Vec<Value>,
    /// Id of the last item that holds its own result.
    hosted: Option<&'m str>,
    /// One of the first so many items is a message item.
    looked_at: usize,
    has_message: bool,
}

impl<'m> ItemWriter<'m> {
    fn block(&mut self, block: &'m Block, types: &OutputTypes, notes: &mut Notes<'_>) {
        match block {
            Block::Text { text, .. } if text.is_empty() => {}
            Block::Thinking { opaque, .. } => match own(opaque.as_ref(), FORMAT) {
                Some(whole) => self.item(whole.clone()),
                None => notes.add(NoteCode::ThinkingDropped, "thinking of another provider can't be replayed"),
            },
            Block::ToolCall(call) if call.kind == CallKind::Server => self.server_call(call, notes),
            Block::ToolCall(call) => self.item(write_call(call, notes)),
            Block::ToolResult(result) if result.kind == CallKind::Server => self.server_result(result),
            Block::ToolResult(result) => self.item(write_result(result, types, notes)),
            // A raw block of a message that came with an envelope is one of its parts, else a whole item.
            Block::Raw(opaque) if self.message.opaque.is_none() && opaque.format == FORMAT => {
                self.item(opaque.value.clone());
            }
            _ => self.parts.extend(parts::write(block, self.role(), notes)),
        }
    }

    fn item(&mut self, item: Value) {
        self.flush();
        self.items.push(item);
    }

    fn text(&mut self, text: &str) {
        self.parts.push(json!({"type": parts::text_type(self.role()), "text": text}));
    }

    fn server_call(&mut self, call: &'m ToolCall, notes: &mut Notes<'_>) {
        match own(call.opaque.as_ref(), FORMAT) {
            Some(whole) => {
                self.hosted = Some(&call.id);
                self.item(whole.clone());
            }
            None => {
                notes.add(NoteCode::ServerToolAsText, format!("{} was run by another provider", call.name));
                self.text(&outgoing::server_call_text(call));
            }
        }
    }

    fn server_result(&mut self, result: &ToolResult) {
        if let Some(whole) = own(result.opaque.as_ref(), FORMAT) {
            self.item(whole.clone());
        } else if self.hosted != Some(&result.tool_call_id)
            && let Some(text) = outgoing::server_result_text(result)
        {
            self.text(&text);
        }
    }

    fn role(&self) -> Role {
        match self.message.role {
            role @ (Role::System | Role::Developer | Role::Assistant) => role,
            _ => Role::User,
        }
    }

    /// Ends the message item; the envelope that the message came with goes to the first one.
    fn flush(&mut self) {
        if self.parts.is_empty() {
            return;
        }
        let mut parts = std::mem::take(&mut self.parts);
        let mut added = self.items.iter().skip(self.looked_at);
        self.has_message |= added.any(|item| item.get("content").is_some());
        self.looked_at = self.items.len();
        let first = !self.has_message;
        let around = own(self.message.opaque.as_ref(), FORMAT).and_then(Value::as_object).filter(|_| first);
        if around.is_none() && self.role() == Role::Assistant {
            return self.items.extend(parts.into_iter().map(spoken));
        }
        if around.is_none() {
            parts.iter_mut().for_each(give_detail);
        }
        let mut item = around.cloned().unwrap_or_else(|| typed("message"));
        item.insert("role".into(), self.role().into_str().into());
        let as_string = item.get("content").is_some_and(Value::is_string);
        let content = plain_text(&parts).filter(|_| as_string).map_or(Value::Array(parts), Value::String);
        item.insert("content".into(), content);
        // A list that lost its id, or that was none before something was put in words, goes as a string.
        self.items.push(match self.role() {
            Role::Assistant => refused::mended(FORMAT, Value::Object(item)),
            _ => Value::Object(item),
        });
    }
}

/// A part of an answer that came without an item of its own. Lists of `output_text` belong to items with an id and a
/// status, which only the provider gives; as input alone, an answer is a string (as of November 2026).
fn spoken(part: Value) -> Value {
    let said = part.get("text").or(part.get("refusal")).and_then(Value::as_str).map(Value::from);
    let content = said.unwrap_or_else(|| Value::Array(vec![part]));
    json!({"type": "message", "role": "assistant", "content": content})
}

/// Images of messages have to say their detail, those of outputs need not.
fn give_detail(part: &mut Value) {
    let is_image = part["type"] == "input_image";
    if let Some(fields) = part.as_object_mut().filter(|_| is_image) {
        fields.entry("detail").or_insert_with(|| "auto".into());
    }
}

/// The text of parts that are one text and nothing more.
fn plain_text(parts: &[Value]) -> Option<String> {
    match parts {
        [Value::Object(part)] if part.len() == 2 => {
            let is_text = matches!(part.get("type")?.as_str()?, "input_text" | "output_text");
            part.get("text")?.as_str().filter(|_| is_text).map(str::to_owned)
        }
        _ => None,
    }
}

fn typed(kind: &str) -> Object {
    Object::from_iter([("type".to_owned(), Value::from(kind))])
}

fn call_id(id: &str) -> String {
    // Any character is taken, only the length is bounded.
    if !id.is_empty() && id.len() <= MAX_ID { id.to_owned() } else { outgoing::word(id, MAX_ID).into_owned() }
}

/// The id of a call, and a note where it is another than its own.
fn known_id(given: &str, notes: &mut Notes<'_>) -> String {
    let id = call_id(given);
    if id != given {
        notes.add_fault(NoteCode::CallIdRenamed, ItemFault::IdRefused, format!("{given} is sent as {id}"));
    }
    id
}

/// The item under another call id, where pairing gave it one.
fn with_id(mut item: Value, id: &str) -> Value {
    let key = if item.get("call_id").is_some() { "call_id" } else { "id" };
    if let Some(field) = item.get_mut(key).filter(|field| field.is_string()) {
        *field = id.into();
    }
    item
}

fn write_call(call: &ToolCall, notes: &mut Notes<'_>) -> Value {
    let kind = call_type(call);
    if let Some(tool) = AgentTool::by_call(kind)
        && let Some(whole) = own(call.opaque.as_ref(), FORMAT)
    {
        return with_id(tool.call(whole, &call.arguments), &known_id(&call.id, notes));
    }
    let id = known_id(&call.id, notes);
    let name = outgoing::word(&call.name, MAX_NAME);
    if name != call.name {
        notes.add(NoteCode::ToolNameRenamed, format!("{} is sent as {name}", call.name));
    }
    let around = own(call.opaque.as_ref(), FORMAT).and_then(Value::as_object);
    let mut item = around.cloned().unwrap_or_else(|| typed(kind));
    item.insert("call_id".into(), id.into());
    item.insert("name".into(), name.into());
    let key = if kind == "custom_tool_call" { "input" } else { "arguments" };
    let text = if kind == "custom_tool_call" { input_text(call) } else { outgoing::arguments_text(call) };
    item.insert(key.into(), text.into());
    Value::Object(item)
}

/// The free text that a custom tool is given.
fn input_text(call: &ToolCall) -> String {
    match (&call.arguments_text, &call.arguments) {
        (Some(text), _) | (None, Value::String(text)) => text.clone(),
        (None, arguments) => arguments.to_string(),
    }
}

/// The output item that fits the call: its type follows the call's. A made-up result does not know that type, and
/// one whose id was used twice can have been given to another call.
fn write_result(result: &ToolResult, types: &OutputTypes, notes: &mut Notes<'_>) -> Value {
    let known = own(result.opaque.as_ref(), FORMAT).and_then(Value::as_object);
    let known_type = known.and_then(|item| item.get("type")?.as_str());
    let by_kind = if result.kind == CallKind::Custom { "custom_tool_call_output" } else { "function_call_output" };
    let kind = types.get(&result.tool_call_id).copied().or(known_type).unwrap_or(by_kind);
    let known = known.filter(|_| known_type == Some(kind));
    if let Some(tool) = AgentTool::by_output(kind) {
        let whole = known.filter(|item| tool.content(item) == result.content).cloned().map(Value::Object);
        return with_id(whole.unwrap_or_else(|| tool.output(result, known)), &call_id(&result.tool_call_id));
    }
    let mut item = known.cloned().unwrap_or_else(|| typed(kind));
    let was_list = item.get("output").is_some();
    let says = |block: &&Block| !matches!(block, Block::Text { text, .. } if text.is_empty());
    let output: Vec<Value> =
        result.content.iter().filter(says).filter_map(|block| parts::write(block, Role::User, notes)).collect();
    let output = match plain_text(&output).filter(|_| !was_list) {
        Some(text) => Value::String(text),
        None if output.is_empty() && !was_list => "".into(),
        None => Value::Array(output),
    };
    if result.is_error {
        notes.add(NoteCode::ErrorFlagDropped, format!("the result of {} is marked as an error", result.tool_call_id));
    }
    item.insert("call_id".into(), call_id(&result.tool_call_id).into());
    item.insert("output".into(), output);
    Value::Object(item)
}
