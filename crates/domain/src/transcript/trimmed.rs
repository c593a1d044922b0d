//! A client that trims the front of its history: where on the stored path its first message stands.

use super::lines::{TextKey, text_key};
use super::{ExpectedEntry, Said};
use crate::model::message::Role;

/// How many places are tried: few messages are said twice with the same one behind them.
const MOST_STARTS: usize = 4;

/// What tells a message from others, without its blocks: who says it, its words, and its calls and results by id.
#[derive(PartialEq, Eq)]
struct Likeness {
    role: Role,
    words: TextKey,
    ids: Vec<String>,
}

/// Lists the steps that the first two of these posted messages may be, beyond the first step, in path order. A single
/// message says too little.
pub fn starts(steps: &[ExpectedEntry], posted: &[Option<Said>]) -> Vec<usize> {
    let mut posted = posted.iter().flatten().filter_map(likeness);
    let (Some(first), Some(second)) = (posted.next(), posted.next()) else { return Vec::new() };
    let known: Vec<(usize, Likeness)> =
        steps.iter().enumerate().filter_map(|(at, step)| Some((at, likeness(&step.said)?))).collect();
    let pairs = known.windows(2).filter_map(|pair| match pair {
        [(at, one), (_, two)] if *at > 0 && *one == first && *two == second => Some(*at),
        _ => None,
    });
    pairs.take(MOST_STARTS).collect()
}

fn likeness(said: &Said) -> Option<Likeness> {
    let Said::Message(message) = said else { return None };
    let calls = message.tool_calls().map(|call| call.id.clone());
    let ids = calls.chain(message.tool_results().map(|result| result.tool_call_id.clone())).collect();
    Some(Likeness { role: message.role, words: text_key(&message.plain_text()), ids })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::message::Message;

    fn said(role: Role, text: &str) -> Said {
        Said::Message(Message::text(role, text))
    }

    #[test]
    fn a_start_is_where_the_first_two_stand_beyond_the_first_step() {
        let texts = ["a", "b", "go on", "c", "go on", "d"];
        let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let all: Vec<Said> = texts.iter().enumerate().map(|(at, text)| said(role(at), text)).collect();
        let step = |said: &Said| ExpectedEntry { said: said.clone(), is_task: false, sizes: Default::default() };
        let steps: Vec<ExpectedEntry> = all.iter().map(step).collect();
        let from = |at: usize| all[at..].iter().cloned().map(Some).collect::<Vec<_>>();
        assert_eq!(starts(&steps, &from(2)), [2]);
        assert_eq!(starts(&steps, &from(4)), [4]);
        assert_eq!(starts(&steps, &from(0)), [0; 0], "nothing is missing");
        assert_eq!(starts(&steps, &from(5)), [0; 0], "one message says too little");
        let other = [Some(all[2].clone()), Some(all[1].clone())];
        assert_eq!(starts(&steps, &other), [0; 0]);
    }
}
