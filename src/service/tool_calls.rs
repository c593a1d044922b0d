//! The ledger of tool calls and files: every call on the path, however much was compacted.

mod original;

use std::collections::{HashMap, HashSet, VecDeque};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::{Result, ServiceError};
use super::history::message_of;
use super::state::{Page, PageRequest, Service, Tenant};
use super::view::{self, Loaded, Read};
use crate::domain::compaction::{ElidedPart, FileLists};
use crate::domain::entry::EntryHead;
use crate::domain::files;
use crate::domain::mask::arguments;
use crate::domain::message::{Message, Role, ToolResult};
use crate::domain::shape::ShapeKind;
use crate::store::entries;
use crate::store::path::Segment;

/// One call of the ledger. `status`: `ok`, `error`, `open` (no result yet), `server` (run by the provider).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolCallRow {
    pub tool_call_id: String,
    pub name: String,
    #[schema(value_type = Value)]
    pub arguments: Value,
    pub status: &'static str,
    pub entry_id: Uuid,
    pub result_entry_id: Option<Uuid>,
    /// The result is shown elided in the context at this leaf, or not shown at all; or the arguments are shown
    /// shortened. They are whole here.
    pub elided: bool,
}

/// A call with its whole original result. What was stored as the echo of a placeholder is answered with what that stands for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolCallDetail {
    pub tool_call_id: String,
    pub name: String,
    #[schema(value_type = Value)]
    pub arguments: Value,
    pub status: &'static str,
    pub entry_id: Uuid,
    pub result_entry_id: Option<Uuid>,
    pub elided: bool,
    /// The result's content blocks in the native format; null while the call is open.
    #[schema(value_type = Option<Vec<Object>>)]
    pub result: Option<Value>,
    /// The text of the result; null while the call is open.
    pub result_text: Option<String>,
    /// Where the original was found, when not in `result_entry_id`.
    pub original_entry_id: Option<Uuid>,
    /// Only a placeholder was ever stored, so there is no original to answer with.
    pub original_missing: bool,
}

/// A call as the shapes of a path tell it: indexes into the path.
#[derive(Debug, Clone, Copy)]
struct Occurrence {
    call: usize,
    call_ordinal: usize,
    result: Option<(usize, usize)>,
}

impl Service {
    /// Every call on the leaf's path in order; a cursor is the number of calls before the page.
    pub async fn tool_calls(&self, tenant: Tenant, session_id: Uuid, page: PageRequest) -> Result<Page<ToolCallRow>> {
        let skip = usize::try_from(page.cursor_number()?.unwrap_or(0)).unwrap_or(0);
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let loaded = view::load_path(&mut connection, tenant, head.leaf(), head.is_plain(), Read::Heads).await?;
        let all = occurrences(&loaded.heads);
        let shown: Vec<Occurrence> = all.iter().skip(skip).take(limit).copied().collect();
        let segments = shown.iter().map(|found| segment_of(&loaded, found.call));
        let items = entries::whole(&mut *connection, tenant.0, &join(segments)).await?;
        drop(connection);
        let messages = items
            .iter()
            .map(|stored| Ok((stored.entry.head.id, message_of(stored)?)))
            .collect::<Result<std::collections::HashMap<Uuid, Option<Message>>>>()?;
        let visible = Visible::of(&loaded.folded());
        let rows = shown
            .iter()
            .filter_map(|found| {
                let message = messages.get(&loaded.heads[found.call].id)?.as_ref()?;
                Some(row(&loaded, found, message, &visible))
            })
            .collect();
        let next = skip + shown.len();
        Ok(Page { items: rows, next_cursor: (next < all.len()).then(|| next.to_string()) })
    }

    /// The newest call of that id on the leaf's path, with its whole result.
    pub async fn tool_call(&self, tenant: Tenant, session_id: Uuid, tool_call_id: &str) -> Result<ToolCallDetail> {
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let loaded = view::load_path(&mut connection, tenant, head.leaf(), head.is_plain(), Read::Heads).await?;
        let is_wanted =
            |found: &&Occurrence| loaded.heads[found.call].shape.calls[found.call_ordinal].id == tool_call_id;
        let all = occurrences(&loaded.heads);
        let found = all.iter().rev().find(is_wanted).ok_or(ServiceError::NotFound("tool call"))?;
        let mut segments = vec![segment_of(&loaded, found.call)];
        segments.extend(found.result.map(|(index, _)| segment_of(&loaded, index)));
        let items = entries::whole(&mut *connection, tenant.0, &join(segments)).await?;
        let message_at = |index: usize| -> Result<Option<Message>> {
            let id = loaded.heads[index].id;
            items.iter().find(|stored| stored.entry.head.id == id).map_or(Ok(None), message_of)
        };
        let call_message = message_at(found.call)?.ok_or(ServiceError::NotFound("tool call"))?;
        let result: Option<ToolResult> = match found.result {
            Some((index, ordinal)) => message_at(index)?.and_then(|m| m.tool_results().nth(ordinal).cloned()),
            None => None,
        };
        let mut row = row(&loaded, found, &call_message, &Visible::of(&loaded.folded()));
        let found = match (result, row.result_entry_id) {
            (Some(result), Some(entry_id)) => {
                Some(original::result(&mut connection, tenant, session_id, tool_call_id, entry_id, result).await?)
            }
            _ => None,
        };
        if arguments::are_shortened(&row.arguments, tool_call_id)
            && let Some(whole) = original::arguments(&mut connection, tenant, session_id, tool_call_id).await?
        {
            row.arguments = whole;
        }
        let (result, original_entry_id) = found.map_or((None, None), |found| (found.result, found.entry_id));
        Ok(ToolCallDetail {
            tool_call_id: row.tool_call_id,
            name: row.name,
            arguments: row.arguments,
            status: row.status,
            entry_id: row.entry_id,
            result_entry_id: row.result_entry_id,
            elided: row.elided,
            original_missing: row.result_entry_id.is_some() && result.is_none(),
            original_entry_id,
            result_text: result.as_ref().map(ToolResult::plain_text),
            result: result.and_then(|result| serde_json::to_value(result.content).ok()),
        })
    }

