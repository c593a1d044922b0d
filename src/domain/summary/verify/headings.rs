//! Headings of an answer, and whether anything stands under them.
//!
//! A good model may translate a template's headings, number them or print them bold; what counts is that there are some.

use super::reason::RejectReason;
use crate::domain::summary::text::without_bullet;

/// A shorter answer needs no headings.
const SHORT: usize = 600;
/// The longest heading, in characters.
const LONGEST_HEADING: usize = 80;

/// Words that stand where there is nothing to say.
const NOTHING: &[&str] = &[
    "none",
    "n/a",
    "na",
    "nil",
    "null",
    "nothing",
    "nothing yet",
    "none yet",
    "none so far",
    "not applicable",
    "unknown",
    "not specified",
    "not available",
    "not provided",
    "tbd",
    "todo",
    "empty",
    "no content",
    "no information",
    "keine",
    "nichts",
    "entfällt",
    "aucun",
    "aucune",
    "rien",
    "ninguno",
    "ninguna",
    "nada",
    "нет",
    "なし",
    "特になし",
    "无",
    "없음",
];

pub(super) fn check(text: &str, wants_headings: bool) -> Result<(), RejectReason> {
    let (mut headings, mut says) = (0, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        headings += usize::from(opens_with_heading(line));
        says |= content(line).is_some_and(|content| !is_nothing(content));
    }
    match (headings, says) {
        (_, false) => Err(RejectReason::NoContent),
        (0, true) if wants_headings && text.len() > SHORT => Err(RejectReason::NoHeadings),
        _ => Ok(()),
    }
}

/// Returns true if a line is a heading, or begins with one and goes on.
fn opens_with_heading(line: &str) -> bool {
    is_heading(line) || label(line).is_some()
}

/// Returns true if a line is a heading and nothing else: with `#` marks, bold, in brackets or an element, or ended by a
/// colon.
fn is_heading(line: &str) -> bool {
    if line.starts_with('#') {
        return line.trim_start_matches('#').starts_with([' ', '\t']) || !line.contains(' ');
    }
    let bare = numberless(line);
    let wrapped = |open: &str, close: &str| {
        bare.len() > open.len() + close.len() && bare.starts_with(open) && bare.ends_with(close)
    };
    let bold = bare.trim_end_matches([':', '：']);
    let is_bold = bold.len() > 4 && bold.starts_with("**") && bold.ends_with("**") && bold.matches("**").count() == 2;
    let is_short = bare.chars().count() <= LONGEST_HEADING;
    let is_rule = line.len() > 2 && line.chars().all(|c| matches!(c, '=' | '-' | '_' | '*'));
    is_rule
        || is_short
            && (is_bold || bare.ends_with([':', '：']) || wrapped("【", "】") || wrapped("<", ">") || wrapped("[", "]"))
}

/// Splits `Goal: fix it` and `**Goal**: fix it` at the colon: the label is of few words.
fn label(line: &str) -> Option<(&str, &str)> {
    let line = numberless(without_bullet(line));
    let (label, rest) = line.split_once([':', '：'])?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '*' | '_' | '/' | '&' | '(' | ')' | '-');
    let few = label.split_whitespace().count() <= 5 && label.chars().count() <= 40;
    let apart = rest.is_empty() || rest.starts_with([' ', '*']) || !line.is_ascii();
    (few && apart
        && label.starts_with(|c: char| c.is_alphabetic() || matches!(c, '*' | '_'))
        && label.chars().all(is_word))
    .then_some((label, rest))
}

/// The line without a number in front.
fn numberless(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['.', ')', '、']) {
        Some(after) if rest.len() < line.len() => after.trim_start(),
        _ => line,
    }
}

/// What a line says beside its heading; `None`: nothing.
fn content(line: &str) -> Option<&str> {
    if is_heading(line) {
        return None;
    }
    let rest = label(line).map_or(line, |(_, rest)| rest);
    Some(rest).filter(|rest| rest.chars().any(char::is_alphanumeric))
}

/// Returns true if words stand for nothing: `(none)`, `- n/a`, `[what the user wants]`.
fn is_nothing(content: &str) -> bool {
    let bare = without_bullet(numberless(content)).trim();
    let bare = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| bare.strip_prefix(mark)).unwrap_or(bare).trim();
    let is_blank = bare.len() > 2 && bare.starts_with('[') && bare.ends_with(']') && !bare.contains("](");
    let word = bare.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    is_blank || word.is_empty() || NOTHING.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_headings_without_content() {
        let hollow = [
            "## Goal\n(none)\n\n## Progress\n(none)\n\n## Next Steps\n(none)",
            "## Goal\n- [what the user wants]\n## Next Steps\n1. [ ]",
            "**Goal**\n- None\n**Done**\n- n/a",
            "1. Goal:\n2. Progress:\n3. Next Steps:",
            "Goal: none\nDone: none\nNext: TBD",
            "(none)",
            "【目标】\n无\n【进展】\n无",
            "<goal>\n</goal>\n<done>\n</done>",
        ];
        for text in hollow {
            assert_eq!(check(text, false), Err(RejectReason::NoContent), "{text}");
        }
    }

    #[test]
    fn any_headings_will_do() {
        let styles = [
            "# Ziel\n",
            "**Goal**\n",
            "**Goal:** fix it\n",
            "1. **Primary Request and Intent**:\n",
            "Goal: fix it\n",
            "1. Goal:\n",
            "目标：修复\n",
            "【目标】\n",
            "<goal>\n",
            "Goal\n====\n",
            "__Goal__: x\n",
        ];
        let body =
            "- `src/a.rs` was mended and its tests pass now, the user wants the same for `src/b.rs`\n".repeat(12);
        for style in styles {
            assert_eq!(check(&format!("{style}{body}"), true), Ok(()), "{style}");
        }
        assert_eq!(check(&body, true), Err(RejectReason::NoHeadings));
        assert_eq!(check(&body, false), Ok(()));
        assert_eq!(check("The parser was moved to src/parse.rs, its tests are next.", true), Ok(()));
    }

    #[test]
    fn one_fact_among_nothings_is_content() {
        assert_eq!(check("## Goal\n- x\n\n## Critical Context\n(none)", true), Ok(()));
        assert_eq!(check("## Goal\n(none)\n## Done\n- [x] pushed", true), Ok(()));
    }
}
