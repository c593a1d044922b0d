-- The W3C trace context of the request or job that queued a row: the work on it is linked to that.
ALTER TABLE jobs
    ADD COLUMN traceparent text,
    ADD COLUMN tracestate  text;
ALTER TABLE hook_deliveries
    ADD COLUMN traceparent text,
    ADD COLUMN tracestate  text;
