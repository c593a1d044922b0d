//! Rules that forbid or demand, told from mere preferences: they go first where there is no room for all.

use super::cues::{lists, phrases};
use super::latin::folded;
use crate::domain::summary::text::words;

const WORDS: &str = "\
    never always must mustn't don't only forbidden required mandatory avoid cannot important stop budget \
    deadline nie niemals immer muss mussen darf nicht verboten wichtig jamais toujours doit doivent \
    interdit pas nunca siempre debe deben prohibido no никогда всегда нельзя должен 반드시 절대 금지";
const PHRASES: &[&str] = &[
    "do not|from now on|under no circumstances|at most|no more than|必ず|禁止|ないで|てはいけ|絶対|不要|不能",
    "必须|绝不|一定要|只能|务必|请勿|ab jetzt|auf keinen fall|off limits",
];

pub fn is_strict(rule: &str) -> bool {
    let lower = rule.to_lowercase().replace('’', "'");
    let worded = || words(&folded(rule)).chain(words(&lower)).any(|word| lists(WORDS, &word));
    phrases(PHRASES).any(|phrase| lower.contains(phrase)) || worded()
}
