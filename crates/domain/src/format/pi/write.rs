//! Contexts as pi entries: stored ones as they are, others as `message` entries chained to what precedes them.

use std::collections::HashSet;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::run::command_and_output;
use crate::format::note_code::NoteCode;
use crate::format::outgoing;
use crate::format::tool_names::ToolNames;
use crate::format::write::{Note, Piece};
use crate::model::format::Format;
use crate::model::json as domain_json;
use crate::model::message::{Block, CallKind, Media, Message, Role, Stop, ToolCall, ToolResult};

const EPOCH: &str = "1970-01-01T00:00:00.000Z";

/// Writes a context as JSON texts of pi entries, in order. Made-up entries have made-up ids (8 hex digits, the
/// same for the same context) and the time of the entry before them. What pi can't hold is left out with a note.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    let mut writer = PiWriter {
        notes,
        out: Vec::new(),
        used: HashSet::new(),
        stored: HashSet::new(),
        last: Last::default(),
        tools: ToolNames::new(super::read),
    };
    for piece in pieces {
        match piece {
            Piece::Verbatim { entry, item, .. } => writer.verbatim(*entry, item),
            Piece::Message { entry, message } => writer.message(*entry, message),
        }
    }
    writer.out
}

struct PiWriter<'a, 'n> {
    notes: &'n mut Vec<Note>,
    out: Vec<String>,
    used: HashSet<String>,
    /// The ids of stored entries so far.
    stored: HashSet<String>,
    last: Last<'a>,
    tools: ToolNames<'a>,
}

/// How a stored item hangs in its tree.
#[derive(Default, Deserialize)]
struct Link<'a> {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "parentId")]
    parent: Option<&'a RawValue>,
}

impl<'a> Link<'a> {
    fn of(item: &'a str) -> Link<'a> {
        serde_json::from_str(item).unwrap_or_default()
    }

    fn id(&self) -> Option<String> {
        self.id.and_then(|id| serde_json::from_str(id.get()).ok())
    }

    fn parent(&self) -> Option<String> {
        self.parent.and_then(|parent| serde_json::from_str(parent.get()).ok())
    }
}

/// Where `part` stands, which was borrowed from `whole`.
fn place_in(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    start..start + part.len()
}

/// The entry before the next one. A stored item is read only when something has to be chained to it.
#[derive(Default)]
struct Last<'a> {
    unread: Option<&'a str>,
    id: Option<String>,
    /// It has no id: nothing can be chained to it.
    is_unlinked: bool,
    timestamp: Option<String>,
    millis: Option<Value>,
}

impl Last<'_> {
    fn read(&mut self) {
        let Some(item) = self.unread.take().and_then(|item| serde_json::from_str::<Value>(item).ok()) else {
            return;
        };
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        self.timestamp = text("timestamp").or(self.timestamp.take());
        let millis = item.get("message").and_then(|message| message.get("timestamp")).cloned();
        self.millis = millis.or(self.millis.take());
    }
}

