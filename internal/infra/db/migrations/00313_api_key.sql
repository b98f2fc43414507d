-- +goose Up
-- Several keys a user, each with a name, a scope and perhaps an end.
ALTER TABLE api_key RENAME TO api_key_before;
CREATE TABLE api_key (
	id           TEXT PRIMARY KEY,
	user_id      TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name         TEXT NOT NULL,
	hash         TEXT NOT NULL UNIQUE,
	prefix       TEXT NOT NULL, -- how the value begins; empty: made before this was stored
	scope        TEXT NOT NULL, -- read or full
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT,        -- NULL: never
	last_used_at BIGINT,
	UNIQUE (user_id, name)
);
INSERT INTO api_key (id, user_id, name, hash, prefix, scope, created_at, last_used_at)
	SELECT id, user_id, 'default', hash, '', 'full', created_at, last_used_at FROM api_key_before;
DROP TABLE api_key_before;
ALTER TABLE user_account ADD COLUMN service BOOLEAN NOT NULL DEFAULT FALSE; -- a program: keys only, no sign-in

-- +goose Down
ALTER TABLE user_account DROP COLUMN service;
ALTER TABLE api_key RENAME TO api_key_after;
CREATE TABLE api_key (
	id           TEXT PRIMARY KEY,
	user_id      TEXT NOT NULL UNIQUE REFERENCES user_account (id) ON DELETE CASCADE,
	hash         TEXT NOT NULL UNIQUE,
	created_at   BIGINT NOT NULL,
	last_used_at BIGINT
);
-- A version without scopes and ends must not widen a key: only keys that may do everything for ever come along.
INSERT INTO api_key (id, user_id, hash, created_at, last_used_at)
	SELECT id, user_id, hash, created_at, last_used_at FROM api_key_after
	WHERE name = 'default' AND scope = 'full' AND expires_at IS NULL;
DROP TABLE api_key_after;
