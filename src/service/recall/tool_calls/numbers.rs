//! Numbers of a record, led back to what they stand for.
//!
//! The beginning of a path never changes, so a number means the same on every path that goes on from it, and on every path
//! that a compaction is carried to. The newest compaction on a path marks where its numbers stand: a look-up counts on from
//! the last mark, so it costs what came since, however long the path is.

use futures::TryStreamExt;
use sqlx::PgConnection;
use uuid::Uuid;

use super::answers;
use crate::domain::model::message::{Block, Message};
use crate::domain::model::record_numbers::{NumberMarks, RecordNumber};
use crate::domain::model::user_text::{UserText, UserTextClassifier, attributed};
use crate::service::core::error::{Optional as _, Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::offload::aside;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::{message_of, path_of};
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Segment};
use crate::store::tool_calls;

/// Messages that are read together to see whose they are.
const AT_A_TIME: usize = 16;

/// A call on a path: its entry, and its place among the calls of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallOnPath {
    pub segment: Segment,
    pub nth: usize,
}

/// A message of the user's own, and its entry.
pub(super) struct NumberedMessage {
    pub stored: StoredEntry,
    pub message: Message,
}

impl Queries {
    /// The entry that a number of a compaction's record leads to.
    ///
    /// # Errors
    /// `NotFound`, `NumberNotFound`; the database's.
    pub async fn numbered_entry(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        compaction: Uuid,
        number: RecordNumber,
    ) -> Result<Uuid> {
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let path = path_of(&mut connection, tenant, &head, Some(compaction)).await?;
        let depth = path.last().map(|segment| segment.to);
        let marks = marks_at(&mut connection, tenant, &path, depth).await?;
        let place = match number {
            RecordNumber::Call(number) => call(&mut connection, tenant, &path, &marks, number).await?.segment,
            RecordNumber::User(number) => {
                let agents = head.settings.agents.as_slice();
                let found = message(&mut connection, tenant, &path, (&marks, agents), number).await?;
                return Ok(found.stored.entry.head.id);
            }
        };
        let found = entries::heads(&mut connection, tenant.0, &[place]).await?.pop();
        found.map(|stored| stored.entry.head.id).ok_or(ServiceError::NotFound("entry"))
    }
}

/// The entries that a number leads to: of a call its own and that of its result. Empty: it leads nowhere.
pub(in crate::service::recall) async fn entries_of(
    connection: &mut PgConnection,
    tenant: Tenant,
    head: &Head,
    number: RecordNumber,
) -> Result<Vec<(Segment, i64)>> {
    let path = path::segments(&mut *connection, tenant.0, head.leaf(), head.is_plain()).await?;
    let marks = marks_of(&mut *connection, tenant, &path, head).await?;
    let found = match number {
        RecordNumber::Call(number) => with_result(connection, tenant, &path, &marks, number).await,
        RecordNumber::User(number) => {
            let found = message(connection, tenant, &path, (&marks, head.settings.agents.as_slice()), number).await;
            found.map(|found| vec![place_of(&found.stored)])
        }
    };
    Ok(found.optional()?.unwrap_or_default())
}

async fn with_result(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    marks: &NumberMarks,
    number: u32,
) -> Result<Vec<(Segment, i64)>> {
    let CallOnPath { segment, nth } = call(&mut *connection, tenant, path, marks, number).await?;
    let Some(stored) = entries::heads(&mut *connection, tenant.0, &[segment]).await?.pop() else {
        return Ok(Vec::new());
    };
    let mut found = vec![place_of(&stored)];
    if let Some(called) = stored.entry.head.shape.calls.get(nth) {
        let place = (segment.from, nth);
        let answers = answers::of(connection, tenant, path, &[(called.id.as_str(), place)]).await?;
        found.extend(answers.get(&place).map(|answer| (answer.segment(), answer.seq)));
    }
    // Both may stand in one entry.
    found.dedup();
    Ok(found)
}

fn place_of(stored: &StoredEntry) -> (Segment, i64) {
    (segment_of(stored), stored.entry.head.seq)
}

fn segment_of(stored: &StoredEntry) -> Segment {
    let depth = stored.entry.head.depth;
    Segment { session_id: stored.session_id, branch: stored.branch, from: depth, to: depth }
}

/// What the newest compaction on a leaf's path knows of the numbers before it.
pub(super) async fn marks_of(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    head: &Head,
) -> Result<NumberMarks> {
    let depth = head.state.newest.as_ref().map(|newest| newest.depth);
    marks_at(connection, tenant, path, depth).await
}

async fn marks_at(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    depth: Option<i64>,
) -> Result<NumberMarks> {
    let Some(depth) = depth else { return Ok(NumberMarks::default()) };
    let stored = entries::heads(connection, tenant.0, &path::clip(path, &[(depth, depth)])).await?.pop();
    let Some(record) = stored.and_then(|stored| stored.record) else { return Ok(NumberMarks::default()) };
    let mut marks = record.marks;
    // One that was written before there were marks.
    if let Some(known) = record.numbers.filter(|_| marks.is_empty()) {
        marks.begin(known);
    }
    Ok(marks)
}

