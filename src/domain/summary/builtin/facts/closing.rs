//! What the agent's answers say of the work: what was done, what comes next, what was asked.

use super::super::super::text::{sentences, whole, without_bullet, words};
use super::cues;
use super::items::ITEM_CHARS;

/// Statements taken from one answer.
const MAX_DONE: usize = 4;
const MAX_NEXT: usize = 6;
const MAX_QUESTIONS: usize = 2;

/// The sentences of an answer that say what was done.
pub fn done(text: &str) -> Vec<String> {
    let said = said(text).filter(|one| cues::is_done(one) && enough(one) && !one.ends_with(','));
    said.filter_map(|one| whole(&one, ITEM_CHARS)).take(MAX_DONE).collect()
}

/// What an answer names as the next steps: items under a heading that says so, and sentences that do.
pub fn next(text: &str) -> Vec<String> {
    let mut next = Vec::new();
    let mut listed = false;
    for line in text.lines().map(str::trim) {
        let item = is_item(line);
        let heading =
            line.starts_with('#') || line.ends_with([':', '：']) || line.starts_with("**") && line.ends_with("**");
        if heading && !item {
            listed = cues::is_next(line) && line.len() < 80;
        } else if listed && item {
            next.push(plain(item_text(line)));
        } else if !line.is_empty() {
            listed = false;
            next.extend(sentences(line).iter().map(|one| plain(one)).filter(|one| cues::is_next(one)));
        }
    }
    let tells = |one: &String| !one.ends_with(['?', '？', ':', '：']) && enough(one) && !cues::is_done(one);
    next.iter().filter(|one| tells(one)).filter_map(|one| whole(one, ITEM_CHARS)).take(MAX_NEXT).collect()
}

/// Returns true for an item of a list.
pub fn is_item(line: &str) -> bool {
    let numbered = || {
        line.split_once(['.', ')']).is_some_and(|(number, rest)| {
            number.len() < 3
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
                && rest.starts_with(' ')
        })
    };
    ["- ", "* ", "• ", "+ "].iter().any(|bullet| line.starts_with(bullet)) || numbered()
}

/// An item without its mark or number.
pub fn item_text(line: &str) -> &str {
    let line = without_bullet(line);
    let numbered = line.split_once([')', '.']).filter(|(number, rest)| {
        number.len() < 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with(' ')
    });
    numbered.map_or(line, |(_, rest)| rest.trim_start())
}

/// The questions to the user that an answer ends with.
pub fn questions(text: &str) -> Vec<String> {
    let asked: Vec<String> = said(text).filter(|one| one.ends_with(['?', '？']) && cues::asks_user(one)).collect();
    let skip = asked.len().saturating_sub(MAX_QUESTIONS);
    asked.into_iter().skip(skip).filter_map(|one| whole(&one, ITEM_CHARS)).collect()
}

/// The first sentence of an answer that tells something: no politeness, no plan, no question.
pub fn answer(text: &str) -> Option<String> {
    let tells = |one: &String| {
        enough(one) && !one.ends_with(['?', '？', ':', '：']) && !cues::is_intent(one) && !cues::is_filler(one)
    };
    said(text).find(tells)
}

/// Returns true for an answer that ends with a question to the user.
pub fn asks_back(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

/// The sentences that say what was decided or found out, those that settle something first.
pub fn decisions(text: &str, most: usize) -> Vec<String> {
    let mut found: Vec<String> = said(text).filter(|one| cues::is_decision(one) && informs(one)).collect();
    found.sort_by_key(|one| !cues::is_settled(one));
    found.into_iter().filter_map(|one| whole(&one, ITEM_CHARS)).take(most).collect()
}

fn said(text: &str) -> impl Iterator<Item = String> {
    sentences(text).into_iter().map(|one| plain(&one))
}

/// A sentence of four words or more, or in a script without spaces.
fn enough(sentence: &str) -> bool {
    !sentence.is_ascii() || words(sentence).take(4).count() > 3
}

/// Returns true for a sentence that says what, and not only that: "The problem is clear." says nothing.
fn informs(sentence: &str) -> bool {
    let names = sentence.contains('`') || sentence.chars().any(|c| c.is_ascii_digit());
    enough(sentence) && (names || !sentence.is_ascii() || words(sentence).take(6).count() > 5)
}

/// A sentence without marks of emphasis and the sounds of thinking.
pub fn plain(sentence: &str) -> String {
    const SOUNDS: [&str; 8] = ["Wait, ", "Hmm, ", "Actually, ", "So, ", "OK, ", "Okay, ", "✅ ", "✓ "];
    let text = sentence.replace("**", "");
    let mut text = text.trim();
    while let Some(rest) = SOUNDS.iter().find_map(|sound| text.strip_prefix(sound)) {
        text = rest;
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_is_what_was_done() {
        let text = "All set! I've fixed the parser in src/lex.rs. Here's what changed:\n- Added a test for empty input\n- You should \
            run the linter\n- The cache could not be cleared\nNow let me commit this. Shall I push?";
        assert_eq!(done(text), ["I've fixed the parser in src/lex.rs.", "Added a test for empty input"]);
        for narration in [
            "Now I'll look at the code.",
            "I need to check the tests first.",
            "I noticed a bug in it.",
            "Your trip type: round trip",
        ] {
            assert!(done(narration).is_empty(), "{narration}");
        }
        assert_eq!(done("测试全部通过，已经修复了登录模块。").len(), 1);
    }

    #[test]
    fn orders_descriptions_and_guesses_are_not_told_as_facts() {
        for said in [
            "Run `git config gc.auto 0` in the main repository to keep its objects.",
            "Set the limit to 5 in the settings.",
            "This tests all the colours that we've configured!",
        ] {
            assert!(done(said).is_empty(), "{said}");
        }
        assert_eq!(done("Ran the tests in all four crates.").len(), 1);
        let said = "The problem is clear. I bet the problem is the cache. The problem is the cache of the parser.";
        assert_eq!(decisions(said, 3), ["The problem is the cache of the parser."]);
        let said = "I will keep the cache in /srv/cache.db, because the disk of the home folder is small.";
        assert_eq!(decisions(said, 3), [said]);
        assert!(decisions("I will look at the cache of it, because the tests are red.", 3).is_empty());
    }

    #[test]
    fn next_is_what_is_named_so() {
        let text = "Fixed the parser in src/lex.rs.\n\n**Next steps:**\n1. Update the manual of the tool\n2. Tag version 1.2\n\nThat is all.";
        assert_eq!(next(text), ["Update the manual of the tool", "Tag version 1.2"]);
        assert_eq!(next("The parser works. Still need to write its docs."), ["Still need to write its docs."]);
        assert!(next("**Changes:**\n- Renamed AddTodo to AddTodoForm.tsx\n- useSimpleTodos added").is_empty());
        assert_eq!(questions("What more could one ask for? Shall I push it?"), ["Shall I push it?"]);
        assert!(next("I need to look at the parser first. Shall I do the remaining ones?").is_empty());
    }
}
