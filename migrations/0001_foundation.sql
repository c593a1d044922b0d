-- The distribution key of every table is tenant_id: it leads every primary, unique and foreign key.

CREATE TABLE tenants (
    id         uuid PRIMARY KEY,
    name       text NOT NULL,
    created_at timestamptz NOT NULL
);

-- A key's text carries its tenant, so the lookup is by (tenant_id, hash) and never crosses tenants.
CREATE TABLE api_keys (
    tenant_id  uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id         uuid NOT NULL,
    name       text NOT NULL,
    hash       bytea NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT api_keys_hash UNIQUE (tenant_id, hash)
);

-- JSON that clients gave is kept as text: jsonb would change numbers, key order and refuse escaped NULs.
-- `state` is the service's own running account of the leaf's path (tokens, usage, open calls, guard).
CREATE TABLE sessions (
    tenant_id      uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id             uuid NOT NULL,
    external_id    text,
    title          text,
    metadata       text NOT NULL,
    model          text,
    system         text,
    tools          text,
    settings       text NOT NULL,
    version        bigint NOT NULL,
    next_seq       bigint NOT NULL,
    next_branch    integer NOT NULL,
    entry_count    bigint NOT NULL,
    leaf_branch    integer NOT NULL,
    leaf_depth     bigint NOT NULL,
    leaf_id        uuid,
    state          text NOT NULL,
    fill_state     text NOT NULL,
    tokens         bigint NOT NULL,
    parent_session uuid,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    deleted_at     timestamptz,
    PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 70);
CREATE INDEX sessions_external_id ON sessions (tenant_id, external_id) WHERE external_id IS NOT NULL;

-- One row per branch that does not start at the root of its own session. A session's branch 0 has a row
-- only when the session is a fork.
CREATE TABLE branches (
    tenant_id      uuid NOT NULL,
    session_id     uuid NOT NULL,
    branch         integer NOT NULL,
    parent_session uuid NOT NULL,
    parent_branch  integer NOT NULL,
    fork_depth     bigint NOT NULL,
    PRIMARY KEY (tenant_id, session_id, branch),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE entries (
    tenant_id          uuid NOT NULL,
    session_id         uuid NOT NULL,
    seq                bigint NOT NULL,
    branch             integer NOT NULL,
    depth              bigint NOT NULL,
    id                 uuid NOT NULL,
    parent_id          uuid,
    kind               text NOT NULL,
    role               text,
    tokens             integer NOT NULL,
    path_tokens        bigint NOT NULL,
    path_result_tokens bigint NOT NULL,
    usage              bigint,
    source_format      text NOT NULL,
    source_id          text,
    source_key         uuid,
    shape              text,
    record             text,
    label              text,
    item               text NOT NULL,
    created_at         timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, seq),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX entries_path ON entries (tenant_id, session_id, branch, depth);
CREATE INDEX entries_source ON entries (tenant_id, session_id, source_key) WHERE source_key IS NOT NULL;

-- Where each call id occurs, as a call and as a result. call_key is a hash of the id: ids are free text.
CREATE TABLE tool_calls (
    tenant_id  uuid NOT NULL,
    session_id uuid NOT NULL,
    call_key   uuid NOT NULL,
    seq        bigint NOT NULL,
    ordinal    integer NOT NULL,
    is_result  boolean NOT NULL,
    PRIMARY KEY (tenant_id, session_id, call_key, seq, is_result, ordinal),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE compactions (
    tenant_id   uuid NOT NULL,
    id          uuid NOT NULL,
    session_id  uuid NOT NULL,
    status      text NOT NULL,
    trigger     text NOT NULL,
    strategy    text NOT NULL,
    request     text NOT NULL,
    attempts    integer NOT NULL DEFAULT 0,
    error       text,
    result      text,
    created_at  timestamptz NOT NULL,
    started_at  timestamptz,
    finished_at timestamptz,
    reverted_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX compactions_session ON compactions (tenant_id, session_id, id);
CREATE UNIQUE INDEX compactions_one_live ON compactions (tenant_id, session_id) WHERE status IN ('queued', 'running');

-- The queue. One live job per session and kind; `rerun` is set by a request that came while it ran.
CREATE TABLE jobs (
    tenant_id     uuid NOT NULL,
    id            uuid NOT NULL,
    session_id    uuid NOT NULL,
    kind          text NOT NULL,
    compaction_id uuid,
    status        text NOT NULL,
    run_at        timestamptz NOT NULL,
    attempts      integer NOT NULL DEFAULT 0,
    max_attempts  integer NOT NULL,
    lease_token   uuid,
    lease_until   timestamptz,
    rerun         boolean NOT NULL DEFAULT false,
    last_error    text,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX jobs_one_live ON jobs (tenant_id, session_id, kind) WHERE status IN ('pending', 'running');
CREATE INDEX jobs_due ON jobs (tenant_id, run_at, id) WHERE status = 'pending';
CREATE INDEX jobs_leases ON jobs (lease_until) WHERE status = 'running';

-- A row is written in the transaction of the effect that it stands for, so it always has an answer.
CREATE TABLE idempotency_keys (
    tenant_id    uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    key          text NOT NULL,
    request_hash bytea NOT NULL,
    status       smallint NOT NULL,
    body         text NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Digests of the messages last handed out per format, to say how much of a rebuilt context is unchanged.
CREATE TABLE rebuilds (
    tenant_id  uuid NOT NULL,
    session_id uuid NOT NULL,
    format     text NOT NULL,
    digests    bytea NOT NULL,
    PRIMARY KEY (tenant_id, session_id, format),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
