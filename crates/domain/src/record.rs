//! The record: what an agent reads in place of what its context no longer holds.
//!
//! Code quotes. All that it writes is words in quotation with who said them, facts that the protocol states, and counts; it
//! judges no prose, in no language. Order is the meaning: oldest first, and what was said later overrules what was said
//! earlier. The older a part is, the less detail it is told in.

mod arguments;
mod beside;
pub mod brief;
mod code_outline;
pub mod effect;
pub mod ending;
pub mod evidence;
mod frames;
pub mod given;
mod instructions;
mod levels;
pub mod lighten;
pub mod notice;
mod now;
pub mod numbers;
mod pasted;
mod places;
pub mod quote;
mod recalled;
mod repeated;
mod results;
mod rewritten;
mod shown;
mod source;
mod span;
mod spoken;
mod tasks;
#[cfg(test)]
pub(crate) mod testing;
mod text_results;
mod told;
mod usual;
pub mod values;
pub mod words;

use std::collections::HashSet;

use levels::{NEWEST_TURNS, Telling, lasting_lines, newest_calls, stretches, user_levels};
pub use numbers::CitedNumbers;
use recalled::Recalled;
pub use source::{RecordSource, ShownSpan};
use span::{Line, Span};
pub use span::{RecordItem, RecordPlace, UnreadStretch};
use tasks::TaskList;
use told::Teller;

use crate::model::message::{Message, ToolCall};

/// Stands before the conversation in the record.
const OPENING: &str = "The conversation before this point, oldest first and quoted. […] marks what is left out, \
→ stands before what a call returned, u1 and #1 number the user's messages and the calls.";
/// The same where there is no room for it.
const SHORT_OPENING: &str = "The conversation before this point, quoted:";
const INSTRUCTIONS: &str = "Instructions given to the agent:";
const TASKS: &str = "The agent's task list where this record ends (a newer one may follow):";
/// Tries to meet the room: sizes are estimated while the record is told, and counted when it is.
const TRIES: usize = 5;
/// A record of fewer tokens is no record.
pub const LEAST_TOKENS: u64 = 64;

/// What a record is made of.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordParts<'a> {
    /// What stands on the path before the cut, from the first message on.
    pub before: &'a [RecordItem<'a>],
    /// The messages that stay behind the cut.
    pub kept: &'a [Message],
    /// Notes that a caller or a hook gave in place of what came before: no message says what stands in them.
    pub given: Option<&'a str>,
    /// Ids of calls whose results were asked for again after they had left the context, the newest first.
    pub recalled: &'a [String],
}

/// What stands around the conversation in a record.
struct Around<'p> {
    given: Option<&'p str>,
    /// The calls that stay behind the record.
    behind: Vec<&'p ToolCall>,
    recalled: &'p [String],
    tasks: Option<String>,
}

impl<'p> Around<'p> {
    fn of(parts: &RecordParts<'p>, span: &Span<'_>) -> Around<'p> {
        let tasks = standing_tasks(span, parts.kept);
        let behind = parts.kept.iter().flat_map(Message::tool_calls).collect();
        Around { given: parts.given, behind, recalled: parts.recalled, tasks }
    }
}

/// Returns true if a summary's text is a record and no notes.
pub fn is_record(text: &str) -> bool {
    text.contains(OPENING) || text.contains(SHORT_OPENING)
}

/// The text of a record without the notes that it quotes as given.
pub fn without_given(text: &str) -> String {
    let own = text.find(given::HEADING).and_then(|from| {
        let to = from + text.get(from..)?.find(OPENING)?;
        Some(format!("{}{}", text.get(..from)?, text.get(to..)?))
    });
    own.unwrap_or_else(|| text.to_owned())
}

/// Writes the record in at most `room` tokens, as `count` counts them. The same parts give the same text; where there is
/// nothing to tell it is empty.
pub fn write(parts: &RecordParts<'_>, room: u64, count: impl Fn(&str) -> u64) -> String {
    let mut span = Span::of(parts.before);
    span.instructions = not_kept(span.instructions, parts.kept);
    span.hear(parts.kept);
    let around = Around::of(parts, &span);
    let has_around = around.tasks.is_some() || around.given.is_some();
    if span.lines.is_empty() && span.instructions.is_empty() && !has_around {
        return String::new();
    }
    fitted(room.max(LEAST_TOKENS), count, |quarters| compose(&span, &around, quarters))
}

