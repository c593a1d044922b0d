//! Reading of what a record is written from: the stored messages of the path, of a very long one the first and the newest.

use std::collections::HashSet;

use uuid::Uuid;

use crate::domain::model::message::{Message, Role};
use crate::domain::model::record_numbers::{NumberMarks, RecordNumbers};
use crate::domain::model::user_text::attributed;
use crate::domain::record::{RecordPlace, RecordSource, without_given};
use crate::domain::redaction::Redaction;
use crate::service::compaction::plan::{PlannedCompaction, RunningPlace};
use crate::service::core::error::Result;
use crate::service::path::entries::message_of;
use crate::store::entries::StoredEntry;

/// The entries of a path, on their way past.
pub(crate) struct RecordReading {
    /// The depth of the first entry that stays behind the summary.
    end: i64,
    /// Entries that stay as they are.
    stay: HashSet<Uuid>,
    running: Vec<Uuid>,
    agents: Vec<String>,
    redaction: Redaction,
    /// What an earlier compaction knows of the numbers, until the reading is there.
    known: Option<RecordNumbers>,
    marks: NumberMarks,
    source: RecordSource,
}

impl RecordReading {
    /// `None`: nothing is replaced.
    pub(crate) fn of(planned: &PlannedCompaction) -> Option<RecordReading> {
        let plan = planned.replaces()?;
        let heads = &planned.loaded.heads;
        let end = heads.get(plan.first_kept).map_or(i64::MAX, |head| head.depth);
        let known = planned.loaded.record().and_then(|record| record.numbers);
        let stay = plan.anchors.iter().chain(&plan.kept);
        let redaction = Redaction::of(&planned.settings.redact);
        let given = planned.given().map(|notes| redaction.redact(&notes, None).into_owned());
        Some(RecordReading {
            end,
            stay: stay.filter_map(|index| heads.get(*index)).map(|head| head.id).collect(),
            running: match planned.running() {
                Some(RunningPlace::At(row)) => {
                    row.iter().filter_map(|index| heads.get(*index)).map(|head| head.id).collect()
                }
                Some(RunningPlace::Carried(running)) => vec![running.entry_id],
                Some(RunningPlace::Stands(_)) | None => Vec::new(),
            },
            agents: planned.settings.agents.clone(),
            known: known.filter(|known| known.depth < end),
            marks: planned.loaded.record().map(|record| record.marks.clone()).unwrap_or_default(),
            source: RecordSource::default().with_given(given).with_redaction(redaction.clone()),
            redaction,
        })
    }

    /// The depths of the messages on the path.
    pub(crate) fn ranges(&self) -> Vec<(i64, i64)> {
        RecordSource::ranges(self.known, self.end)
    }

    /// Takes in the next entry, in path order.
    pub(crate) fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        let head = &stored.entry.head;
        if let Some(known) = self.known.filter(|known| head.depth >= known.depth) {
            self.source.skip_to(known, &self.marks);
            self.known = None;
        }
        let bytes = stored.entry.item.len();
        if let Some(notes) = of_handle(stored, &self.redaction) {
            self.source.take_before(notes, (RecordPlace::Told, None), head.depth, bytes);
        }
        let Some(message) = said(stored, &self.agents)? else { return Ok(()) };
        if head.depth >= self.end {
            self.source.take_behind(message, Some(head.id));
            return Ok(());
        }
        let place = match () {
            () if self.stay.contains(&head.id) => RecordPlace::Kept,
            () if self.running.contains(&head.id) => RecordPlace::Running,
            () => RecordPlace::Told,
        };
        self.source.take_before(message, (place, Some(head.id)), head.depth, bytes);
        Ok(())
    }

    pub(crate) fn finish(self) -> RecordSource {
        self.source
    }
}

/// What a handle stands for: the originals are not here.
pub(crate) fn of_handle(stored: &StoredEntry, redaction: &Redaction) -> Option<Message> {
    let record = stored.handle()?;
    let told = record.summary_body.as_ref().or(record.summary.as_ref())?;
    // Those it carries are quoted by themselves.
    let told = if record.given.is_some() { without_given(told) } else { told.clone() };
    Some(Message::text(Role::CompactionSummary, redaction.redact(&told, None)))
}

/// The message of an entry as a record's source takes it, which redacts it by its number.
pub(crate) fn said(stored: &StoredEntry, agents: &[String]) -> Result<Option<Message>> {
    if !stored.entry.head.is_visible() {
        return Ok(None);
    }
    Ok(message_of(stored)?.map(|message| attributed(message, agents)))
}
