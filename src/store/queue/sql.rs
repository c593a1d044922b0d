//! The statements of the queue. `$1` is the tenant, `$2` the job and `$3` the lease token unless said otherwise.

use crate::store::events::sql::{status_events, told_columns};

/// Candidates that a claim looks at beyond its limit, of tenants and of each tenant's jobs: other workers may have
/// locked the first ones.
pub const WINDOW: i64 = 32;

/// A change of jobs out of `running`, the same change of their compactions, and its events.
macro_rules! move_jobs {
    ($change:literal) => {
        concat!(
            "WITH moved AS (UPDATE jobs SET lease_token = NULL, lease_until = NULL, rerun = false, ",
            $change,
            " RETURNING tenant_id, compaction_id, status, attempts, last_error),
              followed AS (
                  UPDATE compactions c
                     SET status = CASE moved.status WHEN 'dead' THEN 'failed' ELSE 'queued' END,
                         finished_at = CASE moved.status WHEN 'dead' THEN now() END,
                         attempts = moved.attempts,
                         error = moved.last_error
                    FROM moved
                   WHERE c.tenant_id = moved.tenant_id AND c.id = moved.compaction_id
                     AND c.status IN ('queued', 'running')
                  RETURNING ",
            told_columns!(),
            "), told AS (",
            status_events!("followed"),
            ") SELECT moved.status, c.strategy, c.trigger FROM moved
              LEFT JOIN followed c ON c.tenant_id = moved.tenant_id AND c.id = moved.compaction_id"
        )
    };
}

/// `$2..$9`: id, session, kind, compaction, delay in seconds, most attempts, trace context. A session has one live
/// compaction, so a job that is still there with another one's id has nothing left to do but to run for this one; whoever
/// asked last is its cause.
pub const ENQUEUE: &str = "
    INSERT INTO jobs (tenant_id, id, session_id, kind, compaction_id, status, run_at, max_attempts, created_at,
                      traceparent, tracestate)
    VALUES ($1, $2, $3, $4, $5, 'pending', now() + make_interval(secs => $6), $7, now(), $8, $9)
    ON CONFLICT (tenant_id, session_id, kind) WHERE status IN ('pending', 'running')
    DO UPDATE SET rerun = jobs.status = 'running', compaction_id = excluded.compaction_id, progress = NULL,
                  traceparent = excluded.traceparent, tracestate = excluded.tracestate,
                  run_at = CASE jobs.attempts WHEN 0 THEN least(jobs.run_at, excluded.run_at) ELSE jobs.run_at END
    RETURNING id, rerun";

/// `$2` session.
pub const HURRY: &str = "
    UPDATE jobs SET run_at = now()
     WHERE tenant_id = $1 AND session_id = $2 AND kind = 'compact' AND status = 'pending' AND attempts = 0
       AND run_at > now()";

/// `$1` first tenant, `$2` most tenants and most jobs of each looked at, `$3` limit, `$4` kinds, `$5` lease in
/// seconds. The first part steps from tenant to tenant through the index, so that a tenant with a million jobs
/// costs no more than one with a single job.
pub const CLAIM: &str = concat!(
    "
    WITH RECURSIVE due (tenant_id, number) AS (
        (SELECT tenant_id, 1::bigint FROM jobs
          WHERE status = 'pending' AND run_at <= now() AND tenant_id >= $1
          ORDER BY tenant_id LIMIT 1)
        UNION ALL
        SELECT next.tenant_id, due.number + 1
          FROM due CROSS JOIN LATERAL (
               SELECT tenant_id FROM jobs
                WHERE status = 'pending' AND run_at <= now() AND tenant_id > due.tenant_id
                ORDER BY tenant_id LIMIT 1) next
         WHERE due.number < $2
    ), candidates AS (
        SELECT oldest.*, row_number() OVER (PARTITION BY oldest.tenant_id ORDER BY oldest.run_at, oldest.id) AS round
          FROM due CROSS JOIN LATERAL (
               SELECT tenant_id, id, run_at FROM jobs
                WHERE tenant_id = due.tenant_id AND status = 'pending' AND run_at <= now() AND kind = ANY ($4)
                ORDER BY run_at, id LIMIT $2) oldest
    ), picked AS (
        SELECT j.tenant_id, j.id, c.round
          FROM candidates c JOIN jobs j ON j.tenant_id = c.tenant_id AND j.id = c.id
         WHERE j.status = 'pending' AND j.run_at <= now()
         ORDER BY c.round, c.tenant_id LIMIT $3
           FOR UPDATE OF j SKIP LOCKED
    ), claimed AS (
        UPDATE jobs j
           SET status = 'running', attempts = j.attempts + 1, lease_token = gen_random_uuid(),
               lease_until = now() + make_interval(secs => $5)
          FROM picked p WHERE j.tenant_id = p.tenant_id AND j.id = p.id
        RETURNING j.*, p.round
    ), started AS (
        UPDATE compactions c
           SET status = 'running', attempts = j.attempts, started_at = coalesce(c.started_at, now())
          FROM claimed j
         WHERE c.tenant_id = j.tenant_id AND c.id = j.compaction_id AND c.status IN ('queued', 'running')
        RETURNING ",
    told_columns!(),
    "), told AS (",
    status_events!("started"),
    ")
    SELECT tenant_id AS tenant, id, session_id, kind, compaction_id, attempts, lease_token AS token,
           greatest(0, extract(epoch FROM now() - run_at))::float8 AS waited_seconds, traceparent, tracestate
      FROM claimed ORDER BY round, tenant_id"
);

/// `$4` lease in seconds.
pub const HEARTBEAT: &str = "
    UPDATE jobs SET lease_until = now() + make_interval(secs => $4)
     WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND status = 'running'";

pub const RELEASE: &str = move_jobs!(
    "status = 'pending', run_at = now(), attempts = attempts - 1
      WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND status = 'running'"
);

/// `$4` error, `$5` delay in seconds.
pub const RETRY: &str = move_jobs!(
    "status = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'pending' END,
     run_at = now() + make_interval(secs => $5), last_error = left($4, 2000)
      WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND status = 'running'"
);

pub const REAP: &str = move_jobs!(
    "status = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'pending' END,
     run_at = now(), last_error = 'the worker stopped before the job was done'
      WHERE status = 'running' AND lease_until < now()"
);

pub const TAKE_BACK: &str = move_jobs!(
    "status = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'pending' END,
     run_at = now(), last_error = 'the service stopped before the job was done'
      WHERE status = 'running'"
);

pub const PROGRESS: &str =
    "SELECT progress FROM jobs WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND status = 'running'";

/// `$4` progress. A job that is asked for again begins anew.
pub const NOTE_PROGRESS: &str = "
    UPDATE jobs SET progress = CASE WHEN rerun THEN NULL ELSE $4 END
     WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND status = 'running'";

/// `$1` limit; all tenants.
pub const DEAD_RECOUNTS: &str =
    "SELECT tenant_id, session_id FROM jobs WHERE status = 'dead' AND kind = 'recount' ORDER BY tenant_id, id LIMIT $1";

/// `$2` session.
pub const FORGET_DEAD_RECOUNT: &str =
    "DELETE FROM jobs WHERE tenant_id = $1 AND session_id = $2 AND status = 'dead' AND kind = 'recount'";

pub const LOCK: &str = "
    SELECT rerun FROM jobs
     WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND status = 'running' FOR UPDATE";

pub const FINISH: &str = "DELETE FROM jobs WHERE tenant_id = $1 AND id = $2";

pub const RERUN: &str = "
    UPDATE jobs SET status = 'pending', rerun = false, progress = NULL, attempts = 0, run_at = now(),
                    lease_token = NULL, lease_until = NULL, last_error = NULL
     WHERE tenant_id = $1 AND id = $2";

/// `$2` session, `$3` compaction.
pub const CANCEL: &str = "
    DELETE FROM jobs
     WHERE tenant_id = $1 AND session_id = $2 AND compaction_id = $3 AND kind = 'compact'
       AND status IN ('pending', 'running')";

pub const LIVE: &str = "SELECT count(*) FROM jobs WHERE tenant_id = $1 AND status IN ('pending', 'running')";
