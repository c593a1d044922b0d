//! What was said in a conversation behind its first answer, by others than the model: by this one conversation is told
//! from another that begins alike. The newest of it alone is looked at.

use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::value::RawValue;

use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::message::{Message, Role};
use crate::domain::model::user_text::{is_by_harness, without_surroundings};
use crate::domain::transcript::{TextKey, text_key};
use crate::proxy::said;

/// Items that are looked at, from the end on.
const MOST_ITEMS: usize = 512;
/// Places that a conversation may be found by, from the end on and from the beginning on.
const MOST_PLACES: usize = 64;
/// Words of the user's that are remembered.
const MOST_WORDS: usize = 32;
/// Steps that stand for a place in a conversation of which the beginning is not known.
const RECENT: usize = 32;

/// A message of the user's or a tool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    key: TextKey,
    /// A user's own words, and no tool's, nor a harness's in the user's name.
    is_own: bool,
    /// What the model had said before it, since the message before.
    heard: u64,
    /// What it says without that which a harness writes anew with every request; none where that is all.
    lasting: Option<u64>,
}

/// What is said to the model, and what the model had said before it: what a harness writes anew is no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub said: u64,
    pub heard: u64,
}

/// A step, and all before it that was said and heard behind the first answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Of all of it; none where that is not known.
    whole: Option<blake3::Hash>,
    /// Of the newest of it.
    pub recent: blake3::Hash,
}

/// The newest messages, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Speech {
    spoken: Vec<Spoken>,
    /// How many of them lead up to the first answer.
    opening: usize,
    /// What is before the first of them is not known.
    is_cut: bool,
    /// Found when they are first asked for.
    places: OnceLock<Vec<Place>>,
}

/// Where a conversation stood when a request of it came: its newest message and the one before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub newest: TextKey,
    pub before: Option<TextKey>,
}

impl Step {
    fn add(&self, hasher: &mut blake3::Hasher) {
        hasher.update(&self.said.to_le_bytes()).update(&self.heard.to_le_bytes());
    }
}

impl Place {
    /// Returns true if it is the same one, as far as that is known.
    pub fn is(&self, other: &Place) -> bool {
        match (self.whole, other.whole) {
            (Some(one), Some(other)) => one == other,
            _ => self.recent == other.recent,
        }
    }
}

impl Speech {
    /// Of items, of which the first `behind` lead up to the first answer.
    pub fn of(format: Format, items: &[Box<RawValue>], behind: usize) -> Speech {
        let from = items.len().saturating_sub(MOST_ITEMS);
        let messages = items.iter().skip(from).map(|raw| format::accept(format, raw.get()).ok()?.message);
        Speech::of_stored(messages, behind.saturating_sub(from), from > 0)
    }

    /// Of the newest messages, of which the first `behind` lead up to the first answer; `is_cut`: there are more before them.
    pub fn of_stored(messages: impl Iterator<Item = Option<Message>>, behind: usize, is_cut: bool) -> Speech {
        let mut speech = Speech { is_cut, ..Speech::default() };
        let mut heard = Heard::default();
        for (at, message) in messages.enumerate() {
            let Some(message) = message else { continue };
            heard.hear(&message);
            if let Some(one) = spoken(&message) {
                speech.spoken.push(Spoken { heard: heard.taken(), ..one });
                speech.opening += usize::from(at < behind);
            }
        }
        speech
    }

    /// Of messages, none of which leads up to an answer.
    pub fn of_messages<'m>(messages: impl Iterator<Item = &'m Message>) -> Speech {
        Speech { spoken: messages.filter_map(spoken).collect(), ..Speech::default() }
    }

    /// What was said behind the first answer.
    fn behind(&self) -> &[Spoken] {
        self.spoken.get(self.opening..).unwrap_or_default()
    }

    pub fn end(&self) -> Option<End> {
        let mut newest = self.behind().iter().rev().map(|one| one.key);
        Some(End { newest: newest.next()?, before: newest.next() })
    }

    pub fn holds(&self, key: &TextKey) -> bool {
        self.behind().iter().any(|one| one.key == *key)
    }

    /// The newest words of the user's own, wherever they stand.
    pub fn words(&self) -> Vec<TextKey> {
        self.spoken.iter().rev().filter(|one| one.is_own).map(|one| one.key).take(MOST_WORDS).collect()
    }

    /// Returns true if these are among the words of the user's own.
    pub fn repeats(&self, words: &[TextKey]) -> bool {
        let known: HashSet<&TextKey> = words.iter().collect();
        self.spoken.iter().any(|one| one.is_own && known.contains(&one.key))
    }

    /// The places of its steps, the newest first.
    pub fn places(&self) -> &[Place] {
        self.places.get_or_init(|| {
            let (steps, mut whole) = (self.steps(), blake3::Hasher::new());
            let place = |end: usize| {
                steps.get(end - 1).into_iter().for_each(|step| step.add(&mut whole));
                let mut recent = blake3::Hasher::new();
                steps.iter().take(end).skip(end.saturating_sub(RECENT)).for_each(|step| step.add(&mut recent));
                Place { whole: (!self.is_cut).then(|| whole.finalize()), recent: recent.finalize() }
            };
            let first = if self.is_cut { RECENT } else { 1 };
            let mut places: Vec<Place> = (first..=steps.len()).map(place).collect();
            places.reverse();
            places
        })
    }

    /// The newest and the oldest places, by which it may be found again: one departs from another early, or of late.
    pub fn telling(&self) -> impl Iterator<Item = &Place> {
        let (newest, others) = self.places().split_at(self.places().len().min(MOST_PLACES));
        newest.iter().chain(others.iter().rev().take(MOST_PLACES))
    }

    /// Returns true if it went by there.
    pub fn passes(&self, place: &Place) -> bool {
        self.places().iter().any(|one| one.is(place))
    }

    /// What was said and heard behind the first answer.
    pub fn steps(&self) -> Vec<Step> {
        let mut before = 0;
        let step = |one: &Spoken| {
            // What was heard before a harness's own message counts for the next one.
            let heard = std::mem::take(&mut before) ^ one.heard;
            before = if one.lasting.is_none() { heard } else { 0 };
            one.lasting.map(|said| Step { said, heard })
        };
        self.behind().iter().filter_map(step).collect()
    }

    /// Returns true if what was said behind the first answer is known from there on.
    pub fn is_whole(&self) -> bool {
        !self.is_cut
    }
}

