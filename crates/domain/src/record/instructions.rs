//! Instructions that a system or a harness gave and that stand nowhere else in the context.

use super::quote::{GAP, shortened, size};

/// Two instructions that begin alike are versions of one.
const OPENING: usize = 40;

/// The instructions in at most so many quarter tokens, each whole while there is room: the newest of a kind, the short ones
/// first. Of a longer one headings and list items go before prose.
pub(super) fn told(instructions: &[String], room: usize) -> String {
    let mut seen = std::collections::HashSet::new();
    let mut newest: Vec<(usize, &str)> = Vec::new();
    for (at, text) in instructions.iter().enumerate().rev() {
        let text = text.trim();
        if seen.insert(text.chars().take(OPENING).collect::<String>()) {
            newest.push((at, text));
        }
    }
    newest.sort_by_key(|(at, text)| (size(text), *at));
    let mut left = room;
    let mut told: Vec<(usize, String)> = Vec::new();
    for (at, text) in newest {
        let text = if size(text) <= left { text.to_owned() } else { in_brief(text, left) };
        left = left.saturating_sub(size(&text));
        told.push((at, text));
    }
    told.sort_by_key(|(at, _)| *at);
    told.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n\n")
}

/// Headings and list items first, then other lines, in their order.
fn in_brief(text: &str, room: usize) -> String {
    if room < 300 {
        return format!("[{} characters of instructions that begin: {}]", text.chars().count(), shortened(text, 80, 0));
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut kept = vec![false; lines.len()];
    let mut left = room.saturating_sub(80);
    let numbered = |line: &str| {
        line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')'])
            && line.starts_with(|c: char| c.is_ascii_digit())
    };
    for heads in [true, false] {
        for (at, line) in lines.iter().enumerate() {
            let line = line.trim();
            let is_head = line.starts_with(['#', '-', '*']) || numbered(line);
            if !kept[at] && !line.is_empty() && is_head == heads && size(line) < left {
                kept[at] = true;
                left -= size(line) + 1;
            }
        }
    }
    let mut told = Vec::new();
    let mut gap = false;
    for (at, line) in lines.iter().enumerate() {
        if kept[at] {
            if gap {
                told.push(GAP);
            }
            told.push(line);
            gap = false;
        } else {
            gap |= !line.trim().is_empty();
        }
    }
    let said: usize = told.iter().map(|line| line.chars().count()).sum();
    let out = text.chars().count().saturating_sub(said);
    format!("{}\n[{out} characters of it are left out]", told.join("\n"))
}
