//! Results that were asked for again after they had left the context: what is looked up again and again is told whole.

use std::collections::HashMap;

use super::quote::{shortened, size};
use super::results::shown;
use super::span::{CallLine, Line, Span};
use super::told::mark;

const HEADING: &str = "Results that were asked for again:";
/// They may take one part in so many of the room.
const SHARE: usize = 6;
/// Quarter tokens of the beginning and of the end of one result, and of the call's arguments.
const RESULT: (usize, usize) = (1_500, 500);
const ARGUMENTS: usize = 420;
/// Less of a result says nothing.
const LEAST: usize = 160;

/// The results that were asked for again, as they stand behind the conversation.
#[derive(Debug, Default)]
pub(super) struct Recalled {
    /// The lines of their calls, in the order of the path.
    pub lines: Vec<usize>,
    text: String,
}

impl Recalled {
    /// Of the calls with these ids, the first before the others, in their share of a record of so many quarter tokens. Of
    /// calls with one id the newest is meant, as where it is asked for.
    pub fn of(span: &Span<'_>, ids: &[String], quarters: usize) -> Recalled {
        if ids.is_empty() {
            return Recalled::default();
        }
        let mut newest: HashMap<&str, (usize, &CallLine<'_>)> = HashMap::new();
        for (at, line) in span.lines.iter().enumerate() {
            if let Line::Call(call) = line {
                newest.insert(call.call.id.as_str(), (at, call));
            }
        }
        let mut left = (quarters / SHARE).saturating_sub(size(HEADING) + 1);
        let mut told: Vec<(usize, String)> = Vec::new();
        for (at, call) in ids.iter().filter_map(|id| newest.get(id.as_str())) {
            if let Some(text) = line(span, call, left) {
                left = left.saturating_sub(size(&text) + 1);
                told.push((*at, text));
            }
        }
        told.sort_unstable();
        let text = told.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
        Recalled { lines: told.into_iter().map(|(at, _)| at).collect(), text }
    }

    /// `None`: there are none.
    pub fn told(&self) -> Option<String> {
        (!self.lines.is_empty()).then(|| format!("{HEADING}\n{}", self.text))
    }
}

/// The call and its result in at most so much room. `None`: there is none for it.
fn line(span: &Span<'_>, line: &CallLine<'_>, room: usize) -> Option<String> {
    let result = shown(line.result?);
    let arguments = span.arguments.told(line.call, ARGUMENTS);
    let call = format!("- {}{}({arguments}) → {}", line.sign(), line.call.name, mark(line.end, &result));
    // A mark of a cut takes a little more than its room.
    let room = room.checked_sub(size(&call) + 16)?.min(RESULT.0 + RESULT.1);
    let is_enough = room >= LEAST || size(&result) <= room;
    is_enough.then(|| format!("{call}{}", shortened(&result, room * 3 / 4, room / 4)))
}
