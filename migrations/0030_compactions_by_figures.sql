-- Compactions by who wrote the summary and by why they were skipped, newest first. Few have either, and both are noted once.
CREATE INDEX compactions_upstream ON compactions (tenant_id, upstream, id) WHERE upstream IS NOT NULL;
CREATE INDEX compactions_skip_reason ON compactions (tenant_id, skip_reason, id) WHERE skip_reason IS NOT NULL;
