-- Logins to the pages that were ended before their time: their cookies open nothing, at any process. A row goes once its
-- cookie would be over anyhow.
CREATE TABLE ended_logins (
    tenant_id uuid        NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    login_id  uuid        NOT NULL,
    ends_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, login_id)
);
