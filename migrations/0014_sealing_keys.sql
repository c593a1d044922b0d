-- The secrets that a tenant's handles are sealed with: the newest one seals, each opens what it sealed.
CREATE TABLE sealing_keys (
    tenant_id  uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id         integer NOT NULL,
    secret     bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
