//! Pruning: repeated tool results point to their newest copy; long ones and long arguments keep head and tail.

mod arguments;
mod ends;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::context::{elision, placeholder};
use crate::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::settings::{Estimator, Settings};
use ends::kept_ends;

pub use arguments::PruneCall;

/// How often a cut to measure is tried.
const TRIES: u32 = 5;

/// One tool result in the order of the view. Give only results that are shown (see [`crate::context::pairing::unanswered`]) and
/// that are text alone: an image is no duplicate of another because the words beside it are the same.
#[derive(Debug, Clone, Copy)]
pub struct PruneItem<'a> {
    pub entry_id: Uuid,
    pub call_id: &'a str,
    /// The tool's name; empty where it is not known.
    pub name: &'a str,
    pub text: &'a str,
    /// Size of the whole result, as counted on arrival.
    pub tokens: u32,
    /// It is shown shorter already: left alone, and nothing points to it.
    pub already_elided: bool,
    /// It belongs to the kept tail: it may be pointed to, but it stays as it is.
    pub in_tail: bool,
    /// Another result of the entry has the same call id: an elision could not tell them apart, so both stay.
    pub ambiguous: bool,
}

/// Plans over results and calls that are read one by one: of each, a digest and its size are kept, never the text.
#[derive(Debug)]
pub struct Pruner {
    excluded: HashSet<String>,
    pinned: HashSet<Uuid>,
    max_chars: u32,
    estimator: Estimator,
    results: usize,
    candidates: Vec<PrunableResult>,
    /// Place and call of the newest result with this text.
    newest: HashMap<ResultDigest, (usize, String)>,
    arguments: Vec<Elision>,
    min_gain: u32,
    largest: Option<Largest>,
}

/// The largest result that is cut. It is told whole: where it alone overfills a context, it gets the room that there is.
#[derive(Debug, Clone)]
pub struct Largest {
    pub entry_id: Uuid,
    pub call_id: String,
    pub tokens: u32,
    pub text: String,
}

type ResultDigest = [u8; 32];

/// A result that may be shown shorter.
#[derive(Debug)]
struct PrunableResult {
    place: usize,
    digest: ResultDigest,
    entry_id: Uuid,
    call_id: String,
    tokens: u32,
    truncated: Option<Elision>,
}

impl Pruner {
    /// `max_tool_result_size` is in characters; a longer result keeps two thirds of that from its head and one third
    /// from its tail. Pinned entries stay as they are.
    pub fn new(settings: &Settings) -> Pruner {
        Pruner {
            excluded: settings.exclude_tools.iter().cloned().collect(),
            pinned: settings.pinned_entry_ids.iter().copied().collect(),
            max_chars: settings.max_tool_result_size,
            estimator: settings.estimator,
            results: 0,
            candidates: Vec::new(),
            newest: HashMap::new(),
            arguments: Vec::new(),
            min_gain: settings.min_gain_tokens,
            largest: None,
        }
    }

    /// Takes in the next result. Unless a later one repeats it, it is shown as this elision says.
    pub fn add(&mut self, item: &PruneItem<'_>) -> Option<Elision> {
        let place = self.results;
        self.results += 1;
        if item.already_elided {
            return None;
        }
        let digest = *blake3::hash(item.text.as_bytes()).as_bytes();
        self.newest.insert(digest, (place, item.call_id.to_owned()));
        if !self.may_shorten(item) {
            return None;
        }
        let truncated = self.truncate(item);
        if truncated.is_some() && self.largest.as_ref().is_none_or(|largest| item.tokens >= largest.tokens) {
            let (call_id, text) = (item.call_id.to_owned(), item.text.to_owned());
            self.largest = Some(Largest { entry_id: item.entry_id, call_id, tokens: item.tokens, text });
        }
        self.candidates.push(PrunableResult {
            place,
            digest,
            entry_id: item.entry_id,
            call_id: item.call_id.to_owned(),
            tokens: item.tokens,
            truncated: truncated.clone(),
        });
        truncated
    }

    /// Returns true if a result may be shown shorter at all.
    pub fn may_shorten(&self, item: &PruneItem<'_>) -> bool {
        let stays = self.excluded.contains(item.name) || self.pinned.contains(&item.entry_id);
        !(item.already_elided || item.in_tail || item.ambiguous || stays)
    }