impl<'a> PiWriter<'a, '_> {
    fn verbatim(&mut self, entry: usize, item: &'a str) {
        let link = Link::of(item);
        let is_first = entry == 0 && self.out.is_empty();
        let hangs = is_first || self.last.is_unlinked || link.parent.is_none() || link.parent() == self.last.id;
        if link.kind.as_deref() != Some("session") && link.id().is_some_and(|id| !self.stored.insert(id)) {
            return self.under_another_id(entry, item);
        }
        let text = if hangs { item.to_owned() } else { self.hang(entry, item, &link) };
        if link.kind.as_deref() != Some("session") {
            self.last.id = link.id();
            self.last.is_unlinked = self.last.id.is_none();
        }
        // An earlier one may hold the last known time.
        self.last.unread = Some(item);
        if item.contains("\"toolCall\"") {
            self.tools.note_item(item);
        }
        self.out.push(text);
    }

    /// A stored item whose id an earlier one has: pi would keep the last of the two and lose the first.
    fn under_another_id(&mut self, entry: usize, item: &'a str) {
        let Ok(mut value) = domain_json::parse_lenient(item) else { return };
        let id = self.fresh_id(&value);
        self.notes.push(Note::new(NoteCode::ItemIdChanged, Some(entry), "an earlier entry has the same id"));
        if let Some(fields) = value.as_object_mut() {
            fields.insert("id".to_owned(), id.as_str().into());
            if fields.contains_key("parentId") {
                fields.insert("parentId".to_owned(), json!(self.last.id));
            }
        }
        self.last.id = Some(id);
        self.last.is_unlinked = false;
        self.last.unread = Some(item);
        self.tools.note_item(item);
        self.out.push(value.to_string());
    }

    /// The item, with the entry that is shown before it for a parent: whoever walks from the last entry to the root has
    /// to find them all.
    fn hang(&mut self, entry: usize, item: &str, link: &Link<'_>) -> String {
        let Some(place) = link.parent.map(|raw| place_in(item, raw.get())) else { return item.to_owned() };
        let (Some(before), Some(after)) = (item.get(..place.start), item.get(place.end..)) else {
            return item.to_owned();
        };
        self.notes.push(Note::new(
            NoteCode::ParentChanged,
            Some(entry),
            "it follows the entry that is shown before it",
        ));
        format!("{before}{}{after}", json!(self.last.id))
    }

    fn message(&mut self, entry: Option<usize>, message: &Message) {
        for result in message.tool_results().filter(|result| result.kind != CallKind::Server) {
            let written = self.result(entry, result);
            self.push(written);
        }
        self.tools.note_message(message);
        let is_entry = |block: &Block| matches!(block, Block::ToolResult(result) if result.kind != CallKind::Server);
        let rest: Vec<&Block> = message.content.iter().filter(|block| !is_entry(block)).collect();
        if rest.is_empty() {
            return;
        }
        if let Some(written) = self.spoken(entry, message, &rest) {
            self.push(written);
        }
    }

    fn result(&mut self, entry: Option<usize>, result: &ToolResult) -> Value {
        let name = result.name.clone().unwrap_or_else(|| self.tools.name(&result.tool_call_id));
        let blocks: Vec<&Block> = result.content.iter().collect();
        let content = self.blocks(entry, &blocks);
        json!({"role": "toolResult", "toolCallId": result.tool_call_id, "toolName": name, "content": content,
            "isError": result.is_error})
    }

    fn spoken(&mut self, entry: Option<usize>, message: &Message, blocks: &[&Block]) -> Option<Value> {
        Some(match message.role {
            Role::System | Role::Developer => json!({"role": "system", "content": message.plain_text()}),
            Role::User | Role::Tool => json!({"role": "user", "content": self.non_empty(entry, blocks)?}),
            Role::Assistant => assistant(self.non_empty(entry, blocks)?, message),
            Role::Custom => {
                let content = self.non_empty(entry, blocks)?;
                json!({"role": "custom", "customType": "context", "content": content, "display": true})
            }
            Role::BashExecution => {
                let (command, output) = command_and_output(message)?;
                json!({"role": "bashExecution", "command": command, "output": output, "exitCode": 0,
                    "cancelled": false, "truncated": false})
            }
            Role::BranchSummary => json!({"role": "branchSummary", "summary": message.plain_text(), "fromId": "root"}),
            Role::CompactionSummary => {
                json!({"role": "compactionSummary", "summary": message.plain_text(), "tokensBefore": 0})
            }
        })
    }

    fn non_empty(&mut self, entry: Option<usize>, blocks: &[&Block]) -> Option<Vec<Value>> {
        Some(self.blocks(entry, blocks)).filter(|content| !content.is_empty())
    }

    fn blocks(&mut self, entry: Option<usize>, blocks: &[&Block]) -> Vec<Value> {
        blocks.iter().filter_map(|block| self.block(entry, block)).collect()
    }

    fn block(&mut self, entry: Option<usize>, block: &Block) -> Option<Value> {
        match block {
            Block::Text { text, opaque } if outgoing::is_foreign_compaction(opaque.as_ref(), Format::Pi) => {
                let (code, detail) = outgoing::COMPACTION_AS_TEXT;
                self.notes.push(Note::new(code, entry, detail));
                Some(json!({"type": "text", "text": outgoing::compaction_text(text)}))
            }
            Block::Text { text, .. } => Some(json!({"type": "text", "text": text})),
            Block::Thinking { text, opaque } => match opaque {
                Some(opaque) if opaque.format == Format::Pi => Some(opaque.value.clone()),
                _ if text.is_empty() => {
                    self.drop(entry, NoteCode::ThinkingDropped, "encrypted reasoning of another provider")
                }
                _ => Some(json!({"type": "thinking", "thinking": text})),
            },
            Block::Image { source } => image(source)
                .or_else(|| self.drop(entry, NoteCode::ImageDropped, "pi holds images by their bytes only")),
            Block::Document { source } => match &source.text {
                Some(text) => Some(json!({"type": "text", "text": text})),
                None => self.drop(entry, NoteCode::DocumentDropped, "pi holds no documents"),
            },
            Block::ToolCall(call) if call.kind == CallKind::Server => {
                let detail = "a tool run by another provider is described in words";
                self.notes.push(Note::new(NoteCode::ServerToolAsText, entry, detail));
                Some(json!({"type": "text", "text": outgoing::server_call_text(call)}))
            }
            Block::ToolCall(call) => Some(tool_call(call)),
            // Other results are entries of their own.
            Block::ToolResult(result) => {
                outgoing::server_result_text(result).map(|text| json!({"type": "text", "text": text}))
            }
            Block::Raw(opaque) if opaque.format == Format::Pi => Some(opaque.value.clone()),
            Block::Raw(opaque) => {
                let (code, detail) = outgoing::raw_lost(opaque, NoteCode::RawDropped);
                self.drop(entry, code, detail)
            }
        }
    }

    fn drop(&mut self, entry: Option<usize>, code: NoteCode, detail: &str) -> Option<Value> {
        self.notes.push(Note::new(code, entry, detail));
        None
    }

    fn push(&mut self, mut message: Value) {
        self.last.read();
        let timestamp = self.last.timestamp.clone().unwrap_or_else(|| EPOCH.to_owned());
        let millis = self.last.millis.clone().unwrap_or_else(|| json!(0));
        if let Some(fields) = message.as_object_mut() {
            fields.insert("timestamp".to_owned(), millis);
        }
        let id = self.fresh_id(&message);
        let entry = json!({"type": "message", "id": id, "parentId": self.last.id, "timestamp": timestamp,
            "message": message});
        self.out.push(entry.to_string());
        self.last.id = Some(id);
        self.last.is_unlinked = false;
    }

    fn fresh_id(&mut self, message: &Value) -> String {
        let seed = blake3::hash(message.to_string().as_bytes());
        let mut attempt = self.out.len() as u64;
        loop {
            let digest = blake3::keyed_hash(seed.as_bytes(), &attempt.to_le_bytes()).to_hex();
            let id: String = digest.chars().take(8).collect();
            if self.used.insert(id.clone()) {
                return id;
            }
            attempt = attempt.wrapping_add(1);
        }
    }
}

