//! What a conversation has said behind its first answer, as far as it proves that another one is more of it though it
//! begins otherwise: its client has written its surroundings anew, or has summed up how it began.
//!
//! Batch jobs ask the same about many documents, and get the same answers. So what is equal proves nothing by itself: it
//! has to end where the older conversation ended, to hold all that the newer one says up to there, answers included, and
//! the newer one has to begin as the older one did or with a summary.

use std::collections::HashSet;

use crate::proxy::conversation::Conversation;
use crate::proxy::speech::Step;

/// Steps that are looked at, from the end on.
const MOST: usize = 48;
/// Steps before the end that have to be equal where all stands at its place.
const PLACE: usize = 3;

/// The newest of what was said, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    steps: Vec<Step>,
    /// How much was said in all; none where that is not known.
    said: Option<usize>,
    /// How it began, but for what a harness writes anew.
    beginning: Option<blake3::Hash>,
    /// Its first answer.
    answer: Option<blake3::Hash>,
    is_summed_up: bool,
    has_tools: bool,
}

impl Trail {
    pub fn of(conversation: &Conversation) -> Trail {
        let mut steps = conversation.speech.steps();
        let said = conversation.speech.is_whole().then_some(steps.len());
        steps.drain(..steps.len().saturating_sub(MOST));
        let opening = &conversation.opening;
        Trail {
            steps,
            said,
            beginning: opening.lasting,
            answer: opening.answer,
            is_summed_up: opening.is_summed_up,
            has_tools: opening.has_tools,
        }
    }

    /// What stands for the end of a conversation that ended at this step.
    pub fn mark(&self, at: usize) -> Option<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        let newest = self.steps.get(at)?;
        match (at.checked_sub(1).and_then(|before| self.steps.get(before)), self.beginning) {
            (Some(before), _) => hasher.update(&before.said.to_le_bytes()),
            (None, Some(beginning)) if self.said == Some(self.steps.len()) => hasher.update(beginning.as_bytes()),
            (None, _) => return None,
        };
        Some(hasher.update(&newest.said.to_le_bytes()).finalize())
    }

    /// Of its own end.
    pub fn end(&self) -> Option<blake3::Hash> {
        self.mark(self.steps.len().checked_sub(1)?)
    }

    /// Its steps, the newest first.
    pub fn backwards(&self) -> impl Iterator<Item = usize> {
        (0..self.steps.len()).rev()
    }

    /// Returns true if this goes on from the step `at`, where the older one ended. `has_begun`: it was heard from its first
    /// request on, so that it began for itself.
    pub fn goes_on_from(&self, at: usize, older: &Trail, has_begun: bool) -> bool {
        if older.has_tools && !self.has_tools {
            return false;
        }
        let grows = at + 1 < self.steps.len();
        let common = self.common(at, older);
        let is_telling = common >= 2 && self.is_once(at) && older.is_once(older.steps.len() - 1);
        let holds_all = is_telling && (self.holds_all(at, common) || common == older.steps.len() && older.is_long());
        let begins_alike = self.beginning.is_some() && self.beginning == older.beginning;
        if begins_alike && grows && !has_begun {
            let is_in_place = older.said.is_some() && older.said == self.place(at);
            return holds_all || is_in_place && common >= older.steps.len().min(PLACE);
        }
        if !holds_all || !older.is_summed_up && self.answer == older.answer {
            return false;
        }
        let is_deeper = self.place(at).is_some_and(|place| older.said.is_none_or(|said| said > place));
        match self.is_summed_up {
            true => is_deeper || !older.is_summed_up,
            false => is_deeper && grows && !has_begun && self.has_tools && self.tells_news_behind(at, older),
        }
    }

    /// How many steps up to `at` are the older one's last, with the answers between them.
    fn common(&self, at: usize, older: &Trail) -> usize {
        let ours = self.steps.iter().take(at + 1).rev();
        let mut heard = None;
        let is_equal = |(our, their): &(&Step, &Step)| {
            let is_equal = our.said == their.said && heard.is_none_or(|(ours, theirs)| ours == theirs);
            heard = Some((our.heard, their.heard));
            is_equal
        };
        ours.zip(older.steps.iter().rev()).take_while(is_equal).count()
    }

    /// Returns true if so many steps up to `at` are all that was said up to there.
    fn holds_all(&self, at: usize, common: usize) -> bool {
        common == at + 1 && !self.is_long()
    }

    /// Returns true if more was said than its steps.
    fn is_long(&self) -> bool {
        self.said.is_none_or(|said| said > self.steps.len())
    }

    /// Returns true if this step and the one before it are other ones, and said so only once.
    fn is_once(&self, at: usize) -> bool {
        let pair = |at: usize| Some((self.steps.get(at.checked_sub(1)?)?.said, self.steps.get(at)?.said));
        let Some((before, newest)) = pair(at) else { return false };
        before != newest && (0..self.steps.len()).filter(|other| pair(*other) == Some((before, newest))).count() == 1
    }

    /// How much was said up to this step.
    fn place(&self, at: usize) -> Option<usize> {
        Some(self.said? - self.steps.len() + at + 1)
    }

    /// Returns true if nothing that was said behind `at` is the older one's.
    fn tells_news_behind(&self, at: usize, older: &Trail) -> bool {
        let known: HashSet<u64> = older.steps.iter().map(|step| step.said).collect();
        self.steps.iter().skip(at + 1).all(|step| !known.contains(&step.said))
    }
}
