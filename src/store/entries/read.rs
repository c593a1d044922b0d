//! Reading ranges of a path, and a session from its first entry to its last.
//!
//! No statement here reads more than [`path::STATEMENT_ENTRIES`] entries or looks into more than
//! [`path::STATEMENT_RANGES`] ranges, so none runs for long: a client that goes away leaves no more work behind than one
//! of them, and no path, however long, is sorted or held by the database.

use futures::TryStreamExt;
use futures::stream::BoxStream;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::sizes::seqs;
use super::stored::StoredEntry;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::{Entry, EntryMeta};
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::message::Role;
use crate::domain::model::shape::Shape;
use crate::store::large::in_place;
use crate::store::path::{self, Segment, ranges};

const HEAD_COLUMNS: &str =
    "e.session_id, e.seq, e.branch, e.depth, e.id, e.parent_id, e.kind, e.role, e.tokens, e.path_tokens,
    e.path_result_tokens, e.usage, e.source_format, e.source_id, e.shape, e.record, e.label, e.created_at";
const NO_ITEM: &str = "''::text";
const ITEM: &str = "e.item";
/// Entries that make calls: a shape is written with its calls first and leaves out what it has none of.
const CALLS: &str = r#"AND starts_with(e.shape, '{"calls"')"#;

/// Entries in the user's role.
const BY_USERS: &str = "AND e.role = 'user'";

/// The heads of a path's segments, in path order. The items are not read.
pub async fn heads(
    connection: &mut PgConnection,
    tenant: Uuid,
    segments: &[Segment],
) -> sqlx::Result<Vec<StoredEntry>> {
    all(connection, tenant, segments, NO_ITEM).await
}

/// The whole entries of a path's segments, in path order.
pub async fn whole(
    connection: &mut PgConnection,
    tenant: Uuid,
    segments: &[Segment],
) -> sqlx::Result<Vec<StoredEntry>> {
    all(connection, tenant, segments, ITEM).await
}

async fn all(
    connection: &mut PgConnection,
    tenant: Uuid,
    segments: &[Segment],
    item: &str,
) -> sqlx::Result<Vec<StoredEntry>> {
    let mut found = Vec::new();
    for portion in path::portions(segments) {
        let mut rows = load(&mut *connection, tenant, &portion, item, "", None);
        while let Some(stored) = rows.try_next().await? {
            found.push(stored);
        }
    }
    Ok(found)
}

/// The whole entries of one portion of a path (see [`path::portions`]), one by one as they come from the database.
pub fn each<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    portion: &[Segment],
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    load(executor, tenant, portion, ITEM, "", None)
}

/// The first entries of a path's segments, whole: as many as one statement reads and as have `bytes` together, but one
/// at least.
pub async fn chunk(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    segments: &[Segment],
    bytes: i64,
) -> sqlx::Result<Vec<StoredEntry>> {
    let Some(portion) = path::portions(segments).next() else { return Ok(Vec::new()) };
    let before = "sum(octet_length(e.item)) OVER (ORDER BY s.place, e.depth) - octet_length(e.item)";
    let statement = format!(
        "SELECT {HEAD_COLUMNS}, e.item FROM (SELECT e.*, s.place, {before} AS bytes_before {}) e
         WHERE e.bytes_before < $6 ORDER BY e.place, e.depth",
        ranges("")
    );
    path::over(statement, tenant, &portion).bind(bytes).try_map(|row| stored(&row)).fetch_all(executor).await
}

/// As [`chunk`], of the entries of the session itself that follow `after` by `seq`, up to `to`.
pub async fn chunk_by_seq(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    (after, to): (i64, i64),
    bytes: i64,
) -> sqlx::Result<Vec<StoredEntry>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, e.item FROM (
            SELECT e.*, sum(octet_length(e.item)) OVER (ORDER BY e.seq) - octet_length(e.item) AS bytes_before
            FROM (
                SELECT * FROM entries WHERE tenant_id = $1 AND session_id = $2 AND seq > $3 AND seq <= $4
                ORDER BY seq LIMIT $6
            ) e
         ) e
         WHERE e.bytes_before < $5 ORDER BY e.seq"
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(after)
    .bind(to)
    .bind(bytes)
    .bind(path::STATEMENT_ENTRIES)
    .try_map(|row| stored(&row))
    .fetch_all(executor)
    .await
}

/// As [`each`], of the entries that make calls; `limit` of them at most.
pub fn with_calls<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    portion: &[Segment],
    limit: Option<i64>,
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    load(executor, tenant, portion, ITEM, CALLS, limit)
}

