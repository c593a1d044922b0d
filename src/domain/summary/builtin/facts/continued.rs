//! The summary that a harness left of what it forgot, in its own sections.

use super::super::super::text::{whole, without_bullet};
use super::items::{Facts, ITEM_CHARS};

/// Items taken from one section.
const MOST: usize = 6;

/// Sorts the sections of such a summary by their titles: what it says is told on, as far as there is a place for it.
pub fn take(facts: &mut Facts, text: &str) {
    let mut title = String::new();
    let mut taken = 0;
    for line in text.lines().map(str::trim) {
        if let Some(new) = title_of(line) {
            title = new;
            taken = 0;
            continue;
        }
        let item = without_bullet(line).replace("**", "");
        if item.starts_with("If you need specific details") || item.starts_with("Please continue the conversation") {
            return;
        }
        if taken >= MOST || item.chars().filter(|c| c.is_alphanumeric()).count() < 4 || line.starts_with("```") {
            continue;
        }
        let list = if title.contains("request") {
            &mut facts.goal
        } else if title.contains("pending") || title.contains("next step") {
            &mut facts.next
        } else if title.contains("current work") {
            &mut facts.context
        } else if title.contains("problem") || title.contains("decision") {
            &mut facts.decisions
        } else {
            continue;
        };
        if let Some(item) = whole(&item, ITEM_CHARS) {
            list.push(item);
            taken += 1;
        }
    }
}

/// `3. Files and Code Sections:` and the like.
fn title_of(line: &str) -> Option<String> {
    let line = line.trim_start_matches('#').replace("**", "");
    let line = line.trim();
    let (number, rest) = line.split_once('.').unwrap_or(("", line));
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (numbered && rest.trim_end().ends_with(':') && rest.len() < 80).then(|| rest.to_lowercase())
}
