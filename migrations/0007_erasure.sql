-- Which session an answer tells of, so that it goes when the session goes. Answers kept before this have none and end
-- with their 24 hours.
ALTER TABLE idempotency_keys ADD COLUMN session_id uuid;
CREATE INDEX idempotency_keys_session ON idempotency_keys (tenant_id, session_id) WHERE session_id IS NOT NULL;

-- An erased session of which something may still be there. Those erased before this kept more than their forks need.
ALTER TABLE sessions ADD COLUMN erase_due boolean NOT NULL DEFAULT false;
UPDATE sessions SET erase_due = true WHERE deleted_at IS NOT NULL;
CREATE INDEX sessions_erase_due ON sessions (tenant_id, id) WHERE erase_due;

-- An erased session may stay as a row, without its texts, while forks share its history: a foreign key would take new
-- rows for it. The lock makes an erasure wait for whoever has just looked, as a foreign key's check does.
CREATE FUNCTION require_live_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM sessions WHERE tenant_id = NEW.tenant_id AND id = NEW.session_id AND deleted_at IS NULL FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the session is gone' USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'live_session';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER compactions_live_session BEFORE INSERT ON compactions
    FOR EACH ROW EXECUTE FUNCTION require_live_session();
CREATE TRIGGER jobs_live_session BEFORE INSERT ON jobs
    FOR EACH ROW EXECUTE FUNCTION require_live_session();
CREATE TRIGGER departures_live_session BEFORE INSERT ON departures
    FOR EACH ROW EXECUTE FUNCTION require_live_session();
CREATE TRIGGER rebuilds_live_session BEFORE INSERT ON rebuilds
    FOR EACH ROW EXECUTE FUNCTION require_live_session();
CREATE TRIGGER hook_deliveries_live_session BEFORE INSERT ON hook_deliveries
    FOR EACH ROW EXECUTE FUNCTION require_live_session();
CREATE TRIGGER idempotency_keys_live_session BEFORE INSERT ON idempotency_keys
    FOR EACH ROW WHEN (NEW.session_id IS NOT NULL) EXECUTE FUNCTION require_live_session();
