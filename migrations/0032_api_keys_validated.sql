-- Rows stored before the last migration keep its constraint too.
ALTER TABLE api_keys VALIDATE CONSTRAINT api_keys_scopes_known;
