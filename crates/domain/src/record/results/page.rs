//! Results that are pages: their passages, and not the links between them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::super::quote::{GAP, prefix, shortened, size};

/// Pictures, addresses of links, and elements of a page.
static LINKS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|<[^>]*>|https?://\S+").ok());
/// Quarter tokens of a line in which links are looked for.
const MOST_OF_LINE: usize = 2_000;
/// Quarter tokens of a line that is a passage of a page: links and labels are shorter.
const SHORTEST_PASSAGE: usize = 100;

/// Returns true if one of a call's arguments is the address of a page: no file holds what it says.
pub fn names_page(arguments: &str) -> bool {
    let is_address = |line: &str| line.starts_with("http://") || line.starts_with("https://");
    arguments.lines().map(str::trim).any(|line| is_address(line) && !line.contains(char::is_whitespace))
}

/// Returns true if less than half of a line is left without its elements and the addresses of its links.
pub fn is_mostly_link(line: &str) -> bool {
    let line = prefix(line, MOST_OF_LINE);
    let bare = LINKS.as_ref().map_or(Cow::Borrowed(line), |links| links.replace_all(line, ""));
    size(&bare) * 2 < size(line)
}

/// Lines with links that a page has at least, and how much more its passages hold. A search that lists pages says little of
/// each.
const LEAST_LINKS: usize = 6;
const PASSAGES_BY_LINKS: usize = 4;

/// Returns true for the lines of a page whose address the call does not say: long passages between lines of links.
pub fn are_of_page(links: &[&str], others: &[&str]) -> bool {
    let passages: usize = others.iter().map(|line| size(line)).filter(|size| *size >= SHORTEST_PASSAGE).sum();
    links.len() >= LEAST_LINKS && passages >= links.iter().map(|line| size(line)).sum::<usize>() * PASSAGES_BY_LINKS
}

/// How a page begins: the first passages, for what stands before and between them leads elsewhere.
pub fn opening(lines: &[&str], room: usize) -> Option<String> {
    let passages: Vec<usize> = (0..lines.len()).filter(|at| size(lines[*at]) >= SHORTEST_PASSAGE).collect();
    let first = *passages.first()?;
    let mut told = if first > 0 { format!("{GAP} ") } else { String::new() };
    told.push_str(&shortened(lines[first], room, 0));
    let mut next = first + 1;
    for at in passages.into_iter().skip(1) {
        if size(&told) + size(lines[at]) > room {
            break;
        }
        told.push_str(if at > next { " […]\n" } else { "\n" });
        told.push_str(lines[at]);
        next = at + 1;
    }
    if next < lines.len() && !told.ends_with(GAP) {
        told.push_str(" […]");
    }
    Some(told)
}
