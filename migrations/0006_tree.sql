-- Which sessions grow from one: forks only, so that its own branches, however many, cost nothing here.
DROP INDEX branches_parent;
CREATE INDEX branches_forks ON branches (tenant_id, parent_session) WHERE parent_session <> session_id;

-- A session whose leaf is about to move, and the summary of the branch that is left. The newest call's alone.
CREATE TABLE departures (
    tenant_id  uuid NOT NULL,
    session_id uuid NOT NULL,
    id         uuid NOT NULL,
    request    text NOT NULL,
    draft      text,
    error      text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id) ON DELETE CASCADE
);
