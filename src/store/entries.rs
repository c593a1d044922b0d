//! Entries: written once, read by ranges of a path.

use chrono::{DateTime, Utc};
use sqlx::{PgExecutor, Row};
use uuid::Uuid;

use super::path::Segment;
use super::sessions::HeadRow;
use super::tool_calls::CallPlace;
use crate::domain::compaction::CompactionRecord;
use crate::domain::entry::{Entry, EntryHead, EntryType};
use crate::domain::format::Format;
use crate::domain::message::Role;
use crate::domain::shape::Shape;

/// An entry about to be written.
#[derive(Debug, Clone)]
pub struct NewEntry {
    pub head: EntryHead,
    pub branch: i32,
    pub parent_id: Option<Uuid>,
    pub path_result_tokens: i64,
    pub source_format: Format,
    pub source_id: Option<String>,
    pub record: Option<CompactionRecord>,
    pub item: String,
    pub created_at: DateTime<Utc>,
}

/// A branch about to be written; see the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBranch {
    pub branch: i32,
    pub parent_session: Uuid,
    pub parent_branch: i32,
    pub fork_depth: i64,
}

/// Entries, what follows from them, and the session's head as it is afterwards.
#[derive(Debug)]
pub struct Write<'a> {
    pub session_id: Uuid,
    /// The head's version before; the write happens only if it still holds.
    pub version: i64,
    pub head: &'a HeadRow,
    pub entries: &'a [NewEntry],
    pub branches: &'a [NewBranch],
    pub now: DateTime<Utc>,
}

/// Where an entry sits and the totals up to it.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct Place {
    pub session_id: Uuid,
    pub id: Uuid,
    pub branch: i32,
    pub depth: i64,
    pub seq: i64,
    pub kind: String,
    pub role: Option<String>,
    pub path_tokens: i64,
    pub path_result_tokens: i64,
}

/// A loaded entry with what only the store knows of it.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    pub entry: Entry,
    pub session_id: Uuid,
    pub branch: i32,
    pub path_result_tokens: i64,
    pub record: Option<CompactionRecord>,
    pub label: Option<String>,
}

impl StoredEntry {
    /// An entry that is about to be written, as it will be read.
    pub fn unsaved(new: &NewEntry, session_id: Uuid) -> StoredEntry {
        StoredEntry {
            entry: Entry {
                head: new.head.clone(),
                parent_id: new.parent_id,
                source_id: new.source_id.clone(),
                source_format: new.source_format,
                item: new.item.clone(),
                created_at: new.created_at,
            },
            session_id,
            branch: new.branch,
            path_result_tokens: new.path_result_tokens,
            record: new.record.clone(),
            label: None,
        }
    }
}

const HEAD_COLUMNS: &str =
    "e.session_id, e.seq, e.branch, e.depth, e.id, e.parent_id, e.kind, e.role, e.tokens, e.path_tokens,
    e.path_result_tokens, e.usage, e.source_format, e.source_id, e.shape, e.record, e.label, e.created_at";

