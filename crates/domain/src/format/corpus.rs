//! Transcripts for the tests of formats: made up, and real ones.

use std::io::BufRead;

use serde_json::Value;

use super::write::{Note, Piece};
use crate::data::Source;
use crate::made_up;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::message::{Block, CallKind, Message, Role, ToolResult};

pub struct CorpusSession {
    pub name: String,
    pub items: Vec<Value>,
}

/// The sessions of one format.
pub fn sessions(source: Source, format: Format) -> Vec<CorpusSession> {
    if source == Source::Own {
        let sessions = made_up::sessions().into_iter().filter(|(_, own, _)| *own == format.into_str());
        return sessions.map(|(name, _, items)| CorpusSession { name, items }).collect();
    }
    let recorded = match format {
        Format::OpenaiChat => "openai-chat",
        Format::OpenaiResponses => "openai-responses",
        Format::Anthropic => "anthropic-messages",
        Format::Pi => "pi-jsonl",
        _ => panic!("nothing is recorded in it"),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(source.path("corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".jsonl") && !name.ends_with(".gz") {
            continue;
        }
        for line in source.reader(&format!("corpus/{name}")).lines() {
            let mut session: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if session["format"] == recorded {
                let Value::Array(items) = session["messages"].take() else { panic!("{name} without messages") };
                found.push(CorpusSession { name: format!("{name} {}", session["session_id"]), items });
            }
        }
    }
    found
}

/// Items beside what they were read as.
pub type Readings<'s> = Vec<(&'s Value, Item)>;

/// Reads every item; returns the messages that could be read beside their items, and the refusals.
pub fn read_all(
    session: &CorpusSession,
    read: fn(&Value) -> Result<Item, ItemError>,
) -> (Readings<'_>, Vec<(&str, ItemError)>) {
    let (mut items, mut refused) = (Vec::new(), Vec::new());
    for item in &session.items {
        match read(item) {
            Ok(read) => items.push((item, read)),
            Err(error) => refused.push((session.name.as_str(), error)),
        }
    }
    (items, refused)
}

/// Writes one message alone.
pub fn write_one(write: fn(&[Piece<'_>], &mut Vec<Note>) -> Vec<String>, message: &Message) -> (Vec<Value>, Vec<Note>) {
    let mut notes = Vec::new();
    let pieces = [Piece::Message { entry: Some(0), message: message.clone() }];
    let written = write(&pieces, &mut notes);
    (written.iter().map(|text| serde_json::from_str(text).unwrap()).collect(), notes)
}

/// A plain stand-in for pairing: neighbouring assistant messages become one, each followed by the results of its
/// calls (made up where the session has none); every other result is left out.
pub fn paired(messages: Vec<Message>) -> Vec<Piece<'static>> {
    let mut results: Vec<Option<ToolResult>> = Vec::new();
    let mut rest: Vec<Message> = Vec::new();
    for mut message in messages {
        let own = |block: &Block| matches!(block, Block::ToolResult(result) if result.kind != CallKind::Server);
        let (taken, kept) = message.content.drain(..).partition(own);
        let taken: Vec<Block> = taken;
        results.extend(taken.into_iter().map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => unreachable!(),
        }));
        message.content = kept;
        if message.content.is_empty() && !results.is_empty() {
            continue;
        }
        match rest.last_mut().filter(|last| last.role == Role::Assistant && message.role == Role::Assistant) {
            Some(last) => last.content.append(&mut message.content),
            None => rest.push(message),
        }
    }
    let mut pieces = Vec::new();
    for message in rest {
        let calls: Vec<String> =
            message.tool_calls().filter(|call| call.kind != CallKind::Server).map(|call| call.id.clone()).collect();
        pieces.push(Piece::Message { entry: Some(pieces.len()), message });
        for id in calls {
            let found = results.iter_mut().find(|slot| slot.as_ref().is_some_and(|result| result.tool_call_id == id));
            let result = found.and_then(Option::take).unwrap_or_else(|| ToolResult {
                tool_call_id: id,
                name: None,
                content: vec![Block::text("none")],
                is_error: true,
                kind: CallKind::Function,
                opaque: None,
            });
            let message = Message::new(Role::Tool, vec![Block::ToolResult(result)]);
            pieces.push(Piece::Message { entry: None, message });
        }
    }
    pieces
}
