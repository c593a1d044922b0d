//! The built-in summariser: fills the template from the transcript, by rules alone.
//!
//! The same task gives the same text. An earlier summary is read back into its sections and merged with what is
//! new, so that any number of updates keeps the task, the rules and the decisions, and forgets detail first.

use std::borrow::Cow;

use super::super::settings::Template;
use super::SummaryTask;
use super::text::{clip, quarters, within};
use super::verify::orders;

mod facts;
mod labels;
mod merge;
mod render;

use facts::Facts;
pub(crate) use facts::{decides, failed};

/// How many items a section may have and how long each may be; the first that fits is taken.
const SHRINK: [(usize, usize); 8] = [(16, 300), (14, 240), (12, 200), (9, 170), (7, 130), (5, 100), (3, 80), (2, 60)];

/// Part of the output that passages about the focus topic may take: one in three.
const FOCUS_SHARE: u32 = 3;
/// Part of the output that is kept free for identifiers: one in three.
const REFERENCE_SHARE: usize = 3;
/// Characters that an identifier takes beside its own: separators, and its part of the line's label.
const PER_REFERENCE: usize = 6;
/// Most words of a summary in prose, the focus block aside.
const PROSE_WORDS: usize = 1000;

/// A summary of the task's span of at most `max_output_tokens`, four characters each. Never empty for a span or a
/// previous summary that says something and a bound of a few tokens.
pub fn summarise(task: &SummaryTask) -> String {
    let text = written(task);
    match orders::without_quoted(&text, &[]) {
        Cow::Borrowed(_) => text,
        // Rare enough to read the span once more.
        Cow::Owned(_) => orders::without_quoted(&text, &orders::said(&task.messages)).into_owned(),
    }
}

fn written(task: &SummaryTask) -> String {
    let mut facts = merge::with_previous(Facts::of(&task.messages), task.previous.as_deref());
    facts.conclude();
    let budget = (task.max_output_tokens as usize).saturating_mul(4);
    let focus = super::focus::block(task, task.max_output_tokens / FOCUS_SHARE);
    let focus = focus.map(|block| format!("\n\n{block}")).unwrap_or_default();
    let room = SummaryRoom {
        quarters: budget.saturating_sub(quarters(&focus)),
        words: if task.template == Template::Prose { PROSE_WORDS } else { usize::MAX },
    };
    let references = References::take_from(&mut facts);
    let mut smallest = String::new();
    for (items, width) in SHRINK {
        smallest = render::render(task, &facts, items, width);
        let Some(left) = room.beside(&smallest) else { continue };
        let enough = references.size().min(room.quarters / REFERENCE_SHARE);
        if left.quarters < enough && width > 100 {
            continue;
        }
        let full = render::render(task, &references.put_into(&facts, &left), items, width);
        let text = if room.beside(&full).is_some() { full } else { smallest };
        return format!("{text}{focus}");
    }
    // The headings alone are too much: the goal says most in least.
    let goal = facts.goal.first().map(|goal| clip(goal, budget / 4)).unwrap_or(smallest);
    within(&goal, budget).trim_end().to_owned()
}

/// Room in quarter tokens and in words.
struct SummaryRoom {
    quarters: usize,
    words: usize,
}

impl SummaryRoom {
    /// Returns the room that a text leaves; `None` where it takes more than there is.
    fn beside(&self, text: &str) -> Option<SummaryRoom> {
        Some(SummaryRoom {
            quarters: self.quarters.checked_sub(quarters(text))?,
            words: self.words.checked_sub(text.split_whitespace().count())?,
        })
    }
}

/// Paths and other identifiers, each list the weightiest first: they fill what the sections leave free.
struct References {
    files: Vec<String>,
    mentions: Vec<String>,
}

impl References {
    fn take_from(facts: &mut Facts) -> References {
        References { files: std::mem::take(&mut facts.files), mentions: std::mem::take(&mut facts.mentions) }
    }

    fn size(&self) -> usize {
        self.files.iter().chain(&self.mentions).map(|one| quarters(one) + PER_REFERENCE).sum()
    }

    /// The facts with the first of both lists that have room.
    fn put_into(&self, facts: &Facts, left: &SummaryRoom) -> Facts {
        let mut facts = facts.clone();
        // The lines' labels, the first of each sort.
        let mut room = left.quarters.saturating_sub(40);
        let mut words = left.words.saturating_sub(10) / 2;
        let mut fits = |one: &String| {
            let cost = quarters(one) + PER_REFERENCE;
            let fits = cost <= room && words > 0;
            if fits {
                room -= cost;
                words -= 1;
            }
            fits
        };
        for at in 0..self.files.len().max(self.mentions.len()) {
            facts.files.extend(self.files.get(at).filter(|one| fits(one)).cloned());
            facts.mentions.extend(self.mentions.get(at).filter(|one| fits(one)).cloned());
        }
        facts
    }
}

#[cfg(test)]
mod tests;