/// The heads of those entries of one portion of a path that make calls, in path order; `limit` of them at most.
pub fn heads_with_calls<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    portion: &[Segment],
    limit: i64,
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    load(executor, tenant, portion, NO_ITEM, CALLS, Some(limit))
}

/// The heads of those entries of one portion of a path that are in the user's role, in path order.
pub fn heads_by_users<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    portion: &[Segment],
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    load(executor, tenant, portion, NO_ITEM, BY_USERS, None)
}

fn load<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    segments: &[Segment],
    item: &str,
    condition: &str,
    limit: Option<i64>,
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    if let [one] = segments {
        // One range is the common case, and the index gives it in order.
        return sqlx::query(sqlx::AssertSqlSafe(format!(
            "SELECT {HEAD_COLUMNS}, {item} AS item FROM entries e
             WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.branch = $3 AND e.depth BETWEEN $4 AND $5 {condition}
             ORDER BY e.depth LIMIT $6"
        )))
        .bind(tenant)
        .bind(one.session_id)
        .bind(one.branch)
        .bind(one.from)
        .bind(one.to)
        .bind(limit)
        .try_map(|row| stored(&row))
        .fetch(executor);
    }
    let found = ranges(condition);
    let statement = format!("SELECT {HEAD_COLUMNS}, {item} AS item {found} ORDER BY s.place, e.depth LIMIT $6");
    path::over(statement, tenant, segments).bind(limit).try_map(|row| stored(&row)).fetch(executor)
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

/// Entries of these sessions by id, in no order.
pub async fn by_ids(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    ids: &[Uuid],
) -> sqlx::Result<Vec<StoredEntry>> {
    let rows = sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, e.item FROM entries e
         WHERE e.tenant_id = $1 AND e.session_id = ANY ($2) AND e.seq = ANY ($3) AND e.id = ANY ($4)"
    )))
    .bind(tenant)
    .bind(sessions)
    .bind(seqs(ids))
    .bind(ids)
    .fetch_all(executor)
    .await?;
    rows.iter().map(stored).collect()
}

/// The entries of the session itself, on any branch, that this service may have written: compactions, chapters and
/// branch summaries, by `seq`, whole.
pub async fn ours<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    session_id: Uuid,
) -> sqlx::Result<Vec<StoredEntry>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, e.item FROM entries e WHERE e.tenant_id = $1 AND e.session_id = $2
            AND e.kind IN ('compaction', 'chapter', 'branch_summary') ORDER BY e.seq"
    )))
    .bind(tenant)
    .bind(session_id)
    .try_map(|row| stored(&row))
    .fetch(executor)
    .try_collect()
    .await
}

/// The record of a compaction entry of this session.
pub async fn record_at(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    seq: i64,
) -> sqlx::Result<Option<Box<CompactionRecord>>> {
    let found = sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, {NO_ITEM} AS item FROM entries e WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq = $3"
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(seq)
    .try_map(|row| stored(&row))
    .fetch_optional(executor)
    .await?;
    Ok(found.and_then(|stored| stored.record))
}

/// The newest compactions of the session itself, newest first, with their records; their items are not read.
pub async fn newest_compactions(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    limit: i64,
) -> sqlx::Result<Vec<StoredEntry>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, {NO_ITEM} AS item FROM entries e WHERE e.tenant_id = $1 AND e.session_id = $2
            AND e.kind IN ('compaction', 'chapter', 'branch_summary') AND e.kind = 'compaction'
         ORDER BY e.seq DESC LIMIT $3"
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(limit)
    .try_map(|row| stored(&row))
    .fetch_all(executor)
    .await
}

/// The heads of the entries of the session itself that follow `after` by `seq`, as many as one statement reads, one by one
/// as they come from the database.
pub fn each_head_by_seq<'e>(
    executor: impl PgExecutor<'e> + 'e,
    tenant: Uuid,
    session_id: Uuid,
    after: i64,
) -> BoxStream<'e, sqlx::Result<StoredEntry>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {HEAD_COLUMNS}, {NO_ITEM} AS item FROM entries e
         WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq > $3 ORDER BY e.seq LIMIT $4"
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(after)
    .bind(path::STATEMENT_ENTRIES)
    .try_map(|row| stored(&row))
    .fetch(executor)
}

/// An entry as a node of the tree.
#[derive(Debug, Clone)]
pub struct NodeRow {
    pub seq: i64,
    pub id: Uuid,
    pub parent_id: Option<Uuid>,
    pub kind: EntryType,
    pub role: Option<Role>,
    pub tokens: u32,
    pub label: Option<String>,
}

const NODE_COLUMNS: &str = "e.seq, e.id, e.parent_id, e.kind, e.role, e.tokens, e.label";

