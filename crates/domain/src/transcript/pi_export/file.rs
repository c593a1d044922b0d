//! A pi file in the making, and what its entries have to know of each other.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::ids::PiIds;

/// The file's header, where no header was imported.
pub struct Origin {
    pub session_id: Uuid,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

const MOST_LOOKS: usize = 10_000_000;

/// State of a pi file while it is written.
pub(super) struct PiFile {
    pub(super) ids: PiIds,
    pub(super) origin: Origin,
    pub(super) header: Option<String>,
    /// The entry that was found to be the header before anything was written.
    pub(super) header_entry: Option<Uuid>,
    /// Names of tools by call, and whose call it is: some agents use an id again.
    pub(super) tools: HashMap<String, CallNames>,
    /// Entries that may yet be looked at for the calls of ids that were used again: a walk up the path for each result of a
    /// long session would not end.
    pub(super) looks_left: Cell<usize>,
    pub(super) parents: HashMap<Uuid, Uuid>,
    pub(super) anchors: Anchors,
    /// Texts of system messages by entry, once they have passed. pi shows none from before a compaction, but the one
    /// that the compaction itself carries.
    pub(super) systems: HashMap<Uuid, String>,
    pub(super) labels: Labels,
}

/// The names of the tools that calls of one id are for.
#[derive(Default)]
pub(super) struct CallNames {
    pub(super) by_caller: HashMap<Uuid, String>,
    pub(super) last: String,
    pub(super) differ: bool,
}

impl CallNames {
    pub(super) fn add(&mut self, caller: Uuid, name: &str) {
        self.differ |= !self.by_caller.is_empty() && self.last != name;
        name.clone_into(&mut self.last);
        self.by_caller.insert(caller, name.to_owned());
    }
}

/// Entries that compactions keep word for word before their summary, as they pass.
#[derive(Default)]
pub(super) struct Anchors {
    pub(super) wanted: HashSet<Uuid>,
    pub(super) texts: HashMap<Uuid, String>,
}

/// Labels as the file's own entries give them, and as they should be.
#[derive(Default)]
pub(super) struct Labels {
    pub(super) given: HashMap<String, String>,
    pub(super) wanted: Vec<(Uuid, Option<String>)>,
}

impl PiFile {
    pub(super) fn new(origin: Origin) -> PiFile {
        PiFile {
            ids: PiIds::default(),
            origin,
            header: None,
            header_entry: None,
            tools: HashMap::new(),
            looks_left: Cell::new(MOST_LOOKS),
            parents: HashMap::new(),
            anchors: Anchors::default(),
            systems: HashMap::new(),
            labels: Labels::default(),
        }
    }
}
