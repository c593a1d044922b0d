//! Sessions: one row each, guarded by a version that every change moves on.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

/// A whole session row.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct SessionRow {
    pub id: Uuid,
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub metadata: String,
    pub model: Option<String>,
    pub system: Option<String>,
    pub tools: Option<String>,
    pub settings: String,
    pub parent_session: Option<Uuid>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub head: HeadRow,
}

/// The part of a session that appends read and change.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct HeadRow {
    pub version: i64,
    pub next_seq: i64,
    pub next_branch: i32,
    pub entry_count: i64,
    pub leaf_branch: i32,
    /// -1: before the first entry.
    pub leaf_depth: i64,
    pub leaf_id: Option<Uuid>,
    pub state: String,
    pub fill_state: String,
    pub tokens: i64,
    /// What the snapshot's `anti_thrash.tripped` said when this was written.
    pub guard_tripped: bool,
}

impl HeadRow {
    /// The head of a session without entries.
    pub fn empty() -> HeadRow {
        HeadRow {
            version: 0,
            next_seq: 0,
            next_branch: 1,
            entry_count: 0,
            leaf_branch: 0,
            leaf_depth: -1,
            leaf_id: None,
            state: String::new(),
            fill_state: String::new(),
            tokens: 0,
            guard_tripped: false,
        }
    }
}

/// Head, settings and model: what an append needs, without the large texts.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct HeadAndSettings {
    #[sqlx(flatten)]
    pub head: HeadRow,
    pub settings: String,
    pub model: Option<String>,
    pub parent_session: Option<Uuid>,
}

pub async fn insert(executor: impl PgExecutor<'_>, tenant: Uuid, row: &SessionRow) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO sessions (tenant_id, id, external_id, title, metadata, model, system, tools, settings, version,
            next_seq, next_branch, entry_count, leaf_branch, leaf_depth, leaf_id, state, fill_state, tokens,
            guard_tripped, parent_session, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            $23)",
    )
    .bind(tenant)
    .bind(row.id)
    .bind(&row.external_id)
    .bind(&row.title)
    .bind(&row.metadata)
    .bind(&row.model)
    .bind(&row.system)
    .bind(&row.tools)
    .bind(&row.settings)
    .bind(row.head.version)
    .bind(row.head.next_seq)
    .bind(row.head.next_branch)
    .bind(row.head.entry_count)
    .bind(row.head.leaf_branch)
    .bind(row.head.leaf_depth)
    .bind(row.head.leaf_id)
    .bind(&row.head.state)
    .bind(&row.head.fill_state)
    .bind(row.head.tokens)
    .bind(row.head.guard_tripped)
    .bind(row.parent_session)
    .bind(row.created_at)
    .bind(row.updated_at)
    .execute(executor)
    .await?;
    Ok(())
}

