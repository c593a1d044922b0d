//! What becomes of reported usage: which request it measured, whether it can be true, and what it teaches.
//!
//! **Which view a mark measured.** Usage comes with the answer to a request, and the request showed the newest view that
//! the client had. Behind a compaction that is not always the new one: an answer that was on its way is of the view
//! before. So, while no mark of the new view has come:
//!
//! 1. as long as nobody was handed the new view, a mark is of the one before, however many come;
//! 2. once it was handed out, the first answer is of the one before where that had been handed out with the newest message
//!    when the compaction was committed, and was not answered; every other is of the new one;
//! 3. where what was learnt says clearly otherwise (the one is off by a quarter, the other by less than a tenth), or where
//!    the one can't be and the other can, it is the other.
//!
//! Usage of a view of before is compared with what is counted of that, and teaches factor and constant; the size of the
//! context as it is now rests on these.

use super::accounting::{Account, SentView, calibrates, size as unsigned};
use super::marks::{Marks, Measured, MeasuredAnswer, UsageMark};
use crate::settings::{Estimator, Settings, WindowSource};

/// A view is plainly not the one that was measured, or plainly is, where what was learnt is off by this much.
const FAR: f64 = 1.25;
const NEAR: f64 = 1.10;

/// Tokens that a provider reported: of a request, 0 where it told no more than a sum, and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    pub request: u64,
    pub answer: u64,
}

impl Reported {
    pub fn total(&self) -> u64 {
        self.request.saturating_add(self.answer)
    }
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The context is this large, as of the answer.
    Believed(u64),
    /// It measured the view of before: it has taught what it could.
    Earlier,
    Rejected(Disbelief),
}

/// Why usage is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disbelief {
    /// It is more than this, which nothing larger fits into.
    More { than: u64 },
    /// It is less than half of this, which was counted.
    Less { than: u64 },
    /// It contradicts the usage before it.
    Contradicts,
}

/// A view that a mark may have measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Now,
    Before(SentView),
}

impl std::fmt::Display for Disbelief {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Disbelief::More { than } => {
                write!(formatter, "it is more than the {than} tokens that could have been sent")
            }
            Disbelief::Less { than } => {
                write!(formatter, "it is less than half of the {than} tokens that were counted")
            }
            Disbelief::Contradicts => formatter.write_str("it contradicts the usage before it"),
        }
    }
}

impl Account {
    /// Takes what a provider reported for the answer at the current end of the path.
    pub fn report(&mut self, reported: Reported, settings: &Settings) -> Verdict {
        let estimator = settings.estimator;
        let request = if reported.request > 0 { reported.request } else { reported.total() };
        if self.repeats(request) {
            return self.extend(reported, estimator);
        }
        let from = if reported.request > 0 { self.answer_from } else { self.path_tokens };
        let shown = self.measured(signed(request), from, settings);
        let count = self.counted_of(shown, from);
        if let Err(disbelief) = believable(request, reported.total(), count, most(settings)) {
            if matches!(disbelief, Disbelief::Less { .. }) {
                self.forget_discount();
            }
            return self.reject(disbelief);
        }
        let mark = Measured { count, tokens: signed(request), fixed: self.fixed() };
        let taken = self.marks.take(mark, !calibrates(estimator));
        let learnt = taken.unwrap_or_else(|| self.marks.learnt(!calibrates(estimator)));
        (self.calibration, self.unposted) = (learnt.factor, learnt.unposted);
        if taken.is_none() {
            (self.usage, self.disbelieved_to) = (None, self.path_tokens);
            return self.reject(Disbelief::Contradicts);
        }
        self.usage_rejected = false;
        let answered = self.path_tokens - from;
        self.answer_begins(self.path_tokens);
        self.asked_since = false;
        match shown {
            Shown::Before(_) => {
                self.sent = self.sent.filter(|_| self.unshown);
                Verdict::Earlier
            }
            Shown::Now => {
                (self.sent, self.unshown) = (None, false);
                let (input, output) = (signed(request), signed(reported.total() - request));
                let answer = MeasuredAnswer { input, count: count - self.fixed(), output, answered };
                self.believed(answer, estimator)
            }
        }
    }

    fn believed(&mut self, answer: MeasuredAnswer, estimator: Estimator) -> Verdict {
        let exact = !calibrates(estimator);
        let mark = answer.mark(self.messages_counted(), self.factor(exact), exact);
        self.usage = Some(mark);
        Verdict::Believed(unsigned(mark.tokens))
    }

    /// The same request again: some clients tell it with each part of its answer.
    fn repeats(&self, request: u64) -> bool {
        let same = |mark: &Measured| mark.tokens == signed(request);
        request > 0 && !self.asked_since && self.marks.newest().is_some_and(same)
    }

