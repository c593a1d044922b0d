use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ATTACHED, ATTACHMENT_FOLLOWS, MAX_NAME, THINKING_FIELDS, call_id};
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, arguments_text, is_out_of_reach};
use crate::format::write::{ItemFault, Note, Piece, document_link, media_url};
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Media, Message, Opaque, Role, ToolCall, ToolResult};

/// Writes Chat Completions messages.
///
/// Images and files of tool results, which tool messages can't hold, follow the batch of results in a user message.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    let mut writer = ChatWriter { written: Vec::with_capacity(pieces.len()), attachments: Vec::new(), notes };
    for piece in pieces {
        match piece {
            Piece::Verbatim { item, .. } => writer.verbatim(item),
            Piece::Message { entry, message } => writer.message(*entry, message),
        }
    }
    writer.attach();
    writer.written
}

/// With the name that the message came with.
fn named(message: &Message, mut written: Value) -> Value {
    if let (Some(name), Some(fields)) = (message.name(), written.as_object_mut()) {
        fields.insert("name".to_owned(), name.into());
    }
    written
}

struct ChatWriter<'n> {
    written: Vec<String>,
    /// Content parts that wait for the end of a batch of results.
    attachments: Vec<Value>,
    notes: &'n mut Vec<Note>,
}

impl ChatWriter<'_> {
    fn verbatim(&mut self, item: &str) {
        if !self.attachments.is_empty() && !is_result(item) {
            self.attach();
        }
        self.written.push(item.to_owned());
    }

    fn message(&mut self, entry: Option<usize>, message: &Message) {
        if message.role != Role::Tool {
            self.attach();
        }
        match message.role {
            Role::Assistant => self.assistant(entry, message),
            Role::Tool => message.tool_results().for_each(|result| self.result(entry, result)),
            Role::System => self.speech("system", entry, message),
            Role::Developer => self.speech("developer", entry, message),
            _ => self.speech("user", entry, message),
        }
    }

    fn speech(&mut self, role: &str, entry: Option<usize>, message: &Message) {
        let mut said = WrittenBlocks::default();
        message.content.iter().for_each(|block| said.add(block));
        said.report(entry, self.notes);
        if said.parts.is_empty() {
            self.drop_empty(entry);
        } else {
            self.push(&named(message, json!({ "role": role, "content": content(said.parts) })));
        }
    }

    fn assistant(&mut self, entry: Option<usize>, message: &Message) {
        let mut said = WrittenBlocks { for_assistant: true, ..WrittenBlocks::default() };
        message.content.iter().for_each(|block| said.add(block));
        let loses_content = !said.lost.is_empty();
        said.report(entry, self.notes);
        let WrittenBlocks { parts, calls, fields, .. } = said;
        // Thinking whose answer can't be written is no message that the provider takes.
        let thinks_alone = loses_content && fields.keys().all(|name| THINKING_FIELDS.contains(&name.as_str()));
        if parts.is_empty() && calls.is_empty() && thinks_alone {
            return self.drop_empty(entry);
        }
        if parts.is_empty() && calls.is_empty() && fields.is_empty() {
            return self.drop_empty(entry);
        }
        let content = match parts.is_empty() {
            true if calls.is_empty() && !fields.contains_key("audio") => json!(""),
            true => Value::Null,
            false => content(parts),
        };
        let mut written = Map::new();
        written.insert("role".to_owned(), "assistant".into());
        written.insert("content".to_owned(), content);
        written.extend(fields);
        if !calls.is_empty() {
            written.insert("tool_calls".to_owned(), calls.into());
        }
        self.push(&named(message, Value::Object(written)));
    }

    fn result(&mut self, entry: Option<usize>, result: &ToolResult) {
        let mut said = WrittenBlocks::default();
        result.content.iter().for_each(|block| said.add(block));
        said.report(entry, self.notes);
        if result.is_error && entry.is_some() {
            self.note(NoteCode::ErrorFlagDropped, entry, "a tool message has no error flag");
        }
        let own_parts = result.content.iter().any(|block| !matches!(block, Block::Text { .. }) && is_own(block));
        let content = if own_parts { Value::from(said.parts) } else { self.result_text(entry, result, said.parts) };
        self.push(&json!({ "role": "tool", "tool_call_id": call_id(&result.tool_call_id), "content": content }));
    }

    /// The text of a result; its other parts are put aside until the batch is complete.
    fn result_text(&mut self, entry: Option<usize>, result: &ToolResult, parts: Vec<Value>) -> Value {
        let (texts, attached): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.get("text").is_some());
        let mut texts: Vec<&str> = texts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        if !attached.is_empty() {
            self.note(NoteCode::ResultMediaMoved, entry, "media of a tool result follow it in a user message");
            self.attachments.push(text_part(&format!("{ATTACHED}{}:", result.tool_call_id)));
            self.attachments.extend(attached);
            texts.push(ATTACHMENT_FOLLOWS);
        }
        texts.join("\n").into()
    }

    fn attach(&mut self) {
        if !self.attachments.is_empty() {
            let parts = std::mem::take(&mut self.attachments);
            self.push(&json!({ "role": "user", "content": parts }));
        }
    }

    fn drop_empty(&mut self, entry: Option<usize>) {
        self.note(NoteCode::EmptyMessageDropped, entry, "a message without content is left out");
    }

    fn note(&mut self, code: NoteCode, entry: Option<usize>, detail: &str) {
        self.notes.push(Note::new(code, entry, detail));
    }

    fn push(&mut self, message: &Value) {
        self.written.push(message.to_string());
    }
}