/// What `compose` makes of about so many quarter tokens, in at most `room` tokens.
fn fitted(room: u64, count: impl Fn(&str) -> u64, compose: impl Fn(usize) -> String) -> String {
    let mut quarters = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX);
    let mut text = compose(quarters);
    for _ in 1..TRIES {
        let tokens = count(&text);
        if tokens <= room {
            return text;
        }
        // A little less than the ratio, so that it ends.
        quarters = (quarters as f64 * room as f64 / tokens as f64 * 0.97) as usize;
        text = compose(quarters);
    }
    // Told in steps, a text may stay a little above its room however often the ratio is taken.
    while count(&text) > room && quarters > 0 {
        quarters = quarters * 3 / 4;
        text = compose(quarters);
    }
    // What is told even of no room at all: the beginning and the newest of it.
    if count(&text) > room {
        text = text.replacen(OPENING, SHORT_OPENING, 1);
    }
    let opening = if text.starts_with(SHORT_OPENING) { SHORT_OPENING } else { "" };
    let mut told = text.strip_prefix(opening).unwrap_or_default().trim_start().to_owned();
    while count(&text) > room && !text.is_empty() {
        let shorter = (quote::size(&told) * 9 / 10).saturating_sub(8);
        let (head, tail) =
            (quote::prefix(&told, shorter / 3), from_whole_line(quote::suffix(&told, shorter - shorter / 3)));
        told = format!("{}\n{}\n{}", head.trim_end(), quote::GAP, tail.trim_start());
        text = if shorter == 0 { String::new() } else { format!("{opening}\n\n{told}").trim_start().to_owned() };
    }
    text
}

/// The end of a record from the first line on that says who speaks, or what was called: what stands before it would read as
/// the words of somebody else. All of it where there is none.
fn from_whole_line(tail: &str) -> &str {
    let says_who = |line: &str| {
        let number = line.strip_prefix('u').or_else(|| line.strip_prefix("- #")).unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit()) || line.starts_with("Agent: ") || line.starts_with("Harness: ")
    };
    let lines = tail.match_indices('\n').map(|(at, _)| &tail[at + 1..]);
    lines.into_iter().find(|rest| says_who(rest)).unwrap_or(tail)
}

/// Instructions that do not stand word for word in a message that is kept, white space aside: a harness hands some over again.
fn not_kept(instructions: Vec<String>, kept: &[Message]) -> Vec<String> {
    if instructions.is_empty() {
        return instructions;
    }
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let kept: Vec<String> = kept.iter().map(|message| bare(&message.plain_text())).collect();
    let stands = |text: &String| kept.iter().any(|kept| kept.contains(&bare(text)));
    instructions.into_iter().filter(|text| !stands(text)).collect()
}

/// The agent's list of tasks, unless a newer one stands in what is kept.
fn standing_tasks(span: &Span<'_>, kept: &[Message]) -> Option<String> {
    let mut list = TaskList::default();
    for line in &span.lines {
        if let Line::Call(call) = line {
            list.take(call.call, call.result);
        }
    }
    for message in kept {
        for call in message.tool_calls() {
            let result = kept.iter().flat_map(Message::tool_results).find(|result| result.tool_call_id == call.id);
            if list.take(call, result) {
                return None;
            }
        }
    }
    list.told()
}

/// Puts the record together in about so many quarter tokens.
fn compose(span: &Span<'_>, around: &Around<'_>, quarters: usize) -> String {
    let instructions = instructions::told(&span.instructions, quarters / 3);
    put_together(span, &instructions, around, quarters, 1)
}

/// The same with the instructions as they are to stand there, in so many times the usual detail.
fn put_together(span: &Span<'_>, instructions: &str, around: &Around<'_>, quarters: usize, detail: usize) -> String {
    let now = now::told(span, &around.behind);
    let recalled = Recalled::of(span, around.recalled, quarters);
    let mut parts = Vec::new();
    if !instructions.is_empty() {
        parts.push(format!("{INSTRUCTIONS}\n{instructions}"));
    }
    parts.extend(around.given.map(|notes| given::told(notes, quarters)));
    let now = (!now.is_empty()).then(|| now.trim_end().to_owned());
    let tasks = around.tasks.as_ref().map(|tasks| format!("{TASKS}\n{tasks}"));
    let behind: Vec<String> = [recalled.told(), now, tasks].into_iter().flatten().collect();
    let taken: usize = parts.iter().chain(&behind).map(|part| quote::size(part) + 2).sum();
    let room = quarters.saturating_sub(taken + quote::size(OPENING) + 4);
    if !span.lines.is_empty() {
        parts.push(format!("{OPENING}\n\n{}", conversation(span, &recalled, room, detail).trim_end()));
    }
    parts.extend(behind);
    parts.join("\n\n")
}

fn conversation(span: &Span<'_>, recalled: &Recalled, room: usize, detail: usize) -> String {
    let recalled: HashSet<usize> = recalled.lines.iter().copied().collect();
    let (stretches, user_levels, newest) = (stretches(span), user_levels(span, room), newest_calls(span));
    let mut teller = Teller {
        span,
        user_levels: &user_levels,
        newest: &newest,
        lasting: HashSet::new(),
        recalled: &recalled,
        newest_from: span.last_turns(NEWEST_TURNS),
        detail,
    };
    teller.lasting = lasting_lines(&teller, room);
    Telling::within(&teller, &stretches, room).text()
}

#[cfg(test)]
mod tests;
