use serde_json::{Map, Value, json};

use super::THINKING_FIELDS;
use crate::format::field;
use crate::format::write::media_from_url;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::json;
use crate::model::message::{Block, CallKind, Media, Message, Opaque, Role, Stop, ToolCall, ToolResult};

type Fields = Map<String, Value>;

/// Reads one Chat Completions message. An unknown role is read as the user's.
///
/// # Errors
/// Not an object, no role, or a known field of the wrong type.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let fields = field::object(value, "")?;
    let mut reader = MessageReader::default();
    let role = match field::required_string(fields, "role", "")? {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => {
            reader.needs_repair = true;
            Role::User
        }
    };
    let content = match role {
        Role::Tool => vec![Block::ToolResult(reader.result(fields)?)],
        Role::Assistant => reader.assistant(fields)?,
        _ => reader.content(fields)?,
    };
    reader.needs_repair |= role != Role::Assistant && fields.get("tool_calls").is_some_and(|calls| !calls.is_null());
    let says_something = content.iter().any(|block| !matches!(block, Block::Thinking { .. }));
    reader.needs_repair |= !says_something && (content.is_empty() || !has_text_field(fields));
    let name = fields.get("name").filter(|name| role != Role::Tool && name.is_string());
    let opaque = name.map(|name| Opaque { format: Format::OpenaiChat, value: json!({ "name": name }) });
    let message = Message { role, content, stop: reader.stop, opaque };
    let source_id = fields.get("id").and_then(Value::as_str).map(str::to_owned);
    Ok(Item { source_id, ..Item::of_message(message, reader.needs_repair) })
}

/// Thinking alone needs a content string beside it: without calls, `null` is refused.
fn has_text_field(fields: &Fields) -> bool {
    fields.get("content").is_some_and(Value::is_string)
}

#[derive(Default)]
struct MessageReader {
    needs_repair: bool,
    stop: Option<Stop>,
}

impl MessageReader {
    fn assistant(&mut self, fields: &Fields) -> Result<Vec<Block>, ItemError> {
        let mut blocks: Vec<Block> = thinking(fields).into_iter().collect();
        blocks.extend(self.content(fields)?);
        if let Some(refusal) = field::string(fields, "refusal", "")?.filter(|text| !text.is_empty()) {
            self.stop = Some(Stop::Refusal);
            blocks.push(Block::Text { text: refusal.to_owned(), opaque: None });
        }
        if let Some(audio @ Value::Object(_)) = fields.get("audio") {
            blocks.push(raw(&json!({ "audio": audio })));
        }
        let calls = field::array(fields, "tool_calls", "")?;
        self.needs_repair |= calls.is_empty() && fields.get("tool_calls").is_some_and(Value::is_array);
        for (place, call) in calls.iter().enumerate() {
            blocks.push(Block::ToolCall(self.call(call, &format!("/tool_calls/{place}"))?));
        }
        match fields.get("function_call") {
            None | Some(Value::Null) => {}
            Some(legacy) => {
                let legacy = field::object(legacy, "/function_call")?;
                blocks.push(Block::ToolCall(self.function(legacy, String::new(), "/function_call")?));
            }
        }
        Ok(blocks)
    }

    fn call(&mut self, value: &Value, at: &str) -> Result<ToolCall, ItemError> {
        let fields = field::object(value, at)?;
        let id = field::string(fields, "id", at)?.unwrap_or_default().to_owned();
        self.needs_repair |= id.is_empty();
        match field::string(fields, "type", at)?.unwrap_or("function") {
            "function" => {
                let at = format!("{at}/function");
                let function = fields.get("function").ok_or_else(|| ItemError::new(&at, "is missing"))?;
                self.function(field::object(function, &at)?, id, &at)
            }
            "custom" => {
                let at = format!("{at}/custom");
                let custom = fields.get("custom").ok_or_else(|| ItemError::new(&at, "is missing"))?;
                let custom = field::object(custom, &at)?;
                let input = field::string(custom, "input", &at)?.unwrap_or_default();
                Ok(ToolCall {
                    id,
                    name: field::required_string(custom, "name", &at)?.to_owned(),
                    arguments: input.into(),
                    arguments_text: Some(input.to_owned()),
                    kind: CallKind::Custom,
                    opaque: None,
                })
            }
            unknown => Ok(ToolCall {
                id,
                name: unknown.to_owned(),
                arguments: fields.get(unknown).cloned().unwrap_or_else(|| json!({})),
                arguments_text: None,
                kind: CallKind::Function,
                opaque: Some(opaque(value)),
            }),
        }
    }

