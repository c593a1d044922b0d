-- Columns of words hold the words that the service knows, and no other. Rows stored before this are looked at by the
-- next migration, which keeps nobody from writing meanwhile.
ALTER TABLE entries
    ADD CONSTRAINT entries_kind_known CHECK (kind IN (
        'message', 'compaction', 'branch_summary', 'chapter', 'custom', 'custom_message', 'label', 'session_info',
        'model_change', 'thinking_level_change')) NOT VALID,
    ADD CONSTRAINT entries_role_known CHECK (role IN (
        'system', 'developer', 'user', 'assistant', 'tool', 'bash_execution', 'custom', 'branch_summary',
        'compaction_summary')) NOT VALID,
    ADD CONSTRAINT entries_source_format_known CHECK (source_format IN (
        'native', 'openai_chat', 'openai_responses', 'anthropic', 'pi')) NOT VALID;
ALTER TABLE compactions
    ADD CONSTRAINT compactions_status_known CHECK (status IN (
        'queued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped')) NOT VALID,
    ADD CONSTRAINT compactions_trigger_known CHECK (trigger IN (
        'manual', 'auto', 'ahead', 'chapter', 'overflow')) NOT VALID,
    ADD CONSTRAINT compactions_strategy_known CHECK (strategy IN (
        'auto', 'mask', 'prune', 'truncate', 'sliding', 'smart', 'summarize', 'llm_summarize')) NOT VALID;
ALTER TABLE jobs
    ADD CONSTRAINT jobs_kind_known CHECK (kind IN ('compact', 'recount', 'depart')) NOT VALID,
    ADD CONSTRAINT jobs_status_known CHECK (status IN ('pending', 'running', 'dead')) NOT VALID;
ALTER TABLE hooks
    ADD CONSTRAINT hooks_on_error_known CHECK (on_error IN ('continue', 'cancel')) NOT VALID;
ALTER TABLE hook_deliveries
    ADD CONSTRAINT hook_deliveries_event_known CHECK (event IN (
        'before_compact', 'after_compact', 'before_navigate', 'after_navigate', 'chapter_requested',
        'prune_tool_results', 'format_messages', 'build_summary')) NOT VALID,
    ADD CONSTRAINT hook_deliveries_status_known CHECK (status IN (
        'pending', 'running', 'delivered', 'failed')) NOT VALID;