    /// Takes in the next call. Its arguments are shown as this elision says.
    pub fn add_call(&mut self, call: &PruneCall<'_>) -> Option<Elision> {
        let stays = self.excluded.contains(call.call.name.as_str()) || self.pinned.contains(&call.entry_id);
        let elision = if stays { None } else { arguments::elide(call, self.max_chars, self.estimator) };
        self.arguments.extend(elision.clone());
        elision
    }

    /// The largest of the results that are cut; it is given once.
    pub fn take_largest(&mut self) -> Option<Largest> {
        self.largest.take()
    }

    /// The elisions that free tokens: those of results in order, duplicates first considered, then length; and those
    /// of arguments. None, where all together free less than `min_gain_tokens`.
    pub fn plan(self) -> Vec<Elision> {
        let Pruner { candidates, newest, estimator, arguments, min_gain, .. } = self;
        let results = candidates.into_iter().filter_map(|candidate| {
            let copy = newest.get(&candidate.digest).filter(|(last, _)| *last > candidate.place);
            // A pointer to its own id would point nowhere.
            let copy = copy.filter(|(_, id)| *id != candidate.call_id);
            copy.and_then(|(_, copy)| duplicate(&candidate, copy, estimator)).or(candidate.truncated)
        });
        let elisions: Vec<Elision> = results.chain(arguments).collect();
        let freed: i64 = elisions.iter().map(Elision::freed).sum();
        if freed >= i64::from(min_gain) { elisions } else { Vec::new() }
    }

    fn truncate(&self, item: &PruneItem<'_>) -> Option<Elision> {
        let (head, tail) = kept_ends(self.max_chars);
        let shown = placeholder::truncated(item.call_id, item.text, head as usize, tail as usize)?;
        let tokens_after = elision::result_tokens(self.estimator, item.call_id, &shown);
        (tokens_after < item.tokens).then(|| Elision {
            entry_id: item.entry_id,
            tool_call_id: item.call_id.to_owned(),
            kind: ElisionKind::Truncate,
            part: ElidedPart::Result,
            tokens_before: item.tokens,
            tokens_after,
            same_as: None,
            keep_chars: Some((head, tail)),
            text: None,
        })
    }
}

/// The elision of a result that may keep about `goal` tokens. `None`: it needs no cutting, or the elision is no use.
pub fn widened(largest: &Largest, goal: u64, estimator: Estimator) -> Option<Elision> {
    let chars = largest.text.chars().count() as u64;
    let mut keep = chars * goal / u64::from(largest.tokens.max(1));
    // Tokens are not spread evenly over a text: what comes out too large is cut once more.
    for _ in 0..TRIES {
        let (head, tail) = kept_ends(u32::try_from(keep).unwrap_or(u32::MAX));
        let shown = placeholder::truncated(&largest.call_id, &largest.text, head as usize, tail as usize)?;
        let tokens_after = elision::result_tokens(estimator, &largest.call_id, &shown);
        if u64::from(tokens_after) <= goal {
            return Some(Elision {
                entry_id: largest.entry_id,
                tool_call_id: largest.call_id.clone(),
                kind: ElisionKind::Truncate,
                part: ElidedPart::Result,
                tokens_before: largest.tokens,
                tokens_after,
                same_as: None,
                keep_chars: Some((head, tail)),
                text: None,
            });
        }
        keep = keep * goal / u64::from(tokens_after) * 19 / 20;
    }
    None
}

fn duplicate(candidate: &PrunableResult, same_as: &str, estimator: Estimator) -> Option<Elision> {
    let shown = placeholder::duplicate(&candidate.call_id, same_as, candidate.tokens);
    let tokens_after = elision::result_tokens(estimator, &candidate.call_id, &shown);
    (tokens_after < candidate.tokens).then(|| Elision {
        entry_id: candidate.entry_id,
        tool_call_id: candidate.call_id.clone(),
        kind: ElisionKind::Duplicate,
        part: ElidedPart::Result,
        tokens_before: candidate.tokens,
        tokens_after,
        same_as: Some(same_as.to_owned()),
        keep_chars: None,
        text: None,
    })
}

#[cfg(test)]
mod tests;
