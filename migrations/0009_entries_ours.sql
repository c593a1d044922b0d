-- The entries of a session that this service wrote: few among many, and looked for where a client posts its context back.
CREATE INDEX entries_ours ON entries (tenant_id, session_id, seq)
    WHERE kind IN ('compaction', 'chapter', 'branch_summary');
