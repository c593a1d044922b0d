//! The user's messages, which outlive every summary word for word: the newest requests first, then what else was said.

use std::collections::HashSet;

use uuid::Uuid;

use super::question::Question;
use super::rules;
use super::shorten::carried;
use super::words;
use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};

/// Requests that a context always shows. A mere "yes" or "go on" is shown as well, and counts for none.
const WANTED: usize = 3;
/// With those.
const MOST: usize = 6;
/// Messages that are held before those that no record will have room for are let go.
const HELD: usize = 4 * words::MOST_CARRIED;

/// The user's messages of a path as they pass, oldest first.
#[derive(Debug, Default)]
pub struct Requests {
    said: Vec<Request>,
    /// What the agent asked last; the outer `None`: it has not spoken yet.
    asked: Option<Option<Question>>,
    /// The user has spoken since.
    replied: bool,
}

#[derive(Debug)]
struct Request {
    carried: TrackedIdentifier,
    /// Its own message is in the new context.
    stands: bool,
    /// Nothing of the agent's stands between it and what was carried before.
    first: bool,
}

impl Requests {
    /// Takes in the agent's next message.
    pub fn answered(&mut self, text: &str) {
        self.asked = Some(Question::of(text));
        self.replied = false;
    }

    /// Takes in the user's next message. Of several in a row each may answer what the agent asked.
    pub fn note(&mut self, said: &str, entry: Option<Uuid>, stands: bool) {
        let mut carried = TrackedIdentifier::request(carried(said, entry), entry);
        let first = !stands && self.asked.is_none();
        if !stands {
            let asked = self.asked.as_ref().and_then(Option::as_ref);
            carried.asked = asked.and_then(|question| question.before(&carried.text));
            self.replied = true;
        }
        self.push(Request { carried, stands, first });
    }

    /// Takes in what the user said to a question that a tool put, or to a call.
    pub fn reply(&mut self, asked: String, said: &str, entry: Option<Uuid>) {
        let mut carried = TrackedIdentifier::request(carried(said, entry), entry);
        carried.asked = Some(asked);
        self.push(Request { carried, stands: false, first: false });
    }

    fn push(&mut self, request: Request) {
        self.said.push(request);
        if self.said.len() > HELD {
            self.let_go();
        }
    }

    /// Lets the oldest go beyond what a record carries, by their number.
    fn let_go(&mut self) {
        let end = self.said.iter().rposition(|request| !request.stands).map_or(0, |last| last + 1);
        let newest = self.said.split_off(end);
        let (anchors, gone): (Vec<Request>, Vec<Request>) =
            std::mem::take(&mut self.said).into_iter().partition(|request| request.stands);
        let carried = words::bounded(as_messages(last_of_each(gone)));
        let kept = carried.into_iter().map(|carried| Request { carried, stands: false, first: false });
        self.said = last(anchors).chain(kept).chain(last(newest)).collect();
    }

    /// Returns those that a summary has to carry, oldest first; `earlier` ones were carried before these were said.
    pub fn into_carried(mut self, earlier: &[TrackedIdentifier]) -> Vec<TrackedIdentifier> {
        let open = earlier.iter().find(|one| one.kind == IdentifierKind::Question).map(|one| one.text.as_str());
        for first in self.said.iter_mut().filter(|request| request.first) {
            first.carried.asked = open.and_then(|open| Question::carried(open).before(&first.carried.text));
        }
        let asked = match self.asked {
            _ if self.replied => None,
            Some(asked) => asked.map(Question::into_text),
            None => open.map(str::to_owned),
        };
        let earlier = earlier.iter().filter(|one| one.kind.is_said());
        let earlier = earlier.map(|one| Request { carried: one.clone(), stands: false, first: false });
        let all = last_of_each(earlier.chain(self.said).collect());
        let newest = newest_of(&all);
        let mut older = all;
        let newer = older.split_off(newest);
        let request = |one: TrackedIdentifier| TrackedIdentifier {
            asked: one.asked,
            ..TrackedIdentifier::request(one.text, one.entry)
        };
        let newer = newer.into_iter().filter(|one| !one.stands).map(|one| request(one.carried));
        let carried = as_messages(older).into_iter().chain(newer).collect();
        words::bounded(carried).into_iter().chain(asked.map(TrackedIdentifier::question)).collect()
    }
}

/// The last of those that stand by themselves, as many as a record carries.
fn last(standing: Vec<Request>) -> impl Iterator<Item = Request> {
    let unread = standing.len().saturating_sub(words::MOST_CARRIED);
    standing.into_iter().skip(unread)
}

/// Each message where it was said last.
fn last_of_each(mut said: Vec<Request>) -> Vec<Request> {
    let mut seen = HashSet::new();
    said.reverse();
    said.retain(|Request { carried, .. }| {
        carried.kind == IdentifierKind::LeftOut || seen.insert((carried.text.clone(), carried.asked.clone()))
    });
    said.reverse();
    said
}

/// The place of the first of the newest requests.
fn newest_of(said: &[Request]) -> usize {
    let mut wanted = 0;
    let says = |request: &&Request| request.carried.kind != IdentifierKind::LeftOut;
    let newest = said.iter().rev().take(MOST).take_while(says).take_while(|request| {
        let has_all = wanted == WANTED;
        wanted += usize::from(!is_brief(&request.carried.text));
        !has_all
    });
    said.len() - newest.count()
}

/// What is carried of messages that are none of the newest requests: those that say how things are to be weigh more.
fn as_messages(said: Vec<Request>) -> Vec<TrackedIdentifier> {
    let message = |one: TrackedIdentifier| match one.kind {
        IdentifierKind::Request => {
            TrackedIdentifier { kind: IdentifierKind::Message, weight: weight(&one.text), ..one }
        }
        _ => one,
    };
    said.into_iter().filter(|request| !request.stands).map(|request| message(request.carried)).collect()
}

/// The weight of a message, by what it says.
fn weight(text: &str) -> u32 {
    let rules = rules::rules(text);
    match () {
        () if rules.iter().any(|rule| rules::is_strict(rule)) => words::STRICT,
        () if !rules.is_empty() || rules::correction(text).is_some() => words::WEIGHTY,
        () if text.chars().any(|c| c.is_ascii_digit()) => words::WEIGHTY,
        () => words::LIGHT,
    }
}

/// A word or two of assent or the like, in any language.
pub fn is_brief(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    let unspaced = text.chars().any(|c| c > '\u{2e80}' && c.is_alphabetic());
    if unspaced { letters < 5 } else { letters < 16 && text.split_whitespace().count() < 3 }
}

#[cfg(test)]
mod tests;
