//! Taking thinking out of written messages, but for those of the running tool-use turn.

use serde_json::Value;

use crate::format::gemini;
use crate::format::note_code::NoteCode;
use crate::format::openai_chat::THINKING_FIELDS;
use crate::format::refused;
use crate::format::write::{Note, Piece};
use crate::model::entry::EntryMeta;
use crate::model::format::Format;
use crate::model::json;
use crate::model::message::{Block, CallKind, Role};
use crate::model::shape::ShapeKind;

/// Place of a message in the turn around it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum TurnStep {
    /// Somebody other than the model and its tools speaks: a turn begins.
    Start,
    /// The model's; with calls, or the last word.
    Answer {
        calls: bool,
    },
    Result,
    /// Says nothing about turns.
    #[default]
    Aside,
}

/// The messages without thinking, but for the running tool-use turn.
pub fn strip(mut messages: Vec<String>, target: Format) -> Vec<String> {
    let steps = messages.iter().rev().map(|message| json::parse_lenient(message).map(|value| step(&value, target)));
    let running = messages.split_off(running_turn(steps.map(Result::unwrap_or_default), messages.len()));
    let mut out = match target {
        Format::OpenaiResponses => strip_items(messages),
        _ => messages.into_iter().filter_map(|message| strip_message(message, target)).collect(),
    };
    out.extend(running);
    out
}

