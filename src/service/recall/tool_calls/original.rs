//! The original behind a placeholder.
//!
//! A client may append its own context, and then a result's only entry on the path says `elided`, `duplicate` or
//! `truncated`. The words stand elsewhere in the session: in an earlier entry, on another branch, under another call id.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::context::elision::arguments as shortened;
use crate::domain::context::placeholder::{self, Handle};
use crate::domain::model::message::ToolResult;
use crate::domain::transcript::is_id;
use crate::service::core::error::Result;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::message_of;
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Segment, join};
use crate::store::tool_calls;

/// Placeholders that are followed one to the next.
const MAX_STEPS: usize = 16;

/// `result`: none where only placeholders were ever stored. `entry_id`: where it was found, if not where it was looked for.
pub struct OriginalResult {
    pub result: Option<ToolResult>,
    pub entry_id: Option<Uuid>,
}

/// The result that `stored`, the result of a call in the entry `entry_id`, stands for: itself, if it is no placeholder.
pub async fn result(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    call_id: &str,
    entry_id: Uuid,
    stored: ToolResult,
) -> Result<OriginalResult> {
    let text = stored.plain_text();
    let Some(handle) = placeholder::handle(&text, |id| is_id(call_id, id)) else {
        return Ok(OriginalResult { result: Some(stored), entry_id: None });
    };
    let mut search = OriginalSearch::default();
    search.look_at(call_id);
    search.follow(&handle);
    for _ in 0..MAX_STEPS {
        let Some(id) = search.next.pop_front() else { break };
        let mut whole: Vec<FoundResult> = Vec::new();
        for candidate in results(connection, tenant, session_id, &id).await? {
            match placeholder::handle(&candidate.result.plain_text(), |named| is_id(&id, named)) {
                Some(further) => search.follow(&further),
                None if candidate.entry_id != entry_id => whole.push(candidate),
                None => {}
            }
        }
        // Ids are used again by some agents: the size says which one was meant, and the newest is the likeliest.
        let meant = |one: &&FoundResult| handle.original_tokens == Some(one.tokens);
        if let Some(best) = whole.iter().rev().find(meant).or(whole.last()) {
            return Ok(OriginalResult { result: Some(best.result.clone()), entry_id: Some(best.entry_id) });
        }
    }
    // Head and tail are words of the tool, and a tool may also have read such a line in a file.
    let result = handle.original_tokens.is_none().then_some(stored);
    Ok(OriginalResult { result, entry_id: None })
}

/// The newest whole arguments of a call of that id, where one entry has them.
pub async fn arguments(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    call_id: &str,
) -> Result<Option<Value>> {
    let mut found = None;
    for stored in occurrences(connection, tenant, session_id, call_id, false).await? {
        let Some(message) = message_of(&stored)? else { continue };
        let calls = message.tool_calls().filter(|call| call.id == call_id);
        let whole = calls.filter(|call| !shortened::are_shortened(&call.arguments, call_id));
        found = whole.last().map(|call| call.arguments.clone()).or(found);
    }
    Ok(found)
}

/// Ids still to look under; each once.
#[derive(Default)]
struct OriginalSearch {
    next: VecDeque<String>,
    seen: HashSet<String>,
}

impl OriginalSearch {
    fn look_at(&mut self, call_id: &str) {
        if self.seen.insert(call_id.to_owned()) {
            self.next.push_back(call_id.to_owned());
        }
    }

    fn follow(&mut self, handle: &Handle<'_>) {
        self.look_at(handle.call_id);
        if let Some(same_as) = handle.same_as {
            self.look_at(same_as);
        }
    }
}

struct FoundResult {
    entry_id: Uuid,
    tokens: u32,
    result: ToolResult,
}

/// Every result of that call id, oldest first.
async fn results(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    call_id: &str,
) -> Result<Vec<FoundResult>> {
    let mut found = Vec::new();
    for stored in occurrences(connection, tenant, session_id, call_id, true).await? {
        let Some(message) = message_of(&stored)? else { continue };
        let head = &stored.entry.head;
        for (result, known) in message.tool_results().zip(&head.shape.results) {
            if known.call_id == call_id {
                found.push(FoundResult { entry_id: head.id, tokens: known.tokens, result: result.clone() });
            }
        }
    }
    Ok(found)
}

/// The entries of the session in which a call id occurs, on any branch and in what a fork shares, oldest first.
async fn occurrences(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    call_id: &str,
    is_result: bool,
) -> Result<Vec<StoredEntry>> {
    let sessions = path::sessions(connection, tenant.0, session_id).await?;
    let places = tool_calls::occurrences(&mut *connection, tenant.0, &sessions, call_id).await?;
    let shared = path::shared_history(connection, tenant.0, session_id).await?;
    let mut segments: Vec<Segment> = places
        .into_iter()
        .filter(|(_, _, _, found)| *found == is_result)
        .map(|(session_id, branch, depth, _)| Segment { session_id, branch, from: depth, to: depth })
        .filter(|place| {
            place.session_id == session_id || path::holds(&shared, place.session_id, place.branch, place.from)
        })
        .collect();
    segments.dedup();
    let mut stored = entries::whole(connection, tenant.0, &join(segments)).await?;
    stored.sort_by_key(|stored| stored.entry.head.seq);
    Ok(stored)
}
