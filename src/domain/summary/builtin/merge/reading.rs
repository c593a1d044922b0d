//! Reading a summary back into its items.

use super::super::super::focus::MARK;
use super::super::super::framing::without_split;
use super::super::super::sections::{SectionTopic, slot_of_heading, slot_of_paragraph};
use super::super::super::text::{sentences, whole};
use super::super::facts::{Facts, FileWork, ITEM_CHARS};
use super::super::labels::{GAP, Label, SAME, is_outdated};

/// Most items of one list.
pub const MAX_ITEMS: usize = 120;
/// Paragraphs without a known heading that are kept.
const KEEP_LOOSE: usize = 12;
const MAX_NAMED: usize = 300;
/// Longer items are read back in the pieces that they were made of.
const LONGEST_ITEM: usize = 2 * ITEM_CHARS;

/// The items of a summary by section, from whatever template; a split turn's part goes to the same sections.
pub fn read(summary: &str) -> Facts {
    let (history, turn) = without_split(summary);
    let mut facts = Facts::default();
    for part in [Some(history), turn].into_iter().flatten() {
        let mut slot = None;
        for line in part.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "---") {
            if let Some((prose, rest)) = slot_of_paragraph(line) {
                slot = Some(prose);
                take_long(&mut facts, slot, rest);
            } else if line.trim_start_matches('#').starts_with(' ') && line.starts_with('#') {
                slot = Some(match slot_of_heading(line) {
                    // One template has subsections under "Progress", another what was done.
                    Some(SectionTopic::Group) => SectionTopic::Done,
                    known => known.unwrap_or(SectionTopic::Group),
                });
            } else {
                take_long(&mut facts, slot, line);
            }
        }
    }
    facts
}

/// Takes a line. One that is longer than any item of ours is a paragraph of somebody else's.
fn take_long(facts: &mut Facts, slot: Option<SectionTopic>, line: &str) {
    if line.chars().count() <= LONGEST_ITEM || Label::read(line).is_some_and(|(label, _)| label == Label::Named) {
        return take(facts, slot, line);
    }
    for piece in line.split("; ").flat_map(sentences) {
        take(facts, slot, &piece);
    }
}

fn take(facts: &mut Facts, slot: Option<SectionTopic>, line: &str) {
    let item = strip_bullet(line);
    let none = ["(none)", "none", "(none).", "none."].iter().any(|none| item.eq_ignore_ascii_case(none));
    if none || item.starts_with(GAP) || item == SAME || is_outdated(item) {
        return;
    }
    let Some((label, item)) = Label::read(item) else { return take_plain(facts, slot, item) };
    match label {
        Label::Decided => add(&mut facts.decisions, item),
        Label::Obstacle => add(&mut facts.blocked, item),
        Label::Rule => add(&mut facts.rules, item),
        Label::UnderWay if is_outdated(item) => {}
        Label::UnderWay => add(&mut facts.in_progress, item),
        Label::Question => add(&mut facts.questions, item),
        Label::Named => facts.named.extend(item.split(", ").take(MAX_NAMED).map(str::to_owned)),
    }
}

fn take_plain(facts: &mut Facts, slot: Option<SectionTopic>, item: &str) {
    if let Some(work) = FileWork::read(item)
        && facts.files.len() < 4 * MAX_ITEMS
    {
        return facts.files.push(work);
    }
    let list = match slot {
        Some(SectionTopic::Topic | SectionTopic::Goal) => &mut facts.goal,
        Some(SectionTopic::Rules | SectionTopic::Preferences) => &mut facts.rules,
        Some(SectionTopic::Done) => &mut facts.done,
        Some(SectionTopic::InProgress) => &mut facts.in_progress,
        Some(SectionTopic::Blocked) => &mut facts.blocked,
        Some(SectionTopic::Decisions) => &mut facts.decisions,
        Some(SectionTopic::Questions) => &mut facts.questions,
        Some(SectionTopic::Next) => &mut facts.next,
        Some(SectionTopic::Results) => &mut facts.results,
        // The focus block is carried by its own code.
        Some(SectionTopic::Group) if item.starts_with(MARK) => return,
        Some(SectionTopic::Files | SectionTopic::Context) => &mut facts.context,
        Some(SectionTopic::Group) | None if facts.context.len() >= KEEP_LOOSE => return,
        Some(SectionTopic::Group) | None => &mut facts.context,
    };
    add(list, item);
}

fn add(list: &mut Vec<String>, item: &str) {
    // A clipped line may end in half an identifier.
    let cut = item.ends_with('…') && !item.contains(' ');
    if !cut && item.chars().any(char::is_alphanumeric) && list.len() < MAX_ITEMS {
        list.extend(whole(item, LONGEST_ITEM));
    }
}

fn strip_bullet(line: &str) -> &str {
    let line = line.strip_prefix(['-', '*']).filter(|rest| rest.starts_with(' ')).unwrap_or(line).trim_start();
    let line = ["[x] ", "[X] ", "[ ] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    match line.split_once(". ") {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    }
}
