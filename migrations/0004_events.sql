-- What happened to sessions, for streams of events. `id` is the order of insertion; `position`, the order in which
-- readers see events, is given after the commit, so that no late commit ever falls behind a reader.
-- No foreign key to sessions: its check would wait for whoever holds the session's row, and a claim holds jobs.
CREATE TABLE events (
    tenant_id     uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id            bigint GENERATED ALWAYS AS IDENTITY,
    session_id    uuid NOT NULL,
    position      bigint,
    kind          text NOT NULL,
    compaction_id uuid,
    phase         text,
    data          text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX events_position ON events (tenant_id, position) WHERE position IS NOT NULL;
CREATE INDEX events_session ON events (tenant_id, session_id, position);
CREATE INDEX events_unplaced ON events (tenant_id, id) WHERE position IS NULL;
CREATE INDEX events_age ON events (created_at);

-- The position given last, and the last one that is no longer kept because of its age.
CREATE TABLE event_positions (
    tenant_id       uuid PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    last_position   bigint NOT NULL DEFAULT 0,
    purged_position bigint NOT NULL DEFAULT 0
);