/// The nodes of one portion of a path (see [`path::portions`]), in path order.
pub async fn nodes(executor: impl PgExecutor<'_>, tenant: Uuid, portion: &[Segment]) -> sqlx::Result<Vec<NodeRow>> {
    let statement = format!("SELECT {NODE_COLUMNS} {} ORDER BY s.place, e.depth", ranges(""));
    path::over(statement, tenant, portion).try_map(|row| node(&row)).fetch_all(executor).await
}

/// The next nodes of the session itself, by `seq`; `after` is exclusive.
pub async fn nodes_by_seq(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    after: i64,
) -> sqlx::Result<Vec<NodeRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "SELECT {NODE_COLUMNS} FROM entries e
         WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq > $3 ORDER BY e.seq LIMIT $4"
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(after)
    .bind(path::STATEMENT_ENTRIES)
    .try_map(|row| node(&row))
    .fetch_all(executor)
    .await
}

fn node(row: &PgRow) -> sqlx::Result<NodeRow> {
    read_node(row).map_err(|error| naming(row, error))
}

fn read_node(row: &PgRow) -> sqlx::Result<NodeRow> {
    let mut columns = Columns { row, next: 0 };
    Ok(NodeRow {
        seq: columns.next()?,
        id: columns.next()?,
        parent_id: columns.next()?,
        kind: columns.next::<&str>()?.parse::<EntryType>().map_err(|_| decode("an unknown entry type"))?,
        role: role(columns.next()?)?,
        tokens: u32::try_from(columns.next::<i32>()?).unwrap_or(0),
        label: columns.next()?,
    })
}

fn role(word: Option<&str>) -> sqlx::Result<Option<Role>> {
    word.map(|word| word.parse().map_err(|_| decode("an unknown role"))).transpose()
}

fn stored(row: &PgRow) -> sqlx::Result<StoredEntry> {
    read_stored(row).map_err(|error| naming(row, error))
}

/// By place, in the order of `HEAD_COLUMNS`: a look-up by name for every column of every row is what reading a
/// path would spend most of its time on.
fn read_stored(row: &PgRow) -> sqlx::Result<StoredEntry> {
    let mut columns = Columns { row, next: 0 };
    let (session_id, seq, branch, depth) = (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
    let (id, parent_id) = (columns.next()?, columns.next()?);
    let kind = columns.next::<&str>()?.parse::<EntryType>().map_err(|_| decode("an unknown entry type"))?;
    let role = role(columns.next()?)?;
    let tokens = u32::try_from(columns.next::<i32>()?).unwrap_or(0);
    let (path_tokens, path_result_tokens) = (columns.next()?, columns.next()?);
    let usage: Option<i64> = columns.next()?;
    let usage = usage.and_then(|usage| u32::try_from(usage).ok());
    let source_format = columns.next::<&str>()?.parse::<Format>().map_err(|_| decode("an unknown format"))?;
    let source_id = columns.next()?;
    let shape: Option<&str> = columns.next()?;
    let shape = shape.map(|text| in_place(text.len(), || from_json::<Shape>(text))).transpose()?.unwrap_or_default();
    let record: Option<&str> = columns.next()?;
    let record = record.map(|text| in_place(text.len(), || from_json::<Box<CompactionRecord>>(text))).transpose()?;
    let (label, created_at, item) = (columns.next()?, columns.next()?, columns.next()?);
    let head = EntryMeta { id, seq, depth, kind, role, tokens, path_tokens, usage, shape };
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

/// The error with the row that it is about.
fn naming(row: &PgRow, error: sqlx::Error) -> sqlx::Error {
    let id = row.try_get::<Uuid, _>("id").map_or_else(|_| "without an id".to_owned(), |id| id.to_string());
    sqlx::Error::Decode(format!("entry {id} as stored: {error}").into())
}

fn decode(message: &'static str) -> sqlx::Error {
    sqlx::Error::Decode(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::shape::{CallRef, ShapeKind};

    #[test]
    fn the_text_of_a_shape_says_first_whether_it_has_calls() {
        let call = CallRef { id: "a".to_owned(), name: "read".to_owned(), kind: ShapeKind::Function };
        let shape = Shape { calls: vec![call], needs_repair: true, ..Shape::default() };
        let begins = |shape: &Shape| serde_json::to_string(shape).is_ok_and(|text| text.starts_with(r#"{"calls""#));
        assert!(CALLS.contains(r#"'{"calls"'"#) && begins(&shape));
        assert!(!begins(&Shape { calls: Vec::new(), ..shape }));
    }
}
