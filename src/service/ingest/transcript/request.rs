//! A posted transcript, and what posting it did.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::json;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::CompactionRef;
use crate::service::core::error::Result;
use crate::service::core::offload::{offload, size};
use crate::service::ingest::append::{self, AppendedEntry, Warning, in_order};

/// A whole transcript, and what goes with it. `None` leaves a field, `Some(None)` clears it.
#[derive(Debug, Clone)]
pub struct PutTranscript {
    pub format: Format,
    pub items: Vec<Box<RawValue>>,
    pub system: Option<Option<Box<RawValue>>>,
    pub tools: Option<Option<Box<RawValue>>>,
    /// The provider's own usage object for the newest answer, where that is new.
    pub usage: Option<Value>,
}

/// What posting a transcript did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Put {
    /// Entries that were stored now.
    pub appended: usize,
    /// Posted items that were not: stored already, or this service's own words. `matched + appended` are all posted.
    pub matched: usize,
    /// The posted history departs from the stored one, or ends before it: the leaf went to another branch or back.
    pub forked: bool,
    pub leaf_id: Option<Uuid>,
    pub snapshot: Snapshot,
    /// The compaction that this call started, if any.
    pub compaction: Option<CompactionRef>,
    /// The entries stored now, in the order of the posted items.
    pub entries: Vec<AppendedEntry>,
    /// Where each of them was posted.
    #[serde(skip)]
    pub places: Vec<usize>,
    pub warnings: Vec<Warning>,
    /// The newest compaction on the path: its entry.
    #[serde(skip)]
    pub newest: Option<Uuid>,
    /// It changes what a compaction covers, so that its record is to be told again.
    #[serde(skip)]
    pub falls: bool,
}

impl Put {
    /// How large an answer this makes, about.
    pub fn bytes(&self) -> usize {
        append::bytes(&self.entries, &self.warnings)
    }
}

impl PutTranscript {
    /// The same with the parents of a file before their children, and where each item was posted where that is another
    /// place.
    pub(super) async fn parents_first(self) -> Result<(PutTranscript, Option<Vec<usize>>)> {
        if !self.format.has_tree() || self.items.len() < 2 {
            return Ok((self, None));
        }
        offload(size(&self.items), move || {
            let lines: std::result::Result<Vec<Value>, _> =
                self.items.iter().map(|raw| json::parse_lenient(raw.get())).collect();
            // What is no JSON is refused where it is read.
            let order = lines.ok().and_then(|lines| format::parents_first(self.format, &lines));
            let items = in_order(self.items, order.as_deref());
            (PutTranscript { items, ..self }, order)
        })
        .await
    }
}

impl Put {
    /// The same about items of which each was posted at its member of `places`.
    pub(super) fn at_posted_places(mut self, places: &[usize]) -> Put {
        for warning in &mut self.warnings {
            warning.pointer = at_posted_place(&warning.pointer, places);
        }
        let posted = |place: &usize| places.get(*place).copied().unwrap_or(*place);
        let mut entries: Vec<_> = self.places.iter().map(posted).zip(self.entries).collect();
        entries.sort_by_key(|(place, _)| *place);
        (self.places, self.entries) = entries.into_iter().unzip();
        self
    }
}

/// A pointer to an item, as to the one that was posted.
pub(super) fn at_posted_place(pointer: &str, places: &[usize]) -> String {
    let posted = || {
        let rest = pointer.strip_prefix("/items/")?;
        let index = rest.split('/').next()?;
        let place = places.get(index.parse::<usize>().ok()?)?;
        Some(format!("/items/{place}{}", rest.strip_prefix(index)?))
    };
    posted().unwrap_or_else(|| pointer.to_owned())
}
