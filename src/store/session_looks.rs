//! Looking for sessions: through a bounded number of a tenant's, from the newest on. Nothing is indexed for it that an
//! append changes.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgExecutor, Result};
use uuid::Uuid;

/// Among which sessions.
#[derive(Debug, Clone)]
pub enum Among {
    All,
    ExternalIds(Vec<String>),
    Ids(Vec<Uuid>),
}

/// What they are listed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Id,
    /// The time of the last change, in microseconds.
    UpdatedAt,
    Tokens,
}

/// Conditions that a session fits if it meets all of them.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    pub fill_state: Option<String>,
    pub updated_after: Option<DateTime<Utc>>,
    pub updated_before: Option<DateTime<Utc>>,
    pub created_after: Option<DateTime<Utc>>,
    pub created_before: Option<DateTime<Utc>>,
    /// Those alone whose guard is tripped.
    pub guard_tripped: bool,
    /// The beginning of an id, or a part of the external id or the title, in letters of any case.
    pub text: Option<String>,
    /// Whether the metadata of those that fit are read.
    pub with_metadata: bool,
    /// Texts that their JSON must hold, unless it has `\u` escapes.
    pub metadata_probes: Vec<String>,
}

impl Conditions {
    /// Returns true if every session fits of those whose guard is as it is wanted.
    pub fn is_empty(&self) -> bool {
        let times = [self.updated_after, self.updated_before, self.created_after, self.created_before];
        self.fill_state.is_none() && self.text.is_none() && !self.with_metadata && times.iter().all(Option::is_none)
    }
}

/// One look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub by: By,
    /// The newest session that is looked at.
    pub from: Uuid,
    /// The oldest one.
    pub to: Uuid,
    /// Most sessions that are looked at.
    pub sessions: i64,
    /// Most bytes of metadata that are read, one larger session aside.
    pub bytes: i64,
    /// Only those that are listed behind this.
    pub below: Option<(i64, Uuid)>,
    /// Most sessions that are given.
    pub limit: i64,
}

/// A session that fits, or the last one that was looked at.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Looked {
    pub id: Uuid,
    /// What it is listed by.
    pub value: i64,
    pub fits: bool,
    pub is_last: bool,
    /// Of the last one: how many were looked at, and the first of them.
    pub looked_at: i64,
    pub first: Uuid,
    pub metadata: Option<String>,
}

/// Looks at sessions, hidden ones too: they fit nothing, and there may be many in a row. Those that fit are in their order,
/// behind the last one that was looked at. None at all: there is nothing from there on.
pub async fn look(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    among: &Among,
    conditions: &Conditions,
    look: &Look,
) -> Result<Vec<Looked>> {
    let (names, ids) = match among {
        Among::All => (Vec::new(), Vec::new()),
        Among::ExternalIds(names) => (names.clone(), Vec::new()),
        Among::Ids(ids) => (Vec::new(), ids.clone()),
    };
    sqlx::query_as(AssertSqlSafe(statement(among, conditions.guard_tripped, look.by)))
        .bind(tenant)
        .bind(look.from)
        .bind(look.sessions)
        .bind(names)
        .bind(ids)
        .bind(&conditions.fill_state)
        .bind(conditions.updated_after)
        .bind(conditions.updated_before)
        .bind(conditions.created_after)
        .bind(conditions.created_before)
        .bind(&conditions.text)
        .bind(conditions.with_metadata)
        .bind(&conditions.metadata_probes)
        .bind(look.bytes)
        .bind(look.below.map(|(value, _)| value))
        .bind(look.below.map(|(_, id)| id))
        .bind(look.limit)
        .bind(look.to)
        .fetch_all(executor)
        .await
}

const COLUMNS: &str =
    "id, external_id, title, fill_state, tokens, metadata, created_at, updated_at, deleted_at IS NULL AS is_there";

fn statement(among: &Among, guard_tripped: bool, by: By) -> String {
    let value = match by {
        By::Id => "0::bigint",
        By::UpdatedAt => "(extract(epoch FROM updated_at) * 1000000)::bigint",
        By::Tokens => "tokens",
    };
    let looked = looked(among, guard_tripped);
    // Narrow rows, in the order of the index, so that nothing is sorted or kept but what fits.
    format!(
        r"WITH looked AS ({looked}),
         sized AS (
            SELECT *, CASE WHEN $12 THEN sum(octet_length(metadata)::bigint) OVER (ORDER BY id DESC)
                - octet_length(metadata) ELSE 0 END AS before
              FROM looked
         ), placed AS (
            SELECT *, {value} AS value, lead(id) OVER newest IS NULL AS is_last, row_number() OVER newest AS looked_at,
                first_value(id) OVER newest AS first
              FROM sized WHERE before < $14 WINDOW newest AS (ORDER BY id DESC)
         ), judged AS (
            SELECT *, is_there
               AND ($6::text IS NULL OR fill_state = $6)
               AND ($7::timestamptz IS NULL OR updated_at > $7)
               AND ($8::timestamptz IS NULL OR updated_at < $8)
               AND ($9::timestamptz IS NULL OR created_at > $9)
               AND ($10::timestamptz IS NULL OR created_at < $10)
               AND ($15::bigint IS NULL OR (value, id) < ($15, $16::uuid))
               AND ($11::text IS NULL OR strpos(id::text, lower($11)) = 1
                    OR coalesce(strpos(lower(external_id), lower($11)) > 0, false)
                    OR coalesce(strpos(lower(title), lower($11)) > 0, false))
               AND (NOT $12 OR cardinality($13::text[]) = 0 OR strpos(metadata, '\u') > 0
                    OR (SELECT bool_and(strpos(metadata, probe) > 0) FROM unnest($13::text[]) probe)) AS fits
              FROM placed OFFSET 0
         )
         SELECT id, value, fits, is_last, looked_at, first, CASE WHEN fits AND $12 THEN metadata END AS metadata
           FROM judged WHERE fits OR is_last
          ORDER BY is_last DESC, value DESC, id DESC LIMIT $17 + 1"
    )
}

fn looked(among: &Among, guard_tripped: bool) -> String {
    // Said in words where it is wanted, for an index is of those that are tripped alone.
    let guard = if guard_tripped { " AND guard_tripped" } else { "" };
    let own = format!("tenant_id = $1 AND id BETWEEN $18 AND $2{guard}");
    match among {
        Among::All => {
            format!("SELECT {COLUMNS} FROM sessions WHERE {own} ORDER BY id DESC LIMIT $3")
        }
        // Each by itself: of one external id there may be any number.
        Among::ExternalIds(_) => format!(
            "SELECT s.* FROM (SELECT DISTINCT unnest($4::text[]) AS name) n CROSS JOIN LATERAL (
                SELECT {COLUMNS} FROM sessions WHERE {own} AND external_id = n.name ORDER BY id DESC LIMIT $3) s
             ORDER BY id DESC LIMIT $3"
        ),
        Among::Ids(_) => {
            format!("SELECT {COLUMNS} FROM sessions WHERE {own} AND id = ANY ($5::uuid[]) ORDER BY id DESC LIMIT $3")
        }
    }
}
