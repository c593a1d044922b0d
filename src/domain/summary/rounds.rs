//! Rounds of calls that a span takes, planned before the first of them: parts, and what of it is told by code where the
//! parts would be too many.

use super::chunk::{self, ChunkLimits, PER_NOTE};
use super::{SummaryTask, builtin};
use crate::domain::model::message::Message;
use crate::domain::settings::Estimator;

/// Notes that are shorter than this say nothing.
const LEAST_NOTE: u32 = 48;
/// One call in so many is kept for answers that are refused.
const SPARE: u32 = 6;

/// One round of calls.
#[derive(Debug, Clone)]
pub struct Round {
    /// The task that the parts are of.
    pub task: SummaryTask,
    /// Notes by code on what comes before the parts.
    pub told: Option<String>,
    /// Tasks that fit the window, oldest first: the whole as it is, or pieces of it.
    pub parts: Vec<SummaryTask>,
}

/// Why no round can be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRound {
    /// The prompt leaves no room for a transcript, or for notes on it.
    NoRoom,
    /// Fewer calls are left than notes on the newest part and their fold take.
    TooManyCalls,
}

impl Round {
    /// Returns true if its one answer is the summary.
    pub fn is_whole(&self) -> bool {
        self.told.is_none() && is_whole(&self.parts)
    }

    /// Returns the size of the largest prompt.
    pub fn largest(&self, estimator: Estimator) -> u32 {
        self.parts.iter().map(|part| chunk::input_tokens(part, estimator)).max().unwrap_or(0)
    }
}

/// A single part of what is too large goes on to its fold, where the previous summary is.
fn is_whole(parts: &[SummaryTask]) -> bool {
    matches!(parts, [only] if !chunk::is_part(only))
}

/// Plans the next round of a task that may take `calls` more calls, its folds included. What does not fit the window
/// goes in parts, tool output shortened. Where these are too many, tool traffic is cut to a line or two; where they
/// still are, the newest go to the model and code tells the rest, so that nothing is left out.
pub fn next(task: SummaryTask, limits: ChunkLimits, calls: u32, estimator: Estimator) -> Result<Round, NoRound> {
    let task = chunk::with_room(task, limits, estimator);
    let folds = Folds::of(&task, limits, estimator);
    let limits = ChunkLimits { part_output: limits.part_output.min(folds.note.saturating_sub(PER_NOTE)), ..limits };
    let most = calls - calls / SPARE;
    let parts = chunk::split(&task, limits, estimator).ok_or(NoRound::NoRoom)?;
    if let Some(round) = all_parts(&task, parts, &folds, most)? {
        return Ok(round);
    }
    let task = chunk::terse(&task);
    let parts = chunk::split(&task, limits, estimator).ok_or(NoRound::NoRoom)?;
    match all_parts(&task, parts.clone(), &folds, most)? {
        Some(round) => Ok(round),
        None => newest_parts(task, parts, &folds, limits, most),
    }
}

/// `None`: they are too many.
fn all_parts(task: &SummaryTask, parts: Vec<SummaryTask>, folds: &Folds, calls: u32) -> Result<Option<Round>, NoRound> {
    if calls == 0 {
        return Err(NoRound::TooManyCalls);
    }
    if parts.is_empty() || !is_whole(&parts) && folds.is_cramped {
        return Err(NoRound::NoRoom);
    }
    let fits = is_whole(&parts) || folds.calls(parts.len(), 0) <= calls;
    Ok(fits.then(|| Round { task: task.clone(), told: None, parts }))
}