    fn function(&mut self, fields: &Fields, id: String, at: &str) -> Result<ToolCall, ItemError> {
        let name = field::required_string(fields, "name", at)?.to_owned();
        let (arguments, arguments_text) = match fields.get("arguments") {
            Some(Value::String(text)) => {
                let parsed = json::parse_lenient(text);
                // OpenAI itself lets it pass; compatible servers and templates parse it and fail for good.
                self.needs_repair |= parsed.is_err();
                (parsed.unwrap_or_else(|_| Value::String(text.clone())), Some(text.clone()))
            }
            // The API has arguments as text; some imitators send the object, or nothing.
            other => {
                self.needs_repair = true;
                let given = other.filter(|value| !value.is_null()).cloned();
                (given.unwrap_or_else(|| json!({})), None)
            }
        };
        Ok(ToolCall { id, name, arguments, arguments_text, kind: CallKind::Function, opaque: None })
    }

    fn result(&mut self, fields: &Fields) -> Result<ToolResult, ItemError> {
        let given = field::string(fields, "tool_call_id", "")?.unwrap_or_default();
        let legacy = fields.get("role").and_then(Value::as_str) == Some("function");
        let silent = match fields.get("content") {
            None | Some(Value::Null) => true,
            Some(Value::Array(parts)) => parts.is_empty(),
            Some(_) => false,
        };
        let nameless = field::string(fields, "name", "")?.is_none_or(str::is_empty);
        self.needs_repair |= silent || (given.is_empty() && (!legacy || nameless));
        Ok(ToolResult {
            tool_call_id: if given.is_empty() { only_listed_id(fields) } else { given }.to_owned(),
            name: field::string(fields, "name", "")?.map(str::to_owned),
            content: self.content(fields)?,
            is_error: false,
            kind: CallKind::Function,
            opaque: None,
        })
    }

    /// The blocks of `content`; empty texts are left out.
    fn content(&mut self, fields: &Fields) -> Result<Vec<Block>, ItemError> {
        match fields.get("content") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![Block::Text { text: text.clone(), opaque: None }]),
            Some(Value::Array(parts)) => {
                self.needs_repair |= parts.is_empty();
                let mut blocks = Vec::with_capacity(parts.len());
                for (place, value) in parts.iter().enumerate() {
                    let block = self.part(value, &format!("/content/{place}"))?;
                    self.needs_repair |= block.is_none();
                    blocks.extend(block);
                }
                Ok(blocks)
            }
            Some(_) => Err(ItemError::new("/content", "must be a string or an array of parts")),
        }
    }

    fn part(&mut self, value: &Value, at: &str) -> Result<Option<Block>, ItemError> {
        let fields = field::object(value, at)?;
        let text = match field::required_type(fields, at)? {
            "text" => field::required_string(fields, "text", at)?,
            "refusal" => {
                self.stop = Some(Stop::Refusal);
                field::required_string(fields, "refusal", at)?
            }
            "image_url" => return image(fields, value, at).map(Some),
            "file" => return file(fields, value, at).map(Some),
            _ => return Ok(Some(raw(value))),
        };
        Ok(Some(Block::Text { text: text.to_owned(), opaque: None }).filter(|_| !text.is_empty()))
    }
}

/// The id where it is given as a list of one (SWE-agent's `tool_call_ids`).
fn only_listed_id(fields: &Fields) -> &str {
    match fields.get("tool_call_ids").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::String(id)]) => id,
        _ => "",
    }
}

fn thinking(fields: &Fields) -> Option<Block> {
    let said = |name: &&str| {
        let value = fields.get(*name)?;
        let empty = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        (!empty).then(|| ((*name).to_owned(), value.clone()))
    };
    let kept: Fields = THINKING_FIELDS.iter().filter_map(said).collect();
    if kept.is_empty() {
        return None;
    }
    let text = kept.values().find_map(Value::as_str).unwrap_or_default().to_owned();
    Some(Block::Thinking { text, opaque: Some(opaque(&Value::Object(kept))) })
}

fn image(fields: &Fields, part: &Value, at: &str) -> Result<Block, ItemError> {
    let at = format!("{at}/image_url");
    let url = match fields.get("image_url") {
        Some(Value::String(url)) => url,
        Some(Value::Object(inner)) => field::required_string(inner, "url", &at)?,
        _ => return Err(ItemError::new(at, "must be an object with a url")),
    };
    Ok(Block::Image { source: Media { opaque: Some(opaque(part)), ..media_from_url(url) } })
}

fn file(fields: &Fields, part: &Value, at: &str) -> Result<Block, ItemError> {
    let at = format!("{at}/file");
    let inner = fields.get("file").ok_or_else(|| ItemError::new(&at, "is missing"))?;
    let inner = field::object(inner, &at)?;
    let bytes = match field::string(inner, "file_data", &at)? {
        Some(url) if url.starts_with("data:") => media_from_url(url),
        data => Media { data: data.map(str::to_owned), ..Media::default() },
    };
    let source = Media {
        file_id: field::string(inner, "file_id", &at)?.map(str::to_owned),
        filename: field::string(inner, "filename", &at)?.map(str::to_owned),
        opaque: Some(opaque(part)),
        ..bytes
    };
    Ok(Block::Document { source })
}

fn raw(value: &Value) -> Block {
    Block::Raw(opaque(value))
}

fn opaque(value: &Value) -> Opaque {
    Opaque { format: Format::OpenaiChat, value: value.clone() }
}
