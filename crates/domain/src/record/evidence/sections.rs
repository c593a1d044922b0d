//! The headings of each template, as the files under `prompts/` ask for them, and what stands under each.

use crate::settings::Template;

/// Topic of a section, whatever a template calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SectionTopic {
    /// What the conversation is about.
    Topic,
    /// What the user asks for.
    Goal,
    /// Rules and wishes of the user.
    Rules,
    /// What is told as done.
    Done,
    /// Work that is not done, or failed.
    Open,
    Decisions,
    Next,
    /// Files, facts, findings.
    Facts,
    /// A heading whose text is in its subsections.
    Group,
}

/// One heading of a template, without its marks.
pub type Section = (SectionTopic, &'static str);

const CHECKPOINT: [Section; 9] = [
    (SectionTopic::Goal, "Goal"),
    (SectionTopic::Rules, "Constraints & Preferences"),
    (SectionTopic::Group, "Progress"),
    (SectionTopic::Done, "Done"),
    (SectionTopic::Open, "In Progress"),
    (SectionTopic::Open, "Blocked"),
    (SectionTopic::Decisions, "Key Decisions"),
    (SectionTopic::Next, "Next Steps"),
    (SectionTopic::Facts, "Critical Context"),
];

const SIX_SECTION: [Section; 6] = [
    (SectionTopic::Goal, "Active Task"),
    (SectionTopic::Done, "Completed Actions"),
    (SectionTopic::Open, "In Progress"),
    (SectionTopic::Next, "Pending Questions"),
    (SectionTopic::Facts, "Relevant Files / Paths"),
    (SectionTopic::Next, "Remaining Work"),
];

const CONTINUITY: [Section; 8] = [
    (SectionTopic::Topic, "Topic"),
    (SectionTopic::Goal, "Current Goal"),
    (SectionTopic::Rules, "User Preferences"),
    (SectionTopic::Done, "Progress"),
    (SectionTopic::Open, "Recent Tool Results"),
    (SectionTopic::Decisions, "Key Decisions"),
    (SectionTopic::Next, "Action Items"),
    (SectionTopic::Facts, "Important Context"),
];

/// Words that open a paragraph.
const PROSE: [Section; 8] = [
    (SectionTopic::Goal, "Task"),
    (SectionTopic::Rules, "Rules"),
    (SectionTopic::Done, "Done"),
    (SectionTopic::Open, "Open"),
    (SectionTopic::Open, "Failed"),
    (SectionTopic::Decisions, "Decided"),
    (SectionTopic::Next, "Next"),
    (SectionTopic::Facts, "Needed"),
];

/// The sections of the summary of a branch.
pub fn of_branch() -> &'static [Section] {
    CHECKPOINT.get(..8).unwrap_or(&CHECKPOINT)
}

/// The sections of a template.
pub fn of_template(template: Template) -> &'static [Section] {
    match template {
        Template::Checkpoint => &CHECKPOINT,
        Template::SixSection => &SIX_SECTION,
        Template::Continuity => &CONTINUITY,
        Template::Prose => &PROSE,
    }
}

/// The section that a line opens, and what else the line says: a heading with `#` marks, in bold print, or in front of a
/// colon.
pub fn opened<'t>(line: &'t str, sections: &[Section]) -> Option<(SectionTopic, &'t str)> {
    let bare = line.trim().trim_start_matches('#').trim_start().trim_start_matches("**").trim_start();
    let named = |(topic, heading): &Section| {
        let rest = strip_prefix_any_case(bare, heading)?.trim_start_matches("**");
        let rest = match rest.strip_prefix([':', '：']) {
            Some(rest) => rest.trim_start_matches("**").trim(),
            None if rest.trim().is_empty() => "",
            None => return None,
        };
        Some((*topic, rest))
    };
    sections.iter().find_map(named)
}

fn strip_prefix_any_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_known_however_they_are_printed() {
        for line in ["## Goal", "# goal", "**Goal**", "**Goal:**", "Goal:", "### Goal:"] {
            assert_eq!(opened(line, &CHECKPOINT), Some((SectionTopic::Goal, "")), "{line}");
        }
        assert_eq!(opened("Done: moved it (#4).", &PROSE), Some((SectionTopic::Done, "moved it (#4).")));
        for line in ["Goals are met", "## Ziel", "- Goal: none", "Done we are"] {
            assert_eq!(opened(line, &CHECKPOINT), None, "{line}");
        }
    }

    /// The prompts ask for these headings and for no other, in this order.
    #[test]
    fn the_prompts_ask_for_the_headings_that_are_looked_for() {
        let asked = |text: &'static str| -> Vec<&str> {
            text.lines()
                .filter_map(|line| line.strip_prefix('#'))
                .map(|line| line.trim_start_matches('#').trim())
                .collect()
        };
        let known = |sections: &[Section]| sections.iter().map(|(_, heading)| *heading).collect::<Vec<_>>();
        assert_eq!(asked(include_str!("../../../../../prompts/checkpoint.md")), known(&CHECKPOINT));
        assert_eq!(asked(include_str!("../../../../../prompts/six_section.md")), known(&SIX_SECTION));
        assert_eq!(asked(include_str!("../../../../../prompts/continuity.md")), known(&CONTINUITY));
        assert_eq!(asked(include_str!("../../../../../prompts/branch.md")), known(of_branch()));
        let prose = include_str!("../../../../../prompts/prose.md");
        for (_, word) in PROSE {
            assert!(prose.lines().any(|line| line.starts_with(&format!("{word}: "))), "{word}");
        }
    }
}
