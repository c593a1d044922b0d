//! Messages of a view that a counting strategy chooses from.

use std::collections::HashMap;

use super::clues::Clues;
use super::room::RoomForKept;
use crate::context::view::NewestCompaction;
use crate::model::entry::EntryMeta;
use crate::settings::Settings;

/// A message of the present view: its place on the path and the tokens it is shown with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownMessage {
    pub index: usize,
    pub tokens: u64,
}

/// Messages that a counting strategy chooses from, and what it goes by.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    pub path: &'a [EntryMeta],
    pub newest: Option<NewestCompaction<'a>>,
    /// The messages that the model sees, in order.
    pub items: &'a [ShownMessage],
    pub settings: &'a Settings,
    pub room: RoomForKept,
    /// By place on the path; only `smart` asks for them.
    pub clues: &'a HashMap<usize, Clues>,
}
