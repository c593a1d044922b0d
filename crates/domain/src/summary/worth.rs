//! Which spans a model is asked about: below some sizes its summary can't pay for the call.

use super::transcript::serialise;
use super::{SummaryPart, SummaryTask};
use crate::record::quote::size;

/// A compaction that replaces fewer tokens is told by code.
///
/// Measured on 104 to 321 stretches of each size out of eight sets of recorded sessions (tau-bench, SWE-agent, Claude
/// Code, pi and others), an answer being a quarter of the span and a token of it as dear as five that are read. The call
/// reads 415 tokens beside the span; the frame, and at that time a ledger and file lists, stood there whoever wrote. So it
/// has paid for itself after 10 turns at 300 tokens, 5.5 at 800, 4.7 at 1,250, 4.3 at 1,500, 4.1 at 2,000 and 3.4 at 6,000 (medians);
/// at 1,500 three in four have within five turns. Below that, the built-in summariser's body names all identifiers of the
/// span down to 800 tokens, again in the median.
const LEAST_SPAN: u64 = 1_500;
/// A span of which there is less to read is told by code: the call would read more of its own prompt.
const LEAST_READ: u64 = 256;

/// Returns true if a model's summary can pay for a span of `replaced_tokens` tokens. That of a branch replaces
/// nothing: whoever leaves the branch has asked for it.
pub fn pays(task: &SummaryTask, replaced_tokens: u64) -> bool {
    task.part == SummaryPart::Branch || replaced_tokens >= LEAST_SPAN && !is_for_code(task)
}

/// Returns true if a task is so short that code tells it: it takes nothing over, and has no more than a few lines. What
/// a hook has written for a model to be shown is for a model.
fn is_for_code(task: &SummaryTask) -> bool {
    let is_plain = task.prompt.is_none() && task.previous.is_none() && task.shown.is_none();
    is_plain && sizes_of(task).try_fold(0, below).is_some()
}

/// The sum, while it is below [`LEAST_READ`].
fn below(sum: u64, tokens: u64) -> Option<u64> {
    Some(sum + tokens).filter(|sum| *sum < LEAST_READ)
}

fn sizes_of(task: &SummaryTask) -> impl Iterator<Item = u64> + '_ {
    task.messages.iter().map(|message| tokens(&serialise(std::slice::from_ref(message))))
}

/// Returns the size of a text, four characters a token.
pub fn tokens(text: &str) -> u64 {
    size(text).div_ceil(4) as u64
}

#[cfg(test)]
mod tests {
    use super::super::testing::{task, user};
    use super::*;

    fn of(part: SummaryPart, words: usize) -> SummaryTask {
        SummaryTask { part, ..task(vec![user(&"word ".repeat(words)), user("and that")]) }
    }

    #[test]
    fn a_short_span_asks_nobody() {
        let long = of(SummaryPart::History, 5_000);
        assert!(pays(&long, LEAST_SPAN) && !pays(&long, LEAST_SPAN - 1));
        assert!(!pays(&of(SummaryPart::History, 5), 9_000), "what it replaces is not what a model would read");
        assert!(pays(&of(SummaryPart::Branch, 5), 10));
    }

    #[test]
    fn a_few_lines_are_for_code_unless_there_is_more_to_them() {
        let short = || of(SummaryPart::History, 20);
        assert!(is_for_code(&short()) && !is_for_code(&of(SummaryPart::History, 500)));
        assert!(!is_for_code(&SummaryTask { prompt: Some("Write a haiku.".to_owned()), ..short() }));
        assert!(!is_for_code(&SummaryTask { previous: Some("## Goal\n- old".to_owned()), ..short() }));
        assert!(!is_for_code(&SummaryTask { shown: Some("In short.".into()), ..short() }));
    }
}
