-- The leaf of the context that was handed out last: usage that comes late is of the view that this showed.
ALTER TABLE rebuilds ADD COLUMN leaf_id uuid;
