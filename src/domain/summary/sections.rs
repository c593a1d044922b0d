//! The sections of each template: what the prompt asks for and the built-in summariser fills.

use super::super::settings::Template;
use super::{SummaryPart, SummaryTask};

/// What a section is about, whatever a template calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    Topic,
    Goal,
    Rules,
    Preferences,
    Done,
    InProgress,
    Blocked,
    Decisions,
    Questions,
    Next,
    Files,
    Context,
    Results,
    /// A heading whose text is in its subsections.
    Group,
}

/// One heading of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    pub slot: Slot,
    /// With its `#` marks; for prose the words that open the paragraph.
    pub heading: &'static str,
    /// What the model is told to put there.
    pub asks: &'static str,
    /// What stands before each item.
    pub bullet: &'static str,
}

const fn section(slot: Slot, heading: &'static str, bullet: &'static str, asks: &'static str) -> Section {
    Section { slot, heading, asks, bullet }
}

const CHECKPOINT: [Section; 9] = [
    section(Slot::Goal, "## Goal", "- ", "what the user wants in the end; one item for each separate request"),
    section(
        Slot::Rules,
        "## Constraints & Preferences",
        "- ",
        "rules, limits and tastes the user stated, in the user's words, or (none)",
    ),
    section(Slot::Group, "## Progress", "", ""),
    section(Slot::Done, "### Done", "- [x] ", "finished work with the files and results that prove it"),
    section(Slot::InProgress, "### In Progress", "- [ ] ", "work that was under way when the transcript ended"),
    section(Slot::Blocked, "### Blocked", "- ", "what stops the work and the exact error, or (none)"),
    section(Slot::Decisions, "## Key Decisions", "- ", "**decision**: the reason for it"),
    section(Slot::Next, "## Next Steps", "1. ", "what to do now, in order"),
    section(
        Slot::Context,
        "## Critical Context",
        "- ",
        "data, references and findings without which the work can't go on, or (none)",
    ),
];

const SIX_SECTION: [Section; 6] = [
    section(Slot::Goal, "## Active Task", "- ", "the task the user wants done now"),
    section(Slot::Done, "## Completed Actions", "- ", "what was done, with tools, targets and outcomes"),
    section(Slot::InProgress, "## In Progress", "- ", "what was being worked on last, and any obstacle"),
    section(Slot::Questions, "## Pending Questions", "- ", "questions nobody has answered yet, or (none)"),
    section(Slot::Files, "## Relevant Files / Paths", "- ", "paths, links and ids that matter, each with its role"),
    section(Slot::Next, "## Remaining Work", "- ", "what is still to do, with the rules the user set for it"),
];

const CONTINUITY: [Section; 8] = [
    section(Slot::Topic, "## Topic", "- ", "what the conversation is about"),
    section(Slot::Goal, "## Current Goal", "- ", "what the user is after now"),
    section(Slot::Done, "## Progress", "- ", "what has been achieved so far"),
    section(Slot::Decisions, "## Key Decisions", "- ", "what was decided, and why"),
    section(
        Slot::Context,
        "## Important Context",
        "- ",
        "facts, ids, errors and open questions the next turn depends on",
    ),
    section(Slot::Next, "## Action Items", "- ", "what has to be done, and by whom"),
    section(Slot::Preferences, "## User Preferences", "- ", "rules and tastes the user stated, in the user's words"),
    section(Slot::Results, "## Recent Tool Results", "- ", "the newest tool results that still matter"),
];

const PROSE: [Section; 8] = [
    section(Slot::Goal, "The task:", "", ""),
    section(Slot::Rules, "Rules to keep:", "", ""),
    section(Slot::Done, "Done so far:", "", ""),
    section(Slot::Decisions, "Decided:", "", ""),
    section(Slot::InProgress, "Under way:", "", ""),
    section(Slot::Blocked, "Problems:", "", ""),
    section(Slot::Next, "Still to do:", "", ""),
    section(Slot::Context, "Also needed:", "", ""),
];

const TURN_PREFIX: [Section; 3] = [
    section(Slot::Goal, "## Original Request", "- ", "what the user asked for in this turn"),
    section(Slot::Done, "## Progress So Far", "- ", "what was done and decided in the part shown"),
    section(
        Slot::Context,
        "## Context Needed to Continue",
        "- ",
        "facts, paths, ids and errors that the kept rest of the turn relies on",
    ),
];

/// The sections that a task's answer has.
pub fn of(task: &SummaryTask) -> Vec<Section> {
    if task.part == SummaryPart::TurnPrefix {
        return TURN_PREFIX.to_vec();
    }
    let sections: &[Section] = match task.template {
        Template::Checkpoint => &CHECKPOINT,
        Template::SixSection => &SIX_SECTION,
        Template::Continuity => &CONTINUITY,
        Template::Prose => &PROSE,
    };
    let without_context = task.part == SummaryPart::Branch && task.template == Template::Checkpoint;
    sections.iter().copied().filter(|section| !(without_context && section.slot == Slot::Context)).collect()
}

/// What prompts say of each section, where that is a sentence that nobody else would write.
pub fn placeholders() -> impl Iterator<Item = &'static str> {
    let all = CHECKPOINT.iter().chain(&SIX_SECTION).chain(&CONTINUITY).chain(&TURN_PREFIX);
    all.map(|section| section.asks).filter(|asks| asks.len() > 20)
}

/// What a line of an earlier summary opens, whatever template it was written with.
pub fn slot_of_heading(line: &str) -> Option<Slot> {
    let known = CHECKPOINT.iter().chain(&SIX_SECTION).chain(&CONTINUITY).chain(&TURN_PREFIX);
    let name = |heading: &str| heading.trim_start_matches('#').trim().trim_end_matches(':').to_lowercase();
    if !line.starts_with('#') {
        return None;
    }
    let wanted = name(line);
    known.into_iter().find(|section| name(section.heading) == wanted).map(|section| section.slot)
}

/// As [`slot_of_heading`] for a paragraph of prose; also the rest of the line.
pub fn slot_of_paragraph(line: &str) -> Option<(Slot, &str)> {
    PROSE.iter().find_map(|section| Some((section.slot, line.strip_prefix(section.heading)?.trim())))
}
