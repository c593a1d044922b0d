-- The newest text of a model that was refused as a compaction's summary: at most 64 KiB, kept for 7 days, and not beyond
-- its session.
CREATE TABLE refused_texts (
    tenant_id     uuid        NOT NULL,
    compaction_id uuid        NOT NULL,
    session_id    uuid        NOT NULL,
    upstream      text        NOT NULL,
    model         text        NOT NULL,
    reason        text        NOT NULL,
    text          text        NOT NULL,
    is_cut        boolean     NOT NULL,
    at            timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, compaction_id)
);
CREATE INDEX refused_texts_session ON refused_texts (tenant_id, session_id);
CREATE INDEX refused_texts_at ON refused_texts (tenant_id, at);
