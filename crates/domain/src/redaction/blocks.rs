//! Private keys in their text form: the whole block, also where its beginning, its end or its middle is missing.

use std::sync::LazyLock;

use regex::Regex;

use super::found::{Found, compiled};

/// A block is no longer than this, in bytes.
const BLOCK_BYTES: usize = 32_768;
/// A frame with less in it is one that somebody talks about.
const LEAST_BYTES: usize = 24;
/// Where a block's frame is missing, a shorter line at that end may be one of the text around it.
const LEAST_LINE: usize = 16;
const KIND: &str = "private key";

static FRAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled(
        r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)? ?-{4,5}|PuTTY-User-Key-File-[0-9]: [a-z0-9-]{0,60}",
    )
});

/// A line of a block: data, a header, or the mark of a cut, behind what a pager or a program puts before it.
static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let before = r#"^(?:[ \t>|#*+"'`,-]|[0-9]{1,6}(?:[:|→\t]| {2}|-(?:[^-]|$)))*"#;
    let header = r"(?:Proc-Type|DEK-Info|Version|Comment|Encryption|Public-Lines|Private-Lines|Private-MAC|Private-Hash|Key-Derivation|Argon2-[A-Za-z]+|Hash|Charset): [^\n]{0,200}";
    let cut = r"\[?(?:…|\.\.\.)[^\n]{0,80}|\[…\][^\n]{0,80}|<[^>\n]{0,60}(?:truncated|omitted)[^>\n]{0,60}>";
    compiled(&format!(r#"{before}(?:([A-Za-z0-9+/=]+)|{header}|{cut})?[ \t"'`,+;\\]*$"#))
});

/// Finds the blocks of private keys.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    let Some(frames) = FRAMES.as_ref() else { return };
    let mut done = 0;
    for captures in frames.captures_iter(text) {
        let Some(frame) = captures.get(0).filter(|frame| frame.start() >= done) else { continue };
        let is_end = captures.get(1).is_some_and(|word| word.as_str() == "END");
        let (start, end, data) = if is_end {
            backward(text, done, frame.start(), frame.end())
        } else {
            forward(text, frame.start(), frame.end())
        };
        if data >= LEAST_BYTES {
            found.push(Found { start, end, kind: KIND });
            done = end;
        }
    }
}

/// From the frame that begins a block: to that which ends it, or as far as lines of it follow.
fn forward(text: &str, start: usize, after: usize) -> (usize, usize, usize) {
    let (mut end, mut data) = (after, 0);
    for (from, line) in lines(text, after) {
        if from > start + BLOCK_BYTES {
            break;
        }
        if let Some(frame) = FRAMES.as_ref().and_then(|frames| frames.find(line)) {
            let is_end = frame.as_str().contains("END ");
            return if is_end { (start, from + frame.end(), data + frame.start()) } else { (start, end, data) };
        }
        let Some(bytes) = data_of(line) else { break };
        data += bytes;
        if bytes >= LEAST_LINE {
            end = from + line.len();
        }
    }
    (start, end, data)
}

/// To the frame that ends a block, from the first line of it that is left.
fn backward(text: &str, least: usize, frame: usize, end: usize) -> (usize, usize, usize) {
    let (mut start, mut data) = (frame, 0);
    let least = least.max(frame.saturating_sub(BLOCK_BYTES));
    let mut rest = text.get(..frame).unwrap_or_default();
    while rest.len() > least {
        let from = line_before(rest).max(least);
        let Some(bytes) = rest.get(from..).and_then(data_of) else { break };
        data += bytes;
        if bytes >= LEAST_LINE {
            start = from;
        }
        rest = rest.get(..from).unwrap_or_default();
        rest = rest.strip_suffix('\n').or_else(|| rest.strip_suffix("\\n")).unwrap_or(rest);
    }
    (start, end, data)
}

/// How much data a line of a block has; `None`: it is none.
fn data_of(line: &str) -> Option<usize> {
    let line = line.trim_end_matches('\r').trim_end_matches("\\r");
    let captures = LINE.as_ref()?.captures(line)?;
    Some(captures.get(1).map_or(0, |data| data.len()))
}

/// The lines from a place on, with where each begins; those of a quoted text end with an escape.
fn lines(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    let mut is_over = false;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|_| !is_over)?;
        let (length, step) = line_end(rest);
        let line = (at, rest.get(..length).unwrap_or_default());
        at += length + step;
        is_over = step == 0;
        Some(line)
    })
}

/// The length of the first line, and that of what ends it.
fn line_end(rest: &str) -> (usize, usize) {
    let near = rest.as_bytes().get(..BLOCK_BYTES.min(rest.len())).unwrap_or_default();
    let found = near.iter().enumerate().find_map(|(at, byte)| match byte {
        b'\n' => Some((at, 1)),
        b'\\' if near.get(at + 1) == Some(&b'n') => Some((at, 2)),
        _ => None,
    });
    found.unwrap_or((near.len(), 0))
}

/// Where the last line of a text begins.
fn line_before(text: &str) -> usize {
    let real = text.rfind('\n').map_or(0, |at| at + 1);
    let quoted = text.get(real..).and_then(|line| line.rfind("\\n")).map_or(0, |at| real + at + 2);
    real.max(quoted)
}
