//! Map and fold: a span that is larger than the summariser's window goes in parts.

use serde_json::Value;

use super::super::settings::Estimator;
use super::super::tokens::count_text;
use super::text::quarters;
use super::transcript::serialise;
use super::{SummaryTask, prompt};
use crate::domain::model::message::{Block, Message, Role, ToolCall, ToolResult};

/// Tool results are shortened to this many characters before anything is split.
const RESULT_CHARS: usize = 400;
/// With less room than this for a part nothing can be summarised.
const MIN_ROOM: u32 = 64;
/// Labels and blank lines around one message.
const PER_MESSAGE: u32 = 8;

/// Limits of one call of a summariser: tokens that it may take of its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLimits {
    /// The prompt of a whole task.
    pub whole: u32,
    /// The prompt of a part; more than `whole` where parts are answered shorter.
    pub part: u32,
    /// A part's answer. Well below `part`, so that folding comes to an end.
    pub part_output: u32,
}

/// Tasks that fit the limits, prompt included, and together cover the whole span in order. One task comes back as
/// it is where it fits. The previous summary is left for [`fold`], unless nothing had to be split. `None`: the
/// prompt alone leaves no room for a transcript.
pub fn split(task: &SummaryTask, limits: ChunkLimits, estimator: Estimator) -> Option<Vec<SummaryTask>> {
    if input_tokens(task, estimator) <= limits.whole {
        return Some(vec![task.clone()]);
    }
    if let Some(text) = &task.shown {
        return split_shown(task, text, limits, estimator);
    }
    let short = SummaryTask { messages: task.messages.iter().map(shorten).collect(), ..task.clone() };
    if input_tokens(&short, estimator) <= limits.whole {
        return Some(vec![short]);
    }
    let note = Message::text(Role::System, prompt::partial_note());
    let max_output_tokens = short.max_output_tokens.min(limits.part_output).max(1);
    let empty = SummaryTask { previous: None, messages: [note.clone()].into(), max_output_tokens, ..short.clone() };
    let room = limits.part.checked_sub(input_tokens(&empty, estimator)).filter(|room| *room >= MIN_ROOM)?;
    let part = |messages: Vec<Message>| SummaryTask {
        messages: std::iter::once(note.clone()).chain(messages).collect(),
        ..empty.clone()
    };
    Some(group(&short.messages, room, estimator).into_iter().map(part).collect())
}

/// As [`split`], of a text that is shown in place of the messages.
fn split_shown(task: &SummaryTask, text: &str, limits: ChunkLimits, estimator: Estimator) -> Option<Vec<SummaryTask>> {
    let max_output_tokens = task.max_output_tokens.min(limits.part_output).max(1);
    let part = |text: &str| SummaryTask {
        previous: None,
        messages: [].into(),
        shown: Some(format!("{}\n\n{text}", prompt::partial_note()).into()),
        max_output_tokens,
        ..task.clone()
    };
    let room = limits.part.checked_sub(input_tokens(&part(""), estimator)).filter(|room| *room >= MIN_ROOM)?;
    let room = room.saturating_sub(PER_MESSAGE).max(1);
    Some(pieces(text, room, estimator).iter().map(|piece| part(piece)).collect())
}

/// A previous summary that would take more than half of a prompt goes in with the messages, before all of them.
pub fn with_room(mut task: SummaryTask, limits: ChunkLimits, estimator: Estimator) -> SummaryTask {
    if let Some(previous) = task.previous.take_if(|previous| measure(previous, estimator) > limits.whole / 2) {
        let before = format!("Notes on what came before:\n\n{previous}");
        task.shown = task.shown.map(|text| format!("{before}\n\n{text}").into());
        let before = Message::text(Role::User, before);
        task.messages = std::iter::once(before).chain(task.messages.iter().cloned()).collect();
    }
    task
}

/// The task that makes one summary of the parts' summaries, in order; split it again where it is still too large.
pub fn fold(task: &SummaryTask, partial_summaries: Vec<String>) -> SummaryTask {
    let total = partial_summaries.len();
    let messages = partial_summaries.into_iter().enumerate().map(|(at, summary)| {
        Message::text(Role::User, format!("Notes on part {} of {total} of the conversation:\n\n{summary}", at + 1))
    });
    SummaryTask { messages: messages.collect(), shown: None, ..task.clone() }
}

/// Counts the tokens that a task's prompt takes of the window.
pub fn input_tokens(task: &SummaryTask, estimator: Estimator) -> u32 {
    let prompt = prompt::render(task);
    measure(&prompt.system, estimator).saturating_add(measure(&prompt.user, estimator))
}