/// A text that is shown in place of the messages may be so for what it leaves out: code, which reads the messages, tells
/// the model nothing of them.
fn newest_parts(
    task: SummaryTask,
    mut parts: Vec<SummaryTask>,
    folds: &Folds,
    limits: ChunkLimits,
    calls: u32,
) -> Result<Round, NoRound> {
    if task.shown.is_some() {
        return Err(NoRound::TooManyCalls);
    }
    let most = parts.len().min(calls as usize);
    let newest = (1..most).rev().find(|newest| folds.calls(*newest, 1) <= calls).ok_or(NoRound::TooManyCalls)?;
    let newest = parts.split_off(parts.len() - newest);
    // Names take more tokens than their letters say.
    let told = by_code(&task, &parts, limits.part_output / 4 * 3);
    Ok(Round { task, told: Some(told), parts: newest })
}

/// Notes by code on parts that no model is asked about.
fn by_code(task: &SummaryTask, parts: &[SummaryTask], max_output_tokens: u32) -> String {
    let messages: Vec<Message> = parts.iter().flat_map(|part| part.messages.iter().cloned()).collect();
    let (previous, messages) = chunk::spoken(&messages);
    builtin::summarise(&SummaryTask { previous, messages: messages.into(), max_output_tokens, ..task.clone() })
}

/// Sizes that decide how often notes are folded, in tokens.
struct Folds {
    /// The notes on one part, at their longest.
    note: u32,
    part_room: u32,
    whole_room: u32,
    /// The room makes notes so short that they say nothing.
    is_cramped: bool,
}

impl Folds {
    fn of(task: &SummaryTask, limits: ChunkLimits, estimator: Estimator) -> Folds {
        let fold = SummaryTask { messages: [].into(), shown: None, ..task.clone() };
        let whole_room = limits.whole.saturating_sub(chunk::input_tokens(&fold, estimator));
        let part_room = chunk::part_room(task, limits, estimator).unwrap_or(0);
        // Two notes must fit one prompt, or folding would never end.
        let wanted = limits.part_output + PER_NOTE;
        let note = wanted.min(whole_room / 2).min(part_room / 2);
        Folds { note, part_room, whole_room, is_cramped: note < wanted.min(LEAST_NOTE + PER_NOTE) }
    }

