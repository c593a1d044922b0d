//! `sliding`: as many of the newest messages as fit; the unit in which the window begins is kept whole.

use super::room::RoomForKept;
use super::units::Units;

pub fn select(units: &Units, room: RoomForKept) -> Vec<bool> {
    let mut stays: Vec<bool> = units.all.iter().map(|unit| unit.fixed).collect();
    let mut tokens = units.fixed_tokens();
    extend_back(units, room, &mut stays, &mut tokens);
    stays
}

/// Takes units in from the end back, over those that stay anyway, until one does not fit.
pub(super) fn extend_back(units: &Units, room: RoomForKept, stays: &mut [bool], tokens: &mut u64) {
    for (unit, stays) in units.all.iter().zip(stays).rev().filter(|(_, stays)| !**stays) {
        let whole = *tokens + unit.tokens;
        let newest = unit.items.clone().next_back().and_then(|item| units.sizes.get(item)).copied().unwrap_or(0);
        // A window that begins inside of a unit is widened to the whole of it.
        let begins_inside = *tokens + newest <= room.target && whole <= room.limit;
        if whole > room.target && !begins_inside {
            return;
        }
        *stays = true;
        *tokens = whole;
        if whole > room.target {
            return;
        }
    }
}
