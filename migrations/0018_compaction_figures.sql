-- What a compaction came to, in figures, so that statistics never read results. Those that ended before this have none.
ALTER TABLE compactions
    ADD COLUMN skip_reason   text,
    ADD COLUMN tokens_shed   bigint,
    ADD COLUMN calls_before  bigint,
    ADD COLUMN cost_usd      double precision,
    ADD COLUMN saved_usd     double precision,
    ADD COLUMN upstream      text,
    ADD COLUMN model         text,
    ADD COLUMN calls         integer,
    ADD COLUMN failed        boolean,
    ADD COLUMN input_tokens  bigint,
    ADD COLUMN output_tokens bigint,
    ADD COLUMN cached_tokens bigint,
    ADD COLUMN latency_ms    bigint,
    ADD CONSTRAINT compactions_skip_reason_known CHECK (skip_reason IN (
        'empty_session', 'already_compacted', 'nothing_to_compact', 'no_valid_cut_point', 'disabled', 'anti_thrash',
        'in_progress', 'below_threshold', 'low_savings', 'cancelled_by_hook', 'would_grow', 'superseded',
        'fixed_overhead', 'stale_usage')) NOT VALID;
CREATE INDEX compactions_ended ON compactions (tenant_id, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX compactions_failed ON compactions (tenant_id, id) WHERE status = 'failed';
CREATE INDEX jobs_dead ON jobs (tenant_id, session_id, compaction_id) WHERE status = 'dead';
