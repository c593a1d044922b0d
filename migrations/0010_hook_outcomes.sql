-- What became of a hook's answer: `replaced` it was used, `unused` it was not, and why.
ALTER TABLE hook_deliveries
    ADD COLUMN outcome        text,
    ADD COLUMN outcome_detail text;
