//! Summaries: what is asked for, how it is asked, and what is made of the answer.

pub mod branch;
pub mod cut_off;
pub mod files;
pub mod focus;
pub mod framing;
pub mod identifiers;
pub mod prefix;
pub mod prompt;
#[cfg(test)]
pub(crate) mod testing;
pub mod thinking_tags;
pub mod transcript;
pub mod verify;
pub mod worth;

use std::sync::Arc;

use crate::model::message::{Message, Role};
use crate::record::evidence::sections::{self, Section};
use crate::record::{self, RecordItem, RecordParts, RecordPlace, RecordSource};
use crate::settings::{Estimator, Template};
use crate::tokens::count_text;

pub use crate::model::user_text;

/// One piece of work for a summariser: the span, what came before it and how the result should look.
#[derive(Debug, Clone)]
pub struct SummaryTask {
    pub part: SummaryPart,
    pub template: Template,
    /// The caller's own prompt, in place of the template's.
    pub prompt: Option<String>,
    /// The summary to update; `None` starts afresh.
    pub previous: Option<String>,
    /// Messages to summarise, oldest first, tool output already shortened where it must be.
    pub messages: Arc<[Message]>,
    /// The path that they are from, to be told with its numbers. `None`: there are only the messages.
    pub source: Option<Arc<RecordSource>>,
    /// The beginning of the agent's system prompt, which stays: the notes need not say it.
    pub background: Option<Arc<str>>,
    /// The depth on that path from which on nothing stands in `previous`.
    pub newer_from: Option<i64>,
    /// Text that a model is shown in place of what is told; the built-in summariser reads the messages all the same.
    pub shown: Option<Arc<str>>,
    /// Tokens that the prompt may take: what the model's window leaves.
    pub room: u64,
    /// Tokens that the answer is to stand for; 0 where that is not known.
    pub span_tokens: u64,
    pub focus_topic: Option<String>,
    pub instructions: Option<String>,
    pub max_output_tokens: u32,
    /// The summary was asked for before, and the answer refused.
    pub correction: Option<Correction>,
}

/// What is said of an answer that was refused, so that the same is not asked for again in the same words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// A clause, such as "the summary is empty".
    pub fault: String,
    /// The most words that the next answer may have.
    pub words: u32,
}

impl SummaryTask {
    /// Returns the most words that the answer may have: a tenth of the span, but no more than the output limit leaves with
    /// a margin, for an answer that is cut off is worth less than a short one.
    pub fn words(&self) -> u32 {
        if let Some(correction) = &self.correction {
            return correction.words.max(LEAST_WORDS);
        }
        let limit = self.max_output_tokens / 5 * 3;
        let tenth = tokens(self.span_tokens / 10 * 3 / 4).clamp(*NOTES.start(), *NOTES.end());
        if self.span_tokens == 0 { limit } else { limit.min(tenth) }.max(LEAST_WORDS)
    }

    /// The sections that the answer has. Empty: the caller's own prompt asks for whatever form.
    pub fn sections(&self) -> &'static [Section] {
        match (&self.prompt, self.part) {
            (Some(_), _) => &[],
            (None, SummaryPart::Branch) => sections::of_branch(),
            (None, SummaryPart::History) => sections::of_template(self.template),
        }
    }

    /// The record of what it holds, in as many tokens as the answer may have.
    pub fn record(&self) -> String {
        let room = u64::from(self.max_output_tokens);
        if let Some(source) = &self.source {
            return source.record(room, Estimator::O200k);
        }
        let previous = self.previous.as_deref().map(|notes| Message::text(Role::CompactionSummary, notes));
        let messages = previous.iter().chain(self.messages.iter());
        let before: Vec<RecordItem<'_>> =
            messages.map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
        let parts = RecordParts { before: &before, ..RecordParts::default() };
        let count = |text: &str| u64::from(count_text(Estimator::O200k, text));
        record::write(&parts, room, count)
    }
}

