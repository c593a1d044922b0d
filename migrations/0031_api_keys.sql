-- What a key may do, until when and how often. Keys made before this keep what they could do: everything but managing keys.
ALTER TABLE api_keys
    ADD COLUMN scopes              text[] NOT NULL DEFAULT '{read,write}',
    ADD COLUMN expires_at          timestamptz,
    ADD COLUMN requests_per_minute integer,
    ADD COLUMN last_used_at        timestamptz,
    ADD COLUMN replaced_by         uuid,
    ADD CONSTRAINT api_keys_scopes_known CHECK (scopes <@ ARRAY['admin', 'read', 'write']) NOT VALID;
