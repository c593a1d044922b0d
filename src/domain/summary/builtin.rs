//! The built-in summariser: fills the template from the transcript, by rules alone.
//!
//! The same task gives the same text. An earlier summary is read back into its sections and merged with what is
//! new, so that any number of updates keeps the task, the rules and the decisions, and forgets detail first.

use super::SummaryTask;
use super::text::{clip, quarters, within};

mod facts;
mod labels;
mod merge;
mod render;

use facts::Facts;
pub(crate) use facts::{decides, failed, is_synthetic};

/// How many items a section may have and how long each may be; the first that fits is taken.
const SHRINK: [(usize, usize); 7] = [(14, 280), (12, 220), (9, 170), (7, 130), (5, 100), (3, 80), (2, 60)];

/// Part of the output that passages about the focus topic may take: one in three.
const FOCUS_SHARE: u32 = 3;

/// A summary of the task's span of at most `max_output_tokens`, four characters each. Never empty for a span or a
/// previous summary that says something and a bound of a few tokens.
pub fn summarise(task: &SummaryTask) -> String {
    let facts = merge::with_previous(Facts::of(&task.messages), task.previous.as_deref());
    let budget = (task.max_output_tokens as usize).saturating_mul(4);
    let focus = super::focus::block(task, task.max_output_tokens / FOCUS_SHARE);
    let focus = focus.map(|block| format!("\n\n{block}")).unwrap_or_default();
    let room = budget.saturating_sub(quarters(&focus));
    let mut smallest = String::new();
    for (items, width) in SHRINK {
        smallest = render::render(task, &facts, items, width);
        if quarters(&smallest) <= room {
            return format!("{smallest}{focus}");
        }
    }
    // The headings alone are too much: the goal says most in least.
    let goal = facts.goal.first().map(|goal| clip(goal, budget / 4)).unwrap_or(smallest);
    within(&goal, budget).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
