//! One call with its whole result, or one message of the user's: by id, or by the number that a record prints.

use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use utoipa::ToSchema;
use uuid::Uuid;

use super::answers::{self, CallPosition};
use super::numbers::{self, CallOnPath, NumberedMessage};
use super::visible::Visible;
use super::{CallEntry, original, rows};
use crate::domain::context::elision::arguments;
use crate::domain::model::call_end::CallEnd;
use crate::domain::model::message::{CallKind, ToolResult};
use crate::domain::model::record_numbers::RecordNumber;
use crate::domain::model::shape::CallRef;
use crate::domain::redaction::Redaction;
use crate::service::core::access::{Access, Scope};
use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::Head;
use crate::service::core::offload::offload;
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::message_of;
use crate::store::entries;
use crate::store::path::{self, Segment};
use crate::store::recalls;
use crate::store::tool_calls::{self, FoundCall};

/// Occurrences of an id that are looked at together, newest first.
const CALLS_AT_A_TIME: i64 = 64;

/// A call with its whole original result. What was stored as the echo of a placeholder is answered with what that stands for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolCallDetail {
    pub tool_call_id: String,
    pub name: String,
    #[schema(value_type = Value)]
    pub arguments: Value,
    pub kind: CallKind,
    pub status: CallEnd,
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

/// A message of the user's own, by its number in a record: `u12` is the twelfth on the path. For a key that may only read,
/// secrets are replaced as in the record.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserMessageDetail {
    pub number: String,
    pub entry_id: Uuid,
    /// The context at this leaf does not show it.
    pub elided: bool,
    /// The message's content blocks in the native format.
    #[schema(value_type = Vec<Object>)]
    pub content: Value,
    /// The text of the message.
    pub text: String,
    /// As it is stored, with its pictures.
    #[serde(skip)]
    bytes: usize,
}

/// What an id of a call or a number of a record leads to.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum RecalledItem {
    Call(ToolCallDetail),
    Message(UserMessageDetail),
}

impl RecalledItem {
    /// How large an answer this makes, about: what was said is in it as blocks and as a text.
    pub fn bytes(&self) -> usize {
        let bytes = match self {
            RecalledItem::Call(call) => call.result_text.as_ref().map_or(0, String::len),
            RecalledItem::Message(message) => message.bytes,
        };
        2 * bytes + 512
    }
}

impl Queries {
    /// The call of that id, or what a number of the record leads to that the leaf's context shows: `#47`, `u12`, and `47`
    /// for the call where that is no id.
    ///
    /// # Errors
    /// `NotFound`, `NumberNotFound`; the database's.
    pub async fn recalled(&self, access: Access, session_id: Uuid, asked: &str) -> Result<RecalledItem> {
        let tenant = access.tenant;
        let mut connection = self.pool.acquire().await?;
        let head = self.heads.read(&mut *connection, tenant, session_id).await?;
        let path = path::segments(&mut connection, tenant.0, head.leaf(), head.is_plain()).await?;
        if let Some(segment) = newest_entry(&mut connection, tenant, &path, asked).await? {
            let newest = |calls: &[CallRef]| calls.iter().rposition(|call| call.id == asked);
            let call = detail(&mut connection, tenant, (&head, &path), segment, newest).await?;
            return Ok(RecalledItem::Call(call));
        }
        let number = RecordNumber::read_bare(asked).ok_or(ServiceError::NotFound("tool call"))?;
        let marks = numbers::marks_of(&mut connection, tenant, &path, &head).await?;
        match number {
            RecordNumber::Call(number) => {
                let CallOnPath { segment, nth } = numbers::call(&mut connection, tenant, &path, &marks, number).await?;
                detail(&mut connection, tenant, (&head, &path), segment, |_| Some(nth)).await.map(RecalledItem::Call)
            }
            RecordNumber::User(number) => {
                let agents = head.settings.agents.as_slice();
                let found = numbers::message(&mut connection, tenant, &path, (&marks, agents), number).await?;
                let visible = Visible::load(&mut connection, tenant, &head, &path).await?;
                drop(connection);
                users_message(access, &head, found, &visible, RecordNumber::User(number))
                    .await
                    .map(RecalledItem::Message)
            }
        }
    }

    /// The newest call of that id on the leaf's path, with its whole result.
    ///
    /// # Errors
    /// `NotFound`; the database's.
    pub async fn tool_call(&self, tenant: Tenant, session_id: Uuid, tool_call_id: &str) -> Result<ToolCallDetail> {
        match self.recalled(Access::whole(tenant), session_id, tool_call_id).await? {
            RecalledItem::Call(call) => Ok(call),
            RecalledItem::Message(_) => Err(ServiceError::NotFound("tool call")),
        }
    }
}

