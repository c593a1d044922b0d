//! Words by which sentences are sorted.

use super::super::super::text::words;

const DECISIONS: [&str; 27] = [
    "decided",
    "decision",
    "instead of",
    "rather than",
    "root cause",
    "the problem is",
    "the problem was",
    "the issue is",
    "the issue was",
    "the fix is",
    "because",
    "chose",
    "going with",
    "turns out",
    "the reason",
    "confirmed",
    "trade-off",
    "we'll use",
    "i'll use",
    "原因",
    "決定",
    "决定",
    "因为",
    "entschieden",
    "parce que",
    "decidido",
    "решил",
];

/// Words of decisions that say what was found or settled, and not merely why.
const SETTLED: [&str; 16] = [
    "root cause",
    "decided",
    "decision",
    "chose",
    "going with",
    "turns out",
    "the fix is",
    "the problem is",
    "the problem was",
    "the issue was",
    "confirmed",
    "原因",
    "決定",
    "决定",
    "entschieden",
    "decidido",
];

/// Words that give a reason.
const REASONS: [&str; 21] = [
    "because",
    "since ",
    "so that",
    "due to",
    "which means",
    "that's why",
    "that is why",
    "otherwise",
    "only works",
    "only if",
    "caused by",
    "by design",
    "on purpose",
    "intentional",
    "the reason",
    "weil ",
    "parce que",
    "porque",
    "потому",
    "因为",
    "ため",
];

/// Words of sentences that guess.
const GUESSES: [&str; 17] = [
    "likely",
    "suspicion",
    "suspect",
    "seems",
    "presumably",
    "hypothesis",
    "i think",
    "i bet",
    "i guess",
    "probably",
    "might be",
    "may be",
    "could be",
    "perhaps",
    "maybe",
    "would explain",
    "可能",
];

const NEXT: [&str; 22] = [
    "next step",
    "next steps",
    "next up",
    "next:",
    "what's next",
    "remaining",
    "still need",
    "still to do",
    "todo:",
    "to do:",
    "left to do",
    "follow-up",
    "not yet",
    "次に",
    "残り",
    "接下来",
    "下一步",
    "als nächstes",
    "ensuite",
    "a continuación",
    "далее",
    "다음으로",
];

const INTENTS: [&str; 26] = [
    "we are now",
    "let's",
    "we should",
    "i should",
    "i want to",
    "i'll",
    "i will",
    "let me",
    "now i",
    "i'm going to",
    "i need to",
    "working on",
    "going to",
    "now let",
    "we will",
    "we'll",
    "we need to",
    "させてください",
    "ます。",
    "我将",
    "我会",
    "让我",
    "ich werde",
    "je vais",
    "voy a",
    "сейчас я",
];

/// Openings of sentences that are politeness.
const FILLERS: [&str; 33] = [
    "i can help",
    "no worries",
    "no problem",
    "sure",
    "of course",
    "certainly",
    "great",
    "perfect",
    "excellent",
    "you're welcome",
    "you are welcome",
    "thank you",
    "thanks",
    "please",
    "to assist",
    "to help",
    "happy to",
    "glad",
    "absolutely",
    "i apologize",
    "sorry",
    "here's",
    "here is",
    "here are",
    "good question",
    "you're right",
    "you're absolutely right",
    "if you",
    "feel free",
    "好的",
    "当然",
    "不客气",
    "かしこまりました",
];

/// First words of sentences that say what was done, and words that follow "I" or "has been".
const DONE: [&str; 78] = [
    "added",
    "fixed",
    "created",
    "updated",
    "implemented",
    "removed",
    "renamed",
    "changed",
    "moved",
    "refactored",
    "committed",
    "pushed",
    "merged",
    "deployed",
    "installed",
    "configured",
    "verified",
    "wrote",
    "written",
    "replaced",
    "extracted",
    "converted",
    "cleaned",
    "rebased",
    "bumped",
    "restored",
    "booked",
    "cancelled",
    "canceled",
    "closed",
    "resolved",
    "tested",
    "ran",
    "run",
    "built",
    "generated",
    "documented",
    "enabled",
    "disabled",
    "improved",
    "migrated",
    "split",
    "made",
    "switched",
    "reverted",
    "published",
    "released",
    "completed",
    "finished",
    "done",
    "dropped",
    "deleted",
    "opened",
    "sent",
    "set",
    "saved",
    "simplified",
    "corrected",
    "adjusted",
    "modified",
    "rewrote",
    "rewritten",
    "upgraded",
    "downgraded",
    "introduced",
    "wired",
    "registered",
    "exported",
    "formatted",
    "squashed",
    "tagged",
    "uploaded",
    "downloaded",
    "applied",
    "addressed",
    "put",
    "reworked",
    "processed",
];

/// Words of these that open an order as well: "Run the tests".
const ORDERS: [&str; 4] = ["run", "set", "put", "split"];

/// First words of sentences that explain or describe.
const EXPLAINS: [&str; 10] = ["why", "how", "because", "it", "that", "what", "this", "these", "there", "but"];

/// Words that say the same anywhere.
const DONE_PHRASES: [&str; 32] = [
    "is fixed",
    "is done",
    "is finished",
    "is complete",
    "is now",
    "are now",
    "now works",
    "works now",
    "tests pass",
    "test passes",
    "all pass",
    "passes now",
    "successfully",
    "is in place",
    "is ready",
    "is green",
    "is gone",
    "are done",
    "are fixed",
    "are in place",
    "all green",
    "已经",
    "已完成",
    "已修复",
    "完成了",
    "成功",
    "しました",
    "完了",
    "wurde ",
    "erledigt",
    "terminé",
    "готово",
];

