-- More formats that items come in: Gemini's contents, and the session files of Claude Code and Codex.
ALTER TABLE entries
    DROP CONSTRAINT entries_source_format_known,
    ADD CONSTRAINT entries_source_format_known CHECK (source_format IN (
        'native', 'openai_chat', 'openai_responses', 'anthropic', 'gemini', 'pi', 'claude_code', 'codex')) NOT VALID;
