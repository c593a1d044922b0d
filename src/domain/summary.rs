//! Summaries: what is asked for, how it is asked, and what is made of the answer.

pub mod branch;
pub mod builtin;
pub mod chunk;
pub mod files;
pub mod focus;
pub mod framing;
pub mod identifiers;
pub mod ledger;
mod message;
pub mod outcome;
pub mod prefix;
pub mod prompt;
pub mod sections;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod transcript;
pub mod user_text;
pub mod verify;

use std::sync::Arc;

use super::settings::Template;
use crate::domain::model::message::Message;

pub use message::SummaryMessage;

/// One piece of work for a summariser: the span, what came before it and how the result should look.
/// The worker may split one into several (chunk, then fold) to fit an upstream's window.
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
    /// Text that a model is shown in place of the messages; the built-in summariser reads the messages all the same.
    pub shown: Option<Arc<str>>,
    pub focus_topic: Option<String>,
    pub instructions: Option<String>,
    pub max_output_tokens: u32,
}

/// Which part of a compaction a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPart {
    /// Whole turns before the cut.
    History,
    /// The beginning of the turn that the cut splits.
    TurnPrefix,
    /// Entries of a branch that was left.
    Branch,
}

/// Framing and section headings of a summary message, roughly.
const FRAME_TOKENS: u64 = 100;
/// A summary shorter than this says nothing; one longer than that is no summary.
const BODY: std::ops::RangeInclusive<u64> = 64..=4_000;
/// The most that the ledger and the file lists each may take, in tokens.
const LONGEST_APPENDIX: u64 = 2_000;

/// The most that the restored identifiers may take, in tokens.
const MOST_IDENTIFIERS: u64 = 3_000;

/// How the parts of a summary message share the room that leaves a compaction worth doing, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// For a summary that can be written to measure.
    pub body: u32,
    /// For the tool ledger, and again for the file lists.
    pub appendix: u32,
    /// For the identifiers that code puts back. The user's rules stay beyond it, up to as much again.
    pub identifiers: u32,
}

impl Allowance {
    /// For a summary that stands for `replaced` tokens, with `reserve` kept free for answers.
    pub fn new(replaced: u64, reserve: u32) -> Allowance {
        // A short span leaves room for little more than the headings, so it may take most of its size.
        let whole = (replaced * 17 / 20).min(1_000 + replaced / 4);
        let reserve = u64::from(reserve);
        let appendix = (whole / 8).min(reserve / 8).min(LONGEST_APPENDIX);
        let identifiers = (whole / 5).min(reserve / 4).min(MOST_IDENTIFIERS);
        let taken = FRAME_TOKENS + 2 * appendix + identifiers;
        let body = whole.saturating_sub(taken).clamp(*BODY.start(), *BODY.end());
        let tokens = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Allowance { body: tokens(body), appendix: tokens(appendix), identifiers: tokens(identifiers) }
    }

    /// The largest span whose summary message, with all that code adds, stays about within `room` tokens.
    pub fn most_replaced(room: u64) -> u64 {
        // What stands behind the body may come out half as large again, see [`Allowance::behind_body`].
        let whole = room * 2 / 3;
        (whole * 20 / 17).max(whole.saturating_sub(1_000) * 4)
    }

    /// For the passages about the focus topic, inside the body or behind it.
    pub fn focus(&self) -> u32 {
        self.body / 3
    }

    /// Returns the part of the body that one task of a compaction may take. Of two, the history has more to say.
    fn share(&self, part: SummaryPart, tasks: usize) -> u32 {
        match part {
            _ if tasks == 1 => self.body,
            SummaryPart::TurnPrefix => self.body / 3,
            SummaryPart::History | SummaryPart::Branch => self.body / 3 * 2,
        }
    }

    /// One of a compaction's `tasks` tasks, with no more output than its share.
    pub fn bounded(&self, task: &SummaryTask, tasks: usize) -> SummaryTask {
        let share = self.share(task.part, tasks);
        SummaryTask { max_output_tokens: task.max_output_tokens.min(share), ..task.clone() }
    }

    /// Returns the most that stands behind the body: ledger, file lists and identifiers. They are measured at four
    /// characters a token, and names take fewer.
    pub fn behind_body(&self) -> u64 {
        (2 * u64::from(self.appendix) + u64::from(self.identifiers)) * 3 / 2
    }
}
