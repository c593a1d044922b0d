-- Results that a client fetched though its context no longer showed them, with the beginning of each: a result fetched
-- twice stands in the next summaries.
CREATE TABLE recalls (
    tenant_id    uuid NOT NULL,
    session_id   uuid NOT NULL,
    call_key     uuid NOT NULL,
    tool_call_id text NOT NULL,
    call         text NOT NULL,
    excerpt      text NOT NULL,
    times        integer NOT NULL,
    last_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, call_key),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
