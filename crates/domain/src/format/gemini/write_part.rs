//! One normalised block into a part.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::fields::{self, KINDS, held};
use super::read_part::is_name;
use super::{MAX_NAME, media};
use crate::format::keys::Object;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes, own};
use crate::format::tool_names::ToolNames;
use crate::model::format::Format;
use crate::model::json as domain_json;
use crate::model::message::{Block, CallKind, Media, Opaque, ToolCall, ToolResult};

const FORMAT: Format = Format::Gemini;

/// What results have to know of the calls before them.
pub struct CallNames<'a> {
    pub tools: ToolNames<'a>,
    /// The calls that go out without an id, as they came.
    unnamed: HashSet<String>,
    /// The names that written calls go under, by id: their results go under the same.
    sent: HashMap<String, String>,
}

impl Default for CallNames<'_> {
    fn default() -> Self {
        CallNames { tools: ToolNames::new(super::read), unnamed: HashSet::new(), sent: HashMap::new() }
    }
}

/// `None` where the block can't be said; then a note tells why, empty text aside: that is counted in `empty`.
pub fn write(block: &Block, names: &mut CallNames<'_>, empty: &mut usize, notes: &mut Notes<'_>) -> Option<Value> {
    match block {
        Block::Text { text, opaque } => write_text(text, opaque.as_ref(), empty, notes),
        Block::Thinking { opaque, .. } => {
            let whole = own(opaque.as_ref(), FORMAT).cloned();
            if whole.is_none() {
                notes.add(NoteCode::ThinkingDropped, "thinking of another model can't be replayed to Gemini");
            }
            whole
        }
        Block::Image { source } => Some(write_media("image", source, notes)),
        Block::Document { source } => Some(write_media("document", source, notes)),
        Block::ToolCall(call) if is_function(call) => Some(write_call(call, names, notes)),
        Block::ToolCall(call) => Some(write_server_call(call, notes)),
        Block::ToolResult(result) if result.kind == CallKind::Server => match own(result.opaque.as_ref(), FORMAT) {
            Some(whole) => Some(whole.clone()),
            None => outgoing::server_result_text(result).map(|text| json!({"text": text})),
        },
        Block::ToolResult(result) => Some(write_result(result, names, notes)),
        Block::Raw(opaque) => {
            let whole = own(Some(opaque), FORMAT).cloned();
            if whole.is_none() {
                notes.add_pair(outgoing::raw_lost(opaque, NoteCode::RawDropped));
            }
            whole
        }
    }
}

/// Returns true if the agent runs the tool, not the provider.
pub fn is_function(call: &ToolCall) -> bool {
    call.kind != CallKind::Server
}

fn write_text(text: &str, opaque: Option<&Opaque>, empty: &mut usize, notes: &mut Notes<'_>) -> Option<Value> {
    if let Some(Value::Object(around)) = own(opaque, FORMAT)
        && (!text.is_empty() || fields::is_signed(around))
    {
        let mut part = around.clone();
        part.insert("text".to_owned(), text.into());
        return Some(Value::Object(part));
    }
    if text.is_empty() {
        *empty += 1;
        return None;
    }
    if outgoing::is_foreign_compaction(opaque, FORMAT) {
        notes.add_pair(outgoing::COMPACTION_AS_TEXT);
        return Some(json!({"text": outgoing::compaction_text(text)}));
    }
    Some(json!({"text": text}))
}

fn write_media(kind: &str, source: &Media, notes: &mut Notes<'_>) -> Value {
    let written = media::write(kind, source);
    if written.as_ref().is_some_and(|part| part.get("text").is_some()) {
        notes.add(NoteCode::DocumentAsText, "a document of plain text is sent as text");
    }
    written.unwrap_or_else(|| {
        notes.add(NoteCode::MediaDropped, format!("this {kind} can't be given to Gemini here"));
        json!({"text": outgoing::media_stand_in(kind, source)})
    })
}

fn write_call(call: &ToolCall, names: &mut CallNames<'_>, notes: &mut Notes<'_>) -> Value {
    let own_part = own(call.opaque.as_ref(), FORMAT).and_then(Value::as_object);
    let name = sent_name(&call.name, own_part.is_some());
    if name != call.name {
        notes.add(NoteCode::ToolNameRenamed, format!("{} is sent as {name}", call.name));
    }
    names.sent.insert(call.id.clone(), name.clone());
    let (args, wrapped) = outgoing::arguments_object(call);
    if wrapped {
        notes.add(NoteCode::ArgumentsWrapped, format!("the arguments of {name} are no object"));
    }
    let Some((mut part, key)) = own_part.and_then(|part| data_of(part, "functionCall")) else {
        return json!({"functionCall": {"id": call.id, "name": name, "args": args}});
    };
    if let Some(Value::Object(data)) = part.get_mut(key) {
        data.insert("name".to_owned(), name.into());
        if data.contains_key("args") || args.as_object().is_some_and(|args| !args.is_empty()) {
            data.insert("args".to_owned(), args);
        }
        if data.get("id").is_some_and(Value::is_string) {
            data.insert("id".to_owned(), call.id.as_str().into());
        } else {
            names.unnamed.insert(call.id.clone());
        }
    }
    Value::Object(part)
}

