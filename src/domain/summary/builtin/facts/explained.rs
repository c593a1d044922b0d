//! Words by which explanations are told from what holds for a moment.

use super::super::super::text::words;
use super::cues::{gives_reason, has, is_filler, is_guess, is_intent, is_settled};
use crate::domain::summary::identifiers;

/// Words that say what something is not, lacks or no longer needs.
const LIMITS: [&str; 26] = [
    "doesn't",
    "does not",
    "don't",
    "didn't",
    "isn't",
    "is not",
    "aren't",
    "are not",
    "wasn't",
    "can't",
    "cannot",
    "won't",
    "no longer",
    "never",
    "instead",
    "without",
    "missing",
    "unused",
    "already",
    "always",
    "ruled out",
    "overkill",
    "not needed",
    "only ",
    "nicht",
    "没有",
];

/// Returns true if a sentence explains what it names: why, or what it does not do. No plan, no guess, no question.
pub fn explains(sentence: &str) -> bool {
    const SUPPOSES: [&str; 3] = ["if ", "when ", "unless "];
    const PROPOSES: [&str; 3] = ["would ", "could ", "we should"];
    let lower = sentence.to_lowercase();
    let stated = !sentence.ends_with(['?', '？', ':', '：']) && !is_intent(sentence) && !is_filler(sentence);
    let supposes =
        SUPPOSES.iter().any(|word| lower.starts_with(word)) || is_guess(sentence) || has(sentence, &PROPOSES);
    let names =
        || sentence.contains('`') || identifiers::extract(sentence).iter().any(|one| !identifiers::is_measure(one));
    stated && !supposes && (gives_reason(sentence) || has(sentence, &LIMITS)) && names()
}

/// Returns true if a sentence says that what was held to be so is not.
pub fn retracts(sentence: &str) -> bool {
    const RETRACTS: [&str; 17] = [
        "i was wrong",
        "was wrong about",
        "that's not it",
        "that wasn't it",
        "not the cause",
        "not the culprit",
        "isn't the cause",
        "isn't the problem",
        "isn't the issue",
        "wasn't the problem",
        "wasn't the issue",
        "wasn't the cause",
        "not the problem",
        "not the root cause",
        "rules out",
        "ruled out",
        "disproves",
    ];
    has(sentence, &RETRACTS) && !is_intent(sentence) && !sentence.ends_with(['?', '？'])
}

/// Returns true for what holds for a moment or was only laid before somebody: an attempt that did not work, one of several
/// ways ("Use a lock instead of the queue").
pub fn is_passing(sentence: &str) -> bool {
    const MOMENTS: [&str; 9] = [
        "didn't work",
        "did not work",
        "is failing",
        "are failing",
        "still fail",
        "hasn't",
        "haven't",
        "not yet",
        "option ",
    ];
    const OPENINGS: [&str; 26] = [
        "now", "use", "add", "remove", "make", "change", "replace", "keep", "move", "create", "update", "rename",
        "store", "set", "run", "check", "try", "write", "put", "wrap", "avoid", "handle", "consider", "start",
        "either", "option",
    ];
    let opens = words(sentence).find(|word| word != "actually" && word != "just");
    let opens = opens.is_some_and(|word| OPENINGS.contains(&word.as_str()));
    (opens || has(sentence, &MOMENTS)) && !is_settled(sentence)
}

/// Returns true if a sentence says what was made otherwise: "I changed `scan()` to read blocks instead of rows".
pub fn tells_change(sentence: &str) -> bool {
    const CHANGES: [&str; 9] = ["now", "changed", "replaced", "switched", "moved", "renamed", "removed", "uses", "i"];
    is_settled(sentence) || words(sentence).any(|word| CHANGES.contains(&word.as_str()))
}

/// Returns true if a sentence tells nothing without the one before it: "This returns `nil`".
pub fn leans_back(sentence: &str) -> bool {
    const LEANS: [&str; 16] = [
        "it ", "it's ", "this ", "that ", "that's ", "these ", "those ", "they ", "but ", "so ", "and ", "which ",
        "later ", "then ", "both ", "still ",
    ];
    let lower = sentence.to_lowercase();
    LEANS.iter().any(|word| lower.starts_with(word))
}

/// What a sentence announces that is made, not looked at: "Now let me fix the parser" → "fix the parser".
pub fn announced(sentence: &str) -> Option<&str> {
    const MARKS: [&str; 12] = [
        "let me ",
        "let's ",
        "let’s ",
        "i'll ",
        "i’ll ",
        "i will ",
        "i need to ",
        "i'm going to ",
        "we need to ",
        "我来",
        "让我",
        "我将",
    ];
    const BETWEEN: [&str; 9] =
        ["also ", "now ", "first ", "then ", "just ", "quickly ", "try to ", "go ahead and ", "start by "];
    const LOOKS: [&str; 48] = [
        "need",
        "not",
        "never",
        "assume",
        "explain",
        "summarize",
        "look",
        "check",
        "read",
        "see",
        "view",
        "find",
        "search",
        "verify",
        "run",
        "test",
        "examine",
        "explore",
        "understand",
        "inspect",
        "open",
        "list",
        "grep",
        "try",
        "start",
        "begin",
        "continue",
        "do",
        "debug",
        "investigate",
        "confirm",
        "rerun",
        "analyze",
        "analyse",
        "review",
        "know",
        "think",
        "wait",
        "be",
        "have",
        "get",
        "take",
        "查看",
        "检查",
        "看",
        "读",
        "运行",
        "测试",
    ];
    let lower = sentence.to_ascii_lowercase();
    let (at, mark) = MARKS.iter().filter_map(|mark| Some((lower.rfind(mark)?, mark))).max()?;
    let mut rest = sentence.get(at + mark.len()..)?.trim().trim_end_matches([':', '.', '：', '。']);
    while let Some(shorter) = BETWEEN.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = shorter.trim_start();
    }
    let first = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    // "fix it", "handle this case": the reader does not know what.
    let leans = |(at, word): (usize, &str)| {
        ["this", "these", "those"].contains(&word)
            || at == 1 && ["it", "that", "them", "all", "both", "so"].contains(&word)
    };
    if rest.split_whitespace().enumerate().any(leans) {
        return None;
    }
    let looks = LOOKS.iter().any(|word| first == *word || !word.is_ascii() && first.starts_with(word));
    (!looks && !first.is_empty()).then_some(rest)
}