/// Blocks of one message in the form of Chat Completions, and what of them got lost.
#[derive(Default)]
struct WrittenBlocks {
    for_assistant: bool,
    parts: Vec<Value>,
    calls: Vec<Value>,
    /// Fields of the message itself: thinking and audio that came in this format.
    fields: Map<String, Value>,
    lost: Vec<(NoteCode, &'static str)>,
}

impl WrittenBlocks {
    fn add(&mut self, block: &Block) {
        match block {
            Block::Text { text, .. } if text.is_empty() => {}
            Block::Text { text, opaque } if outgoing::is_foreign_compaction(opaque.as_ref(), Format::OpenaiChat) => {
                let (code, detail) = outgoing::COMPACTION_AS_TEXT;
                self.lose(code, detail);
                self.parts.push(text_part(&outgoing::compaction_text(text)));
            }
            Block::Text { text, .. } => self.parts.push(text_part(text)),
            Block::Thinking { opaque: Some(Opaque { format: Format::OpenaiChat, value }), .. } => self.fields(value),
            Block::Thinking { .. } => {
                self.lose(NoteCode::ThinkingDropped, "thinking is replayed to its own provider only")
            }
            Block::Image { source } | Block::Document { source } if self.for_assistant && own(source).is_none() => {
                self.lose(NoteCode::MediaDropped, "an assistant message can't hold media");
            }
            Block::Image { source } => self.image(source),
            Block::Document { source } => self.document(source),
            Block::ToolCall(call) if call.kind == CallKind::Server => {
                self.lose(NoteCode::ServerToolAsText, "a tool run by another provider is described in words");
                self.parts.push(text_part(&outgoing::server_call_text(call)));
            }
            Block::ToolCall(call) => {
                if call.opaque.is_none() && !outgoing::is_word(&call.name, MAX_NAME) {
                    self.lose(NoteCode::ToolNameRenamed, "the provider takes no such name of a tool");
                }
                if call_id(&call.id) != call.id {
                    self.lose(NoteCode::CallIdRenamed, "the provider takes no id of a call of more than 40 characters");
                }
                self.calls.push(call_value(call));
            }
            Block::ToolResult(result) => {
                self.parts.extend(outgoing::server_result_text(result).as_deref().map(text_part));
            }
            Block::Raw(Opaque { format: Format::OpenaiChat, value }) if value.get("type").is_none() => {
                self.fields(value);
            }
            Block::Raw(Opaque { format: Format::OpenaiChat, value }) => self.parts.push(value.clone()),
            Block::Raw(opaque) => {
                let (code, detail) = outgoing::raw_lost(opaque, NoteCode::RawBlockDropped);
                self.lose(code, detail);
            }
        }
    }