/// Writes entries and head in one statement, guarded by the head's version. False when the version has moved.
pub async fn write(executor: impl PgExecutor<'_>, tenant: Uuid, write: &Write<'_>) -> sqlx::Result<bool> {
    let entries = write.entries;
    let calls: Vec<CallPlace> = entries.iter().flat_map(|entry| CallPlace::of(&entry.head)).collect();
    let column = |f: fn(&NewEntry) -> i64| -> Vec<i64> { entries.iter().map(f).collect() };
    let head = write.head;
    let row = sqlx::query(
        "WITH head AS (
            UPDATE sessions SET version = version + 1, next_seq = $4, next_branch = $5, entry_count = $6,
                leaf_branch = $7, leaf_depth = $8, leaf_id = $9, state = $10, fill_state = $11, tokens = $12, updated_at = $13
            WHERE tenant_id = $1 AND id = $2 AND version = $3 AND deleted_at IS NULL
            RETURNING tenant_id, id
         ), new_entries AS (
            INSERT INTO entries (tenant_id, session_id, seq, branch, depth, id, parent_id, kind, role, tokens, path_tokens,
                path_result_tokens, usage, source_format, source_id, source_key, shape, record, item, created_at)
            SELECT head.tenant_id, head.id, e.* FROM head, unnest($14::bigint[], $15::int[], $16::bigint[], $17::uuid[],
                $18::uuid[], $19::text[], $20::text[], $21::int[], $22::bigint[], $23::bigint[], $24::bigint[], $25::text[],
                $26::text[], $27::uuid[], $28::text[], $29::text[], $30::text[], $31::timestamptz[]) e
         ), new_calls AS (
            INSERT INTO tool_calls (tenant_id, session_id, call_key, seq, ordinal, is_result)
            SELECT head.tenant_id, head.id, c.* FROM head, unnest($32::uuid[], $33::bigint[], $34::int[], $35::bool[]) c
         ), new_branches AS (
            INSERT INTO branches (tenant_id, session_id, branch, parent_session, parent_branch, fork_depth)
            SELECT head.tenant_id, head.id, b.* FROM head, unnest($36::int[], $37::uuid[], $38::int[], $39::bigint[]) b
         )
         SELECT count(*) FROM head",
    )
    .bind(tenant)
    .bind(write.session_id)
    .bind(write.version)
    .bind(head.next_seq)
    .bind(head.next_branch)
    .bind(head.entry_count)
    .bind(head.leaf_branch)
    .bind(head.leaf_depth)
    .bind(head.leaf_id)
    .bind(&head.state)
    .bind(&head.fill_state)
    .bind(head.tokens)
    .bind(write.now)
    .bind(column(|e| e.head.seq))
    .bind(entries.iter().map(|e| e.branch).collect::<Vec<_>>())
    .bind(column(|e| e.head.depth))
    .bind(entries.iter().map(|e| e.head.id).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.parent_id).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.head.kind.as_str()).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.head.role.map(Role::as_str)).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| i32::try_from(e.head.tokens).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(column(|e| e.head.path_tokens))
    .bind(column(|e| e.path_result_tokens))
    .bind(entries.iter().map(|e| e.head.usage.map(i64::from)).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.source_format.as_str()).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.source_id.as_deref().map(without_nul)).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.source_id.as_deref().map(text_key)).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| shape_text(&e.head.shape)).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.record.as_ref().map(record_text)).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.item.as_str()).collect::<Vec<_>>())
    .bind(entries.iter().map(|e| e.created_at).collect::<Vec<_>>())
    .bind(calls.iter().map(|c| c.key).collect::<Vec<_>>())
    .bind(calls.iter().map(|c| c.seq).collect::<Vec<_>>())
    .bind(calls.iter().map(|c| c.ordinal).collect::<Vec<_>>())
    .bind(calls.iter().map(|c| c.is_result).collect::<Vec<_>>())
    .bind(write.branches.iter().map(|b| b.branch).collect::<Vec<_>>())
    .bind(write.branches.iter().map(|b| b.parent_session).collect::<Vec<_>>())
    .bind(write.branches.iter().map(|b| b.parent_branch).collect::<Vec<_>>())
    .bind(write.branches.iter().map(|b| b.fork_depth).collect::<Vec<_>>())
    .fetch_one(executor)
    .await?;
    Ok(row.try_get::<i64, _>(0)? == 1)
}

/// The heads of a path's segments, in path order. The items are not read.
pub async fn heads(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    segments: &[Segment],
) -> sqlx::Result<Vec<StoredEntry>> {
    load(executor, tenant, segments, "''::text").await
}

/// The whole entries of a path's segments, in path order.
pub async fn whole(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    segments: &[Segment],
) -> sqlx::Result<Vec<StoredEntry>> {
    load(executor, tenant, segments, "e.item").await
}

