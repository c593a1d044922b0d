//! What a provider's usage teaches of a session: `bill = unposted + factor × count`. What the client never posts (its
//! system prompt, its tools) is a constant; how much more or less than we the provider counts is learnt from what
//! changes between marks, so that the constant does not spoil it.

use serde::{Deserialize, Serialize};

use crate::model::json::is_default;

/// The factor stays within these bounds.
pub const FACTOR: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// Marks that are remembered.
const MOST: usize = 8;
/// A mark contradicts what was learnt where it is off by more than this share of itself.
const CONTRADICTS: f64 = 0.10;
/// Steps agree on a factor that they are off from by no more than this share of it.
const AGREES: f64 = 0.15;
/// A small context says little: what is unknown of a request would drown a factor. In tokens; the weight, too, that the
/// factor 1 has beside what was seen.
const LITTLE: i64 = 1_000;

/// The size of a context, as a provider told it with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageMark {
    pub tokens: i64,
    /// What is counted of it, system prompt and tools aside.
    pub count: i64,
    /// What it is made of; `None` where no more than the sum is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<MeasuredAnswer>,
    /// As older versions stored it, in place of `count`: the path's total there.
    #[serde(skip_serializing)]
    path_tokens: Option<i64>,
}

/// A request of which a provider told, and its answer. The request's figures are the surer ones: those of an answer may
/// leave out what streamed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredAnswer {
    /// Of the request, as told, and what is counted of it, system prompt and tools aside.
    pub input: i64,
    pub count: i64,
    /// Of the answer, likewise.
    pub output: i64,
    pub answered: i64,
}

impl UsageMark {
    /// One of which only the sum is known.
    pub fn whole(tokens: i64, count: i64) -> UsageMark {
        UsageMark { tokens, count, ..UsageMark::default() }
    }

    /// The path's total at a mark that an older version stored.
    pub fn path_tokens_of_older_versions(&self) -> Option<i64> {
        self.path_tokens
    }
}

impl MeasuredAnswer {
    /// The mark where so much is counted by now: request, answer, and what came between the answer's parts. What is told
    /// of an answer, but less than half of what is counted of it, was told before all of it was there.
    pub fn mark(self, count: i64, factor: f64, exact: bool) -> UsageMark {
        let bill = |count: i64| (count as f64 * factor).round() as i64;
        let is_whole = exact || self.output.saturating_mul(2) >= self.answered;
        let output = if is_whole { self.output } else { bill(self.answered) };
        let between = bill((count - self.count - self.answered).max(0));
        let tokens = self.input.saturating_add(output).saturating_add(between);
        UsageMark { answer: Some(self), ..UsageMark::whole(tokens, count) }
    }
}

/// A request that was measured: what was counted of it, and what its provider says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Measured {
    pub count: i64,
    pub tokens: i64,
    /// Of the count, system prompt and tools.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fixed: i64,
}

/// The newest marks, oldest first, and whether the newest is alone with what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<Measured>,
    /// The newest says otherwise than those before it (the first one: than the count), and the next will tell.
    #[serde(default, skip_serializing_if = "is_default")]
    doubted: bool,
    /// It says less than those that are believed make plausible, and the next will tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<Measured>,
}

/// What follows from the marks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learnt {
    pub factor: f64,
    /// In tokens as the provider counts; 0 or more.
    pub unposted: i64,
}

impl Default for Learnt {
    fn default() -> Learnt {
        Learnt { factor: 1.0, unposted: 0 }
    }
}

impl Learnt {
    /// What a provider will say of a request with this count.
    pub fn bill(&self, count: i64) -> i64 {
        self.unposted.saturating_add((count.max(0) as f64 * self.factor).round() as i64)
    }
}

impl Marks {
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Returns true if the newest mark is alone with what it says.
    pub fn is_doubted(&self) -> bool {
        self.doubted
    }

    /// The mark of the newest request.
    pub fn newest(&self) -> Option<&Measured> {
        self.seen.last()
    }

    /// Takes the mark of a further request. `None`: it contradicts the one before. Where that had nothing to show for itself,
    /// both are dropped; where the new one says less than was learnt, another has to say so too: usage that comes late, or is
    /// of another request, would make a context look smaller than it is. `exact`: the factor is 1 whatever comes.
    pub fn take(&mut self, mark: Measured, exact: bool) -> Option<Learnt> {
        let contradicted = self.contradicts(&mark);
        let pending = self.pending.take();
        if contradicted && !self.doubted && mark.tokens < self.learnt(exact).bill(mark.count) {
            match pending.filter(|pending| mark.confirms(pending)) {
                Some(pending) => self.seen = vec![pending],
                None => {
                    self.pending = Some(mark);
                    return None;
                }
            }
        }
        let contradicted = self.contradicts(&mark);
        if contradicted && self.doubted {
            self.seen.pop();
            self.doubted = false;
            // As it was before the doubtful one, where there was anything: that one alone was wrong then.
            if self.seen.is_empty() || self.contradicts(&mark) {
                return None;
            }
        } else {
            self.doubted = contradicted || self.seen.is_empty();
        }
        if self.seen.len() == MOST {
            self.seen.remove(0);
        }
        self.seen.push(mark);
        Some(self.learnt(exact))
    }

