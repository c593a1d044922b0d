//! A pi file in the making, and what its entries have to know of each other.

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

/// State of a pi file while it is written.
pub(super) struct PiFile {
    pub(super) ids: PiIds,
    pub(super) origin: Origin,
    pub(super) header: Option<String>,
    /// The entry that was found to be the header before anything was written.
    pub(super) header_entry: Option<Uuid>,
    /// Names of tools by call, and whose call it is: some agents use an id again.
    pub(super) tools: HashMap<String, Vec<(Uuid, String)>>,
    pub(super) parents: HashMap<Uuid, Uuid>,
    pub(super) anchors: Anchors,
    /// Texts of system messages by entry, once they have passed. pi shows none from before a compaction, but the one
    /// that the compaction itself carries.
    pub(super) systems: HashMap<Uuid, String>,
    pub(super) labels: Labels,
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
            parents: HashMap::new(),
            anchors: Anchors::default(),
            systems: HashMap::new(),
            labels: Labels::default(),
        }
    }
}
