//! Answers of a model that got stuck.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::reason::RejectReason;

/// Characters of a stretch that may stand in a text once.
const STRETCH: usize = 12;
/// What lies behind so many characters is not looked at.
const MOST: usize = 200_000;
/// Shorter texts have too few stretches to tell.
const LEAST: usize = 120;
/// Share of the stretches of a text that are new where they stand.
const LEAST_NEW: f64 = 0.30;
/// Share of the characters that may stand in lines that were there before.
const MOST_REPEATED: f64 = 0.60;
/// A line with less than this is a heading or a mark.
const LINE: usize = 12;

pub(super) fn check(text: &str) -> Result<(), RejectReason> {
    let is_stuck = new_share(text).is_some_and(|share| share < LEAST_NEW)
        || repeated_share(text).is_some_and(|share| share > MOST_REPEATED);
    if is_stuck { Err(RejectReason::Repetition) } else { Ok(()) }
}

/// Share of a text's stretches that did not stand in it before; `None` for a short text.
pub(super) fn new_share(text: &str) -> Option<f64> {
    let characters: Vec<char> = bare(text).take(MOST).collect();
    if characters.len() < LEAST {
        return None;
    }
    let stretches = characters.windows(STRETCH);
    let total = stretches.len();
    let distinct: HashSet<u64> = stretches.map(hashed).collect();
    Some(distinct.len() as f64 / total as f64)
}

/// Share of a text's characters in lines and sentences that stood in it before; `None` where it has few of them.
pub(super) fn repeated_share(text: &str) -> Option<f64> {
    let mut seen = HashSet::new();
    let (mut total, mut repeated, mut times) = (0, 0, 0);
    for part in text.split(['\n', '.', '!', '?', '。', '！', '？']) {
        let part: Vec<char> = bare(part).take(MOST).collect();
        total += part.len();
        if part.len() >= LINE && !seen.insert(hashed(&part)) {
            repeated += part.len();
            times += 1;
        }
    }
    (times > 2).then(|| f64::from(repeated as u32) / f64::from(total as u32))
}

/// The letters and digits of a text, small.
fn bare(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

fn hashed(characters: &[char]) -> u64 {
    let mut hasher = DefaultHasher::new();
    characters.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_loops_of_every_length() {
        let stuck = [
            "The user wants the tests fixed. ".repeat(24),
            "- Fixed src/a.rs\n".repeat(40),
            "x".repeat(4_000),
            "word and more ".repeat(300),
            "## Goal\n- fix it\n## Done\n- fixed it all, at last\n".repeat(12),
            "用户想要修复测试并且更新文档。".repeat(24),
        ];
        for text in stuck {
            assert_eq!(check(&text), Err(RejectReason::Repetition), "{text}");
        }
    }

    #[test]
    fn leaves_lists_and_repeated_words() {
        let list: String =
            (0..60).map(|n| format!("- `src/handlers/module_{n}.rs`: renamed, {} tests\n", n * 7)).collect();
        assert_eq!(check(&list), Ok(()), "{:?}", new_share(&list));
        assert_eq!(check("(none)\n(none)\n(none)\n(none)"), Ok(()));
    }

    #[test]
    fn thirty_megabytes_are_no_trouble() {
        let text = "a b c d e f ".repeat(2_500_000);
        assert_eq!(check(&text), Err(RejectReason::Repetition));
    }
}
