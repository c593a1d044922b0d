//! How rare the terms of a query are, and the rank that a text has by that.

use super::Score;

/// How many of the searched entries have each term.
#[derive(Debug, Clone, Default)]
pub struct TermRarity {
    entries: usize,
    having: Vec<u32>,
}

impl TermRarity {
    /// Of terms that all entries found have: none is rarer than another.
    pub fn even() -> TermRarity {
        TermRarity::default()
    }

    /// Counts the terms of the entries found among `entries`.
    pub fn of<'s>(found: impl IntoIterator<Item = &'s Score>, entries: usize) -> TermRarity {
        let mut having: Vec<u32> = Vec::new();
        for score in found {
            having.resize(score.terms.len().max(having.len()), 0);
            for (count, term) in having.iter_mut().zip(&score.terms) {
                *count += u32::from(*term > 0.0);
            }
        }
        TermRarity { entries, having }
    }

    /// From 1 to 1,000,000: above half where every term is a whole word of the text.
    pub fn rank(&self, score: &Score) -> u32 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (place, term) in score.terms.iter().enumerate() {
            let weight = self.weight(place);
            sum += weight * term;
            weights += weight;
        }
        let rank = if weights > 0.0 { sum / weights } else { 0.0 };
        ((rank * 1e6).round() as u32).clamp(1, 1_000_000)
    }

    /// Inverse document frequency, as BM25 has it.
    fn weight(&self, place: usize) -> f32 {
        let having = self.having.get(place).copied().unwrap_or(0) as f32;
        let entries = (self.entries as f32).max(having);
        ((entries - having + 0.5) / (having + 0.5)).ln_1p()
    }
}
