//! What is posted, read; and the part of what is stored that it has to be compared with.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::PutTranscript;
use crate::domain::compaction::CompactionRecord;
use crate::domain::echo::{Said, is_own, same_text};
use crate::domain::entry::{EntryHead, EntryType};
use crate::domain::format::{self, Format};
use crate::domain::json;
use crate::domain::message::Role;
use crate::domain::summary::framing;
use crate::domain::view::{NewestCompaction, ViewItem, plan_view};
use crate::service::error::{FieldError, Result, ServiceError};
use crate::service::head::Head;
use crate::service::history::message_of;
use crate::service::state::{Service, Tenant};
use crate::service::view::{self, Loaded, Read, Standpoint};
use crate::store::entries;

/// The posted items as they were understood, by place.
pub struct Posted {
    /// `None`: on another branch of a pi file than its last entry.
    pub said: Vec<Option<Said>>,
}

/// The stored side: what stands before the summary that the posted transcript holds, and what it is to say after it.
pub struct Basis {
    pub loaded: Loaded,
    /// Places in `loaded`; all before the posted summary.
    pub before: Vec<usize>,
    /// Places in `loaded`, from the summary or the root on.
    pub after: Vec<usize>,
    /// The posted item that is the summary.
    pub summary: Option<usize>,
}

impl Posted {
    pub async fn read(put: &Arc<PutTranscript>) -> Result<Posted> {
        let put = Arc::clone(put);
        let read = tokio::task::spawn_blocking(move || Posted::of(&put));
        read.await.map_err(|error| ServiceError::Internal(error.into()))?
    }

    fn of(put: &PutTranscript) -> Result<Posted> {
        let mut errors = Vec::new();
        let mut said = Vec::with_capacity(put.items.len());
        for (n, raw) in put.items.iter().enumerate() {
            match format::read(put.format, raw.get()) {
                Ok(item) => said.push(Some(match item.message.filter(|_| item.kind.holds_message()) {
                    Some(message) => Said::Message(message),
                    None => Said::Nothing(raw.get().to_owned()),
                })),
                Err(error) => {
                    errors.push(FieldError { pointer: format!("/items/{n}{}", error.pointer), detail: error.detail });
                }
            }
        }
        if !errors.is_empty() {
            return Err(ServiceError::Invalid(errors));
        }
        if put.format == Format::Pi {
            leave_other_branches(put, &mut said);
        }
        Ok(Posted { said })
    }

    pub fn holds_summary(&self) -> bool {
        self.said.iter().any(|said| text(said).is_some_and(|text| framing::is_framed(&text)))
    }

    /// The last item that is one of these summaries.
    fn place_of(&self, is_one: impl Fn(&str) -> bool) -> Option<usize> {
        self.said.iter().rposition(|said| text(said).is_some_and(|text| is_one(&text)))
    }
}

/// The words of a message that may be a summary: the agent itself may say the same, but never speaks it.
fn text(said: &Option<Said>) -> Option<String> {
    match said {
        Some(Said::Message(message)) if message.role != Role::Assistant => Some(message.plain_text()),
        _ => None,
    }
}

/// A file without ids is one path; else the parents of its last entry are.
fn leave_other_branches(put: &PutTranscript, said: &mut [Option<Said>]) {
    let items: Vec<Value> = put.items.iter().map(|raw| json::parse_lenient(raw.get()).unwrap_or_default()).collect();
    let id = |item: &Value| item.get("id").and_then(Value::as_str).map(str::to_owned);
    let is_header = |item: &Value| item.get("type").is_some_and(|kind| kind == "session");
    if items.iter().any(|item| !is_header(item) && (id(item).is_none() || item.get("parentId").is_none())) {
        return;
    }
    let mut wanted = items.last().and_then(id);
    let known: HashSet<String> = items.iter().filter_map(id).collect();
    for (item, said) in items.iter().zip(said.iter_mut()).rev() {
        if is_header(item) {
            continue;
        }
        if wanted.is_some() && id(item) == wanted {
            wanted = item.get("parentId").and_then(Value::as_str).map(str::to_owned);
            // What was put in has a parent that is not there: the entry before it is meant.
            if wanted.as_ref().is_some_and(|parent| !known.contains(parent)) {
                return;
            }
        } else {
            *said = None;
        }
    }
}

