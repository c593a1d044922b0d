//! Map and fold: a span that is larger than the summariser's window goes in parts.

mod shorten;

use serde_json::Value;

use super::super::settings::Estimator;
use super::super::tokens::count_text;
use super::transcript::serialise;
use super::{SummaryTask, prompt};
use crate::domain::model::message::{Block, Message, Role, ToolCall, ToolResult};

/// With less room than this for a part nothing can be summarised.
const MIN_ROOM: u32 = 64;
/// Labels and blank lines around one message.
const PER_MESSAGE: u32 = 8;
/// What [`fold`] puts before the notes on a part, and what is around a message, in tokens.
pub(super) const PER_NOTE: u32 = 24;
/// Opens a previous summary that goes in with the messages.
const EARLIER: &str = "Notes on what came before:\n\n";

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
    let short = SummaryTask { messages: task.messages.iter().map(shorten::shorten).collect(), ..task.clone() };
    if input_tokens(&short, estimator) <= limits.whole {
        return Some(vec![short]);
    }
    let empty = empty_part(&short, limits);
    let room = part_room(&short, limits, estimator).filter(|room| *room >= MIN_ROOM)?;
    let part = |messages: Vec<Message>| SummaryTask {
        messages: empty.messages.iter().cloned().chain(messages).collect(),
        ..empty.clone()
    };
    Some(group(&short.messages, room, estimator).into_iter().map(part).collect())
}

/// Returns the room for a transcript that the prompt of a part leaves.
pub(super) fn part_room(task: &SummaryTask, limits: ChunkLimits, estimator: Estimator) -> Option<u32> {
    limits.part.checked_sub(input_tokens(&empty_part(task, limits), estimator))
}

fn empty_part(task: &SummaryTask, limits: ChunkLimits) -> SummaryTask {
    let note = Message::text(Role::System, prompt::partial_note());
    let max_output_tokens = task.max_output_tokens.min(limits.part_output).max(1);
    SummaryTask { previous: None, messages: [note].into(), shown: None, max_output_tokens, ..task.clone() }
}

/// Returns true if a task is about a piece of a transcript, and its answer a note.
pub fn is_part(task: &SummaryTask) -> bool {
    let note = prompt::partial_note();
    match &task.shown {
        Some(text) => text.starts_with(note),
        None => task.messages.first().is_some_and(|first| first.role == Role::System && first.plain_text() == note),
    }
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

/// The task with tool traffic and thinking cut to a line or two each: for a span of too many parts.
pub fn terse(task: &SummaryTask) -> SummaryTask {
    SummaryTask { messages: task.messages.iter().map(shorten::terse).collect(), ..task.clone() }
}

/// A previous summary that would take more than half of a prompt's room goes in with the messages, before all of
/// them.
pub fn with_room(mut task: SummaryTask, limits: ChunkLimits, estimator: Estimator) -> SummaryTask {
    let room = limits.whole.saturating_sub(frame_tokens(&task, estimator));
    if let Some(previous) = task.previous.take_if(|previous| measure(previous, estimator) > room / 2) {
        let before = format!("{EARLIER}{previous}");
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

/// Counts the tokens that a prompt takes beside the transcript and the previous summary.
pub fn frame_tokens(task: &SummaryTask, estimator: Estimator) -> u32 {
    let bare = SummaryTask { previous: None, messages: [].into(), shown: None, ..task.clone() };
    input_tokens(&bare, estimator)
}

/// Takes apart what the messages of a part say: the previous summary where [`with_room`] has put it, and the rest.
pub(super) fn spoken(messages: &[Message]) -> (Option<String>, Vec<Message>) {
    let is_said = |message: &&Message| message.role != Role::System || message.plain_text() != prompt::partial_note();
    let mut said: Vec<Message> = messages.iter().filter(is_said).cloned().collect();
    let earlier = said.first().and_then(|first| Some(first.plain_text().strip_prefix(EARLIER)?.to_owned()));
    if earlier.is_some() {
        said.remove(0);
    }
    (earlier, said)
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

#[cfg(test)]
mod tests;
