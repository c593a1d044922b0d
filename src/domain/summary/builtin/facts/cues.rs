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

const NEXT: [&str; 27] = [
    "next,",
    "next step",
    "next i",
    "next we",
    "next up",
    "next:",
    "what's next",
    "remaining",
    "still need",
    "todo",
    "to do:",
    "left to do",
    "follow-up",
    "need to",
    "needs to",
    "will then",
    "once that",
    "afterwards",
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

const INTENTS: [&str; 22] = [
    "i'll",
    "i will",
    "let me",
    "now i",
    "let's",
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

/// Words of messages that only agree, thank or say hello.
const NODS: [&str; 35] = [
    "yes", "yep", "yeah", "ok", "okay", "sure", "thanks", "thank", "you", "please", "go", "ahead", "continue", "do",
    "it", "great", "good", "perfect", "that's", "looks", "fine", "so", "much", "for", "your", "help", "the", "all",
    "hello", "hi", "stop", "no", "nope", "right", "cool",
];

pub fn is_decision(sentence: &str) -> bool {
    has(sentence, &DECISIONS) && !sentence.ends_with(['?', '？', ':', '：'])
}

pub fn is_next(sentence: &str) -> bool {
    has(sentence, &NEXT)
}

pub fn is_intent(sentence: &str) -> bool {
    has(sentence, &INTENTS) && !has(sentence, &["let me know", "i'll need your", "i will need your"])
}

pub fn is_filler(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    FILLERS.iter().any(|opening| lower.starts_with(opening))
}

/// Returns true if a message asks for nothing new, as a mere yes or thanks.
pub fn is_nod(text: &str) -> bool {
    words(text).take(13).enumerate().all(|(at, word)| at < 12 && NODS.contains(&word.as_str()))
}

fn has(sentence: &str, cues: &[&str]) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    cues.iter().any(|cue| lower.contains(cue))
}
