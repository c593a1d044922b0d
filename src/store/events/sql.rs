//! The statements of events. `$1` is the tenant unless said otherwise.

/// Columns that a statement which changes compactions returns for their events.
macro_rules! told_columns {
    () => {
        "c.tenant_id, c.session_id, c.id, c.status, c.trigger, c.strategy, c.attempts, c.error"
    };
}

/// The kind of event of a compaction `c` that has just come to its status.
macro_rules! status_kind {
    () => {
        "'compaction.' || CASE c.status WHEN 'running' THEN 'started' ELSE c.status END"
    };
}

/// Data of the event of a compaction `c`; `$result`: how it ended, as JSON.
macro_rules! status_data {
    ($result:literal) => {
        concat!(
            "json_build_object('status', c.status, 'trigger', c.trigger, 'strategy', c.strategy,
                 'attempts', c.attempts, 'error', left(c.error, 2000), 'result', ",
            $result,
            ")::text"
        )
    };
}

/// Announces the events inserted by the statement that it ends.
macro_rules! announced {
    () => {
        " RETURNING pg_notify('contextd_events', tenant_id::text)"
    };
}

/// Inserts the events of compactions that have not ended well; `$rows` names rows of [`told_columns`].
macro_rules! status_events {
    ($rows:literal) => {
        concat!(
            "INSERT INTO events (tenant_id, session_id, compaction_id, kind, data)
             SELECT c.tenant_id, c.session_id, c.id, ",
            $crate::store::events::sql::status_kind!(),
            ", ",
            $crate::store::events::sql::status_data!("NULL::json"),
            " FROM ",
            $rows,
            " c",
            $crate::store::events::sql::announced!()
        )
    };
}

pub(in crate::store) use {announced, status_data, status_events, status_kind, told_columns};

/// `$2` session, `$3` kind, `$4` data.
pub const RECORD: &str =
    concat!("INSERT INTO events (tenant_id, session_id, kind, data) VALUES ($1, $2, $3, $4)", announced!());

pub const REACH: &str = "
    SELECT coalesce(p.last_position, 0), coalesce(p.purged_position, 0),
           EXISTS (SELECT FROM events WHERE tenant_id = $1 AND position IS NULL)
      FROM (SELECT) one LEFT JOIN event_positions p ON p.tenant_id = $1";

pub const BEGIN_POSITIONS: &str =
    "INSERT INTO event_positions (tenant_id) VALUES ($1) ON CONFLICT (tenant_id) DO NOTHING";

pub const LOCK_POSITIONS: &str = "SELECT FROM event_positions WHERE tenant_id = $1 FOR UPDATE";

/// `$2` most events. Events that somebody is removing are left to him.
pub const PLACE: &str = "
    WITH fresh AS (
        SELECT id FROM events WHERE tenant_id = $1 AND position IS NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
    ), numbered AS (
        SELECT id, row_number() OVER (ORDER BY id) AS number FROM fresh
    ), placed AS (
        UPDATE events e SET position = p.last_position + n.number
          FROM numbered n, event_positions p
         WHERE e.tenant_id = $1 AND e.id = n.id AND p.tenant_id = $1
    )
    UPDATE event_positions SET last_position = last_position + (SELECT count(*) FROM numbered)
     WHERE tenant_id = $1 AND EXISTS (SELECT FROM numbered)";

/// `$2` position.
pub const CHANGED: &str = "
    SELECT session_id, max(position) FROM events WHERE tenant_id = $1 AND position > $2 GROUP BY session_id";

macro_rules! page {
    ($of:literal) => {
        concat!(
            "SELECT e.position, e.session_id, e.kind, e.compaction_id, e.phase, e.data, e.created_at
               FROM events e JOIN sessions s ON s.tenant_id = e.tenant_id AND s.id = e.session_id
              WHERE e.tenant_id = $1 AND e.position > $2 AND s.deleted_at IS NULL",
            $of,
            " ORDER BY e.position LIMIT $3"
        )
    };
}

/// `$2` position, `$3` limit.
pub const PAGE: &str = page!("");

/// `$2` position, `$3` limit, `$4` session.
pub const SESSION_PAGE: &str = page!(" AND e.session_id = $4");

/// `$1` time, `$2` most events; all tenants. Events without a position that nobody has read count as if they had had
/// one: a client that comes back must learn that it has missed them.
pub const PURGE: &str = "
    WITH old AS (
        SELECT tenant_id, id FROM events WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM events e USING old WHERE e.tenant_id = old.tenant_id AND e.id = old.id
        RETURNING e.tenant_id, e.position
    ), counted AS (
        SELECT tenant_id, count(*) FILTER (WHERE position IS NULL) AS unplaced, coalesce(max(position), 0) AS newest
          FROM gone GROUP BY tenant_id
    ), noted AS (
        INSERT INTO event_positions AS p (tenant_id, last_position, purged_position)
        SELECT tenant_id, unplaced, greatest(unplaced, newest) FROM counted
        ON CONFLICT (tenant_id) DO UPDATE
           SET last_position = p.last_position + excluded.last_position,
               purged_position = CASE WHEN excluded.last_position > 0 THEN p.last_position + excluded.last_position
                                      ELSE greatest(p.purged_position, excluded.purged_position) END
    )
    SELECT count(*) FROM gone";
