//! The user's own rules: sentences that say never, always, must, do not and the like.

use crate::domain::summary::text::{clip, sentences, words};

const MAX_RULE_CHARS: usize = 300;
/// Longer user messages are pasted documents: their rules are the document's.
const MAX_RULE_MESSAGE: usize = 8000;

const RULE_WORDS: [&str; 30] = [
    "never",
    "always",
    "must",
    "mustn't",
    "don't",
    "only",
    "forbidden",
    "required",
    "avoid",
    "cannot",
    "ensure",
    "shall",
    "prefer",
    "nie",
    "niemals",
    "immer",
    "muss",
    "müssen",
    "jamais",
    "toujours",
    "doit",
    "nunca",
    "siempre",
    "debe",
    "никогда",
    "всегда",
    "нельзя",
    "должен",
    "반드시",
    "절대",
];
const REPORTED: [&str; 14] =
    ["i", "we", "they", "it", "he", "she", "i've", "we've", "it's", "that's", "i'm", "is", "was", "are"];
const RULE_PHRASES: [&str; 30] = [
    "do not",
    "make sure",
    "at most",
    "at least",
    "no more than",
    "don't want",
    "instead of",
    "please use",
    "stick to",
    "no need to",
    "必ず",
    "禁止",
    "しないで",
    "してはいけ",
    "絶対に",
    "不要",
    "不能",
    "必须",
    "绝不",
    "一定要",
    "只能",
    "务必",
    "请勿",
    "始终",
    "不想",
    "darf nicht",
    "auf keinen fall",
    "ne pas",
    "ne jamais",
    "하지 마",
];

/// The rules in a user's text, in their own words.
pub fn rules(text: &str) -> Vec<String> {
    if text.len() > MAX_RULE_MESSAGE {
        return Vec::new();
    }
    let told = sentences(text).into_iter().filter(|sentence| is_prose(sentence) && is_rule(sentence));
    told.map(|rule| clip(&rule, MAX_RULE_CHARS)).collect()
}

/// Returns true if a sentence says how things are to be.
pub(super) fn is_rule(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let phrase = RULE_PHRASES.iter().any(|phrase| lower.contains(phrase));
    let mut before = String::new();
    let worded = words(sentence).any(|word| {
        // "I don't remember" says how things are, not how they are to be.
        let states = REPORTED.contains(&before.as_str()) && matches!(word.as_str(), "don't" | "cannot" | "only");
        let rule = RULE_WORDS.contains(&word.as_str()) && !states;
        before = word;
        rule
    });
    (phrase || worded) && !sentence.ends_with(['?', '？']) && (sentence.contains(' ') || !sentence.is_ascii())
}

/// Code and logs have such words too.
fn is_prose(sentence: &str) -> bool {
    let opening = sentence.trim_start_matches(['"', '\'', '(', '[', '*', '`', '¡', '“', '「']);
    let numbered = opening.split_once(['.', ')', ':']).is_some_and(|(number, rest)| {
        number.len() < 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with(' ')
    });
    let letters = sentence.chars().filter(|c| c.is_alphabetic() || c.is_whitespace()).count();
    (opening.starts_with(char::is_alphabetic) || numbered) && letters * 4 >= sentence.chars().count() * 3
}