    /// What the marks say together: their factor, and beside it whatever makes the newest come out.
    pub fn learnt(&self, exact: bool) -> Learnt {
        let Some(newest) = self.seen.last() else { return Learnt::default() };
        let factor = if exact { 1.0 } else { self.factor() };
        let unposted = newest.tokens - (newest.count.max(0) as f64 * factor).round() as i64;
        // Less than was counted, and nothing else to tell a factor by.
        if unposted < 0
            && !exact
            && newest.count >= LITTLE
            && self.steps().map(|(_, length)| length).sum::<i64>() < LITTLE
        {
            let factor = (newest.tokens as f64 / newest.count as f64).clamp(*FACTOR.start(), *FACTOR.end());
            return Learnt { factor, unposted: 0 };
        }
        Learnt { factor, unposted: unposted.max(0) }
    }

    /// What each step between marks says, and its length. What no factor explains says nothing of it: something else has
    /// changed.
    fn steps(&self) -> impl Iterator<Item = (f64, i64)> {
        let pairs = self.seen.iter().zip(self.seen.iter().skip(1));
        let tell = |(from, to): &(&Measured, &Measured)| {
            from.fixed == to.fixed && from.count != to.count && !to.contradicts(from)
        };
        pairs.filter(tell).map(|(from, to)| {
            let slope = (to.tokens - from.tokens) as f64 / (to.count - from.count) as f64;
            (slope, (to.count - from.count).abs())
        })
    }

    /// The middle of what the steps between marks say, each weighed by its length, among them the factor 1. One below 1 is
    /// believed only where the steps agree: usage that comes late says less than was sent, and something else each time.
    fn factor(&self) -> f64 {
        let middle = self.middle();
        if middle < 1.0 && !self.agree_on(middle) {
            return 1.0;
        }
        middle.clamp(*FACTOR.start(), *FACTOR.end())
    }

    /// Most of what the steps tell is near this factor.
    fn agree_on(&self, factor: f64) -> bool {
        let length = |near: &dyn Fn(f64) -> bool| -> i64 {
            self.steps().filter(|(slope, _)| near(*slope)).map(|(_, length)| length).sum()
        };
        let near = length(&|slope| (slope - factor).abs() <= factor * AGREES);
        near * 3 >= length(&|_| true) * 2
    }

    fn middle(&self) -> f64 {
        let mut steps: Vec<(f64, i64)> = self.steps().collect();
        steps.push((1.0, LITTLE));
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: i64 = steps.iter().map(|(_, weight)| weight).sum();
        let mut passed = 0;
        for (slope, weight) in steps {
            passed += weight;
            if passed * 2 >= all {
                return slope;
            }
        }
        1.0
    }

    fn contradicts(&self, mark: &Measured) -> bool {
        self.seen.last().is_some_and(|before| before.fixed == mark.fixed && mark.contradicts(before))
    }
}

impl Measured {
    /// Says, of another request, what the one before it said. The same figure for more or for less is the same usage again.
    fn confirms(&self, before: &Measured) -> bool {
        self.fixed == before.fixed
            && !self.contradicts(before)
            && (self.tokens != before.tokens || self.count == before.count)
    }

    /// No plausible factor makes it follow from the one before it.
    fn contradicts(&self, before: &Measured) -> bool {
        let grown = (self.count - before.count) as f64;
        let at = |factor: f64| before.tokens as f64 + grown * factor;
        let (some, other) = (at(*FACTOR.start()), at(*FACTOR.end()));
        let said = self.tokens as f64;
        let off = (some.min(other) - said).max(said - some.max(other)).max(0.0);
        off > CONTRADICTS * said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(requests: &[(i64, i64)]) -> Learnt {
        let mut marks = Marks::default();
        for (count, tokens) in requests {
            marks.take(Measured { count: *count, tokens: *tokens, fixed: 0 }, false);
        }
        marks.learnt(false)
    }

    /// Each figure is of the request before: what it says of a step is what another step brought.
    #[test]
    fn usage_of_the_request_before_teaches_no_discount() {
        let counts = [14_539, 14_733, 14_971, 15_589, 15_881, 16_701, 17_275, 17_645, 19_145, 20_663, 20_985, 21_289];
        for from in 0..counts.len() - 8 {
            let late: Vec<(i64, i64)> = counts[from..].windows(2).take(9).map(|pair| (pair[1], pair[0])).collect();
            assert_eq!(learnt(&late).factor, 1.0, "{late:?}");
        }
    }

    /// A provider that counts less than we, more or less evenly, is believed.
    #[test]
    fn steps_that_agree_teach_a_discount() {
        let honest =
            [(4_000, 3_200), (5_000, 4_010), (7_000, 5_600), (7_500, 5_990), (10_000, 8_020), (14_000, 11_200)];
        let factor = learnt(&honest).factor;
        assert!((0.78..0.83).contains(&factor), "{factor}");
    }
}
