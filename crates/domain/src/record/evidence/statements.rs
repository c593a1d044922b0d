//! The statements of a text: items of lists, tables, and the sentences of paragraphs, with the heading they stand under.

use std::ops::Range;

use super::citing;
use crate::record::evidence::sections::{self, Section, SectionTopic};
use crate::record::quote::sentences;

/// Letters and digits that a statement has at least; a sign of a script without spaces counts as much as a short word.
const LEAST: usize = 4;

/// A statement, and where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundStatement<'t> {
    pub text: &'t str,
    pub range: Range<usize>,
    pub topic: SectionTopic,
}

/// The statements in order, `most` at most.
pub(super) fn of<'t>(text: &'t str, sections: &[Section], most: usize) -> Vec<FoundStatement<'t>> {
    let mut reading =
        StatementReading { text, found: Vec::new(), open: None, topic: SectionTopic::Facts, is_fenced: false };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        reading.take(line, start, sections);
        start += line.len();
    }
    reading.close();
    reading.found.truncate(most);
    reading.found
}

struct StatementReading<'t> {
    text: &'t str,
    found: Vec<FoundStatement<'t>>,
    /// A part that may go on in the next line.
    open: Option<(PartKind, Range<usize>)>,
    topic: SectionTopic,
    is_fenced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Item,
    Table,
    Paragraph,
}

impl<'t> StatementReading<'t> {
    fn take(&mut self, line: &'t str, start: usize, sections: &[Section]) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            self.close();
            self.is_fenced = !self.is_fenced;
            return;
        }
        if self.is_fenced {
            return;
        }
        if trimmed.is_empty() {
            return self.close();
        }
        let indent = line.len() - line.trim_start().len();
        let range = start + indent..start + line.trim_end().len();
        if let Some((topic, rest)) = sections::opened(trimmed, sections) {
            self.close();
            self.topic = topic;
            if !rest.is_empty() {
                self.open = Some((PartKind::Paragraph, range.end - rest.len()..range.end));
            }
        } else if trimmed.starts_with('#') && trimmed.trim_start_matches('#').starts_with(' ') {
            self.close();
            self.topic = SectionTopic::Facts;
        } else {
            self.part(part_kind(trimmed), range, indent > 0);
        }
    }

    fn part(&mut self, kind: PartKind, range: Range<usize>, is_indented: bool) {
        match &mut self.open {
            Some((PartKind::Table, open)) if kind == PartKind::Table => open.end = range.end,
            Some((PartKind::Paragraph, open)) if kind == PartKind::Paragraph => open.end = range.end,
            Some((PartKind::Item, open)) if kind == PartKind::Paragraph && is_indented => open.end = range.end,
            _ => {
                self.close();
                self.open = Some((kind, range));
            }
        }
    }

    fn close(&mut self) {
        let Some((kind, range)) = self.open.take() else { return };
        let text = &self.text[range.clone()];
        // A request is quoted with all its sentences.
        if kind != PartKind::Paragraph || self.topic == SectionTopic::Goal {
            return self.push(text, range);
        }
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut from = 0;
        for sentence in sentences(text) {
            let Some(at) = text[from..].find(sentence) else { continue };
            let mut here = from + at..from + at + sentence.len();
            from = here.end;
            // What stands in brackets behind a full stop belongs to what it ends.
            if let Some(last) = parts.last_mut() {
                let cited = leading_citation(sentence);
                last.end = if cited > 0 { here.start + cited } else { last.end };
                here.start += cited;
            }
            if letters(&text[here.clone()]) > 0 {
                parts.push(here);
            }
        }
        for part in parts {
            self.push(&text[part.clone()], range.start + part.start..range.start + part.end);
        }
    }

    fn push(&mut self, text: &'t str, range: Range<usize>) {
        if says_something(text) {
            self.found.push(FoundStatement { text, range, topic: self.topic });
        }
    }
}

/// The length of a citation in brackets with which a sentence begins, and of the white space behind it.
fn leading_citation(sentence: &str) -> usize {
    let end = sentence.find([')', ']', '）', '】']).filter(|_| sentence.starts_with(['(', '[', '（', '【']));
    let Some(close) = end.and_then(|at| Some(at + sentence[at..].chars().next()?.len_utf8())) else { return 0 };
    let bracketed = &sentence[..close];
    let is_citation = letters(&citing::of(bracketed).without) == 0 && letters(bracketed) > 0;
    let rest = sentence[close..].trim_start_matches([' ', '.', '。']);
    if is_citation { sentence.len() - rest.len() } else { 0 }
}

fn part_kind(line: &str) -> PartKind {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < line.len() && number.starts_with(['.', ')', '、']);
    match () {
        () if line.starts_with('|') => PartKind::Table,
        () if ["- ", "* ", "+ ", "• ", "– "].iter().any(|bullet| line.starts_with(bullet)) || is_numbered => {
            PartKind::Item
        }
        () => PartKind::Paragraph,
    }
}

/// Returns true if a text states something: it is no label of what follows, and no remark that there is nothing.
fn says_something(text: &str) -> bool {
    let bare = text.trim_start_matches(|c: char| c.is_ascii_digit() || "-*+•–.)、 ".contains(c));
    let bare = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| bare.strip_prefix(mark)).unwrap_or(bare).trim();
    let is_label = bare.trim_end_matches('*').ends_with([':', '：']);
    let is_remark = bare.starts_with('(') && bare.ends_with(')') && !bare.contains('#') && bare.len() < 30;
    !is_label && !is_remark && letters(&citing::of(bare).without) >= LEAST
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).map(|c| if c > '\u{2e7f}' { 2 } else { 1 }).sum()
}
