-- Where a tenant wants to be asked or told. The secret signs what is sent; no call reads it back.
CREATE TABLE hooks (
    tenant_id  uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id         uuid NOT NULL,
    url        text NOT NULL,
    events     text[] NOT NULL,
    secret     text NOT NULL,
    timeout_ms integer NOT NULL,
    on_error   text NOT NULL,
    enabled    boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- What was sent to hooks, and what is still to be sent: queue and log in one. `body` is null where it was too large to
-- be kept.
CREATE TABLE hook_deliveries (
    tenant_id       uuid NOT NULL,
    id              uuid NOT NULL,
    hook_id         uuid NOT NULL,
    session_id      uuid NOT NULL,
    compaction_id   uuid,
    event           text NOT NULL,
    body            text,
    status          text NOT NULL,
    attempts        integer NOT NULL,
    next_at         timestamptz NOT NULL,
    lease_token     uuid,
    lease_until     timestamptz,
    response_status integer,
    response        text,
    error           text,
    duration_ms     bigint,
    created_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, hook_id) REFERENCES hooks (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX hook_deliveries_log ON hook_deliveries (tenant_id, hook_id, id);
CREATE INDEX hook_deliveries_session ON hook_deliveries (tenant_id, session_id);
CREATE INDEX hook_deliveries_due ON hook_deliveries (tenant_id, hook_id, next_at, id) WHERE status = 'pending';
CREATE INDEX hook_deliveries_running ON hook_deliveries (tenant_id, hook_id, lease_until) WHERE status = 'running';
CREATE INDEX hook_deliveries_ended ON hook_deliveries (finished_at) WHERE finished_at IS NOT NULL;
