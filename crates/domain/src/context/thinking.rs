//! What becomes of the model's thinking in a context, by the setting `thinking` and by what the target would refuse.
//!
//! Writers of the formats settle some of it by themselves: thinking of another provider, unsigned or at the end of an
//! answer is left out, and so is reasoning without what it led to. Here is the rest. Facts as of November 2026:
//!
//! - Anthropic: signed thinking goes back unmodified or not at all. The answers of a running tool-use turn must have
//!   it where thinking is on; those of earlier turns may lack it. A signature belongs to the model that made it.
//! - OpenAI Responses: an item with an id is refused without the reasoning before it; without the id it is taken.
//!   Reasoning without `encrypted_content` is known by its id alone, if the provider stored the response.
//! - Gemini's thoughts may be left out; the signatures of calls stay on them (see [`crate::format::gemini`]).
//! - Chat Completions has no thinking; of the imitators that do, some want it back in a running tool-use turn.
//!
//! So `auto` takes nothing out from turn to turn: a context stays the prefix of the next one, as prompt caches want.

mod strip;

use std::collections::HashSet;

use serde::Deserialize;

use crate::format;
use crate::format::note_code::NoteCode;
use crate::format::write::{Note, Piece};
use crate::model::entry::EntryMeta;
use crate::model::format::Format;
use crate::model::message::{Block, Role};
use crate::settings::Thinking;

/// Changes that signed thinking may not survive: its model is not the session's any more, or what stood before it is
/// shown otherwise now.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// The first `seq` since the session's model was changed; 0 where it never was.
    pub model_since: i64,
    /// Entries that are shown shorter than they are, as indexes into the path.
    pub shortened: HashSet<usize>,
}