impl Service {
    /// Reads what the posted transcript is compared with: the view, where it holds that view's summary, else the path.
    pub(super) async fn basis(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        posted: &Posted,
    ) -> Result<Basis> {
        let from = Standpoint { leaf: head.leaf(), plain: head.is_plain(), newest: head.state.newest.clone() };
        if posted.holds_summary() && from.newest.is_some() {
            let loaded = view::load_view(connection, tenant, &from, Read::Items).await?;
            if let Some(basis) = Basis::of_newest(loaded, posted) {
                return Ok(basis);
            }
        }
        let segments = crate::store::path::segments(connection, tenant.0, from.leaf, from.plain).await?;
        let stored = self.inner.paths.load(connection, tenant, head.settings.estimator, &segments).await?;
        let newest = view::newest_of(&stored);
        let loaded = Loaded::new(stored, newest);
        let on_path: Vec<&CompactionRecord> =
            loaded.stored.iter().filter_map(|stored| stored.record.as_deref()).collect();
        if let Some((record, place)) = held(on_path.into_iter().rev(), posted) {
            return Ok(Basis::with(record.clone(), place, loaded));
        }
        if let Some(place) = posted.place_of(framing::is_framed) {
            // The leaf may have left the branch that was compacted.
            let all = entries::heads_by_seq(&mut *connection, tenant.0, head.session_id).await?;
            let records: Vec<&CompactionRecord> =
                all.iter().rev().filter_map(|stored| stored.record.as_deref()).collect();
            let is_here = |record: &&CompactionRecord| loaded.heads.iter().any(|head| is_first_kept(head, record));
            if let Some((record, place)) = held(records.into_iter().filter(is_here), posted) {
                return Ok(Basis::with(record.clone(), place, loaded));
            }
            let detail = "is a summary that this session's history does not hold; post the raw transcript";
            return Err(ServiceError::invalid(format!("/items/{place}"), detail));
        }
        let after = (0..loaded.stored.len()).filter(|at| loaded.heads[*at].kind != EntryType::Compaction).collect();
        Ok(Basis { before: Vec::new(), after, summary: None, loaded })
    }
}

/// The first of these compactions whose summary is posted, and where. Any may be the one that the client's context was
/// built with.
fn held<'r>(
    mut records: impl Iterator<Item = &'r CompactionRecord>,
    posted: &Posted,
) -> Option<(&'r CompactionRecord, usize)> {
    records.find_map(|record| {
        let summary = record.summary.as_deref().filter(|summary| !summary.trim().is_empty())?;
        Some((record, posted.place_of(|text| same_text(text, summary))?))
    })
}

fn is_first_kept(head: &EntryHead, record: &CompactionRecord) -> bool {
    Uuid::parse_str(&record.first_kept_entry_id).is_ok_and(|id| id == head.id)
}

impl Basis {
    fn of_newest(loaded: Loaded, posted: &Posted) -> Option<Basis> {
        let (_, place) = held(loaded.record().into_iter(), posted)?;
        let (before, after) = halves(&loaded.view());
        Some(Basis { before, after, summary: Some(place), loaded })
    }

    /// What a context says that was built with this compaction, whatever came since. An imported compaction names its
    /// first kept entry by the id that it came with.
    fn with(record: CompactionRecord, place: usize, loaded: Loaded) -> Basis {
        let by_source =
            |at: &usize| loaded.stored[*at].entry.source_id.as_deref() == Some(record.first_kept_entry_id.as_str());
        let places = 0..loaded.heads.len();
        let first_kept = places
            .clone()
            .find(|at| is_first_kept(&loaded.heads[*at], &record))
            .or_else(|| places.clone().rev().find(by_source));
        let own = loaded.stored.iter().rposition(|stored| stored.record.as_deref() == Some(&record));
        let index = if first_kept.is_some() { loaded.heads.len() } else { own.unwrap_or(loaded.heads.len()) };
        let view = plan_view(&loaded.heads, Some(NewestCompaction { index, record: &record, first_kept }));
        let (before, after) = halves(&view);
        Basis { before, after, summary: Some(place), loaded }
    }

    /// What the stored entry says.
    pub fn said(&self, at: usize) -> Result<Said> {
        let stored = &self.loaded.stored[at];
        let message = if stored.entry.head.is_visible() { message_of(stored)? } else { None };
        Ok(message.map_or_else(|| Said::Nothing(stored.entry.item.clone()), Said::Message))
    }
}

/// The entries before and behind the summary.
fn halves(view: &[ViewItem]) -> (Vec<usize>, Vec<usize>) {
    let at = view.iter().position(|item| matches!(item, ViewItem::Summary { .. })).unwrap_or(0);
    let indexes = |part: &[ViewItem]| {
        let index = |item: &ViewItem| match item {
            ViewItem::Entry { index, .. } => Some(*index),
            ViewItem::Summary { .. } => None,
        };
        part.iter().filter_map(index).collect()
    };
    (indexes(&view[..at]), indexes(&view[at..]))
}

/// Whether an item is only this service's.
pub fn is_ours(said: &Said) -> bool {
    matches!(said, Said::Message(message) if is_own(message))
}
