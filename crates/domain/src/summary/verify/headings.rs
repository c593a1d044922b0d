//! Headings of an answer, and whether anything stands under them.

use super::reason::RejectReason;
use crate::record::evidence::sections::{self, Section};
use crate::record::quote::size;

/// A line that says something, in quarter tokens: what stands where there is nothing to say is shorter.
const LEAST: usize = 14;

/// Refuses a text that has none of the headings, however short it is, and one with nothing under them.
pub(super) fn check(text: &str, sections: &[Section]) -> Result<(), RejectReason> {
    let (mut headings, mut says) = (0, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let opened = sections::opened(line, sections);
        headings += usize::from(opened.is_some());
        says |= says_something(opened.map_or(line, |(_, rest)| rest));
    }
    match (headings, says) {
        (_, false) if text.lines().nth(1).is_some() => Err(RejectReason::NoContent),
        (0, _) if !sections.is_empty() => Err(RejectReason::NoHeadings),
        _ => Ok(()),
    }
}

/// Returns true if a line is neither a heading nor a word that stands for nothing: `(none)`, `- n/a`, `[the user's goal]`.
fn says_something(line: &str) -> bool {
    let bullet = ["- ", "* ", "• ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet));
    let bare = bullet.unwrap_or(line).trim_start_matches(|c: char| c.is_ascii_digit() || ".)、 ".contains(c));
    let bare = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| bare.strip_prefix(mark)).unwrap_or(bare).trim();
    let is_heading =
        line.starts_with('#') || bare.starts_with("**") && bare.ends_with("**") || bare.ends_with([':', '：']);
    let is_blank = bare.starts_with('[') && bare.ends_with(']') && !bare.contains("](");
    let letters: String = bare.chars().filter(|c| c.is_alphanumeric()).collect();
    !is_heading && !is_blank && size(&letters) >= LEAST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Template;

    fn checkpoint(text: &str) -> Result<(), RejectReason> {
        check(text, sections::of_template(Template::Checkpoint))
    }

    #[test]
    fn sees_headings_without_content() {
        let hollow = [
            "## Goal\n(none)\n\n## Progress\n(none)\n\n## Next Steps\n(none)",
            "## Goal\n- [what the user wants]\n## Next Steps\n1. [ ]",
            "**Goal**\n- None\n**Done**\n- n/a",
            "1. Goal:\n2. Progress:\n3. Next Steps:",
            "【目标】\n无\n【进展】\n无",
            "## Ziel\n- keine\n\n## Erledigt\n- nichts",
        ];
        for text in hollow {
            assert_eq!(check(text, &[]), Err(RejectReason::NoContent), "{text}");
        }
    }

    #[test]
    fn a_heading_of_the_template_must_be_there_at_any_length() {
        let body = "- `src/a.rs` was mended and its tests pass now (#4)\n";
        for style in ["# Goal\n", "**Goal**\n", "**Goal:** ", "Goal: ", "## Next Steps\n", "### done\n"] {
            assert_eq!(checkpoint(&format!("{style}{body}")), Ok(()), "{style}");
        }
        for text in [
            body,
            "# Ziel\n- Alles ist umgezogen, der Dienst läuft (#4)",
            "Shall I go ahead?",
            "I can't help with that, sorry.",
        ] {
            assert_eq!(checkpoint(text), Err(RejectReason::NoHeadings), "{text}");
            assert_eq!(check(text, &[]), Ok(()), "{text}");
        }
    }
}