    /// The files that the calls on the whole path read and changed.
    pub async fn files(&self, tenant: Tenant, session_id: Uuid) -> Result<FileLists> {
        let mut connection = self.pool().acquire().await?;
        let head = self.head_on(&mut connection, tenant, session_id).await?;
        let loaded = view::load_path(&mut connection, tenant, head.leaf(), head.is_plain(), Read::Heads).await?;
        let segments = (0..loaded.heads.len())
            .filter(|index| !loaded.heads[*index].shape.calls.is_empty())
            .map(|index| segment_of(&loaded, index));
        let items = entries::whole(&mut *connection, tenant.0, &join(segments)).await?;
        drop(connection);
        let messages = items.iter().filter_map(|stored| message_of(stored).transpose()).collect::<Result<Vec<_>>>()?;
        let mut ops = files::FileOps::default();
        ops.collect(&messages, files::FileTable::new(&head.settings.file_tools));
        Ok(ops.lists())
    }
}

/// Pairs calls and results along a path, as a context does: a result answers the oldest open call of its id; a call of
/// a later answer ends the wait of earlier ones under its id.
fn occurrences(heads: &[EntryHead]) -> Vec<Occurrence> {
    let mut found: Vec<Occurrence> = Vec::new();
    let mut open: HashMap<&str, (usize, VecDeque<usize>)> = HashMap::new();
    let mut answers = 0;
    for (index, head) in heads.iter().enumerate() {
        answers += usize::from(head.is_visible() && head.role != Some(Role::Assistant));
        for (call_ordinal, call) in head.shape.calls.iter().enumerate() {
            let (answer, waiting) = open.entry(call.id.as_str()).or_default();
            if *answer != answers {
                (*answer, *waiting) = (answers, VecDeque::new());
            }
            waiting.push_back(found.len());
            found.push(Occurrence { call: index, call_ordinal, result: None });
        }
        for (ordinal, result) in head.shape.results.iter().enumerate() {
            let call = open.get_mut(result.call_id.as_str()).and_then(|(_, waiting)| waiting.pop_front());
            if let Some(occurrence) = call.and_then(|place| found.get_mut(place)) {
                occurrence.result = Some((index, ordinal));
            }
        }
    }
    found
}

/// What of a path the context shows.
struct Visible {
    entries: HashSet<Uuid>,
    elided: HashSet<(Uuid, String, ElidedPart)>,
}

impl Visible {
    fn of(loaded: &Loaded) -> Visible {
        use crate::domain::view::ViewItem;
        let mut visible = Visible { entries: HashSet::new(), elided: HashSet::new() };
        for item in loaded.view() {
            if let ViewItem::Entry { index, elisions } = item {
                visible.entries.insert(loaded.heads[index].id);
                let shorter = elisions.into_iter().map(|one| (one.entry_id, one.tool_call_id, one.part));
                visible.elided.extend(shorter);
            }
        }
        visible
    }

    fn hides(&self, entry_id: Uuid, call_id: &str) -> bool {
        !self.entries.contains(&entry_id) || self.shortens(entry_id, call_id, ElidedPart::Result)
    }

    fn shortens(&self, entry_id: Uuid, call_id: &str, part: ElidedPart) -> bool {
        self.elided.contains(&(entry_id, call_id.to_owned(), part))
    }
}

fn row(loaded: &Loaded, found: &Occurrence, message: &Message, visible: &Visible) -> ToolCallRow {
    let head = &loaded.heads[found.call];
    let call = &head.shape.calls[found.call_ordinal];
    let result = found.result.map(|(index, ordinal)| (&loaded.heads[index], ordinal));
    let status = match result {
        Some((head, ordinal)) if head.shape.results[ordinal].is_error => "error",
        Some(_) => "ok",
        None if call.kind == ShapeKind::Server => "server",
        None => "open",
    };
    let arguments = message.tool_calls().nth(found.call_ordinal).map(|call| call.arguments.clone());
    ToolCallRow {
        tool_call_id: call.id.clone(),
        name: call.name.clone(),
        arguments: arguments.unwrap_or(Value::Null),
        status,
        entry_id: head.id,
        result_entry_id: result.map(|(head, _)| head.id),
        elided: result.is_some_and(|(head, _)| visible.hides(head.id, &call.id))
            || visible.shortens(head.id, &call.id, ElidedPart::Arguments),
    }
}

fn segment_of(loaded: &Loaded, index: usize) -> Segment {
    let stored = &loaded.stored[index];
    let depth = stored.entry.head.depth;
    Segment { session_id: stored.session_id, branch: stored.branch, from: depth, to: depth }
}

/// Single entries of a path, in path order, neighbours joined into ranges.
pub(crate) fn join(segments: impl IntoIterator<Item = Segment>) -> Vec<Segment> {
    let mut joined: Vec<Segment> = Vec::new();
    for segment in segments {
        match joined.last_mut() {
            Some(last)
                if (last.session_id, last.branch) == (segment.session_id, segment.branch)
                    && (last.from..=last.to + 1).contains(&segment.from) =>
            {
                last.to = last.to.max(segment.to);
            }
            _ => joined.push(segment),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