    fn extend(&mut self, reported: Reported, estimator: Estimator) -> Verdict {
        let answered = (self.path_tokens - self.answer_from).max(0);
        self.answer_begins(self.path_tokens);
        let Some(before) = self.usage.and_then(|mark| mark.answer) else { return Verdict::Earlier };
        let output = before.output.max(signed(reported.answer));
        self.believed(MeasuredAnswer { output, answered: before.answered + answered, ..before }, estimator)
    }

    /// Whoever tells of less than there can be may have done so before, when it was still plausible: a factor below 1 that
    /// was learnt from such figures is forgotten, for it is safer to be early.
    fn forget_discount(&mut self) {
        if self.calibration < 1.0 {
            (self.marks, self.usage) = (Marks::default(), None);
            (self.calibration, self.unposted) = (1.0, 0);
            self.disbelieved_to = self.path_tokens;
        }
    }

    fn reject(&mut self, disbelief: Disbelief) -> Verdict {
        self.usage_rejected = true;
        Verdict::Rejected(disbelief)
    }

    /// The view that a request of this size showed.
    fn measured(&self, request: i64, from: i64, settings: &Settings) -> Shown {
        let Some(sent) = self.sent else { return Shown::Now };
        let first = self.path_calls - self.base.path_calls <= 1;
        let before = Shown::Before(sent);
        let is_before = self.unshown || (sent.in_flight && first);
        let (likely, other) = if is_before { (before, Shown::Now) } else { (Shown::Now, before) };
        let count = |shown| self.counted_of(shown, from);
        let can_be = |shown| believable(unsigned(request), unsigned(request), count(shown), most(settings)).is_ok();
        let off = |shown| {
            let bill = self.learnt(settings.estimator).bill(count(shown)).max(1) as f64;
            (request.max(1) as f64 / bill).max(bill / request.max(1) as f64)
        };
        // Who asked again was handed the new view: the count alone can tell of that.
        let may_tell = !self.marks.is_empty() || is_before && !self.unshown;
        let says_otherwise = may_tell && off(likely) > FAR && off(other) < NEAR;
        let can_only_be = is_before && !can_be(likely) && can_be(other);
        if says_otherwise || can_only_be { other } else { likely }
    }

    /// What is counted of a view up to `to`, in tokens of the path.
    fn counted_of(&self, shown: Shown, to: i64) -> i64 {
        // An answer may call for what came before it.
        let since = if to == self.answer_from { self.unsent_before - self.left_out() } else { 0 };
        match shown {
            Shown::Now => self.counted(&self.base, to) - since,
            Shown::Before(sent) => self.counted(&sent.base, to) - since - sent.unsent,
        }
    }

    /// Brings a stored account of an older version up to date: its ratio of usage and count was of everything together.
    pub fn upgrade(&mut self, estimator: Estimator) {
        let Some(older) = self.usage else { return };
        let Some(path_tokens) = older.path_tokens_of_older_versions() else { return };
        let count = self.counted(&self.base, path_tokens);
        self.usage = Some(UsageMark::whole(older.tokens, count - self.fixed()));
        self.learn_whole(older.tokens, count, estimator);
    }

    /// Judges the mark that was placed from what is stored, and learns from it where nothing was learnt yet.
    pub fn judge_placed(&mut self, settings: &Settings) {
        let Some(mark) = self.usage else { return };
        let (tokens, count) = (mark.tokens, mark.count + self.fixed());
        match believable(unsigned(tokens), unsigned(tokens), count, most(settings)) {
            Ok(()) => self.learn_whole(tokens, count, settings.estimator),
            Err(_) => (self.usage, self.usage_rejected, self.disbelieved_to) = (None, true, self.path_tokens),
        }
    }

    /// Takes the size of a context of which no more is known, where nothing was learnt yet.
    pub fn learn_whole(&mut self, tokens: i64, count: i64, estimator: Estimator) {
        if self.marks.is_empty() {
            let mark = Measured { count, tokens, fixed: self.fixed() };
            let learnt = self.marks.take(mark, !calibrates(estimator)).unwrap_or_default();
            (self.calibration, self.unposted) = (learnt.factor, learnt.unposted);
        }
    }
}

/// Nothing larger is believed: the window, or twice one that is but guessed.
fn most(settings: &Settings) -> u64 {
    let window = u64::from(settings.context_window);
    if settings.window_source == WindowSource::Guess { window * 2 } else { window }
}

fn believable(request: u64, total: u64, count: i64, most: u64) -> Result<(), Disbelief> {
    let count = unsigned(count);
    if total > most {
        return Err(Disbelief::More { than: most });
    }
    if request.saturating_mul(2) < count {
        return Err(Disbelief::Less { than: count });
    }
    Ok(())
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests;