/// Which part of a compaction a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPart {
    /// All that stands before the cut, in the middle of a turn or not.
    History,
    /// Entries of a branch that was left.
    Branch,
}

/// Words of the notes on a span.
const NOTES: std::ops::RangeInclusive<u32> = 300..=1_500;
/// The prompt of a model whose window is not known, in tokens.
pub const USUAL_ROOM: u64 = 96_000;
/// An answer of fewer words is asked for by nobody.
const LEAST_WORDS: u32 = 20;
/// Framing and section headings of a summary message, roughly.
const FRAME_TOKENS: u64 = 100;
/// A summary shorter than this says nothing; one longer than that is no summary.
const BODY: std::ops::RangeInclusive<u64> = 64..=4_000;
/// The most that stands beside somebody's notes, in tokens.
const MOST_BESIDE: u64 = 2_000;

/// How the parts of a summary message share the room that leaves a compaction worth doing, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// For a summary that is written to measure: as much as a model is asked for, up to the most that code writes.
    pub body: u32,
    /// The most that a model is asked for: a long span may have a longer summary than one written to measure.
    pub answer: u32,
    /// For what the body lacks.
    pub beside: u32,
}

impl Allowance {
    /// For a summary that stands for `replaced` tokens, with `reserve` kept free for answers.
    pub fn new(replaced: u64, reserve: u32) -> Allowance {
        // A short span leaves room for little more than the headings, so it may take most of its size.
        let whole = (replaced * 17 / 20).min(1_000 + replaced / 4);
        let beside = (whole / 8).min(u64::from(reserve) / 8).min(MOST_BESIDE);
        let answer = (whole.saturating_sub(FRAME_TOKENS + beside) * 19 / 20).max(*BODY.start());
        Allowance { body: tokens(answer.min(*BODY.end())), answer: tokens(answer), beside: tokens(beside) }
    }

    /// Size that a summary message with all that code adds usually has.
    pub fn likely(&self) -> u64 {
        FRAME_TOKENS + u64::from(self.body) + u64::from(self.beside)
    }

    /// The largest span whose summary message, with all that code adds, stays about within `room` tokens.
    pub fn most_replaced(room: u64) -> u64 {
        // Sizes are estimates.
        let whole = room * 2 / 3;
        (whole * 20 / 17).max(whole.saturating_sub(1_000) * 4)
    }

    /// For the passages about the focus topic that the body does not quote.
    pub fn focus(&self) -> u32 {
        self.body / 3
    }

    /// A task that is written to measure.
    pub fn bounded(&self, task: &SummaryTask) -> SummaryTask {
        within(task.clone(), self.body)
    }

    /// A task that asks for no more than a model may answer.
    pub fn asked(&self, task: SummaryTask) -> SummaryTask {
        within(task, self.answer)
    }
}

fn tokens(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn within(task: SummaryTask, most: u32) -> SummaryTask {
    SummaryTask { max_output_tokens: task.max_output_tokens.min(most), ..task }
}

#[cfg(test)]
mod tests {
    use super::testing::{task, user};
    use super::*;

    #[test]
    fn what_a_model_is_asked_for_follows_the_span() {
        for (replaced, most) in [(1_200, 753), (3_000, 1_360), (30_000, 6_971), (1_000_000, 13_107)] {
            let whole = SummaryTask { max_output_tokens: 13_107, ..task(vec![user("hi")]) };
            let allowance = Allowance::new(replaced, 16_384);
            assert_eq!(allowance.asked(whole).max_output_tokens, most, "{replaced}");
        }
    }

    #[test]
    fn notes_are_a_tenth_of_their_span() {
        for (span_tokens, max_output_tokens, words) in
            [(0, 2_000, 1_200), (1_500, 2_000, 300), (8_000, 8_000, 600), (90_000, 8_000, 1_500), (90_000, 500, 300)]
        {
            let task = SummaryTask { span_tokens, max_output_tokens, ..task(vec![user("hi")]) };
            assert_eq!(task.words(), words, "{span_tokens}");
        }
    }
}
