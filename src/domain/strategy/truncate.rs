//! `truncate`: the newest `preserve_recent` messages stay; while they are too much, the oldest of them goes.

use super::units::Units;
use super::{Choice, tail_start};

pub fn select(units: &Units, choice: &Choice<'_>) -> Vec<bool> {
    let start = units.unit_start(tail_start(choice.path, choice.items, choice.settings.preserve_recent));
    let mut stays: Vec<bool> = units.all.iter().map(|unit| unit.fixed || unit.items.start >= start).collect();
    let kept = units.all.iter().zip(&stays).filter(|(_, stays)| **stays);
    let mut tokens: u64 = kept.map(|(unit, _)| unit.tokens).sum();
    for (unit, stays) in units.all.iter().zip(&mut stays) {
        if tokens <= choice.room.target {
            break;
        }
        if *stays && !unit.fixed {
            *stays = false;
            tokens -= unit.tokens;
        }
    }
    stays
}
