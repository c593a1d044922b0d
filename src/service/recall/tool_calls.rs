//! The ledger of tool calls and files: every call on the path, however much was compacted.

mod answers;
mod detail;
pub(super) mod numbers;
mod original;
mod visible;

use std::collections::{BTreeMap, HashMap};

use futures::TryStreamExt;
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::model::call_end::CallEnd;
use crate::domain::model::compaction::{ElidedPart, SessionFiles};
use crate::domain::model::message::{CallKind, Message};
use crate::domain::model::shape::CallRef;
use crate::domain::settings::FileTool;
use crate::domain::summary::files::{FileOps, FileTable, OpenFile};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::offload::aside;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::batches;
use crate::service::path::entries::message_of;
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Segment};
use crate::store::tool_calls::FoundCall;
use answers::CallPosition;
use visible::Visible;

pub(super) use detail::secrets_kept_from;
pub use detail::{RecalledItem, ToolCallDetail, UserMessageDetail};

/// A page ends where the entries on it have this many bytes.
const PAGE_BYTES: usize = 4 << 20;

/// One call of the ledger. `status` says what the protocol shows of its end: `returned`, `failed` (an error flag, an exit
/// code, a status field or a status of HTTP says so), `refused` (it was not let run), `open` (no result yet). That a call
/// worked is never known; its result says more. `kind` is `server` where the provider ran it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolCallRow {
    pub tool_call_id: String,
    pub name: String,
    #[schema(value_type = Value)]
    pub arguments: Value,
    pub kind: CallKind,
    pub status: CallEnd,
    pub entry_id: Uuid,
    pub result_entry_id: Option<Uuid>,
    /// The result is shown elided in the context at this leaf, or not shown at all; or the arguments are shown
    /// shortened. They are whole here.
    pub elided: bool,
}

impl Queries {
    /// Every call on the leaf's path in order; a cursor is the place of the next one.
    pub async fn tool_calls(&self, tenant: Tenant, session_id: Uuid, page: PageRequest) -> Result<Page<ToolCallRow>> {
        let from = page.after.as_deref().map_or(Ok((0, 0)), read_cursor)?;
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let path = path::segments(&mut connection, tenant.0, head.leaf(), head.is_plain()).await?;
        let (entries, next) = next_calls(&mut connection, tenant, &path, from, page.limit).await?;
        let calls: Vec<(&str, CallPosition)> =
            calls_of(&entries).map(|(place, call)| (call.id.as_str(), place)).collect();
        let answers = answers::of(&mut connection, tenant, &path, &calls).await?;
        let visible = Visible::load(&mut connection, tenant, &head, &path).await?;
        drop(connection);
        let write = move || rows(&entries, &answers, &visible);
        let items = aside(write).await??;
        Ok(Page { items, next_cursor: next.map(|(depth, call)| format!("{depth}.{call}")) })
    }

    /// The files that the calls on the whole path read, changed and named.
    pub async fn files(&self, tenant: Tenant, session_id: Uuid) -> Result<SessionFiles> {
        let head = self.heads.read(&self.pool, tenant, session_id).await?;
        let mut reader = self.long_reads.reader(tenant, head.row.leaf_depth).await?;
        let path = path::segments(reader.on()?, tenant.0, head.leaf(), head.is_plain()).await?;
        let files =
            Files { table: head.settings.file_tools.clone(), ops: FileOps::default(), open_file: OpenFile::default() };
        let files = batches::fold_calls(reader.on()?, tenant, &path, files, Files::take).await?;
        reader.done();
        Ok(files.ops.session_files())
    }
}

/// The files of a path, on its way past.
struct Files {
    table: BTreeMap<String, FileTool>,
    ops: FileOps,
    open_file: OpenFile,
}

impl Files {
    fn take(&mut self, stored: &StoredEntry) -> Result<()> {
        if let Some(message) = message_of(stored)? {
            self.ops.note(&message, FileTable::new(&self.table), &mut self.open_file);
        }
        Ok(())
    }
}

