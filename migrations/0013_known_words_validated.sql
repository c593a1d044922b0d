-- Rows stored before the constraints of the last migration keep them too.
ALTER TABLE entries
    VALIDATE CONSTRAINT entries_kind_known,
    VALIDATE CONSTRAINT entries_role_known,
    VALIDATE CONSTRAINT entries_source_format_known;
ALTER TABLE compactions
    VALIDATE CONSTRAINT compactions_status_known,
    VALIDATE CONSTRAINT compactions_trigger_known,
    VALIDATE CONSTRAINT compactions_strategy_known;
ALTER TABLE jobs
    VALIDATE CONSTRAINT jobs_kind_known,
    VALIDATE CONSTRAINT jobs_status_known;
ALTER TABLE hooks
    VALIDATE CONSTRAINT hooks_on_error_known;
ALTER TABLE hook_deliveries
    VALIDATE CONSTRAINT hook_deliveries_event_known,
    VALIDATE CONSTRAINT hook_deliveries_status_known;
