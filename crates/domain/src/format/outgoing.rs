//! Helpers of the writers of provider formats: notes, names that a provider accepts, and text stand-ins.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::note_code::NoteCode;
use super::write::{ItemFault, Note};
use crate::model::format::Format;
use crate::model::json::mend_surrogates;
use crate::model::message::{Block, CallKind, Media, Message, Opaque, ToolCall, ToolResult};

/// The notes of one writer, and the entry that it is at.
pub struct Notes<'n> {
    list: &'n mut Vec<Note>,
    pub entry: Option<usize>,
}

impl<'n> Notes<'n> {
    pub fn new(list: &'n mut Vec<Note>) -> Notes<'n> {
        Notes { list, entry: None }
    }

    pub fn add_pair(&mut self, (code, detail): (NoteCode, &'static str)) {
        self.add(code, detail);
    }

    pub fn add(&mut self, code: NoteCode, detail: impl Into<String>) {
        self.list.push(Note::new(code, self.entry, detail));
    }

    pub fn add_fault(&mut self, code: NoteCode, fault: ItemFault, detail: impl Into<String>) {
        self.list.push(Note::new(code, self.entry, detail).of(fault));
    }
}

/// The provider's own JSON, where it is of the format that is written.
pub fn own(opaque: Option<&Opaque>, format: Format) -> Option<&Value> {
    opaque.filter(|opaque| opaque.format == format).map(|opaque| &opaque.value)
}

/// Returns true if a name is made of ASCII letters, digits, `_` and `-` alone, 1 to `max` of them.
pub fn is_word(name: &str, max: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= max && name.bytes().all(allowed)
}

/// The name itself where [`is_word`] holds, else a word derived from it. The digest at the end keeps two names
/// apart that differ only in what was replaced, with no state between a call and its result.
pub fn word(name: &str, max: usize) -> Cow<'_, str> {
    if is_word(name, max) {
        return Cow::Borrowed(name);
    }
    let digest = blake3::hash(name.as_bytes()).to_hex();
    let suffix = &digest.as_str()[..8];
    let kept = name.chars().take(max.saturating_sub(suffix.len() + 1));
    let safe: String = kept.map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    Cow::Owned(format!("{safe}_{suffix}"))
}

/// Returns true if a name begins with a letter or an underscore, as Gemini wants those of functions to.
pub fn is_led(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// As [`word`], and led by a letter or an underscore.
pub fn led_word(name: &str, max: usize) -> Cow<'_, str> {
    let word = word(name, max);
    if is_led(&word) {
        return word;
    }
    // What would be a word gets a digest too, so that it is nobody else's name.
    Cow::Owned(self::word(&format!("_{name}."), max).into_owned())
}

/// How the ids of tools begin that Anthropic runs itself.
const SERVER_TOOL: &str = "srvtoolu_";

/// Returns true if Anthropic takes it as the id of a tool that it runs itself.
pub fn is_server_tool_id(id: &str) -> bool {
    let word = id.strip_prefix(SERVER_TOOL).unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The id itself where [`is_server_tool_id`] holds, else one derived from it, the same for a call, its result and whatever
/// names it.
pub fn server_tool_id(id: &str) -> Cow<'_, str> {
    if is_server_tool_id(id) {
        return Cow::Borrowed(id);
    }
    let digest = blake3::hash(id.as_bytes()).to_hex();
    Cow::Owned(format!("{SERVER_TOOL}{}", &digest.as_str()[..24]))
}

/// The arguments of a function call as the JSON text that OpenAI's formats have: as the source wrote it, where that is
/// JSON. Text that is none becomes the one argument `input`.
pub fn arguments_text(call: &ToolCall) -> String {
    match (&call.arguments_text, &call.arguments) {
        (Some(text), _) if text.trim().is_empty() => "{}".to_owned(),
        (Some(text), Value::String(unread)) if unread == text => json!({ "input": text }).to_string(),
        (Some(text), _) => mend_surrogates(text).into_owned(),
        (None, Value::Null) => "{}".to_owned(),
        (None, arguments) => arguments.to_string(),
    }
}

/// The arguments of a function call as the object that Anthropic and Gemini take, and whether they were another thing.
/// An empty list is what some languages make of an empty object.
pub fn arguments_object(call: &ToolCall) -> (Value, bool) {
    match &call.arguments {
        Value::Object(_) => (call.arguments.clone(), false),
        Value::Null => (json!({}), false),
        Value::String(blank) if call.kind == CallKind::Function && blank.trim().is_empty() => (json!({}), false),
        Value::Array(list) if list.is_empty() => (json!({}), true),
        other => (json!({ "input": other }), true),
    }
}

/// A call that a provider ran, told as text to another provider.
pub fn server_call_text(call: &ToolCall) -> String {
    format!("<server_tool_call name=\"{}\">\n{}\n</server_tool_call>", call.name, call.arguments)
}

/// The result of such a call; `None` where it says nothing.
pub fn server_result_text(result: &ToolResult) -> Option<String> {
    let text = result.plain_text();
    let tag = if result.is_error { "server_tool_error" } else { "server_tool_result" };
    (result.is_error || !text.trim().is_empty()).then(|| format!("<{tag}>\n{text}\n</{tag}>"))
}

/// A provider's own compaction, told as text to another provider.
pub fn compaction_text(summary: &str) -> String {
    format!("<provider_summary>\n{summary}\n</provider_summary>")
}

/// Returns true if a text is the summary of a compaction of a format other than `target`.
pub fn is_foreign_compaction(opaque: Option<&Opaque>, target: Format) -> bool {
    opaque.is_some_and(|opaque| opaque.format != target && opaque.is_compaction())
}

/// The blocks of a system message that the user has to pass on: its words stand in a tag.
pub fn told_to_user<'m>(message: &'m Message, notes: &mut Notes<'_>) -> Cow<'m, [Block]> {
    let text = message.plain_text();
    if text.trim().is_empty() {
        return Cow::Borrowed(&message.content);
    }
    notes.add(NoteCode::SystemAsUser, "a system message inside the conversation is passed on by the user");
    let tagged = Block::text(told(&text));
    let others = message.content.iter().filter(|block| !matches!(block, Block::Text { .. }));
    Cow::Owned(std::iter::once(tagged).chain(others.cloned()).collect())
}

/// The words of a system message as the user passes them on.
pub fn told(text: &str) -> String {
    if text.trim().is_empty() { text.to_owned() } else { format!("<system_message>\n{text}\n</system_message>") }
}

/// The note for a block that only its own provider can read: a code, `usual` but for compactions, and why.
pub fn raw_lost(opaque: &Opaque, usual: NoteCode) -> (NoteCode, &'static str) {
    match opaque.is_compaction() {
        true => (NoteCode::ProviderCompactionDropped, "only its own provider can read what this compaction holds"),
        false => (usual, "a block that only its own provider understands"),
    }
}

/// The note for a compaction that is told as text.
pub const COMPACTION_AS_TEXT: (NoteCode, &str) =
    (NoteCode::ProviderCompactionAsText, "the summary of another provider's compaction is sent as text");

/// Writes the text that stands for an image or document that the target can't be given.
pub fn media_stand_in(kind: &str, source: &Media) -> String {
    let names = [&source.filename, &source.url, &source.media_type];
    not_shown(kind, names.into_iter().flatten().map(String::as_str).find(|name| !name.trim().is_empty()))
}

/// [`media_stand_in`] for something of which no more than a name is known.
pub fn not_shown(kind: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("[{kind} not shown: {name}]"),
        None => format!("[{kind} not shown]"),
    }
}

/// Returns true if a medium can't be given to the target: nothing tells where its bytes are, or they lie in a file that
/// another provider keeps.
pub fn is_out_of_reach(source: &Media, format: Format) -> bool {
    let elsewhere = source.opaque.as_ref().is_some_and(|opaque| opaque.format != format);
    let inline = source.data.is_some() || source.url.is_some() || source.text.is_some();
    !inline && (source.file_id.is_none() || elsewhere)
}