async fn load(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    segments: &[Segment],
    item: &str,
) -> sqlx::Result<Vec<StoredEntry>> {
    let rows = match segments {
        [] => return Ok(Vec::new()),
        [one] => {
            // One range is the common case, and the index gives it in order.
            sqlx::query(sqlx::AssertSqlSafe(format!(
                "SELECT {HEAD_COLUMNS}, {item} AS item FROM entries e
                 WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.branch = $3 AND e.depth BETWEEN $4 AND $5 ORDER BY e.depth"
            )))
            .bind(tenant)
            .bind(one.session_id)
            .bind(one.branch)
            .bind(one.from)
            .bind(one.to)
            .fetch_all(executor)
            .await?
        }
        many => {
            sqlx::query(sqlx::AssertSqlSafe(format!(
                "SELECT {HEAD_COLUMNS}, {item} AS item
                 FROM unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[]) WITH ORDINALITY s(session_id, branch, low, high, place)
                 JOIN entries e ON e.tenant_id = $1 AND e.session_id = s.session_id AND e.branch = s.branch
                    AND e.depth BETWEEN s.low AND s.high
                 ORDER BY s.place, e.depth"
            )))
            .bind(tenant)
            .bind(many.iter().map(|s| s.session_id).collect::<Vec<_>>())
            .bind(many.iter().map(|s| s.branch).collect::<Vec<_>>())
            .bind(many.iter().map(|s| s.from).collect::<Vec<_>>())
            .bind(many.iter().map(|s| s.to).collect::<Vec<_>>())
            .fetch_all(executor)
            .await?
        }
    };
    rows.iter().map(stored).collect()
}

/// Every entry of the session itself by `seq`, all branches; `after` is exclusive. Shared history of a fork is not among them.
pub async fn by_seq(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    after: i64,
    limit: i64,
) -> sqlx::Result<Vec<StoredEntry>> {
    let rows = sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, e.item FROM entries e
         WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq > $3 ORDER BY e.seq LIMIT $4"
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(after)
    .bind(limit)
    .fetch_all(executor)
    .await?;
    rows.iter().map(stored).collect()
}

/// The heads of every entry of the session itself, by `seq`.
pub async fn heads_by_seq(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
) -> sqlx::Result<Vec<StoredEntry>> {
    let rows = sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, ''::text AS item FROM entries e
         WHERE e.tenant_id = $1 AND e.session_id = $2 ORDER BY e.seq"
    )))
    .bind(tenant)
    .bind(session_id)
    .fetch_all(executor)
    .await?;
    rows.iter().map(stored).collect()
}