    /// Returns the calls that it takes to ask about so many parts and to fold the notes on them, with the notes on
    /// those that are `told` already.
    fn calls(&self, asked: usize, told: usize) -> u32 {
        let note = self.note.max(1) as usize;
        let (per_part, per_whole) = (self.part_room as usize / note, self.whole_room as usize / note);
        let (mut calls, mut notes) = (asked, asked + told);
        while notes > per_whole {
            let folded = notes.div_ceil(per_part.max(1));
            if folded >= notes {
                return u32::MAX;
            }
            calls += folded;
            notes = folded;
        }
        u32::try_from(calls + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{call, result, task, user};
    use super::super::{prompt, transcript};
    use super::*;

    const PI: Estimator = Estimator::Pi;

    /// A window with this much room for a transcript.
    fn limits(room: u32) -> ChunkLimits {
        let window = chunk::frame_tokens(&task(vec![user("hi")]), PI) + room;
        ChunkLimits { whole: window, part: window, part_output: room / 4 }
    }

    fn said(count: usize) -> SummaryTask {
        let said = |at| user(&format!("Step {at}: {}", "move the parser and keep the tests green. ".repeat(10)));
        task((0..count).map(said).collect())
    }

    fn steps(round: &Round) -> Vec<usize> {
        let text: String = round.parts.iter().map(|part| transcript::serialise(&part.messages)).collect();
        text.match_indices("Step ").filter_map(|(at, _)| text[at + 5..].split_once(':')?.0.parse().ok()).collect()
    }

    /// Counts the calls of all rounds where every note is as long as it may be.
    fn carried_out(task: SummaryTask, limits: ChunkLimits, calls: u32) -> u32 {
        let (mut task, mut taken) = (task, 0);
        loop {
            let round = next(task, limits, calls - taken, PI).expect("a round");
            taken += round.parts.len() as u32;
            if round.is_whole() {
                return taken;
            }
            let note = |part: &SummaryTask| "note ".repeat(part.max_output_tokens as usize * 4 / 5);
            let notes = round.told.iter().cloned().chain(round.parts.iter().map(note)).collect();
            task = chunk::fold(&round.task, notes);
        }
    }

    #[test]
    fn what_fits_takes_one_call() {
        let round = next(said(3), limits(2_000), 1, PI).expect("a round");
        assert!(round.is_whole() && carried_out(said(3), limits(2_000), 1) == 1);
        assert_eq!(next(said(3), limits(2_000), 0, PI).unwrap_err(), NoRound::TooManyCalls);
    }

    #[test]
    fn parts_that_are_few_enough_are_all_asked_about() {
        let round = next(said(60), limits(2_000), 12, PI).expect("a round");
        assert!(round.told.is_none() && round.parts.len() > 2);
        assert_eq!(steps(&round), (0..60).collect::<Vec<_>>());
        assert!(carried_out(said(60), limits(2_000), 12) <= 12);
    }

    #[test]
    fn tool_traffic_gives_way_before_a_part_does() {
        let turns = (0..60).flat_map(|at| {
            let id = format!("c{at}");
            let written = json!({"path": format!("src/a{at}.rs"), "content": "fn a() {}\n".repeat(200)});
            [user(&format!("Step {at}: go on")), call(&id, "write", written), result(&id, &"ok ".repeat(300))]
        });
        let whole = task(turns.collect());
        let wide = next(whole.clone(), limits(2_000), 200, PI).expect("a round");
        let narrow = next(whole, limits(2_000), 12, PI).expect("a round");
        assert!(wide.parts.len() > 12 && narrow.told.is_none(), "{} {}", wide.parts.len(), narrow.parts.len());
        assert_eq!(steps(&narrow), (0..60).collect::<Vec<_>>());
        let text = prompt::render(&narrow.parts[0]).user;
        assert!(text.contains("src/a0.rs") && text.contains("characters left out"), "{text}");
    }

    #[test]
    fn code_tells_what_the_calls_do_not_reach() {
        for calls in [2, 3, 6, 12] {
            let round = next(said(200), limits(1_200), calls, PI).expect("a round");
            let told = round.told.clone().expect("notes by code");
            assert!(told.contains("Step 0"), "{told}");
            let asked = steps(&round);
            assert_eq!(asked.last(), Some(&199), "the newest are asked about");
            assert!(asked.windows(2).all(|pair| pair[0] + 1 == pair[1]) && asked[0] > 0);
            let taken = carried_out(said(200), limits(1_200), calls);
            assert!(taken <= calls && taken * 2 >= calls, "{taken} of {calls}");
        }
        assert_eq!(next(said(200), limits(1_200), 1, PI).unwrap_err(), NoRound::TooManyCalls);
    }

    #[test]
    fn an_earlier_summary_outlives_the_parts_that_code_tells() {
        let previous = format!(
            "## Goal\n- Port the old parser to Rust.\n\n## Key Decisions\n{}",
            "- **No macros**: they hide errors\n".repeat(120)
        );
        let whole = SummaryTask { previous: Some(previous), ..said(200) };
        let round = next(whole, limits(1_200), 4, PI).expect("a round");
        assert!(round.task.previous.is_none(), "it takes too much of a prompt");
        let told = round.told.expect("notes by code");
        assert!(told.contains("Port the old parser to Rust."), "{told}");
    }

    #[test]
    fn a_window_without_room_for_two_notes_is_refused_before_a_call() {
        assert_eq!(next(said(200), limits(100), 100, PI).unwrap_err(), NoRound::NoRoom);
    }

    #[test]
    fn what_is_not_shown_is_not_told_either() {
        let shown = SummaryTask { shown: Some("word ".repeat(20_000).into()), ..said(3) };
        assert_eq!(next(shown.clone(), limits(1_200), 6, PI).unwrap_err(), NoRound::TooManyCalls);
        assert!(next(shown, limits(1_200), 100, PI).is_ok_and(|round| round.told.is_none()));
    }
}
