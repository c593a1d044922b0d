//! The steps of a view that are to be paired.

use crate::context::view::ViewItem;
use crate::model::compaction::Elision;
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::links::Links;
use crate::model::message::Role;
use crate::model::shape::{Shape, ShapeKind};

/// One step of the view, with what pairing needs of its entry.
pub(super) struct ViewStep<'v> {
    /// Place in the path.
    pub(super) index: usize,
    pub(super) seq: i64,
    pub(super) role: Role,
    pub(super) shape: &'v Shape,
    pub(super) elisions: &'v [Elision],
    /// Its text is the service's, not an item's: a compaction or a chapter.
    pub(super) is_summary: bool,
}

static NO_SHAPE: Shape = Shape {
    calls: Vec::new(),
    results: Vec::new(),
    needs_repair: false,
    mixed: false,
    leads: false,
    checkpoint: false,
    chapter_task: false,
    by_harness: false,
    begins_by_harness: false,
    holds_block: false,
    reply_form: 0,
    speaker: None,
    opening: 0,
    links: Links::NONE,
    in_chapter: false,
};

impl<'v> ViewStep<'v> {
    pub(super) fn of(item: &'v ViewItem, path: &'v [EntryMeta]) -> Option<ViewStep<'v>> {
        match item {
            ViewItem::Summary { compaction } => Some(ViewStep {
                index: *compaction,
                seq: path.get(*compaction)?.seq,
                role: Role::CompactionSummary,
                shape: &NO_SHAPE,
                elisions: &[],
                is_summary: true,
            }),
            ViewItem::Entry { index, elisions } => {
                let head = path.get(*index)?;
                // An entry without a role is metadata that a format of its own carries along.
                let role = head.role.unwrap_or(Role::Custom);
                let is_summary = head.kind == EntryType::Chapter;
                Some(ViewStep { index: *index, seq: head.seq, role, shape: &head.shape, elisions, is_summary })
            }
        }
    }

    pub(super) fn is_assistant(&self) -> bool {
        self.role == Role::Assistant || self.shape.calls.iter().any(|call| call.kind == ShapeKind::Function)
    }

    pub(super) fn has_results(&self) -> bool {
        self.shape.results.iter().any(|result| result.kind == ShapeKind::Function)
    }

    /// Holds the call or the result of a tool that the provider ran.
    pub(super) fn has_server_half(&self) -> bool {
        self.server_calls().next().is_some() || self.server_results().next().is_some()
    }

    /// The ids of the calls of tools that the provider ran.
    pub(super) fn server_calls(&self) -> impl Iterator<Item = &'v str> {
        let calls = self.shape.calls.iter().filter(|call| call.kind == ShapeKind::Server);
        calls.map(|call| call.id.as_str())
    }

    /// The ids of the calls that results of such tools answer.
    pub(super) fn server_results(&self) -> impl Iterator<Item = &'v str> {
        let results = self.shape.results.iter().filter(|result| result.kind == ShapeKind::Server);
        results.map(|result| result.call_id.as_str())
    }

    /// Carries results for calls of earlier messages.
    pub(super) fn answers(&self) -> bool {
        !self.is_assistant() && self.has_results()
    }
}