/// Settles, before a context is written, what depends on where its messages come from: thinking that another model
/// signed than the one that thought last, or that was signed before the session's model was changed, is left out
/// (`thinking_dropped`), or only named with `keep` (`thinking_of_other_model`); signed thinking behind a summary or a
/// shortened entry is named (`thinking_after_compaction`); a running tool-use turn that lost its thinking is named
/// (`thinking_missing`), and so is everything that [`finish`] will take out (`thinking_stripped`).
pub fn settle(
    pieces: &mut [Piece<'_>],
    path: &[EntryMeta],
    policy: Thinking,
    target: Format,
    changes: &Changes,
    notes: &mut Vec<Note>,
) {
    if target == Format::Anthropic {
        settle_signed(pieces, path, policy, changes, notes);
        if policy != Thinking::Strip {
            note_unbound(pieces, changes, notes);
        }
    }
    if policy == Thinking::Strip {
        strip::announce(pieces, path, target, notes);
    }
}

fn settle_signed(
    pieces: &mut [Piece<'_>],
    path: &[EntryMeta],
    policy: Thinking,
    changes: &Changes,
    notes: &mut Vec<Note>,
) {
    let mut lost: HashSet<usize> = HashSet::new();
    let model = pieces.iter().rev().find_map(thinking_model).map(str::to_owned);
    for piece in pieces.iter_mut() {
        let foreign = thinking_model(piece).zip(model.as_deref()).filter(|(own, newest)| own != newest);
        let other = foreign.map(|(own, newest)| format!("signed for {own}; the newest thinking is of {newest}"));
        let earlier = || {
            let entry = path.get(piece.entry()?).filter(|head| head.seq < changes.model_since)?;
            (entry.role == Some(Role::Assistant) && holds_signed(piece)).then(|| EARLIER_MODEL.to_owned())
        };
        let Some(detail) = other.or_else(earlier) else { continue };
        if policy != Thinking::Keep {
            open(piece);
        }
        let (Piece::Message { entry: Some(entry), .. } | Piece::Verbatim { entry, .. }) = piece else { continue };
        let entry = Some(*entry);
        match piece {
            Piece::Message { message, .. } if policy != Thinking::Keep => {
                message.content.retain(|block| !matches!(block, Block::Thinking { .. }));
                lost.extend(entry);
                notes.push(Note::new(NoteCode::ThinkingDropped, entry, detail));
            }
            _ => notes.push(Note::new(NoteCode::ThinkingOfOtherModel, entry, detail)),
        }
    }
    note_missing(pieces, path, &lost, notes);
}

const EARLIER_MODEL: &str = "signed before the session's model was changed";

/// Reads a stored item, so that something can be taken out of it.
fn open(piece: &mut Piece<'_>) {
    if let Piece::Verbatim { entry, item } = piece
        && let Ok(Some(message)) = format::read_message(Format::Anthropic, item)
    {
        *piece = Piece::Message { entry: Some(*entry), message };
    }
}

/// Returns true if a piece of an Anthropic context holds signed thinking. Most items without are not read for it.
fn holds_signed(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Message { message, .. } => message.content.iter().any(is_signed),
        Piece::Verbatim { item, .. } if item.contains("thinking") => {
            let message = format::read_message(Format::Anthropic, item).ok().flatten();
            message.is_some_and(|message| message.content.iter().any(is_signed))
        }
        Piece::Verbatim { .. } => false,
    }
}

/// A signature may be bound to all that stood before it (as of November 2026 the API does not say): thinking behind a
/// summary or a shortened entry can be refused, and nobody but the provider can tell.
fn note_unbound(pieces: &[Piece<'_>], changes: &Changes, notes: &mut Vec<Note>) {
    let is_changed = |piece: &Piece<'_>| match piece {
        Piece::Message { entry: None, message } => message.role != Role::Tool,
        Piece::Message { entry: Some(entry), .. } => changes.shortened.contains(entry),
        Piece::Verbatim { .. } => false,
    };
    let Some(changed) = pieces.iter().position(is_changed) else { return };
    let mut behind = pieces[changed + 1..].iter().filter(|piece| holds_signed(piece));
    if let Some(first) = behind.next() {
        let count = 1 + behind.count();
        let detail = format!(
            "{count} answers with signed thinking stand behind a summary or behind shortened tool traffic; a provider \
             that binds a signature to what was before it refuses them: `thinking` `strip` leaves them out"
        );
        notes.push(Note::new(NoteCode::ThinkingAfterCompaction, first.entry(), detail));
    }
}

/// Carries the policy out on the written messages: `strip` takes out all thinking before the running tool-use turn.
/// Reasoning that its provider must look up is named (`reasoning_by_reference`) under each policy.
pub fn finish(messages: Vec<String>, policy: Thinking, target: Format, notes: &mut Vec<Note>) -> Vec<String> {
    let messages = if policy == Thinking::Strip { strip::strip(messages, target) } else { messages };
    let referred = match target {
        Format::OpenaiResponses => messages.iter().filter(|message| is_reference(message)).count(),
        _ => 0,
    };
    if referred > 0 {
        let detail = format!("{referred} reasoning items have only an id: the provider must have stored the responses");
        notes.push(Note::new(NoteCode::ReasoningByReference, None, detail));
    }
    messages
}

fn is_reference(item: &str) -> bool {
    #[derive(Deserialize)]
    struct Reasoning {
        r#type: String,
        id: Option<String>,
        encrypted_content: Option<String>,
    }
    item.contains("\"reasoning\"")
        && serde_json::from_str(item).is_ok_and(|item: Reasoning| {
            item.r#type == "reasoning" && item.id.is_some() && item.encrypted_content.is_none()
        })
}

/// The model of an answer that holds signed thinking, where it says so.
fn thinking_model<'p>(piece: &'p Piece<'_>) -> Option<&'p str> {
    let Piece::Message { message, .. } = piece else { return None };
    let around = message.opaque.as_ref().filter(|opaque| opaque.format == Format::Anthropic)?;
    message.content.iter().any(is_signed).then(|| around.value.get("model")?.as_str())?
}

fn is_signed(block: &Block) -> bool {
    matches!(block, Block::Thinking { opaque: Some(opaque), .. } if opaque.format == Format::Anthropic)
}

/// With thinking on, the answers of a running turn must begin with signed thinking. One that had thinking and can't
/// give it back will be refused.
fn note_missing(pieces: &[Piece<'_>], path: &[EntryMeta], lost: &HashSet<usize>, notes: &mut Vec<Note>) {
    let role = |piece: &Piece<'_>| match piece {
        Piece::Message { message, .. } => Some(message.role),
        Piece::Verbatim { entry, .. } => path.get(*entry).and_then(|head| head.role),
    };
    if pieces.last().and_then(role) != Some(Role::Tool) {
        return;
    }
    let is_thought = |block: &Block| matches!(block, Block::Thinking { .. });
    let without = |piece: &Piece<'_>| match piece {
        Piece::Message { entry, message } if message.role == Role::Assistant => {
            let unsigned = message.content.iter().any(is_thought) && !message.content.iter().any(is_signed);
            (unsigned || entry.is_some_and(|entry| lost.contains(&entry))).then_some(*entry)
        }
        _ => None,
    };
    let mut turn = pieces.iter().rev().take_while(|piece| matches!(role(piece), Some(Role::Tool | Role::Assistant)));
    if let Some(entry) = turn.find_map(without) {
        let detail = "the running tool-use turn has thinking that can't be given back: send it with thinking off";
        notes.push(Note::new(NoteCode::ThinkingMissing, entry, detail));
    }
}

#[cfg(test)]
mod tests;
