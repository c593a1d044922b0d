//! The sections of each template: what the prompt asks for and the built-in summariser fills.

use super::super::settings::Template;
use super::{SummaryPart, SummaryTask};

/// Topic of a section, whatever a template calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SectionTopic {
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
    pub slot: SectionTopic,
    /// With its `#` marks; for prose the words that open the paragraph.
    pub heading: &'static str,
    /// Words that tell the model what to put there.
    pub asks: &'static str,
    /// Mark in front of each item.
    pub bullet: &'static str,
}

const fn section(slot: SectionTopic, heading: &'static str, bullet: &'static str, asks: &'static str) -> Section {
    Section { slot, heading, asks, bullet }
}

const CHECKPOINT: [Section; 9] = [
    section(SectionTopic::Goal, "## Goal", "- ", "what the user wants in the end; one item for each separate request"),
    section(
        SectionTopic::Rules,
        "## Constraints & Preferences",
        "- ",
        "rules, limits and tastes the user stated, in the user's words, or (none)",
    ),
    section(SectionTopic::Group, "## Progress", "", ""),
    section(SectionTopic::Done, "### Done", "- [x] ", "finished work with the files and results that prove it"),
    section(SectionTopic::InProgress, "### In Progress", "- [ ] ", "work that was under way when the transcript ended"),
    section(SectionTopic::Blocked, "### Blocked", "- ", "what stops the work and the exact error, or (none)"),
    section(SectionTopic::Decisions, "## Key Decisions", "- ", "**decision**: the reason for it"),
    section(SectionTopic::Next, "## Next Steps", "1. ", "what to do now, in order"),
    section(
        SectionTopic::Context,
        "## Critical Context",
        "- ",
        "data, references and findings without which the work can't go on, or (none)",
    ),
];

const SIX_SECTION: [Section; 6] = [
    section(SectionTopic::Goal, "## Active Task", "- ", "the task the user wants done now"),
    section(SectionTopic::Done, "## Completed Actions", "- ", "what was done, with tools, targets and outcomes"),
    section(SectionTopic::InProgress, "## In Progress", "- ", "what was being worked on last, and any obstacle"),
    section(SectionTopic::Questions, "## Pending Questions", "- ", "questions nobody has answered yet, or (none)"),
    section(
        SectionTopic::Files,
        "## Relevant Files / Paths",
        "- ",
        "paths, links and ids that matter, each with its role",
    ),
    section(SectionTopic::Next, "## Remaining Work", "- ", "what is still to do, with the rules the user set for it"),
];

const CONTINUITY: [Section; 8] = [
    section(SectionTopic::Topic, "## Topic", "- ", "what the conversation is about"),
    section(SectionTopic::Goal, "## Current Goal", "- ", "what the user is after now"),
    section(SectionTopic::Done, "## Progress", "- ", "what has been achieved so far"),
    section(SectionTopic::Decisions, "## Key Decisions", "- ", "what was decided, and why"),
    section(
        SectionTopic::Context,
        "## Important Context",
        "- ",
        "facts, ids, errors and open questions the next turn depends on",
    ),
    section(SectionTopic::Next, "## Action Items", "- ", "what has to be done, and by whom"),
    section(
        SectionTopic::Preferences,
        "## User Preferences",
        "- ",
        "rules and tastes the user stated, in the user's words",
    ),
    section(SectionTopic::Results, "## Recent Tool Results", "- ", "the newest tool results that still matter"),
];

const PROSE: [Section; 8] = [
    section(SectionTopic::Goal, "The task:", "", ""),
    section(SectionTopic::Rules, "Rules to keep:", "", ""),
    section(SectionTopic::Done, "Done so far:", "", ""),
    section(SectionTopic::Decisions, "Decided:", "", ""),
    section(SectionTopic::InProgress, "Under way:", "", ""),
    section(SectionTopic::Blocked, "Problems:", "", ""),
    section(SectionTopic::Next, "Still to do:", "", ""),
    section(SectionTopic::Context, "Also needed:", "", ""),
];

const TURN_PREFIX: [Section; 3] = [
    section(SectionTopic::Goal, "## Original Request", "- ", "what the user asked for in this turn"),
    section(SectionTopic::Done, "## Progress So Far", "- ", "what was done and decided in the part shown"),
    section(
        SectionTopic::Context,
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
    sections.iter().copied().filter(|section| !(without_context && section.slot == SectionTopic::Context)).collect()
}

/// Lists the words of prompts on each section, where they make a sentence that nobody else would write.
pub fn placeholders() -> impl Iterator<Item = &'static str> {
    let all = CHECKPOINT.iter().chain(&SIX_SECTION).chain(&CONTINUITY).chain(&TURN_PREFIX);
    all.map(|section| section.asks).filter(|asks| asks.len() > 20)
}

/// Returns the topic of the section that a line of an earlier summary opens, whatever template it was written with.
pub fn slot_of_heading(line: &str) -> Option<SectionTopic> {
    let known = CHECKPOINT.iter().chain(&SIX_SECTION).chain(&CONTINUITY).chain(&TURN_PREFIX);
    let name = |heading: &str| heading.trim_start_matches('#').trim().trim_end_matches(':').to_lowercase();
    if !line.starts_with('#') {
        return None;
    }
    let wanted = name(line);
    known.into_iter().find(|section| name(section.heading) == wanted).map(|section| section.slot)
}

/// As [`slot_of_heading`] for a paragraph of prose; also the rest of the line.
pub fn slot_of_paragraph(line: &str) -> Option<(SectionTopic, &str)> {
    PROSE.iter().find_map(|section| Some((section.slot, line.strip_prefix(section.heading)?.trim())))
}