/// The session; `None` when it is not this tenant's or was erased.
pub async fn get(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<SessionRow>> {
    sqlx::query_as("SELECT * FROM sessions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL")
        .bind(tenant)
        .bind(id)
        .fetch_optional(executor)
        .await
}

/// The system prompt as it was given.
pub async fn system(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<String>> {
    let found = sqlx::query_scalar::<_, Option<String>>(
        "SELECT system FROM sessions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL",
    );
    Ok(found.bind(tenant).bind(id).fetch_optional(executor).await?.flatten())
}

/// As [`get`], with the row locked until the transaction ends.
pub async fn lock(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<SessionRow>> {
    sqlx::query_as("SELECT * FROM sessions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE")
        .bind(tenant)
        .bind(id)
        .fetch_optional(executor)
        .await
}

/// As [`lock`], without waiting: `None` also where somebody else holds the row.
pub async fn try_lock(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<SessionRow>> {
    sqlx::query_as(
        "SELECT * FROM sessions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE SKIP LOCKED",
    )
    .bind(tenant)
    .bind(id)
    .fetch_optional(executor)
    .await
}

macro_rules! head_statement {
    ($lock:literal) => {
        concat!(
            "SELECT version, next_seq, next_branch, entry_count, leaf_branch, leaf_depth, leaf_id, state, fill_state,
                tokens, guard_tripped, settings, model, parent_session
             FROM sessions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL",
            $lock
        )
    };
}

pub async fn head(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<HeadAndSettings>> {
    sqlx::query_as(head_statement!("")).bind(tenant).bind(id).fetch_optional(executor).await
}

/// As [`head`], with the row locked until the transaction ends.
pub async fn lock_head(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<HeadAndSettings>> {
    sqlx::query_as(head_statement!(" FOR UPDATE")).bind(tenant).bind(id).fetch_optional(executor).await
}

/// As [`lock_head`], without waiting: `None` also where somebody else holds the row.
pub async fn try_lock_head(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
) -> sqlx::Result<Option<HeadAndSettings>> {
    sqlx::query_as(head_statement!(" FOR UPDATE SKIP LOCKED")).bind(tenant).bind(id).fetch_optional(executor).await
}

/// Moves the version on and nothing else: no write that was planned before can land any more.
pub async fn fence(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("UPDATE sessions SET version = version + 1 WHERE tenant_id = $1 AND id = $2")
        .bind(tenant)
        .bind(id)
        .execute(executor)
        .await?;
    Ok(())
}

/// Holds an external id until the transaction ends, so that no two sessions are made for it at once.
pub async fn claim_name(executor: impl PgExecutor<'_>, tenant: Uuid, name: &str) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2, 0))")
        .bind(tenant.to_string())
        .bind(name)
        .execute(executor)
        .await?;
    Ok(())
}

/// The oldest session of an external id.
pub async fn oldest_named(executor: impl PgExecutor<'_>, tenant: Uuid, name: &str) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM sessions WHERE tenant_id = $1 AND external_id = $2 AND deleted_at IS NULL
         ORDER BY id LIMIT 1",
    )
    .bind(tenant)
    .bind(name)
    .fetch_optional(executor)
    .await
}

/// Those of the external ids that a session has.
pub async fn names_known(executor: impl PgExecutor<'_>, tenant: Uuid, names: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT DISTINCT external_id FROM sessions WHERE tenant_id = $1 AND external_id = ANY($2) AND deleted_at IS NULL",
    )
    .bind(tenant)
    .bind(names)
    .fetch_all(executor)
    .await
}

/// The newest session of an external id.
pub async fn newest_named(executor: impl PgExecutor<'_>, tenant: Uuid, name: &str) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar(
        "SELECT id FROM sessions WHERE tenant_id = $1 AND external_id = $2 AND deleted_at IS NULL
         ORDER BY id DESC LIMIT 1",
    )
    .bind(tenant)
    .bind(name)
    .fetch_optional(executor)
    .await
}

/// Those of these sessions that are there, as far as they fit on a page, each with its place among `ids`, in that order.
pub async fn listed(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    ids: &[Uuid],
    bytes: i64,
) -> sqlx::Result<Vec<(usize, SessionRow)>> {
    let rows: Vec<ListedRow> = sqlx::query_as(
        "WITH found AS (
            SELECT s.*, wanted.place, octet_length(metadata)::bigint + octet_length(settings) + octet_length(state)
                + coalesce(octet_length(system), 0) + coalesce(octet_length(tools), 0) AS bytes
              FROM unnest($2::uuid[]) WITH ORDINALITY wanted(id, place) JOIN sessions s USING (id)
             WHERE s.tenant_id = $1 AND s.deleted_at IS NULL
         ), summed AS (
            SELECT *, sum(bytes) OVER (ORDER BY place) AS upto FROM found
         )
         SELECT * FROM summed WHERE upto <= $3 OR upto = bytes ORDER BY place",
    )
    .bind(tenant)
    .bind(ids)
    .bind(bytes)
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().map(|row| (usize::try_from(row.place - 1).unwrap_or(0), row.session)).collect())
}

#[derive(sqlx::FromRow)]
struct ListedRow {
    place: i64,
    #[sqlx(flatten)]
    session: SessionRow,
}

/// Writes everything that a client or a compaction can change. False when the version is no longer `row.head.version`.
pub async fn update(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    row: &SessionRow,
    now: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE sessions SET version = version + 1, title = $4, metadata = $5, model = $6, system = $7, tools = $8,
            settings = $9, next_seq = $10, next_branch = $11, entry_count = $12, leaf_branch = $13, leaf_depth = $14,
            leaf_id = $15, state = $16, fill_state = $17, tokens = $18, guard_tripped = $19, updated_at = $20
         WHERE tenant_id = $1 AND id = $2 AND version = $3 AND deleted_at IS NULL",
    )
    .bind(tenant)
    .bind(row.id)
    .bind(row.head.version)
    .bind(&row.title)
    .bind(&row.metadata)
    .bind(&row.model)
    .bind(&row.system)
    .bind(&row.tools)
    .bind(&row.settings)
    .bind(row.head.next_seq)
    .bind(row.head.next_branch)
    .bind(row.head.entry_count)
    .bind(row.head.leaf_branch)
    .bind(row.head.leaf_depth)
    .bind(row.head.leaf_id)
    .bind(&row.head.state)
    .bind(&row.head.fill_state)
    .bind(row.head.tokens)
    .bind(row.head.guard_tripped)
    .bind(now)
    .execute(executor)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What a session is called.
#[derive(Debug, Clone, Default, sqlx::FromRow)]
pub struct SessionName {
    pub id: Uuid,
    pub external_id: Option<String>,
    pub title: Option<String>,
}

/// The names of those of these sessions that are there.
pub async fn names(executor: impl PgExecutor<'_>, tenant: Uuid, ids: &[Uuid]) -> sqlx::Result<Vec<SessionName>> {
    sqlx::query_as(
        "SELECT id, external_id, title FROM sessions
         WHERE tenant_id = $1 AND id = ANY ($2) AND deleted_at IS NULL AND (external_id IS NOT NULL OR title IS NOT NULL)",
    )
    .bind(tenant)
    .bind(ids)
    .fetch_all(executor)
    .await
}

/// The versions of those of these sessions that are there.
pub async fn versions(executor: impl PgExecutor<'_>, tenant: Uuid, ids: &[Uuid]) -> sqlx::Result<Vec<(Uuid, i64)>> {
    sqlx::query_as("SELECT id, version FROM sessions WHERE tenant_id = $1 AND id = ANY ($2) AND deleted_at IS NULL")
        .bind(tenant)
        .bind(ids)
        .fetch_all(executor)
        .await
}
