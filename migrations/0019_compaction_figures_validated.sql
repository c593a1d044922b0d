-- Rows stored before the last migration keep its constraint too.
ALTER TABLE compactions VALIDATE CONSTRAINT compactions_skip_reason_known;
