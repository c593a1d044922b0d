-- A summary prepared ahead of red waits in `candidate` until it is committed or dropped. The snapshots say how full
-- the window was when the compaction was started, or just before it was carried out, and what it was afterwards.
ALTER TABLE compactions
    ADD COLUMN candidate text,
    ADD COLUMN snapshot_before text,
    ADD COLUMN snapshot_after text;