/// The size of a text on the safe side: an upstream counts with a tokenizer of its own, whatever the session's
/// estimator is.
fn measure(text: &str, estimator: Estimator) -> u32 {
    let tokenizer = match estimator {
        Estimator::Cl100k => Estimator::Cl100k,
        Estimator::O200k | Estimator::Pi | Estimator::Praison => Estimator::O200k,
    };
    count_text(tokenizer, text).max(count_text(Estimator::Pi, text))
}

fn group(messages: &[Message], room: u32, estimator: Estimator) -> Vec<Vec<Message>> {
    let mut groups: Vec<Vec<Message>> = Vec::new();
    let mut used = 0u32;
    for message in messages.iter().flat_map(|message| fitting(message.clone(), room, estimator)) {
        let tokens = size(&message, estimator);
        // A blank message takes no room, so the first one needs its group said.
        if groups.is_empty() || used.saturating_add(tokens) > room {
            groups.push(Vec::new());
            used = 0;
        }
        used = used.saturating_add(tokens);
        if let Some(last) = groups.last_mut() {
            last.push(message);
        }
    }
    groups
}

fn size(message: &Message, estimator: Estimator) -> u32 {
    let text = serialise(std::slice::from_ref(message));
    if text.is_empty() { 0 } else { measure(&text, estimator).saturating_add(PER_MESSAGE) }
}

/// The message itself, or its blocks one by one, each cut where it is still too large.
fn fitting(message: Message, room: u32, estimator: Estimator) -> Vec<Message> {
    if size(&message, estimator) <= room {
        return vec![message];
    }
    let Message { role, content, stop, .. } = message;
    let single = |block: Block| Message { role, content: vec![block], stop, opaque: None };
    content
        .into_iter()
        .flat_map(|block| {
            let fits = size(&single(block.clone()), estimator) <= room;
            if fits { vec![block] } else { cut(block, room, estimator) }
        })
        .map(single)
        .collect()
}

fn cut(block: Block, room: u32, estimator: Estimator) -> Vec<Block> {
    let room = room.saturating_sub(PER_MESSAGE * 2).max(1);
    let cut = |text: &str| pieces(text, room, estimator);
    match block {
        Block::Text { text, .. } => cut(&text).into_iter().map(Block::text).collect(),
        Block::Thinking { text, opaque } => {
            cut(&text).into_iter().map(|text| Block::Thinking { text, opaque: opaque.clone() }).collect()
        }
        Block::ToolCall(call) => {
            let arguments = call.arguments.to_string();
            let part = |text| Block::ToolCall(ToolCall { arguments: Value::String(text), ..call.clone() });
            cut(&arguments).into_iter().map(part).collect()
        }
        Block::ToolResult(result) => {
            let text = result.plain_text();
            let part = |text| Block::ToolResult(ToolResult { content: vec![Block::text(text)], ..result.clone() });
            cut(&text).into_iter().map(part).collect()
        }
        Block::Document { source } => {
            let text = source.text.unwrap_or_default();
            cut(&text).into_iter().map(Block::text).collect()
        }
        other => vec![other],
    }
}

/// The text in order, in pieces of at most `room` tokens. Escapes in serialised text may add a little; they get
/// a tenth.
fn pieces(text: &str, room: u32, estimator: Estimator) -> Vec<String> {
    let tokens = measure(&text.replace('<', "&lt;"), estimator);
    let characters = text.chars().count();
    if tokens <= room || characters < 2 {
        return vec![text.to_owned()];
    }
    let parts = (tokens as usize * 10 / 9 / room.max(1) as usize + 1).clamp(2, characters);
    let width = characters.div_ceil(parts);
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(width).map_or(rest.len(), |(at, _)| at);
        let (piece, left) = rest.split_at(end);
        found.extend(pieces(piece, room, estimator));
        rest = left;
    }
    found
}

/// The message with its long tool results cut to head and tail, the length stated.
fn shorten(message: &Message) -> Message {
    let mut message = message.clone();
    for block in &mut message.content {
        let Block::ToolResult(result) = block else { continue };
        let text = result.plain_text();
        if quarters(&text) <= RESULT_CHARS {
            continue;
        }
        let (head, tail) = (RESULT_CHARS * 2 / 3, RESULT_CHARS / 3);
        let length = text.chars().count();
        if length > head + tail {
            let offset = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
            let (start, end) = (&text[..offset(head)], &text[offset(length - tail)..]);
            let missing = length - head - tail;
            let text = format!("{start}\n[... {missing} characters left out ...]\n{end}");
            result.content.retain(|block| !matches!(block, Block::Text { .. }));
            result.content.insert(0, Block::text(text));
        }
    }
    message
}

#[cfg(test)]
mod tests;