    fn fields(&mut self, value: &Value) {
        self.fields.extend(value.as_object().cloned().unwrap_or_default());
    }

    fn image(&mut self, source: &Media) {
        match (own(source), media_url(source, "image/png")) {
            (Some(part), _) => self.parts.push(part.clone()),
            (None, Some(url)) => self.parts.push(json!({ "type": "image_url", "image_url": { "url": url } })),
            (None, None) => self.not_shown("image", source),
        }
    }

    fn document(&mut self, source: &Media) {
        if let Some(part) = own(source) {
            self.parts.push(part.clone());
        } else if let Some(text) = &source.text {
            self.parts.push(text_part(text));
        } else if source.data.is_some() {
            let filename = source.filename.as_deref().unwrap_or("document");
            let data = media_url(source, "application/pdf");
            self.parts.push(json!({ "type": "file", "file": { "filename": filename, "file_data": data } }));
        } else if let Some(url) = &source.url {
            self.lose(NoteCode::DocumentAsLink, "a document can't be given by its URL; the URL is written out");
            self.parts.push(text_part(&document_link(url)));
        } else {
            self.not_shown("document", source);
        }
    }

    /// A text stands in for a medium that is nowhere, or where only another provider finds it.
    fn not_shown(&mut self, kind: &str, source: &Media) {
        self.lose(NoteCode::MediaDropped, "nothing tells this provider where the bytes of a medium are");
        self.parts.push(text_part(&outgoing::media_stand_in(kind, source)));
    }

    /// One note of a kind for a message.
    fn lose(&mut self, code: NoteCode, detail: &'static str) {
        if !self.lost.iter().any(|(known, _)| *known == code) {
            self.lost.push((code, detail));
        }
    }

    fn report(&mut self, entry: Option<usize>, notes: &mut Vec<Note>) {
        notes.extend(self.lost.drain(..).map(|(code, detail)| match code {
            NoteCode::CallIdRenamed => Note::new(code, entry, detail).of(ItemFault::IdRefused),
            _ => Note::new(code, entry, detail),
        }));
    }
}

fn call_value(call: &ToolCall) -> Value {
    if let Some(Opaque { format: Format::OpenaiChat, value: Value::Object(fields) }) = &call.opaque {
        let mut fields = fields.clone();
        fields.insert("id".to_owned(), call_id(&call.id).into());
        // It is named by its type, and so is what it was given.
        if let Some(given) = fields.get_mut(&call.name) {
            *given = call.arguments.clone();
        }
        return Value::Object(fields);
    }
    let (id, name) = (call_id(&call.id), outgoing::word(&call.name, MAX_NAME));
    if call.kind == CallKind::Custom {
        let input = match (&call.arguments_text, &call.arguments) {
            (Some(text), _) | (None, Value::String(text)) => text.clone(),
            (None, arguments) => arguments.to_string(),
        };
        return json!({ "id": id, "type": "custom", "custom": { "name": name, "input": input } });
    }
    let arguments = arguments_text(call);
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// The message's `content`: a plain string where there is one text alone.
fn content(mut parts: Vec<Value>) -> Value {
    if let [Value::Object(only)] = parts.as_mut_slice()
        && only.len() == 2
        && let Some(text @ Value::String(_)) = only.get_mut("text")
    {
        return text.take();
    }
    parts.into()
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// The part as it came, where it came in this format and says where its bytes are.
fn own(source: &Media) -> Option<&Value> {
    outgoing::own(source.opaque.as_ref(), Format::OpenaiChat).filter(|_| !is_out_of_reach(source, Format::OpenaiChat))
}

fn is_own(block: &Block) -> bool {
    match block {
        Block::Image { source } | Block::Document { source } => own(source).is_some(),
        Block::Raw(opaque) => opaque.format == Format::OpenaiChat,
        _ => false,
    }
}

fn is_result(item: &str) -> bool {
    #[derive(Deserialize)]
    struct MessageRole {
        role: String,
    }
    serde_json::from_str::<MessageRole>(item).is_ok_and(|speaker| matches!(speaker.role.as_str(), "tool" | "function"))
}