/// The n-th call of a path.
pub(super) async fn call(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    marks: &NumberMarks,
    number: u32,
) -> Result<CallOnPath> {
    let (mut last, from) = marks.call(number).map_or((0, 0), |(first, depth)| (first.saturating_sub(1), depth));
    for portion in path::portions(&path::clip(path, &[(from, i64::MAX)])) {
        // Each of these entries has a call at least.
        let most = i64::from(number - last);
        let mut found = entries::heads_with_calls(&mut *connection, tenant.0, &portion, most);
        while let Some(stored) = found.try_next().await? {
            let calls = u32::try_from(stored.entry.head.shape.calls.len()).unwrap_or(u32::MAX);
            let nth = number - last - 1;
            if nth < calls {
                return Ok(CallOnPath { segment: segment_of(&stored), nth: nth as usize });
            }
            last += calls;
        }
    }
    Err(ServiceError::NumberNotFound(RecordNumber::Call(number).leads_nowhere(last)))
}

/// The n-th message of the user's own on a path. `agents`: names whose messages in the user's role are not.
pub(super) async fn message(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    (marks, agents): (&NumberMarks, &[String]),
    number: u32,
) -> Result<NumberedMessage> {
    let mark = marks.user(number);
    if let Some((_, depth)) = mark.filter(|(marked, _)| *marked == number) {
        let stored = entries::whole(connection, tenant.0, &path::clip(path, &[(depth, depth)])).await?.pop();
        let stored = stored.ok_or(ServiceError::NotFound("message"))?;
        let message = message_of(&stored)?.ok_or(ServiceError::NotFound("message"))?;
        return Ok(NumberedMessage { stored, message });
    }
    let (mut last, from) = mark.map_or((0, 0), |(marked, depth)| (marked, depth + 1));
    let answered_at = first_words(&mut *connection, tenant, path).await?;
    let called_at = first_call(&mut *connection, tenant, path).await?;
    for portion in path::portions(&path::clip(path, &[(from, i64::MAX)])) {
        let heads: Vec<StoredEntry> =
            entries::heads_by_users(&mut *connection, tenant.0, &portion).try_collect().await?;
        // A message of results alone says nothing.
        let speaks = |stored: &&StoredEntry| {
            let head = &stored.entry.head;
            head.is_visible() && (head.shape.results.is_empty() || head.shape.mixed)
        };
        let places: Vec<Segment> = heads.iter().filter(speaks).map(segment_of).collect();
        for places in places.chunks(AT_A_TIME) {
            let stored = entries::whole(&mut *connection, tenant.0, &path::join(places.iter().copied())).await?;
            let agents = agents.to_vec();
            for found in aside(move || said(stored, &agents, (answered_at, called_at))).await?? {
                last += 1;
                if last == number {
                    return Ok(found);
                }
            }
        }
    }
    Err(ServiceError::NumberNotFound(RecordNumber::User(number).leads_nowhere(last)))
}

/// Those that are of the user's own, as a record tells them apart.
fn said(
    stored: Vec<StoredEntry>,
    agents: &[String],
    (answered_at, called_at): (Option<i64>, Option<i64>),
) -> Result<Vec<NumberedMessage>> {
    let mut found = Vec::new();
    for stored in stored {
        let Some(message) = message_of(&stored)? else { continue };
        let is_behind = |at: Option<i64>| at.is_some_and(|depth| depth < stored.entry.head.depth);
        let mut classifier = UserTextClassifier { answered: is_behind(answered_at), calls_tools: is_behind(called_at) };
        let is_media = message.content.iter().any(Block::is_media);
        let told = classifier.classify(&attributed(message.clone(), agents));
        if matches!(told, UserText::Said(text) if is_media || !text.trim().is_empty()) {
            found.push(NumberedMessage { stored, message });
        }
    }
    Ok(found)
}

/// The depth at which it calls a tool first.
async fn first_call(connection: &mut PgConnection, tenant: Tenant, path: &[Segment]) -> Result<Option<i64>> {
    for portion in path::portions(path) {
        if let Some(stored) = entries::heads_with_calls(&mut *connection, tenant.0, &portion, 1).try_next().await? {
            return Ok(Some(stored.entry.head.depth));
        }
    }
    Ok(None)
}

/// The depth at which the agent speaks first.
async fn first_words(connection: &mut PgConnection, tenant: Tenant, path: &[Segment]) -> Result<Option<i64>> {
    for segment in path {
        if let Some(depth) = tool_calls::first_words(&mut *connection, tenant.0, *segment).await? {
            return Ok(Some(depth));
        }
    }
    Ok(None)
}