/// What the model has said since the message before.
#[derive(Default)]
struct Heard(Option<blake3::Hasher>);

impl Heard {
    fn hear(&mut self, message: &Message) {
        if message.role == Role::Assistant {
            answered(message, self.0.get_or_insert_default());
        }
    }

    fn taken(&mut self) -> u64 {
        self.0.take().map_or(0, |hasher| short(hasher.finalize().as_bytes()))
    }
}

/// An answer: its text and the tools that it calls, whose ids a client may give anew.
pub fn answered(message: &Message, hasher: &mut blake3::Hasher) {
    let text = message.plain_text();
    if !text.trim().is_empty() {
        hasher.update(&text_key(&text));
    }
    message.tool_calls().for_each(|call| _ = hasher.update(call.name.as_bytes()).update(&[0]));
}

fn short(key: &TextKey) -> u64 {
    key.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

/// Stands for a message; none of the model's, and none that says nothing.
fn spoken(message: &Message) -> Option<Spoken> {
    if !matches!(message.role, Role::User | Role::Tool) {
        return None;
    }
    let text = message.plain_text();
    let results = message.tool_results().map(|result| format!("\n{}\n{}", result.tool_call_id, result.plain_text()));
    let results: String = results.collect();
    let is_own = message.role == Role::User && !text.trim().is_empty() && !is_by_harness(message);
    let whole = if results.is_empty() { text } else { text + &results };
    let says = !whole.trim().is_empty() || said::says(message);
    let lasting = || {
        let lasting = without_surroundings(&whole);
        let is_said = !lasting.is_empty() || whole.trim().is_empty();
        is_said.then(|| short(&said::key(message, &lasting)))
    };
    says.then(|| Spoken { key: said::key(message, &whole), is_own, heard: 0, lasting: lasting() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str]) -> Speech {
        let item = |text: &&str| {
            let (role, text) = text.strip_prefix("a:").map_or(("user", *text), |answer| ("assistant", answer));
            RawValue::from_string(serde_json::json!({"role": role, "content": text}).to_string()).unwrap()
        };
        Speech::of(Format::OpenaiChat, &texts.iter().map(item).collect::<Vec<_>>(), 2)
    }

    #[test]
    fn the_end_is_the_newest_of_others_than_the_model() {
        let speech = said(&["hello", "a:hi", "one", "a:x", "two", "a:y"]);
        assert_eq!(speech.end(), Some(End { newest: text_key("two"), before: Some(text_key("one")) }));
        assert_eq!(said(&["hello", "a:x", " "]).end(), None, "the opening is every one's that begins so");
        assert!(speech.holds(&text_key("one")) && !speech.holds(&text_key("x")) && !speech.holds(&text_key("hello")));
    }

    #[test]
    fn a_harness_s_words_are_no_common_ones() {
        let reminder = "<system-reminder>be brief</system-reminder>";
        assert!(said(&[reminder, "fix it"]).repeats(&said(&["fix it", "now"]).words()));
        assert!(!said(&[reminder, "fix it"]).repeats(&said(&[reminder, "look"]).words()));
    }

    #[test]
    fn what_a_harness_writes_anew_is_no_step() {
        let steps = |last: &str| said(&["o", "a:o", "<env>Monday</env>", "one", "a:x", last]).steps();
        assert_eq!(steps("two<system-reminder>noon</system-reminder>"), steps("two"));
        assert_eq!(steps("<system-reminder>noon</system-reminder>").len(), 1);
        let otherwise = said(&["o", "a:o", "one", "a:another", "two"]).steps();
        assert!(steps("two")[0] == otherwise[0] && steps("two")[1] != otherwise[1], "what was heard counts");
    }

    #[test]
    fn places_are_found_again_later() {
        let early = said(&["o", "a:o", "1", "2", "3", "4"]);
        let late = said(&["o", "a:o", "1", "2", "3", "4", "a:x", "5"]);
        let goes_on = |late: &Speech, early: &Speech| late.passes(&early.places()[0]);
        assert!(goes_on(&late, &early) && !goes_on(&early, &late));
        assert!(!goes_on(&said(&["o", "a:o", "1", "2", "other", "4"]), &early), "what was before it counts");
        assert!(!goes_on(&said(&["o", "a:o", "1", "2", "a:y", "3", "4"]), &early), "what was heard counts");
        let long = |first: &str, turns: usize| {
            let all =
                ["o", "a:o", first].into_iter().chain(["a:Done.", "continue"].into_iter().cycle().take(2 * turns));
            said(&all.collect::<Vec<_>>())
        };
        assert!(goes_on(&long("1", 61), &long("1", 60)) && !goes_on(&long("1", 61), &long("2", 60)));
        assert!(goes_on(&long("1", 301), &long("1", 300)), "of a long one the newest counts");
        assert!(goes_on(&long("1", 256), &long("1", 254)), "one that grows long goes on");
    }
}
