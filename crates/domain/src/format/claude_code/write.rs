//! Messages as lines of a Claude Code file.

use serde_json::{Value, json};

use crate::format::anthropic;
use crate::format::write::{Note, Piece};
use crate::model::message::{Message, Stop};

/// Writes messages as lines that hang nowhere yet: ids, parents and times are the file's to give.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    let mut lines = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Verbatim { item, .. } => lines.push(item.to_string()),
            Piece::Message { entry, message } => {
                let spoken = anthropic::spoken(*entry, message, notes);
                lines.extend(spoken.into_iter().map(|said| line(said, message).to_string()));
            }
        }
    }
    lines
}

fn line(mut said: Value, message: &Message) -> Value {
    let role = said["role"].as_str().unwrap_or("user").to_owned();
    if role == "assistant" {
        if let Some(text) = said["content"].as_str().map(str::to_owned) {
            said["content"] = json!([{"type": "text", "text": text}]);
        }
        let stop = match message.stop {
            Some(Stop::Length) => "max_tokens",
            Some(Stop::Refusal) => "refusal",
            _ if message.tool_calls().next().is_some() => "tool_use",
            _ => "end_turn",
        };
        said = json!({"id": null, "type": "message", "role": role, "model": "unknown", "content": said["content"],
            "stop_reason": stop, "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0}});
    }
    json!({"parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/", "sessionId": null,
        "version": "0", "type": role, "message": said, "uuid": null, "timestamp": null})
}