/// Names every entry whose thinking [`strip`] will take out of the context that these pieces are written as.
pub fn announce(pieces: &[Piece<'_>], path: &[EntryMeta], target: Format, notes: &mut Vec<Note>) {
    let kept_from = running_turn(pieces.iter().rev().map(|piece| piece_step(piece, path)), pieces.len());
    let mut at = 0;
    while let Some(piece) = pieces.get(at).filter(|_| at < kept_from) {
        let is_answer = |piece: &Piece<'_>| matches!(piece_step(piece, path), TurnStep::Answer { .. });
        let length =
            if is_answer(piece) { pieces[at..kept_from].iter().take_while(|one| is_answer(one)).count() } else { 1 };
        let answer = &pieces[at..at + length];
        if target != Format::OpenaiResponses || !answer.iter().any(|piece| runs_server_tool(piece, path)) {
            let thinks = answer.iter().filter(|piece| thinks(piece, path, target));
            notes.extend(thinks.map(|piece| Note::new(NoteCode::ThinkingStripped, piece.entry(), "left out, as set")));
        }
        at += length;
    }
}

fn thinks(piece: &Piece<'_>, path: &[EntryMeta], target: Format) -> bool {
    let says = |block: &Block| match block {
        Block::Thinking { opaque: Some(opaque), .. } => opaque.format == target || target == Format::Native,
        Block::Thinking { .. } => matches!(target, Format::Native | Format::Pi),
        _ => false,
    };
    match piece {
        Piece::Message { message, .. } => message.content.iter().any(says),
        Piece::Verbatim { entry, .. } if target == Format::OpenaiResponses => {
            path.get(*entry).is_some_and(|head| head.shape.leads)
        }
        Piece::Verbatim { item, .. } => strip_message(item.to_string(), target).as_deref() != Some(&**item),
    }
}

fn runs_server_tool(piece: &Piece<'_>, path: &[EntryMeta]) -> bool {
    match piece {
        Piece::Message { message, .. } => message.tool_calls().any(|call| call.kind == CallKind::Server),
        Piece::Verbatim { entry, .. } => {
            let calls = path.get(*entry).map(|head| head.shape.calls.as_slice()).unwrap_or_default();
            calls.iter().any(|call| call.kind == ShapeKind::Server)
        }
    }
}

fn piece_step(piece: &Piece<'_>, path: &[EntryMeta]) -> TurnStep {
    let (role, calls, results) = match piece {
        Piece::Message { message, .. } => {
            (Some(message.role), message.tool_calls().next().is_some(), message.role == Role::Tool)
        }
        Piece::Verbatim { entry, .. } => match path.get(*entry) {
            Some(head) => (head.role, !head.shape.calls.is_empty(), !head.shape.results.is_empty()),
            None => (None, false, false),
        },
    };
    match role {
        Some(Role::Assistant) => TurnStep::Answer { calls },
        Some(Role::System | Role::Developer) | None => TurnStep::Aside,
        Some(_) if results => TurnStep::Result,
        Some(_) => TurnStep::Start,
    }
}

/// Where the turn begins whose calls were just answered; the end, where no such turn is running. Takes the steps from
/// the last to the first.
fn running_turn(steps: impl Iterator<Item = TurnStep>, count: usize) -> usize {
    let mut running = false;
    for (from_end, step) in steps.enumerate() {
        match step {
            TurnStep::Start if running => return count - from_end,
            TurnStep::Start => return count,
            TurnStep::Answer { calls: false } if !running => return count,
            TurnStep::Answer { .. } | TurnStep::Result => running = true,
            TurnStep::Aside => {}
        }
    }
    if running { 0 } else { count }
}

fn step(message: &Value, target: Format) -> TurnStep {
    match target {
        Format::OpenaiResponses => item_step(message),
        Format::Gemini => content_step(message),
        Format::Pi => match message.get("message") {
            Some(inner) => role_step(inner),
            None => TurnStep::Aside,
        },
        _ => role_step(message),
    }
}

fn role_step(message: &Value) -> TurnStep {
    let blocks = || message["content"].as_array().into_iter().flatten().filter_map(|block| block["type"].as_str());
    let listed = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    match message["role"].as_str() {
        Some("assistant") => {
            let is_call =
                |kind| matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use" | "tool_call" | "toolCall");
            TurnStep::Answer { calls: listed || message["function_call"].is_object() || blocks().any(is_call) }
        }
        Some("tool" | "function" | "toolResult") => TurnStep::Result,
        Some("user") if blocks().any(|kind| kind == "tool_result") => TurnStep::Result,
        Some("system" | "developer") | None => TurnStep::Aside,
        Some(_) => TurnStep::Start,
    }
}

fn content_step(content: &Value) -> TurnStep {
    match content["role"].as_str() {
        Some("model") => TurnStep::Answer { calls: gemini::has_call(content) },
        _ if gemini::has_result(content) => TurnStep::Result,
        _ => TurnStep::Start,
    }
}

fn item_step(item: &Value) -> TurnStep {
    match (item["type"].as_str(), item["role"].as_str()) {
        (_, Some("user")) => TurnStep::Start,
        (_, Some("assistant")) => TurnStep::Answer { calls: false },
        (_, Some(_)) | (None | Some("additional_tools"), _) => TurnStep::Aside,
        _ if is_compaction(item) => TurnStep::Aside,
        (Some("mcp_approval_response"), _) => TurnStep::Result,
        (Some(kind), _) if kind.ends_with("_output") => TurnStep::Result,
        (Some(_), _) => TurnStep::Answer { calls: true },
    }
}

/// `None` where the message was nothing but thinking.
fn strip_message(message: String, target: Format) -> Option<String> {
    let marks: &[&str] = match target {
        Format::OpenaiChat => &THINKING_FIELDS,
        Format::Gemini => &["thought"],
        _ => &["thinking"],
    };
    if !marks.iter().any(|mark| message.contains(mark)) {
        return Some(message);
    }
    let Ok(mut value) = json::parse_lenient(&message) else { return Some(message) };
    let inner = if target == Format::Pi { value.get_mut("message") } else { Some(&mut value) };
    let speaker = if target == Format::Gemini { "model" } else { "assistant" };
    let Some(inner) = inner.filter(|inner| inner["role"] == speaker) else { return Some(message) };
    let (removed, left) = match target {
        Format::OpenaiChat => strip_fields(inner),
        Format::Gemini => gemini::strip_thoughts(inner),
        _ => strip_blocks(inner),
    };
    match (removed, left) {
        (false, _) => Some(message),
        // Entries of pi name the one before them: a gap would break the chain.
        (true, false) if target == Format::Pi => Some(message),
        (true, left) => left.then(|| value.to_string()),
    }
}

/// Takes out the blocks of thinking; returns whether any went, and whether anything is left.
fn strip_blocks(message: &mut Value) -> (bool, bool) {
    let Some(content) = message.get_mut("content").and_then(Value::as_array_mut) else { return (false, true) };
    let before = content.len();
    content.retain(|block| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")));
    (content.len() < before, !content.is_empty())
}

fn strip_fields(message: &mut Value) -> (bool, bool) {
    let Some(fields) = message.as_object_mut() else { return (false, true) };
    let removed = THINKING_FIELDS.iter().filter(|name| fields.shift_remove(**name).is_some()).count();
    let says = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    };
    let left = ["content", "tool_calls", "function_call", "audio", "refusal"].into_iter().any(says);
    (removed > 0, left)
}

/// Without reasoning, the items that it led to lose their ids. Where that can't be, because the provider ran a tool
/// whose item is nothing without its id, the answer stays whole.
fn strip_items(items: Vec<String>) -> Vec<String> {
    if !items.iter().any(|item| item.contains("\"reasoning\"")) {
        return items;
    }
    let mut out = Vec::with_capacity(items.len());
    let mut answer: Vec<(String, Value)> = Vec::new();
    for item in items {
        let value = json::parse_lenient(&item).unwrap_or_default();
        if is_compaction(&value) || matches!(item_step(&value), TurnStep::Answer { .. }) {
            answer.push((item, value));
        } else {
            out.extend(strip_answer(std::mem::take(&mut answer)));
            out.push(item);
        }
    }
    out.extend(strip_answer(answer));
    out
}

/// Goes out unchanged, wherever in an answer it stands.
fn is_compaction(item: &Value) -> bool {
    matches!(item["type"].as_str(), Some("compaction" | "compaction_summary"))
}

fn strip_answer(answer: Vec<(String, Value)>) -> Vec<String> {
    fn kind(value: &Value) -> &str {
        value["type"].as_str().unwrap_or("message")
    }
    let reasoned = answer.iter().any(|(_, value)| kind(value) == "reasoning");
    let known = ["message", "function_call", "custom_tool_call", "reasoning"];
    let is_known = |value: &Value| is_compaction(value) || known.contains(&kind(value));
    if !reasoned || !answer.iter().all(|(_, value)| is_known(value)) {
        return answer.into_iter().map(|(item, _)| item).collect();
    }
    let rest = answer.into_iter().filter(|(_, value)| kind(value) != "reasoning");
    let without_id = |(item, mut value): (String, Value)| {
        let fields = value.as_object_mut().filter(|fields| fields.contains_key("id"));
        match fields.map(|fields| fields.shift_remove("id")) {
            // A list of spoken parts goes with its id only.
            Some(_) => refused::mended(Format::OpenaiResponses, value).to_string(),
            None => item,
        }
    };
    rest.map(|(item, value)| if is_compaction(&value) { item } else { without_id((item, value)) }).collect()
}
