-- The sessions of one external id in the order of their ids, so that no number of them makes a list long to read. No
-- column of it changes with an append.
CREATE INDEX sessions_named ON sessions (tenant_id, external_id, id) WHERE external_id IS NOT NULL;
DROP INDEX sessions_external_id;
