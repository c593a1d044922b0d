//! What stands beside somebody's notes: only what they lack, in the words of who said it and in facts of the protocol.

use super::ending::CallEnd;
use super::numbers::CitedNumbers;
use super::quote::{GAP, shortened, size};
use super::span::{CallLine, Line, Span};
use super::{INSTRUCTIONS, RecordParts, TASKS, instructions, standing_tasks};

const WORDS: &str = "Messages of the user that the notes neither quote nor cite, oldest first:";
const CALLS: &str = "Calls that may have changed something and that the notes do not cite:";
/// Quarter tokens of the beginning and of the end of one message.
const MESSAGE: (usize, usize) = (3_000, 1_000);
/// A shorter message that follows a question answers it, and is no request by itself.
const SHORT: usize = 40;
/// Quarter tokens of one call's arguments.
const ARGUMENTS: usize = 160;
/// Instructions, tasks and calls have one part in so many of the room each; the user's words have what is left.
const SHARE: usize = 4;

/// What `text` lacks of the span, in at most `room` tokens. Empty: nothing.
pub(super) fn told(parts: &RecordParts<'_>, text: &str, cited: &CitedNumbers, room: u64) -> String {
    let span = Span::of(parts.before);
    let said = bare(text);
    let room = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX);
    let share = room / SHARE;
    let tasks = tasks(&span, parts, &said).filter(|tasks| size(tasks) <= share);
    let calls = block(CALLS, &lasting(&span, cited), share);
    let given: Vec<String> = span.instructions.iter().filter(|text| !said.contains(&bare(text))).cloned().collect();
    let given = instructions::told(&given, share.saturating_sub(INSTRUCTIONS.len()));
    let given = (!given.is_empty()).then(|| format!("{INSTRUCTIONS}\n{given}"));
    let taken: usize = [&tasks, &calls, &given].into_iter().flatten().map(|part| size(part) + 2).sum();
    let words = block(WORDS, &words(&span, &said, cited), room.saturating_sub(taken));
    [given, words, calls, tasks].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// The lines under a heading, the newest as far as the room goes, and how many more there are; `newest` begins with the
/// newest.
fn block(heading: &str, newest: &[String], room: usize) -> Option<String> {
    let mut left = room.saturating_sub(size(heading) + 1);
    let fits = |line: &&String| {
        let rest = left.checked_sub(size(line) + 1);
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let mut lines: Vec<&str> = newest.iter().take_while(fits).map(String::as_str).collect();
    let counted = |told: usize| format!("{GAP} {} earlier ones are not told here.", newest.len() - told);
    let gap;
    if lines.len() < newest.len() {
        // What is said of the others has to fit too.
        while size(&counted(lines.len())) + 1 > left {
            left += size(lines.pop()?) + 1;
        }
        gap = counted(lines.len());
        lines.push(&gap);
    }
    lines.reverse();
    (!lines.is_empty()).then(|| format!("{heading}\n{}", lines.join("\n")))
}

fn words(span: &Span<'_>, said: &str, cited: &CitedNumbers) -> Vec<String> {
    let lacks = |(at, line): (usize, &Line<'_>)| match line {
        Line::User { number, text, runs: false }
            if !cited.users.contains(number) && !said.contains(&bare(text)) && !only_answers(span, at, text) =>
        {
            Some(format!("u{number} User: {}", shortened(text, MESSAGE.0, MESSAGE.1)))
        }
        _ => None,
    };
    span.lines.iter().enumerate().rev().filter_map(lacks).collect()
}

/// Returns true if a few words answer a question of the agent's: alone they would read as a new order.
fn only_answers(span: &Span<'_>, at: usize, text: &str) -> bool {
    let before = at.checked_sub(1).and_then(|before| span.lines.get(before));
    let asks = matches!(before, Some(Line::Agent { text }) if text.trim_end().ends_with(['?', '？', '؟']));
    asks && size(text) < SHORT
}

fn lasting(span: &Span<'_>, cited: &CitedNumbers) -> Vec<String> {
    let told = |line: &CallLine<'_>| {
        let arguments = span.arguments.told(line.call, ARGUMENTS).replace('\n', " ");
        format!("- {}{}({arguments})", line.sign(), line.call.name)
    };
    let is_lacking = |line: &CallLine<'_>| line.end == CallEnd::Returned && !cited.calls.contains(&line.number);
    span.lasting_calls().filter(|(_, line)| is_lacking(line)).map(|(_, line)| told(line)).collect()
}

/// The task list, where an item of it does not stand in the text.
fn tasks(span: &Span<'_>, parts: &RecordParts<'_>, said: &str) -> Option<String> {
    let told = standing_tasks(span, parts.kept)?;
    let item = |line: &str| bare(line.trim_start_matches(|c: char| !c.is_alphanumeric()));
    let differs = told.lines().map(item).any(|item| !item.is_empty() && !said.contains(&item));
    differs.then(|| format!("{TASKS}\n{told}"))
}

/// The text in small letters without its spaces and marks, so that a quotation is known again.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
