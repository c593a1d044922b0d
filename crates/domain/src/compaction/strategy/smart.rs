//! `smart`: the newest messages, and of the older ones those that the work still rests on.
//!
//! Rules tell what a message says, in [`Clues`]; units are taken by worth for their size until the target is reached,
//! and what is left goes to the newest.

use std::collections::HashSet;

use super::choice::Choice;
use super::clues::REQUEST;
use super::room::RoomForKept;
use super::sliding::extend_back;
use super::units::{Unit, Units};

pub use super::clues::Clues;

/// Share of the target that the newest `preserve_recent` messages may take: one half.
const TAIL_SHARE: u64 = 2;
/// Added to a unit's size, so that very small ones don't win by size alone.
const OVERHEAD: u64 = 64;

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
    extend_back(units, RoomForKept { limit: room.target, ..room }, &mut stays, &mut tokens);
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
