//! Which spans a model is asked about: below some sizes its summary can't pay for the call.

use super::text::quarters;
use super::transcript::serialise;
use super::{SummaryPart, SummaryTask, prompt};

/// A compaction that replaces fewer tokens is told by code.
///
/// Measured on 104 to 321 stretches of each size out of eight sets of recorded sessions (tau-bench, SWE-agent, Claude
/// Code, pi and others), an answer being a quarter of the span and a token of it as dear as five that are read. The call
/// reads 415 tokens beside the span, and the frame, ledger and file lists stand there whoever writes. So it has paid for
/// itself after 10 turns at 300 tokens, 5.5 at 800, 4.7 at 1,250, 4.3 at 1,500, 4.1 at 2,000 and 3.4 at 6,000 (medians);
/// at 1,500 three in four have within five turns. Below that, the built-in summariser's body names all identifiers of the
/// span down to 800 tokens, again in the median.
const LEAST_SPAN: u64 = 1_500;
/// One of a compaction's parts that is smaller is told by code.
///
/// The call would read more of its own prompt than of the part. In the same measurement the built-in summariser named all
/// identifiers of 600 tokens in 190 to 200, which is what the beginning of a turn may take at least.
const LEAST_PART: u64 = 256;

/// Returns true if a model's summary can pay for a span of `replaced_tokens` tokens. That of a branch replaces
/// nothing: whoever leaves the branch has asked for it.
pub fn pays(tasks: &[SummaryTask], replaced_tokens: u64) -> bool {
    let is_branch = |task: &SummaryTask| task.part == SummaryPart::Branch;
    tasks.iter().any(is_branch) || replaced_tokens >= LEAST_SPAN && !tasks.iter().all(is_for_code)
}

/// Returns true if a task is so short that code tells it: it takes nothing over, and has no more than a few lines. What
/// a hook has written for a model to be shown is for a model.
pub fn is_for_code(task: &SummaryTask) -> bool {
    let is_plain = task.part == SummaryPart::TurnPrefix || task.prompt.is_none() && task.part == SummaryPart::History;
    is_plain && task.previous.is_none() && task.shown.is_none() && sizes(task).try_fold(0, below).is_some()
}

/// The sum, while it is below [`LEAST_PART`].
fn below(sum: u64, size: u64) -> Option<u64> {
    Some(sum + size).filter(|sum| *sum < LEAST_PART)
}

/// Returns the size of what a model would read of a task, four characters a token.
pub fn size(task: &SummaryTask) -> u64 {
    sizes(task).sum()
}

/// Returns the size of the whole prompt that a model is sent for a task, likewise.
pub fn prompt_size(task: &SummaryTask) -> u64 {
    let prompt = prompt::render(task);
    tokens(&prompt.system) + tokens(&prompt.user)
}

fn sizes(task: &SummaryTask) -> impl Iterator<Item = u64> + '_ {
    let said = task.messages.iter().filter(|_| task.shown.is_none());
    let said = said.map(|message| tokens(&serialise(std::slice::from_ref(message))));
    task.shown.iter().map(|text| tokens(text)).chain(said)
}

/// Returns the size of a text, four characters a token.
pub fn tokens(text: &str) -> u64 {
    quarters(text).div_ceil(4) as u64
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
        let long = [of(SummaryPart::History, 5_000)];
        assert!(pays(&long, LEAST_SPAN) && !pays(&long, LEAST_SPAN - 1));
        let both = |history, prefix| [of(SummaryPart::History, history), of(SummaryPart::TurnPrefix, prefix)];
        assert!(pays(&both(5, 5_000), 9_000) && pays(&both(5_000, 5), 9_000));
        assert!(!pays(&both(5, 5), 9_000), "what it replaces is not what a model would read");
        assert!(pays(&[of(SummaryPart::Branch, 5)], 10));
    }

    #[test]
    fn a_few_lines_are_for_code_unless_there_is_more_to_them() {
        assert!(is_for_code(&of(SummaryPart::TurnPrefix, 20)) && is_for_code(&of(SummaryPart::History, 20)));
        assert!(!is_for_code(&of(SummaryPart::TurnPrefix, 500)));
        let own = Some("Write a haiku.".to_owned());
        assert!(!is_for_code(&SummaryTask { prompt: own.clone(), ..of(SummaryPart::History, 20) }));
        assert!(
            is_for_code(&SummaryTask { prompt: own, ..of(SummaryPart::TurnPrefix, 20) }),
            "it is not for this part"
        );
        let previous = Some("## Goal\n- old".to_owned());
        assert!(!is_for_code(&SummaryTask { previous, ..of(SummaryPart::History, 20) }));
        let shown = Some("In short.".into());
        assert!(!is_for_code(&SummaryTask { shown, ..of(SummaryPart::History, 20) }));
    }
}
