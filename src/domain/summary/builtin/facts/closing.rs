//! What the agent's answers say of the work: what was done, what comes next, what was asked.

use super::super::super::text::{is_item, item_text, plain, sentences, whole, words};
use super::items::ITEM_CHARS;
use super::{cues, explained};
use crate::domain::summary::identifiers;

/// Statements taken from one answer.
const MAX_DONE: usize = 6;
const MAX_NEXT: usize = 6;
const MAX_QUESTIONS: usize = 2;
/// Explanations taken from an answer, and from what is said before a call.
const MAX_FINDINGS: usize = 3;
const MAX_MIDWAY: usize = 2;
/// Names that one text takes back.
const MAX_RETRACTED: usize = 12;
/// Last sentences of a text in which it may announce a call.
const LAST_SAID: usize = 2;

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

/// The questions to the user that an answer ends with.
pub fn questions(text: &str) -> Vec<String> {
    let asked: Vec<String> = said(text).filter(|one| one.ends_with(['?', '？']) && cues::asks_user(one)).collect();
    let skip = asked.len().saturating_sub(MAX_QUESTIONS);
    asked.into_iter().skip(skip).filter_map(|one| whole(&one, ITEM_CHARS)).collect()
}

/// What a text announces at its end that the agent makes: "Let me fix the parser:" → "fix the parser".
pub fn purpose(text: &str) -> Option<String> {
    let said: Vec<String> = said(text).collect();
    said.iter().rev().take(LAST_SAID).find_map(|one| explained::announced(one).map(str::to_owned))
}

/// What a text takes back: the code and identifiers of the sentences that say that something was not so.
pub fn retracted(text: &str) -> Vec<String> {
    let named = |one: String| [code_spans(&one), identifiers::extract(&one)].concat();
    said(text).filter(|one| explained::retracts(one)).flat_map(named).take(MAX_RETRACTED).collect()
}

/// Returns true if an item holds something named to be the cause of something.
pub fn blames(item: &str, named: &str) -> bool {
    (cues::is_settled(item) || cues::gives_reason(item)) && identifiers::stands_in(item, named)
}

fn code_spans(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).filter(|span| span.len() > 2).map(str::to_owned).collect()
}

/// The sentences that explain how something that they name behaves, or why, the reasons first.
pub fn findings(text: &str, concludes: bool) -> Vec<String> {
    let tells = |one: &String| {
        explained::explains(one) && informs(one) && !explained::leans_back(one) && !explained::is_passing(one)
    };
    let mut found: Vec<String> = said(text).filter(tells).collect();
    let most = if concludes { MAX_FINDINGS } else { MAX_MIDWAY };
    found.sort_by_key(|one| !cues::gives_reason(one));
    found.into_iter().filter_map(|one| whole(&one, ITEM_CHARS)).take(most).collect()
}

/// Returns true if a finding says what something is not or lacks, and something done since names that: it may be mended.
pub fn is_outdated(finding: &str, done: &[String]) -> bool {
    let states = !done.is_empty()
        && explained::explains(finding)
        && !cues::gives_reason(finding)
        && !explained::tells_change(finding);
    let named = || [code_spans(finding), identifiers::extract(finding)].concat();
    states && named().iter().any(|one| done.iter().any(|deed| identifiers::stands_in(deed, one)))
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
    found.retain(|one| {
        cues::is_settled(one) || (!explained::leans_back(one) || names(one)) && !explained::is_passing(one)
    });
    found.sort_by_key(|one| !cues::is_settled(one));
    found.into_iter().filter_map(|one| whole(&one, ITEM_CHARS)).take(most).collect()
}

fn said(text: &str) -> impl Iterator<Item = String> {
    sentences(text).into_iter().map(|one| plain(&one))
}

fn names(sentence: &str) -> bool {
    !identifiers::extract(sentence).is_empty()
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
    fn findings_say_how_what_they_name_behaves() {
        let said = "I see. A `--cache` flag only works if the folder is writable. It doesn't. `scan()` never closes the file, \
            because its guard is dropped late. If `scan()` fails, there is no log. Maybe `row()` isn't needed.";
        let because = "`scan()` never closes the file, because its guard is dropped late.";
        let lacks = "`load()` isn't needed any more.";
        let said = format!("{said} {lacks}");
        assert_eq!(findings(&said, true), ["A `--cache` flag only works if the folder is writable.", because, lacks]);
        assert_eq!(findings(&said, false), ["A `--cache` flag only works if the folder is writable.", because]);
        assert!(
            is_outdated(lacks, &["Removed `load()`.".into()]) && !is_outdated(because, &["Mended `scan()`.".into()])
        );
        assert!(decisions("Use a lock instead of the queue. The build is failing because of it.", 3).is_empty());
        assert!(decisions("It matters because the lexer relies on exact positions.", 3).is_empty());
    }

    #[test]
    fn what_is_announced_is_what_a_call_is_for() {
        for (said, announced) in [
            ("The parser fails. Now let me also close the file on errors:", Some("close the file on errors")),
            ("I'll add a guard for empty input.", Some("add a guard for empty input")),
            ("Let me look at the code of it.", None),
            ("Let me fix this:", None),
            ("The parser is done.", None),
            ("让我修复登录模块：", Some("修复登录模块")),
        ] {
            assert_eq!(purpose(said).as_deref(), announced, "{said}");
        }
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
