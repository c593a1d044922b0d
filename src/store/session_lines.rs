//! Sessions as a list of them needs them: without their large texts.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::store::sessions::HeadAndSettings;

/// Most sessions that one page of a search looks at.
pub const MOST_LOOKED_AT: i64 = 50_000;

/// A session's line.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct LineRow {
    pub id: Uuid,
    /// Their first 200 characters.
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub head: HeadAndSettings,
}

/// Which sessions are looked for.
#[derive(Debug, Clone, Default)]
pub struct LineQuery {
    /// The beginning of an id, or a part of the external id or the title, in letters of any case.
    pub text: Option<String>,
    pub fill_state: Option<&'static str>,
    /// Those alone whose guard is tripped.
    pub guard_tripped: bool,
    pub before_id: Option<Uuid>,
    pub limit: i64,
}

/// A page of lines among the next [`MOST_LOOKED_AT`]. `$guard` is said in words, for its index is of those alone.
macro_rules! lines {
    ($guard:literal) => {
        concat!(
            "SELECT id, left(external_id, 200) AS external_id, left(title, 200) AS title, created_at, updated_at, version,
                next_seq, next_branch, entry_count, leaf_branch, leaf_depth, leaf_id, state, fill_state, tokens,
                guard_tripped, settings, model, parent_session
             FROM (
                SELECT * FROM sessions WHERE tenant_id = $1 AND deleted_at IS NULL AND ($2::uuid IS NULL OR id < $2)",
            $guard,
            " ORDER BY id DESC LIMIT $3
             ) looked
             WHERE ($4::text IS NULL OR fill_state = $4)
               AND ($5::text IS NULL OR strpos(id::text, lower($5)) = 1 OR strpos(lower(external_id), lower($5)) > 0
                    OR strpos(lower(title), lower($5)) > 0)
             ORDER BY id DESC LIMIT $6"
        )
    };
}

/// The last of the sessions that [`lines!`] looks at.
macro_rules! last_looked_at {
    ($guard:literal) => {
        concat!(
            "SELECT id FROM sessions WHERE tenant_id = $1 AND deleted_at IS NULL AND ($2::uuid IS NULL OR id < $2)",
            $guard,
            " ORDER BY id DESC OFFSET $3 LIMIT 1"
        )
    };
}

/// The sessions that fit among the next [`MOST_LOOKED_AT`], newest first.
pub async fn list(executor: impl PgExecutor<'_>, tenant: Uuid, query: &LineQuery) -> sqlx::Result<Vec<LineRow>> {
    let statement = if query.guard_tripped { lines!(" AND guard_tripped") } else { lines!("") };
    sqlx::query_as(statement)
        .bind(tenant)
        .bind(query.before_id)
        .bind(MOST_LOOKED_AT)
        .bind(query.fill_state)
        .bind(&query.text)
        .bind(query.limit)
        .fetch_all(executor)
        .await
}

/// The last session that [`list`] looks at, where there are so many.
pub async fn looked_to(executor: impl PgExecutor<'_>, tenant: Uuid, query: &LineQuery) -> sqlx::Result<Option<Uuid>> {
    let statement = if query.guard_tripped { last_looked_at!(" AND guard_tripped") } else { last_looked_at!("") };
    sqlx::query_scalar(statement)
        .bind(tenant)
        .bind(query.before_id)
        .bind(MOST_LOOKED_AT - 1)
        .fetch_optional(executor)
        .await
}
