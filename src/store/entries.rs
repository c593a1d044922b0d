//! Entries: written once, read by ranges of a path.

mod write;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row};
use uuid::Uuid;

use super::path::Segment;
use crate::domain::compaction::CompactionRecord;
use crate::domain::entry::{Entry, EntryHead, EntryType};
use crate::domain::format::Format;
use crate::domain::message::Role;
use crate::domain::shape::Shape;
pub use write::{NewBranch, NewEntry, Write, write, write_all};
use write::{record_text, shape_text};

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
    /// Boxed: few entries have one, and a long path is held by the thousands.
    pub record: Option<Box<CompactionRecord>>,
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
            record: new.record.clone().map(Box::new),
            label: None,
        }
    }
}

const HEAD_COLUMNS: &str =
    "e.session_id, e.seq, e.branch, e.depth, e.id, e.parent_id, e.kind, e.role, e.tokens, e.path_tokens,
    e.path_result_tokens, e.usage, e.source_format, e.source_id, e.shape, e.record, e.label, e.created_at";

/// The heads of a path's segments, in path order. The items are not read.
pub async fn heads<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    segments: &[Segment],
) -> sqlx::Result<Vec<StoredEntry>> {
    load(executor, tenant, segments, "''::text").try_collect().await
}

/// The whole entries of a path's segments, in path order.
pub async fn whole<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    segments: &[Segment],
) -> sqlx::Result<Vec<StoredEntry>> {
    each(executor, tenant, segments).try_collect().await
}

/// As [`whole`], one by one as they come from the database.
pub fn each<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    segments: &[Segment],
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    load(executor, tenant, segments, "e.item")
}

fn load<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    segments: &[Segment],
    item: &str,
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    match segments {
        [] => stream::empty().boxed(),
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
            .try_map(|row| stored(&row))
            .fetch(executor)
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
            .try_map(|row| stored(&row))
            .fetch(executor)
        }
    }
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

/// As [`by_seq`], all of them, one by one as they come from the database.
pub fn each_by_seq<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    session_id: Uuid,
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    own(executor, tenant, session_id, "e.item")
}

/// The heads of every entry of the session itself, by `seq`.
pub async fn heads_by_seq<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    session_id: Uuid,
) -> sqlx::Result<Vec<StoredEntry>> {
    own(executor, tenant, session_id, "''::text").try_collect().await
}

fn own<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    session_id: Uuid,
    item: &str,
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, {item} AS item FROM entries e WHERE e.tenant_id = $1 AND e.session_id = $2 ORDER BY e.seq"
    )))
    .bind(tenant)
    .bind(session_id)
    .try_map(|row| stored(&row))
    .fetch(executor)
}

/// An entry as a node of the tree.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct NodeRow {
    pub id: Uuid,
    pub parent_id: Option<Uuid>,
    pub kind: String,
    pub role: Option<String>,
    pub tokens: i32,
    pub label: Option<String>,
}

/// The nodes of a path's segments, in path order.
pub async fn nodes(executor: impl PgExecutor<'_>, tenant: Uuid, segments: &[Segment]) -> sqlx::Result<Vec<NodeRow>> {
    if segments.is_empty() {
        return Ok(Vec::new());
    }
    sqlx::query_as(
        "SELECT e.id, e.parent_id, e.kind, e.role, e.tokens, e.label
         FROM unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[]) s(session_id, branch, low, high)
         JOIN entries e ON e.tenant_id = $1 AND e.session_id = s.session_id AND e.branch = s.branch
            AND e.depth BETWEEN s.low AND s.high
         ORDER BY e.depth",
    )
    .bind(tenant)
    .bind(segments.iter().map(|s| s.session_id).collect::<Vec<_>>())
    .bind(segments.iter().map(|s| s.branch).collect::<Vec<_>>())
    .bind(segments.iter().map(|s| s.from).collect::<Vec<_>>())
    .bind(segments.iter().map(|s| s.to).collect::<Vec<_>>())
    .fetch_all(executor)
    .await
}

/// Every node of the session itself, by `seq`.
pub async fn nodes_by_seq(executor: impl PgExecutor<'_>, tenant: Uuid, session_id: Uuid) -> sqlx::Result<Vec<NodeRow>> {
    sqlx::query_as(
        "SELECT id, parent_id, kind, role, tokens, label FROM entries
         WHERE tenant_id = $1 AND session_id = $2 ORDER BY seq",
    )
    .bind(tenant)
    .bind(session_id)
    .fetch_all(executor)
    .await
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

/// By place, in the order of `HEAD_COLUMNS`: a look-up by name for every column of every row is what reading a
/// path would spend most of its time on.
fn stored(row: &PgRow) -> sqlx::Result<StoredEntry> {
    let mut columns = Columns { row, next: 0 };
    let (session_id, seq, branch, depth) = (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
    let (id, parent_id) = (columns.next()?, columns.next()?);
    let kind = EntryType::parse(columns.next()?).ok_or_else(|| decode("an unknown entry type"))?;
    let role: Option<&str> = columns.next()?;
    let role = role.map(|role| Role::parse(role).ok_or_else(|| decode("an unknown role"))).transpose()?;
    let tokens = u32::try_from(columns.next::<i32>()?).unwrap_or(0);
    let (path_tokens, path_result_tokens) = (columns.next()?, columns.next()?);
    let usage: Option<i64> = columns.next()?;
    let usage = usage.and_then(|usage| u32::try_from(usage).ok());
    let source_format = Format::parse(columns.next()?).ok_or_else(|| decode("an unknown format"))?;
    let source_id = columns.next()?;
    let shape: Option<&str> = columns.next()?;
    let shape = shape.map(from_json::<Shape>).transpose()?.unwrap_or_default();
    let record: Option<&str> = columns.next()?;
    let record = record.map(from_json::<Box<CompactionRecord>>).transpose()?;
    let (label, created_at, item) = (columns.next()?, columns.next()?, columns.next()?);
    let head = EntryHead { id, seq, depth, kind, role, tokens, path_tokens, usage, shape };
    let entry = Entry { head, parent_id, source_id, source_format, item, created_at };
    Ok(StoredEntry { entry, session_id, branch, path_result_tokens, record, label })
}

/// The columns of a row, one after the other.
struct Columns<'r> {
    row: &'r PgRow,
    next: usize,
}

impl<'r> Columns<'r> {
    fn next<T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>>(&mut self) -> sqlx::Result<T> {
        let place = self.next;
        self.next += 1;
        self.row.try_get(place)
    }
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> sqlx::Result<T> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into()))
}

fn decode(message: &'static str) -> sqlx::Error {
    sqlx::Error::Decode(message.into())
}

/// A key of fixed size for free text that is looked up: PostgreSQL limits what an index row may hold.
pub fn text_key(text: &str) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    Uuid::from_bytes(bytes)
}
