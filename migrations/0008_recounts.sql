-- How far the job has come, so that its next attempt goes on from there; the job's own words.
ALTER TABLE jobs ADD COLUMN progress text;
CREATE INDEX jobs_dead_recounts ON jobs (tenant_id, id) WHERE status = 'dead' AND kind = 'recount';