/// A copy of a part, and the name under which it holds this kind of data.
fn data_of(part: &Object, kind: &str) -> Option<(Object, &'static str)> {
    let key = KINDS.iter().find(|[rest, _]| *rest == kind).and_then(|keys| held(part, *keys))?;
    Some((part.clone(), key))
}

fn sent_name(name: &str, is_own: bool) -> String {
    if is_name(name) && (is_own || name.len() <= MAX_NAME) {
        return name.to_owned();
    }
    outgoing::led_word(name, MAX_NAME).into_owned()
}

fn write_result(result: &ToolResult, names: &mut CallNames<'_>, notes: &mut Notes<'_>) -> Value {
    let own_part = own(result.opaque.as_ref(), FORMAT).and_then(Value::as_object);
    // A call that goes out as it came is of this API, and its name one that the API takes.
    let name = match names.sent.get(&result.tool_call_id) {
        Some(sent) => sent.clone(),
        None => {
            let given = result.name.clone().unwrap_or_else(|| names.tools.name(&result.tool_call_id));
            sent_name(&given, true)
        }
    };
    let (text, parts) = said(result, notes);
    let (mut part, key) = own_part
        .and_then(|part| data_of(part, "functionResponse"))
        .unwrap_or_else(|| (Object::from_iter([("functionResponse".to_owned(), json!({}))]), "functionResponse"));
    if let Some(Value::Object(data)) = part.get_mut(key) {
        match names.unnamed.contains(&result.tool_call_id) {
            true => data.retain(|name, id| name != "id" || id.is_null()),
            false => drop(data.insert("id".to_owned(), result.tool_call_id.as_str().into())),
        }
        data.insert("name".to_owned(), name.into());
        let is_new = own_part.is_none();
        match response(data.get("response").filter(|_| !is_new), &text, result.is_error) {
            Some(response) => drop(data.insert("response".to_owned(), response)),
            None if is_new => drop(data.insert("response".to_owned(), json!({"output": ""}))),
            None => {}
        }
        if data.contains_key("parts") || !parts.is_empty() {
            data.insert("parts".to_owned(), parts.into());
        }
    }
    Value::Object(part)
}

/// The words of a result, and its media as parts.
fn said(result: &ToolResult, notes: &mut Notes<'_>) -> (String, Vec<Value>) {
    let (mut texts, mut parts) = (Vec::new(), Vec::new());
    for block in &result.content {
        let (kind, source) = match block {
            Block::Text { text, .. } => {
                texts.push(text.clone());
                continue;
            }
            Block::Image { source } => ("image", source),
            Block::Document { source } => ("document", source),
            Block::Raw(opaque) => {
                match own(Some(opaque), FORMAT) {
                    Some(whole) => parts.push(whole.clone()),
                    None => notes.add_pair(outgoing::raw_lost(opaque, NoteCode::RawDropped)),
                }
                continue;
            }
            Block::Thinking { .. } | Block::ToolCall(_) | Block::ToolResult(_) => continue,
        };
        let part = write_media(kind, source, notes);
        match part.get("text").and_then(Value::as_str) {
            Some(text) => texts.push(text.to_owned()),
            None => parts.push(part),
        }
    }
    (texts.join("\n"), parts)
}

/// The response that says `text`: in the field that held it (`place`), as the JSON that it is, or in the usual field.
/// `None`: there was none, and there is nothing to say.
fn response(place: Option<&Value>, text: &str, is_error: bool) -> Option<Value> {
    let usual = || {
        let name = if is_error { "error" } else { "output" };
        Value::Object(Object::from_iter([(name.to_owned(), Value::from(text))]))
    };
    match place {
        Some(Value::Object(fields)) => Some(match fields.keys().next() {
            Some(name) => Value::Object(Object::from_iter([(name.clone(), Value::from(text))])),
            None if text.is_empty() => json!({}),
            None => domain_json::parse_lenient(text).ok().filter(Value::is_object).unwrap_or_else(usual),
        }),
        _ if text.is_empty() => None,
        _ => Some(usual()),
    }
}

fn write_server_call(call: &ToolCall, notes: &mut Notes<'_>) -> Value {
    match own(call.opaque.as_ref(), FORMAT) {
        Some(whole) => whole.clone(),
        None => {
            notes.add(NoteCode::ServerToolAsText, format!("{} was run by another provider", call.name));
            json!({"text": outgoing::server_call_text(call)})
        }
    }
}
