-- Whether the guard was tripped when the head was last written. Rows of before say false until their next change: to
-- find out would be to read the state of every session.
ALTER TABLE sessions ADD COLUMN guard_tripped boolean NOT NULL DEFAULT false;
CREATE INDEX sessions_guard_tripped ON sessions (tenant_id, id) WHERE guard_tripped;

-- As head_write, with the new column; processes of the version before go on with theirs.
CREATE TYPE head_write_2 AS (
    session_id    uuid,
    version       bigint,
    next_seq      bigint,
    next_branch   integer,
    entry_count   bigint,
    leaf_branch   integer,
    leaf_depth    bigint,
    leaf_id       uuid,
    state         text,
    fill_state    text,
    tokens        bigint,
    guard_tripped boolean,
    updated_at    timestamptz
);

-- What a census has counted: of a tenant's sessions, or of all tenants' sessions or jobs (tenant_id is nil), with the
-- lease of the process that counts.
CREATE TABLE censuses (
    tenant_id   uuid NOT NULL,
    subject     text NOT NULL,
    taken_at    timestamptz,
    figures     text,
    lease_token uuid,
    lease_until timestamptz,
    PRIMARY KEY (tenant_id, subject),
    CONSTRAINT censuses_subject_known CHECK (subject IN ('sessions', 'queue'))
);