fn assistant(content: Vec<Value>, message: &Message) -> Value {
    let stop = match message.stop {
        Some(Stop::Length) => "length",
        Some(Stop::Aborted) => "aborted",
        Some(Stop::Error | Stop::Refusal) => "error",
        Some(Stop::End | Stop::ToolUse) | None if message.tool_calls().next().is_some() => "toolUse",
        Some(Stop::End | Stop::ToolUse) | None => "stop",
    };
    let none = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    json!({"role": "assistant", "content": content, "api": "unknown", "provider": "unknown", "model": "unknown",
        "usage": none, "stopReason": stop})
}

fn tool_call(call: &ToolCall) -> Value {
    if let Some(opaque) = call.opaque.as_ref().filter(|opaque| opaque.format == Format::Pi) {
        let mut whole = opaque.value.clone();
        if let Some(arguments) = whole.get_mut("arguments") {
            *arguments = call.arguments.clone();
        }
        return whole;
    }
    // pi's arguments are objects; free text travels as the one argument that such tools have.
    let (arguments, _) = outgoing::arguments_object(call);
    json!({"type": "toolCall", "id": call.id, "name": call.name, "arguments": arguments})
}

fn image(source: &Media) -> Option<Value> {
    let data = source.data.as_ref()?;
    let mime = source.media_type.as_deref().unwrap_or("image/png");
    Some(json!({"type": "image", "data": data, "mimeType": mime}))
}
