//! Runs of words that an answer and its span have in common.

use std::collections::{HashMap, VecDeque};

/// Words in a row that make a phrase.
const PHRASE: usize = 6;
/// Words of an answer, phrase by phrase in the span's order, that make a page.
const PAGE: usize = 120;
/// Words that may be left out between two phrases of a page: in the answer, and in the span.
const GAP: usize = 20;
const SPAN_GAP: usize = 60;
/// Places of one phrase in an answer that are looked at.
const MOST_PLACES: usize = 4;
/// One part in so many of a page must be somebody else's words than the user's.
const OTHERS: usize = 4;
/// A step of the running hash: odd, so that nothing is lost.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The phrases of an answer, and where the way through the span met them.
#[derive(Debug)]
pub(super) struct Runs {
    places: HashMap<u64, Vec<usize>>,
    /// The newest meeting of the phrase that begins at each word.
    links: Vec<Option<Link>>,
    /// Ends of the pages, by their beginnings.
    pages: HashMap<usize, usize>,
    window: Window,
    /// Words of the span so far.
    at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    at: usize,
    /// Where in the answer the page begins that this is part of.
    start: usize,
    others: usize,
}

impl Runs {
    pub(super) fn of(words: &[u64]) -> Runs {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut window = Window::default();
        for (at, word) in words.iter().enumerate() {
            let Some(phrase) = window.push(*word) else { continue };
            let places = places.entry(phrase).or_default();
            if places.len() < MOST_PLACES {
                places.push(at + 1 - PHRASE);
            }
        }
        let links = vec![None; words.len()];
        Runs { places, links, pages: HashMap::new(), window: Window::default(), at: 0 }
    }

    /// Takes in the span's next word.
    pub(super) fn meet(&mut self, word: u64, by_user: bool) {
        self.at += 1;
        let Some(places) = self.window.push(word).and_then(|phrase| self.places.get(&phrase)) else { return };
        for &place in places {
            let mut links = (1..=GAP).filter_map(|gap| *self.links.get(place.checked_sub(gap)?)?);
            let before = links.find(|link| link.at < self.at && self.at - link.at <= SPAN_GAP);
            let start = before.map_or(place, |link| link.start);
            let others = before.map_or(0, |link| link.others) + usize::from(!by_user);
            if let Some(link) = self.links.get_mut(place) {
                *link = Some(Link { at: self.at, start, others });
            }
            let end = place + PHRASE;
            if end - start >= PAGE && others * OTHERS >= end - start {
                let known = self.pages.entry(start).or_default();
                *known = end.max(*known);
            }
        }
    }

    /// What comes now does not go on where the last text ended.
    pub(super) fn part(&mut self) {
        self.window = Window::default();
        self.at += SPAN_GAP;
    }

    /// Share of the answer's words that stand in pages.
    pub(super) fn in_pages(&self) -> f64 {
        self.covered(self.pages.iter().map(|(start, end)| (*start, *end)))
    }

    /// Share of the answer's words that stand in phrases.
    pub(super) fn in_phrases(&self) -> f64 {
        let met = self.links.iter().enumerate().filter(|(_, link)| link.is_some());
        self.covered(met.map(|(at, _)| (at, at + PHRASE)))
    }

    fn covered(&self, stretches: impl Iterator<Item = (usize, usize)>) -> f64 {
        let mut stretches: Vec<(usize, usize)> = stretches.collect();
        stretches.sort_unstable();
        let (mut covered, mut reached) = (0, 0);
        for (start, end) in stretches {
            covered += end.saturating_sub(start.max(reached));
            reached = end.max(reached);
        }
        if self.links.is_empty() { 0.0 } else { covered as f64 / self.links.len() as f64 }
    }
}

/// Hash of the newest words.
#[derive(Debug, Default)]
struct Window {
    words: VecDeque<u64>,
    hash: u64,
}

impl Window {
    /// The hash of a phrase, once there are enough words.
    fn push(&mut self, word: u64) -> Option<u64> {
        self.words.push_back(word);
        self.hash = self.hash.wrapping_mul(STEP).wrapping_add(word);
        if self.words.len() > PHRASE
            && let Some(oldest) = self.words.pop_front()
        {
            self.hash = self.hash.wrapping_sub(oldest.wrapping_mul(STEP.wrapping_pow(PHRASE as u32)));
        }
        (self.words.len() == PHRASE).then_some(self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of an answer, whose words are numbers, in a span of others than the user.
    fn shares(answer: impl Iterator<Item = u64>, span: impl Iterator<Item = u64>) -> (f64, f64) {
        let mut runs = Runs::of(&answer.collect::<Vec<_>>());
        span.for_each(|word| runs.meet(word, false));
        (runs.in_pages(), runs.in_phrases())
    }

    #[test]
    fn a_copy_is_all_pages() {
        assert_eq!(shares(0..200, 0..1_000), (1.0, 1.0));
        // With a label before every twentieth word.
        let labelled = (0..200).flat_map(|word| [Some(word), (word % 20 == 0).then_some(7_777)]).flatten();
        assert!(shares(labelled, 0..1_000).0 > 0.9);
    }

    #[test]
    fn sentences_from_here_and_there_are_none() {
        let picked = (0..20).flat_map(|sentence| sentence * 200..sentence * 200 + 40);
        assert_eq!(shares(picked, 0..5_000), (0.0, 1.0));
        assert_eq!(shares(9_000..9_200, 0..5_000), (0.0, 0.0));
    }
}
