-- One row for each call of an upstream, written when the call ends, whatever becomes of its compaction. Kept for 90 days,
-- and not beyond its session.
CREATE TABLE upstream_calls (
    tenant_id          uuid        NOT NULL,
    id                 uuid        NOT NULL,
    session_id         uuid,
    compaction_id      uuid,
    upstream           text        NOT NULL,
    model              text        NOT NULL,
    at                 timestamptz NOT NULL,
    outcome            text        NOT NULL,
    took_ms            bigint      NOT NULL,
    input_tokens       bigint      NOT NULL,
    output_tokens      bigint      NOT NULL,
    cached_tokens      bigint      NOT NULL,
    cache_write_tokens bigint      NOT NULL,
    -- Billionths of a US dollar: sums of whole numbers are exact.
    nano_usd           bigint      NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX upstream_calls_at ON upstream_calls (tenant_id, at);
CREATE INDEX upstream_calls_session ON upstream_calls (tenant_id, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX upstream_calls_compaction ON upstream_calls (tenant_id, compaction_id) WHERE compaction_id IS NOT NULL;

-- The same by day (midnight, UTC), upstream and model. Stays when the rows go.
CREATE TABLE upstream_days (
    tenant_id          uuid        NOT NULL,
    day                timestamptz NOT NULL,
    upstream           text        NOT NULL,
    model              text        NOT NULL,
    calls              bigint      NOT NULL,
    errors             bigint      NOT NULL,
    input_tokens       bigint      NOT NULL,
    output_tokens      bigint      NOT NULL,
    cached_tokens      bigint      NOT NULL,
    cache_write_tokens bigint      NOT NULL,
    nano_usd           bigint      NOT NULL,
    PRIMARY KEY (tenant_id, day, upstream, model)
);

-- Which processes leave which upstream alone, and until when. Upstreams are of the service, not of a tenant: nothing of a
-- tenant is in it, so that no tenant leads its key.
CREATE TABLE upstream_breakers (
    upstream    text        NOT NULL,
    process     uuid        NOT NULL,
    rests_until timestamptz NOT NULL,
    PRIMARY KEY (upstream, process)
);

-- What a compaction's calls came to, failed and overtaken ones too; `nano_usd` is null where it ended before this.
-- `cache_usd`: what the provider's prompt cache lost by it.
ALTER TABLE compactions
    ADD COLUMN errors             integer,
    ADD COLUMN cache_write_tokens bigint,
    ADD COLUMN nano_usd           bigint,
    ADD COLUMN cache_usd          double precision;

-- Days before this version, as far as compactions tell of them: calls of those that failed are not known, and the cost is
-- with what prompt caches lost, as it was told until now.
INSERT INTO upstream_days (tenant_id, day, upstream, model, calls, errors, input_tokens, output_tokens, cached_tokens,
    cache_write_tokens, nano_usd)
SELECT tenant_id, date_trunc('day', finished_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', upstream, coalesce(model, ''),
    sum(calls), count(*) FILTER (WHERE failed), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
    coalesce(sum(cached_tokens), 0), 0, coalesce(sum(round(cost_usd::numeric * 1000000000)), 0)
  FROM compactions
 WHERE finished_at IS NOT NULL AND upstream IS NOT NULL AND calls > 0
 GROUP BY 1, 2, 3, 4;
