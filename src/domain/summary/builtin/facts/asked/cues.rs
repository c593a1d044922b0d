//! Words by which the user's messages are sorted.

use super::super::super::super::text::words;
use super::super::cues::has;

/// Words of messages that only agree, thank or say hello.
const NODS: [&str; 37] = [
    "yes", "yep", "yeah", "ok", "okay", "sure", "thanks", "thank", "you", "please", "go", "ahead", "continue", "do",
    "it", "great", "good", "perfect", "that's", "looks", "fine", "so", "much", "for", "your", "help", "the", "all",
    "hello", "hi", "hey", "stop", "no", "nope", "right", "cool", "bye",
];

/// Returns true if a message opens by denying what was said before it.
pub fn denies(text: &str) -> bool {
    const DENIALS: [&str; 19] = [
        "that's not it",
        "that is not it",
        "that's not the",
        "that's wrong",
        "that is wrong",
        "you're wrong",
        "not true",
        "isn't true",
        "not the problem",
        "not the issue",
        "not the cause",
        "nope",
        "still the same",
        "didn't help",
        "stimmt nicht",
        "das ist falsch",
        "不对",
        "違います",
        "no es eso",
    ];
    let opening: String = text.chars().take(80).collect();
    has(&opening, &DENIALS)
}

/// Returns true if a sentence asks for something to be done.
pub fn is_request(sentence: &str) -> bool {
    const POLITE: [&str; 30] = [
        "please",
        "can you",
        "could you",
        "would you",
        "can we",
        "i want",
        "i need",
        "i'd like",
        "i would like",
        "let's",
        "we need",
        "we should",
        "you should",
        "should be",
        "has to",
        "have to",
        "i'm looking to",
        "make sure",
        "help me",
        "don't ",
        "do not ",
        "go with",
        "bitte",
        "请",
        "帮",
        "してください",
        "お願い",
        "por favor",
        "s'il",
        "пожалуйста",
    ];
    const ORDERS: [&str; 73] = [
        "add",
        "fix",
        "make",
        "write",
        "create",
        "update",
        "change",
        "remove",
        "delete",
        "run",
        "check",
        "look",
        "find",
        "implement",
        "refactor",
        "rename",
        "move",
        "use",
        "try",
        "explain",
        "show",
        "tell",
        "review",
        "commit",
        "push",
        "merge",
        "open",
        "close",
        "build",
        "test",
        "help",
        "book",
        "cancel",
        "do",
        "read",
        "search",
        "list",
        "install",
        "set",
        "put",
        "replace",
        "convert",
        "analyze",
        "analyse",
        "investigate",
        "debug",
        "optimize",
        "improve",
        "clean",
        "keep",
        "stop",
        "start",
        "restart",
        "deploy",
        "revert",
        "undo",
        "rebase",
        "split",
        "extract",
        "document",
        "describe",
        "summarize",
        "generate",
        "port",
        "migrate",
        "bump",
        "drop",
        "log",
        "print",
        "go",
        "give",
        "work",
        "solve",
    ];
    const BEFORE: [&str; 16] = [
        "now", "then", "also", "and", "ok", "okay", "great", "so", "yes", "hmm", "alright", "well", "no", "just",
        "next", "perfect",
    ];
    let opening = words(sentence).find(|word| !BEFORE.contains(&word.as_str()));
    has(sentence, &POLITE) || opening.is_some_and(|word| ORDERS.contains(&word.as_str()))
}

/// Returns true if a message changes what was asked for before.
pub fn is_correction(text: &str) -> bool {
    const CORRECTS: [&str; 22] = [
        "instead",
        "actually",
        "rather",
        "change of plan",
        "wrong",
        "not what",
        "i meant",
        "i mean ",
        "forget",
        "revert",
        "undo",
        "scratch that",
        "from now on",
        "no longer",
        "stattdessen",
        "en vez",
        "plutôt",
        "改为",
        "不对",
        "やっぱり",
        "代わりに",
        "вместо",
    ];
    let opening = words(text).next();
    has(text, &CORRECTS)
        || opening.is_some_and(|word| ["no", "nope", "stop", "wait", "nein", "non"].contains(&word.as_str()))
}

/// Returns true if a message orders what belongs to any task: commit, push, run it again.
pub fn is_routine(text: &str) -> bool {
    const ROUTINE: [&str; 20] = [
        "commit", "push", "and", "it", "this", "that", "now", "please", "run", "again", "retry", "the", "tests",
        "continue", "lint", "rebase", "merge", "pr", "open", "a",
    ];
    words(text)
        .take(9)
        .enumerate()
        .all(|(at, word)| at < 8 && (ROUTINE.contains(&word.as_str()) || NODS.contains(&word.as_str())))
}

/// Returns true for commands to the harness: `/undo`, `/add src/a.rs`.
pub fn is_command(text: &str) -> bool {
    let is_one = |line: &str| {
        let name = line.split_whitespace().next().and_then(|word| word.strip_prefix('/')).unwrap_or_default();
        !name.is_empty() && !name.contains('/') && line.split_whitespace().count() < 4
    };
    text.lines().filter(|line| !line.trim().is_empty()).take(4).all(is_one) && text.len() < 200
}

/// Returns true if a message asks for nothing new, as a mere yes or thanks.
pub fn is_nod(text: &str) -> bool {
    if text.len() < 60 && has(text, &["that's all", "that is all", "nothing else"]) {
        return true;
    }
    words(text).take(13).enumerate().all(|(at, word)| at < 12 && NODS.contains(&word.as_str()))
}
