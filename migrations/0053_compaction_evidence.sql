-- The statements of a summary and what they cite, as JSON: at most a few hundred of them. It goes with its compaction.
ALTER TABLE compactions ADD COLUMN evidence text;