/// Words of sentences that tell of plans, doubts and failures.
const UNDONE: [&str; 38] = [
    "if",
    "would",
    "should",
    "could",
    "can",
    "can't",
    "cannot",
    "unable",
    "failed",
    "fails",
    "fail",
    "not",
    "unfortunately",
    "will",
    "you'll",
    "we'll",
    "let",
    "please",
    "need",
    "needs",
    "want",
    "once",
    "until",
    "todo",
    "remaining",
    "broken",
    "may",
    "might",
    "must",
    "perhaps",
    "maybe",
    "tried",
    "attempted",
    "however",
    "except",
    "when",
    "next",
    "unless",
];

pub fn is_decision(sentence: &str) -> bool {
    let printed = ["ERROR", "Error", "WARNING", "Warning"].iter().any(|opening| sentence.starts_with(opening));
    let settles = !is_intent(sentence) || is_choice(sentence);
    let stated = !sentence.ends_with(['?', '？', ':', '：']) && settles && !is_guess(sentence);
    has(sentence, &DECISIONS) && stated && !printed
}

/// Returns true for an intent that holds from then on, with its reason: "I will keep it in X, because Y".
fn is_choice(sentence: &str) -> bool {
    const REASONS: [&str; 6] = ["because", "instead of", "rather than", "so that", "weil ", "parce que"];
    const CHOICES: [&str; 12] =
        ["keep", "use", "store", "put", "name", "call", "leave", "stick", "stay", "treat", "avoid", "write"];
    let words: Vec<String> = words(sentence).take(8).collect();
    let will = words.iter().position(|word| ["will", "i'll", "we'll"].contains(&word.as_str()));
    let chosen = will.and_then(|at| words.get(at + 1)).is_some_and(|verb| CHOICES.contains(&verb.as_str()));
    chosen && has(sentence, &REASONS)
}

/// Returns true if a sentence of the system's says how the agent is to work, and not what a harness did.
pub fn is_instruction(sentence: &str) -> bool {
    const TELLS: [&str; 16] = [
        "you are",
        "you must",
        "you should",
        "you may",
        "your task",
        "your role",
        "as a",
        "always",
        "never",
        "must",
        "do not",
        "don't",
        "only ",
        "please",
        "make sure",
        "use ",
    ];
    !sentence.is_ascii() || has(sentence, &TELLS)
}

pub fn is_guess(sentence: &str) -> bool {
    has(sentence, &GUESSES)
}

/// Returns true if a sentence says why.
pub fn gives_reason(sentence: &str) -> bool {
    has(sentence, &REASONS)
}

/// Returns true if a decision says what is settled, and not merely a reason.
pub fn is_settled(sentence: &str) -> bool {
    has(sentence, &SETTLED)
}

pub fn is_next(sentence: &str) -> bool {
    has(sentence, &NEXT)
}

/// Returns true if a question is put to the user, and not to nobody in particular.
pub fn asks_user(question: &str) -> bool {
    const ASKS: [&str; 19] = [
        "you",
        "shall i",
        "shall we",
        "should i",
        "should we",
        "can i",
        "may i",
        "do we",
        "is that",
        "is this",
        "does that",
        "does this",
        "which ",
        "what would",
        "ready to",
        "okay?",
        "ok?",
        "proceed",
        "prefer",
    ];
    !question.is_ascii() || has(question, &ASKS)
}

pub fn is_intent(sentence: &str) -> bool {
    has(sentence, &INTENTS)
}

/// Returns true if a sentence says that something was done: no plan, no doubt, no failure, no question.
pub fn is_done(sentence: &str) -> bool {
    if sentence.ends_with(['?', '？', ':', '：']) || is_intent(sentence) || is_filler(sentence) {
        return false;
    }
    let counted = sentence.replace("0 failed", "").replace("0 failures", "");
    let words: Vec<String> = words(&counted).take(80).collect();
    let undone = words.iter().any(|word| UNDONE.contains(&word.as_str()) || word.ends_with("n't"));
    let undone =
        undone || ["没有", "失败", "无法", "できません", "失敗", "nicht"].iter().any(|word| sentence.contains(word));
    let first = words.iter().find(|word| !["also", "now", "all", "successfully", "done"].contains(&word.as_str()));
    let opens = first.is_some_and(|word| DONE.contains(&word.as_str()) && !ORDERS.contains(&word.as_str()));
    let explains = words.first().is_some_and(|word| EXPLAINS.contains(&word.as_str()));
    let told = has(sentence, &DONE_PHRASES) && !gives_reason(sentence);
    !undone && !explains && (opens || told || says_who_did(&words))
}

/// `I added`, `we have now fixed`, `has been updated`.
fn says_who_did(words: &[String]) -> bool {
    const WHO: [&str; 5] = ["i", "we", "i've", "we've", "been"];
    const BETWEEN: [&str; 7] = ["also", "now", "just", "already", "successfully", "then", "have"];
    words.iter().enumerate().any(|(at, word)| {
        let next = words.iter().skip(at + 1).find(|word| !BETWEEN.contains(&word.as_str()));
        let done = next.is_some_and(|next| DONE.contains(&next.as_str()) && next != "run" && next != "set");
        WHO.contains(&word.as_str()) && done
    })
}

pub fn is_filler(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    FILLERS.iter().any(|opening| lower.starts_with(opening))
}

/// Returns true if a sentence has one of these words or phrases.
pub(super) fn has(sentence: &str, cues: &[&str]) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    cues.iter().any(|cue| lower.contains(cue))
}