/// An entry with calls, and which of them are asked about.
struct CallEntry {
    stored: StoredEntry,
    calls: std::ops::Range<usize>,
}

impl CallEntry {
    fn new(stored: StoredEntry) -> CallEntry {
        CallEntry { calls: 0..stored.entry.head.shape.calls.len(), stored }
    }
}

/// The next calls of a path, and where those after them begin. At least one entry, where there is one, whatever its size.
async fn next_calls(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    (depth, call): CallPosition,
    limit: i64,
) -> Result<(Vec<CallEntry>, Option<CallPosition>)> {
    let mut room = usize::try_from(limit).unwrap_or(usize::MAX);
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for portion in path::portions(&path::clip(path, &[(depth, i64::MAX)])) {
        let mut found = entries::with_calls(&mut *connection, tenant.0, &portion, Some(limit.saturating_add(1)));
        while let Some(stored) = found.try_next().await? {
            let mut entry = CallEntry::new(stored);
            let at = entry.stored.entry.head.depth;
            if at == depth {
                entry.calls.start = call.min(entry.calls.end);
            }
            let size = entry.stored.entry.item.len();
            if room == 0 || (bytes + size > PAGE_BYTES && bytes > 0) {
                return Ok((entries, Some((at, entry.calls.start))));
            }
            let rest = entry.calls.start + room;
            if rest < entry.calls.end {
                entry.calls.end = rest;
                entries.push(entry);
                return Ok((entries, Some((at, rest))));
            }
            room -= entry.calls.len();
            bytes += size;
            entries.push(entry);
        }
    }
    Ok((entries, None))
}

fn read_cursor(text: &str) -> Result<CallPosition> {
    let place = text.split_once('.').and_then(|(depth, call)| Some((depth.parse().ok()?, call.parse().ok()?)));
    let place = place.filter(|(depth, _)| *depth >= 0);
    place.ok_or_else(|| ServiceError::invalid("/after", "is no cursor that a list handed out"))
}

fn calls_of(entries: &[CallEntry]) -> impl Iterator<Item = (CallPosition, &CallRef)> {
    entries.iter().flat_map(|entry| {
        let head = &entry.stored.entry.head;
        entry.calls.clone().filter_map(|call| Some(((head.depth, call), head.shape.calls.get(call)?)))
    })
}

fn rows(
    entries: &[CallEntry],
    answers: &HashMap<CallPosition, FoundCall>,
    visible: &Visible,
) -> Result<Vec<ToolCallRow>> {
    let mut rows = Vec::new();
    for entry in entries {
        let Some(message) = message_of(&entry.stored)? else { continue };
        for (place, call) in calls_of(std::slice::from_ref(entry)) {
            rows.push(row(&entry.stored, (place, call), &message, answers.get(&place), visible));
        }
    }
    Ok(rows)
}

fn row(
    stored: &StoredEntry,
    (place, call): (CallPosition, &CallRef),
    message: &Message,
    answer: Option<&FoundCall>,
    visible: &Visible,
) -> ToolCallRow {
    let head = &stored.entry.head;
    let is_hidden = |answer: &FoundCall| {
        !(answer.is_visible() && visible.shows(answer.depth))
            || visible.shortens(answer.entry_id, &call.id, ElidedPart::Result)
    };
    let (kind, arguments) = message
        .tool_calls()
        .nth(place.1)
        .map_or((CallKind::default(), Value::Null), |call| (call.kind, call.arguments.clone()));
    ToolCallRow {
        tool_call_id: call.id.clone(),
        name: call.name.clone(),
        arguments,
        kind,
        status: answer.map_or(CallEnd::Open, FoundCall::end),
        entry_id: head.id,
        result_entry_id: answer.map(|answer| answer.entry_id),
        elided: answer.is_some_and(is_hidden)
            || (visible.shows(head.depth) && visible.shortens(head.id, &call.id, ElidedPart::Arguments)),
    }
}
