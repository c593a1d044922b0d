-- Entries and call places are written by the statement that has just updated, and so locked, their session's row:
-- a look-up of that row for each of them found nothing new. They still go with their session, however it goes.

ALTER TABLE entries DROP CONSTRAINT entries_tenant_id_session_id_fkey;
ALTER TABLE tool_calls DROP CONSTRAINT tool_calls_tenant_id_session_id_fkey;

CREATE FUNCTION erase_session_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM entries WHERE tenant_id = OLD.tenant_id AND session_id = OLD.id;
    DELETE FROM tool_calls WHERE tenant_id = OLD.tenant_id AND session_id = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER sessions_erase_entries AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION erase_session_entries();

-- For the forks of a session, which keep its history alive.
CREATE INDEX branches_parent ON branches (tenant_id, parent_session);

-- What an append sends: rows of a type of their own, which cost the server far less than a list a column.
-- A column more is a new type, so that processes of two versions can write at the same time.
CREATE TYPE head_write AS (
    session_id  uuid,
    version     bigint,
    next_seq    bigint,
    next_branch integer,
    entry_count bigint,
    leaf_branch integer,
    leaf_depth  bigint,
    leaf_id     uuid,
    state       text,
    fill_state  text,
    tokens      bigint,
    updated_at  timestamptz
);
CREATE TYPE entry_write AS (
    session_id         uuid,
    seq                bigint,
    branch             integer,
    depth              bigint,
    id                 uuid,
    parent_id          uuid,
    kind               text,
    role               text,
    tokens             integer,
    path_tokens        bigint,
    path_result_tokens bigint,
    usage              bigint,
    source_format      text,
    source_id          text,
    source_key         uuid,
    shape              text,
    record             text,
    item               text,
    created_at         timestamptz
);