/// Where an entry of one of these sessions sits. `seq` is the one that the id carries.
pub async fn place(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    seq: i64,
    id: Uuid,
) -> sqlx::Result<Option<Place>> {
    sqlx::query_as(
        "SELECT session_id, id, branch, depth, seq, kind, role, path_tokens, path_result_tokens FROM entries
         WHERE tenant_id = $1 AND session_id = ANY($2) AND seq = $3 AND id = $4",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(seq)
    .bind(id)
    .fetch_optional(executor)
    .await
}

/// Where the entries with these source ids sit, newest first.
pub async fn places_by_source(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    source_ids: &[String],
) -> sqlx::Result<Vec<(String, Place)>> {
    let keys: Vec<Uuid> = source_ids.iter().map(|id| text_key(id)).collect();
    let rows: Vec<SourcePlace> = sqlx::query_as(
        "SELECT source_id, session_id, id, branch, depth, seq, kind, role, path_tokens, path_result_tokens FROM entries
         WHERE tenant_id = $1 AND session_id = ANY($2) AND source_key = ANY($3) ORDER BY seq DESC",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(keys)
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().map(|row| (row.source_id, row.place)).collect())
}

#[derive(sqlx::FromRow)]
struct SourcePlace {
    source_id: String,
    #[sqlx(flatten)]
    place: Place,
}

/// The deepest entry of a branch; -1 when it has none.
pub async fn tip_depth(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    branch: i32,
) -> sqlx::Result<i64> {
    let depth: Option<i64> =
        sqlx::query_scalar("SELECT max(depth) FROM entries WHERE tenant_id = $1 AND session_id = $2 AND branch = $3")
            .bind(tenant)
            .bind(session_id)
            .bind(branch)
            .fetch_one(executor)
            .await?;
    Ok(depth.unwrap_or(-1))
}

pub async fn set_label(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    seq: i64,
    label: Option<&str>,
) -> sqlx::Result<bool> {
    let done = sqlx::query("UPDATE entries SET label = $4 WHERE tenant_id = $1 AND session_id = $2 AND seq = $3")
        .bind(tenant)
        .bind(session_id)
        .bind(seq)
        .bind(label)
        .execute(executor)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// New counts of one entry.
#[derive(Debug, Clone)]
pub struct Recount {
    pub seq: i64,
    pub tokens: u32,
    pub path_tokens: i64,
    pub path_result_tokens: i64,
    pub shape: Shape,
    pub record: Option<CompactionRecord>,
}

/// Replaces what was counted; what was said stays as it is.
pub async fn recount(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    counted: &[Recount],
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE entries e SET tokens = c.tokens, path_tokens = c.path_tokens, path_result_tokens = c.path_result_tokens,
            shape = c.shape, record = c.record
         FROM unnest($3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])
            c(seq, tokens, path_tokens, path_result_tokens, shape, record)
         WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq = c.seq",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(counted.iter().map(|c| c.seq).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| i32::try_from(c.tokens).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| c.path_tokens).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| c.path_result_tokens).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| shape_text(&c.shape)).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| c.record.as_ref().map(record_text)).collect::<Vec<_>>())
    .execute(executor)
    .await?;
    Ok(())
}

fn stored(row: &sqlx::postgres::PgRow) -> sqlx::Result<StoredEntry> {
    let shape: Option<&str> = row.try_get("shape")?;
    let record: Option<&str> = row.try_get("record")?;
    let role: Option<&str> = row.try_get("role")?;
    let usage: Option<i64> = row.try_get("usage")?;
    let head = EntryHead {
        id: row.try_get("id")?,
        seq: row.try_get("seq")?,
        depth: row.try_get("depth")?,
        kind: EntryType::parse(row.try_get("kind")?).ok_or_else(|| decode("an unknown entry type"))?,
        role: role.map(|role| Role::parse(role).ok_or_else(|| decode("an unknown role"))).transpose()?,
        tokens: u32::try_from(row.try_get::<i32, _>("tokens")?).unwrap_or(0),
        path_tokens: row.try_get("path_tokens")?,
        usage: usage.and_then(|usage| u32::try_from(usage).ok()),
        shape: shape.map(from_json::<Shape>).transpose()?.unwrap_or_default(),
    };
    Ok(StoredEntry {
        entry: Entry {
            head,
            parent_id: row.try_get("parent_id")?,
            source_id: row.try_get("source_id")?,
            source_format: Format::parse(row.try_get("source_format")?).ok_or_else(|| decode("an unknown format"))?,
            item: row.try_get("item")?,
            created_at: row.try_get("created_at")?,
        },
        session_id: row.try_get("session_id")?,
        branch: row.try_get("branch")?,
        path_result_tokens: row.try_get("path_result_tokens")?,
        record: record.map(from_json::<CompactionRecord>).transpose()?,
        label: row.try_get("label")?,
    })
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> sqlx::Result<T> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into()))
}

fn decode(message: &'static str) -> sqlx::Error {
    sqlx::Error::Decode(message.into())
}

fn shape_text(shape: &Shape) -> Option<String> {
    if shape.is_trivial() { None } else { serde_json::to_string(shape).ok() }
}

fn record_text(record: &CompactionRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// A key of fixed size for free text that is looked up: PostgreSQL limits what an index row may hold.
pub fn text_key(text: &str) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    Uuid::from_bytes(bytes)
}

/// PostgreSQL's text holds every character but NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
