//! The normalised message: what every format is read into and written from.
//!
//! It is derived from the stored raw item whenever it is needed; the item stays the truth.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::format::Format;

/// Who speaks. The last four exist in pi sessions only; every other format maps onto the first five.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    /// A message that carries tool results only.
    Tool,
    /// A shell command that the user ran beside the agent (pi `bashExecution`).
    BashExecution,
    /// Text that an extension put into the context (pi `custom_message`).
    Custom,
    BranchSummary,
    CompactionSummary,
}

/// One message: a role and its blocks, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<Block>,
    /// Why the model stopped, where the source says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Fields of the provider's own message around its content, for an exact replay to that provider.
    #[serde(skip)]
    pub opaque: Option<Opaque>,
}

/// Why an assistant message ended. `Aborted` and `Error` make its usage worthless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    End,
    Length,
    ToolUse,
    Refusal,
    Aborted,
    Error,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
        /// Fields of the provider's own block besides the text (citations, cache marks), for an exact replay.
        #[serde(skip)]
        opaque: Option<Opaque>,
    },
    Thinking {
        text: String,
        /// The provider's own block, replayed to that provider only (signatures, encrypted reasoning).
        #[serde(skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    Image {
        source: Media,
    },
    Document {
        source: Media,
    },
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    /// A block that no other format can say: replayed to its own provider, left out elsewhere with a note.
    Raw(Opaque),
}

/// A provider's own JSON, kept whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opaque {
    pub format: Format,
    pub value: Value,
}

/// An image or a document: where its bytes are. `data` is base64 and is never tokenised as text.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Media {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// Plain text of a document that came as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The provider's own block, for an exact replay to that provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// How a call is carried out, which decides how it is paired and where it may be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// The agent runs it and sends the result in a later message.
    #[default]
    Function,
    /// As `Function`, with free text for input (Responses `custom_tool_call`).
    Custom,
    /// The provider ran it: call and result travel inside the provider's own turn.
    Server,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// The source's id; empty where the source has none (legacy `function_call`), until [`super::shape`] names it.
    pub id: String,
    pub name: String,
    /// Parsed arguments; a string that is not JSON stays a JSON string.
    pub arguments: Value,
    /// The arguments as the source wrote them, where it wrote a string.
    #[serde(skip)]
    pub arguments_text: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub kind: CallKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolResult {
    pub tool_call_id: String,
    /// The tool's name where the source gives it; legacy `function` results are paired by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `Text`, `Image`, `Document` and `Raw` blocks only.
    pub content: Vec<Block>,
    pub is_error: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub kind: CallKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Block {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into(), opaque: None }
    }

    /// Returns true if it shows an image or a document.
    pub fn is_media(&self) -> bool {
        matches!(self, Block::Image { .. } | Block::Document { .. })
    }
}

impl Media {
    /// Forgets each place of its bytes that is blank, for there is nothing behind it. Returns true if there was one.
    fn forget_blank(&mut self) -> bool {
        let mut was_blank = false;
        for place in [&mut self.data, &mut self.url, &mut self.file_id, &mut self.text] {
            was_blank |= place.take_if(|place| place.trim().is_empty()).is_some();
        }
        was_blank
    }
}

impl Opaque {
    /// Returns true if this is the provider's own compaction of all before it (facts as of November 2026):
    ///
    /// - Anthropic (beta `compact-2026-01-12`): a `compaction` block in an answer, its summary readable in `content`.
    ///   The API leaves out everything before the newest one, and refuses one whose summary is empty, as a failed
    ///   compaction leaves it.
    /// - OpenAI Responses (`context_management`, `/responses/compact`): a `compaction` item with `encrypted_content`,
    ///   `compaction_summary` in Codex. What is before the newest one may be sent or left out; the user messages that
    ///   `/responses/compact` hands back with it stay.
    pub fn is_compaction(&self) -> bool {
        let kind = self.value.get("type").and_then(Value::as_str);
        match self.format {
            Format::Anthropic => kind == Some("compaction"),
            Format::OpenaiResponses => matches!(kind, Some("compaction" | "compaction_summary")),
            _ => false,
        }
    }

    /// Returns true if this is reasoning of OpenAI Responses: it is refused without the item that it led to, and items
    /// with an id are refused without it (as of November 2026).
    pub fn ties_next(&self) -> bool {
        self.format == Format::OpenaiResponses && self.value.get("type").and_then(Value::as_str) == Some("reasoning")
    }
}

impl Message {
    pub fn new(role: Role, content: Vec<Block>) -> Message {
        Message { role, content, stop: None, opaque: None }
    }

    /// A message of one text block.
    pub fn text(role: Role, text: impl Into<String>) -> Message {
        Message::new(role, vec![Block::text(text)])
    }

    /// Forgets where the bytes of media are that are nowhere. Returns true if there was such a medium.
    pub fn forget_blank_media(&mut self) -> bool {
        forget_blank_media(&mut self.content)
    }

    /// The name that it came with, of whoever speaks.
    pub fn name(&self) -> Option<&str> {
        let name = self.opaque.as_ref()?.value.get("name")?.as_str()?;
        Some(name.trim()).filter(|name| !name.is_empty())
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Returns true if a call or a result of the agent's has no id: most providers take none so.
    pub fn lacks_ids(&self) -> bool {
        self.tool_calls().any(|call| call.id.is_empty() && call.kind != CallKind::Server)
            || self.tool_results().any(|result| result.tool_call_id.is_empty() && result.kind != CallKind::Server)
    }

    /// The text blocks, joined by newlines; no thinking, no tool traffic.
    pub fn plain_text(&self) -> String {
        joined_text(&self.content)
    }
}

impl ToolResult {
    /// The text of the result, blocks joined by newlines.
    pub fn plain_text(&self) -> String {
        joined_text(&self.content)
    }
}

fn forget_blank_media(blocks: &mut [Block]) -> bool {
    let mut was_blank = false;
    for block in blocks {
        was_blank |= match block {
            Block::Image { source } | Block::Document { source } => source.forget_blank(),
            Block::ToolResult(result) => forget_blank_media(&mut result.content),
            _ => false,
        };
    }
    was_blank
}

fn joined_text(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

impl Stop {
    /// Returns true if usage reported with such an answer says nothing about the context.
    pub fn spoils_usage(self) -> bool {
        matches!(self, Stop::Aborted | Stop::Error)
    }
}
