//! `smart`: the newest messages, and of the older ones those that the work still rests on.
//!
//! What a message says is told by rules, in [`Clues`]; units are taken by worth for their size until the target is
//! reached, and what is left goes to the newest.

use std::collections::HashSet;

use super::sliding::extend_back;
use super::units::{Unit, Units};
use super::{Choice, Room};
use crate::domain::identifiers;
use crate::domain::message::{Block, Message, Role};
use crate::domain::summary::builtin;
use crate::domain::summary::speech::{Listener, Speech};

/// Share of the target that the newest `preserve_recent` messages may take: one half.
const TAIL_SHARE: u64 = 2;
/// Identifiers that are looked at in one message.
const MAX_IDENTIFIERS: usize = 40;
/// More of a text than this is not searched.
const MAX_TEXT: usize = 32_000;

const FOCUS: u64 = 60;
const RULE: u64 = 40;
const DECISION: u64 = 12;
const ERROR: u64 = 10;
const REQUEST: u64 = 8;
const STILL_USED: u64 = 3;
const MOST_USED: u64 = 15;
/// Added to a unit's size, so that very small ones don't win by size alone.
const OVERHEAD: u64 = 64;

/// What one message holds that is worth keeping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clues {
    /// A request of the user.
    pub request: bool,
    /// It says what must, must never or is always to be done.
    pub rule: bool,
    pub decision: bool,
    pub error: bool,
    /// It is about the focus topic.
    pub focus: bool,
    pub identifiers: Vec<String>,
}

impl Clues {
    /// Reads a message. `focus_topic` is compared without case.
    pub fn of(message: &Message, focus_topic: Option<&str>) -> Clues {
        let topic = focus_topic.map(|topic| topic.trim().to_lowercase()).filter(|topic| !topic.is_empty());
        let mut clues = Clues::default();
        let asks = matches!(Listener::default().hear(message), Speech::User(_));
        for block in &message.content {
            let text = match block {
                Block::Text { text, .. } => text.clone(),
                Block::ToolCall(call) => format!("{} {}", call.name, call.arguments),
                Block::ToolResult(result) => {
                    clues.error |= builtin::failed(result);
                    result.plain_text()
                }
                _ => continue,
            };
            clues.read(message.role, block, start_of(&text), topic.as_deref());
        }
        clues.request &= asks;
        clues.rule &= asks;
        clues
    }

    fn read(&mut self, role: Role, block: &Block, text: &str, topic: Option<&str>) {
        self.focus |= topic.is_some_and(|topic| text.to_lowercase().contains(topic));
        if matches!(block, Block::Text { .. }) {
            match role {
                Role::User => {
                    self.request = true;
                    self.rule |= !identifiers::rules(text).is_empty();
                }
                Role::Assistant => self.decision |= builtin::decides(text),
                _ => {}
            }
        }
        let room = MAX_IDENTIFIERS.saturating_sub(self.identifiers.len());
        self.identifiers.extend(identifiers::extract(text).into_iter().take(room));
    }

    fn worth(&self, used: &HashSet<&str>) -> u64 {
        let still_used = self.identifiers.iter().filter(|identifier| used.contains(identifier.as_str())).count() as u64;
        [
            (self.focus, FOCUS),
            (self.rule, RULE),
            (self.decision, DECISION),
            (self.error, ERROR),
            (self.request, REQUEST),
        ]
        .into_iter()
        .filter_map(|(holds, worth)| holds.then_some(worth))
        .sum::<u64>()
            + (still_used * STILL_USED).min(MOST_USED)
    }
}

fn start_of(text: &str) -> &str {
    text.char_indices().nth(MAX_TEXT).map_or(text, |(end, _)| &text[..end])
}

pub fn select(units: &Units, choice: &Choice<'_>) -> Vec<bool> {
    let room = choice.room;
    let mut stays: Vec<bool> = units.all.iter().map(|unit| unit.fixed).collect();
    let mut tokens = units.fixed_tokens();
    take_tail(units, choice, &mut stays, &mut tokens);
    for at in by_worth(units, choice, &stays) {
        if let (Some(unit), Some(stays)) = (units.all.get(at), stays.get_mut(at))
            && tokens + unit.tokens <= room.target
        {
            *stays = true;
            tokens += unit.tokens;
        }
    }
    extend_back(units, Room { limit: room.target, ..room }, &mut stays, &mut tokens);
    stays
}

/// The newest messages, newest first, while they leave room for older ones.
fn take_tail(units: &Units, choice: &Choice<'_>, stays: &mut [bool], tokens: &mut u64) {
    let start = units.tail_start(choice.settings.preserve_recent);
    let mut tail = 0;
    for (unit, stays) in units.all.iter().zip(stays).rev().take_while(|(unit, _)| unit.items.start >= start) {
        tail += unit.tokens;
        if *stays {
            continue;
        }
        if tail > choice.room.target / TAIL_SHARE || *tokens + unit.tokens > choice.room.target {
            return;
        }
        *stays = true;
        *tokens += unit.tokens;
    }
}

/// The units not taken yet that say something the work rests on, the worthiest for their size first.
fn by_worth(units: &Units, choice: &Choice<'_>, stays: &[bool]) -> Vec<usize> {
    let clues = |unit: &Unit| {
        let items = choice.items.get(unit.items.clone()).unwrap_or_default();
        items.iter().filter_map(|item| choice.clues.get(&item.index)).collect::<Vec<_>>()
    };
    let kept = units.all.iter().zip(stays).filter(|(_, stays)| **stays);
    let used: HashSet<&str> =
        kept.flat_map(|(unit, _)| clues(unit)).flat_map(|clues| &clues.identifiers).map(String::as_str).collect();
    let mut ranked: Vec<(u64, usize)> = units
        .all
        .iter()
        .zip(stays)
        .enumerate()
        .filter(|(_, (_, stays))| !**stays)
        .filter_map(|(at, (unit, _))| {
            let worth: u64 = clues(unit).into_iter().map(|clues| clues.worth(&used)).max().unwrap_or(0);
            (worth > 0 && worth != REQUEST).then(|| (worth * 1_000_000 / (unit.tokens + OVERHEAD), at))
        })
        .collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    ranked.into_iter().map(|(_, at)| at).collect()
}
