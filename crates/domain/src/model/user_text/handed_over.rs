//! Instructions that a harness hands over in the user's role: rules files, and skills that it has loaded. They stand as long
//! as the session does, and are neither the user's words nor an echo.

use super::harness::{GIVEN, HANDED, HANDED_CLOSE, HANDED_OPEN, SKILL, element_inside};

/// Elements that may hold rules files.
const ELEMENTS: [&str; 2] = ["user_instructions", "system-reminder"];
/// Heads a file's text within a reminder; other reminders are of the moment.
const CONTENTS: &str = "Contents of /";
/// Elements of one text that are looked at.
const MOST_ELEMENTS: usize = 16;

/// The instructions in a text, each as it stands there.
pub fn handed_over(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let begun = text.trim_start();
    if begun.starts_with(HANDED) || begun.starts_with(HANDED_OPEN) {
        found.push(begun.split_once(HANDED_CLOSE).map_or(begun, |(handed, _)| handed));
    } else if begun.starts_with(SKILL) {
        found.push(begun.rsplit_once(GIVEN).map_or(begun, |(skill, _)| skill));
    }
    for name in ELEMENTS {
        let mut rest = text;
        for _ in 0..MOST_ELEMENTS {
            let Some((inside, behind)) = element_inside(rest, name) else { break };
            if name != "system-reminder" || inside.contains(CONTENTS) {
                found.push(inside);
            }
            rest = behind;
        }
    }
    found.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect()
}

/// What a loaded skill was given: the user's words where the user called it, the agent's where the agent did.
pub fn given_to_skill(text: &str) -> Option<&str> {
    let begun = text.trim_start();
    let (_, given) = begun.strip_prefix(SKILL)?.rsplit_once(GIVEN)?;
    Some(given.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_files_and_skills_are_instructions_and_reminders_of_the_moment_are_not() {
        let reminder = "<system-reminder>\nContents of /home/u/CLAUDE.md (rules of the project):\n\nNo force pushes.\n</system-reminder>";
        for (text, told) in [
            (
                "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nRun the linter.\n</INSTRUCTIONS>\nFix it.",
                vec!["Run the linter."],
            ),
            ("<user_instructions>\nAntworte kurz.\n</user_instructions>", vec!["Antworte kurz."]),
            (
                "Base directory for this skill: /s\n\n# Commit\nOne line.\n\nARGUMENTS: both",
                vec!["# Commit\nOne line."],
            ),
            (reminder, vec!["No force pushes."]),
            ("<system-reminder>The task list is empty.</system-reminder>\nGo on.", vec![]),
            ("Read # AGENTS.md instructions, please.", vec![]),
            ("<system-reminder>Contents of /a, never closed", vec![]),
        ] {
            let found = handed_over(text);
            assert_eq!(found.len(), told.len(), "{text}");
            assert!(found.iter().zip(told).all(|(found, told)| found.contains(told)), "{text}: {found:?}");
        }
        assert_eq!(
            given_to_skill("Base directory for this skill: /s\n\nX\n\nARGUMENTS: both repos"),
            Some("both repos")
        );
        assert_eq!(given_to_skill("ARGUMENTS: both"), None);
    }
}