/// A call with its whole result. That a result was fetched which the context no longer shows is noted: what is fetched twice
/// stands in the next records.
async fn detail(
    connection: &mut PgConnection,
    tenant: Tenant,
    (head, path): (&Head, &[Segment]),
    segment: Segment,
    which: impl Fn(&[CallRef]) -> Option<usize>,
) -> Result<ToolCallDetail> {
    let gone = || ServiceError::NotFound("tool call");
    let stored = entries::whole(&mut *connection, tenant.0, &[segment]).await?.pop();
    let mut entry = stored.map(CallEntry::new).ok_or_else(gone)?;
    let calls = &entry.stored.entry.head.shape.calls;
    let nth = which(calls).ok_or_else(gone)?;
    let id = calls.get(nth).ok_or_else(gone)?.id.clone();
    entry.calls = nth..nth + 1;
    let place: CallPosition = (segment.from, nth);
    let answers = answers::of(&mut *connection, tenant, path, &[(id.as_str(), place)]).await?;
    let visible = Visible::load(&mut *connection, tenant, head, path).await?;
    let found = original_of(&mut *connection, tenant, head.session_id, &id, answers.get(&place)).await?;
    let mut row = rows(&[entry], &answers, &visible)?.pop().ok_or_else(gone)?;
    if arguments::are_shortened(&row.arguments, &id)
        && let Some(whole) = original::arguments(&mut *connection, tenant, head.session_id, &id).await?
    {
        row.arguments = whole;
    }
    let (result, original_entry_id) = found.map_or((None, None), |found| (found.result, found.entry_id));
    if result.is_some() && row.elided {
        let noted = recalls::note(connection, tenant.0, head.session_id, &id, clock::now()).await;
        // The answer is there all the same.
        noted.unwrap_or_else(|error| tracing::warn!(%error, "a recall is not noted"));
    }
    Ok(ToolCallDetail {
        tool_call_id: row.tool_call_id,
        name: row.name,
        arguments: row.arguments,
        kind: row.kind,
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

/// What the user wrote stays as it is in the tree; who may only read it here gets it as the record has it.
async fn users_message(
    access: Access,
    head: &Head,
    NumberedMessage { stored, mut message }: NumberedMessage,
    visible: &Visible,
    number: RecordNumber,
) -> Result<UserMessageDetail> {
    let (entry, number) = (&stored.entry.head, number.to_string());
    let (entry_id, elided) = (entry.id, !visible.shows(entry.depth));
    let (redaction, bytes) = (secrets_kept_from(access, head), stored.entry.item.len());
    let write = move || {
        redaction.redact_message(&mut message, Some(&number));
        let text = message.plain_text();
        let content = serde_json::to_value(message.content).unwrap_or_default();
        UserMessageDetail { number, entry_id, elided, content, text, bytes }
    };
    offload(bytes, write).await
}

/// The rules by which the user's secrets are kept from a key that may only read; none for any other.
pub(in crate::service::recall) fn secrets_kept_from(access: Access, head: &Head) -> Redaction {
    match access.scopes.allow(Scope::Write) {
        true => Redaction::default(),
        false => Redaction::of(&head.settings.redact),
    }
}

/// Where the entry with the newest call of that id on a path is.
async fn newest_entry(
    connection: &mut PgConnection,
    tenant: Tenant,
    path: &[Segment],
    call_id: &str,
) -> Result<Option<Segment>> {
    let mut sessions: Vec<Uuid> = path.iter().rev().map(|segment| segment.session_id).collect();
    sessions.dedup();
    for session_id in sessions {
        let mut seq = i64::MAX;
        loop {
            let most = CALLS_AT_A_TIME;
            let found = tool_calls::calls_before(&mut *connection, tenant.0, session_id, call_id, seq, most).await?;
            let on_path = found.iter().find(|(_, branch, depth)| path::holds(path, session_id, *branch, *depth));
            if let Some((_, branch, depth)) = on_path {
                return Ok(Some(Segment { session_id, branch: *branch, from: *depth, to: *depth }));
            }
            let Some((last, _, _)) = found.last() else { break };
            seq = *last;
        }
    }
    Ok(None)
}

/// The whole result that answers a call, where there is one.
async fn original_of(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    call_id: &str,
    answer: Option<&FoundCall>,
) -> Result<Option<original::OriginalResult>> {
    let Some(answer) = answer else { return Ok(None) };
    let stored = entries::whole(&mut *connection, tenant.0, &[answer.segment()]).await?;
    let message = stored.first().map_or(Ok(None), message_of)?;
    match message.and_then(|message| message.tool_results().nth(answer.nth()).cloned()) {
        Some(result) => {
            original::result(connection, tenant, session_id, call_id, answer.entry_id, result).await.map(Some)
        }
        None => Ok(None),
    }
}
