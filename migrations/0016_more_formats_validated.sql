-- Rows stored before the last migration keep its constraint too.
ALTER TABLE entries VALIDATE CONSTRAINT entries_source_format_known;
