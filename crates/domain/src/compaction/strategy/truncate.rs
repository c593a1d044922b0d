//! `truncate`: the newest `preserve_recent` messages stay; while they are too much, the oldest of them goes.

use super::room::RoomForKept;
use super::units::Units;

pub fn select(units: &Units, room: RoomForKept, preserve_recent: u32) -> Vec<bool> {
    let start = units.tail_start(preserve_recent);
    let mut stays: Vec<bool> = units.all.iter().map(|unit| unit.fixed || unit.items.start >= start).collect();
    let kept = units.all.iter().zip(&stays).filter(|(_, stays)| **stays);
    let mut tokens: u64 = kept.map(|(unit, _)| unit.tokens).sum();
    for (unit, stays) in units.all.iter().zip(&mut stays) {
        if tokens <= room.target {
            break;
        }
        if *stays && !unit.fixed {
            *stays = false;
            tokens -= unit.tokens;
        }
    }
    stays
}
