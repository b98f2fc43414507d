-- +goose Up
-- A bearer token of ours is valid while its session is here. Tokens from before have none.
CREATE TABLE user_session (
	id           TEXT PRIMARY KEY,
	user_id      TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	hash         TEXT NOT NULL UNIQUE, -- SHA-256, hex, of the token's claim sid
	user_agent   TEXT NOT NULL,
	address      TEXT NOT NULL,
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL,
	last_used_at BIGINT NOT NULL
);
CREATE INDEX user_session_user ON user_session (user_id, created_at);
CREATE INDEX user_session_expires ON user_session (expires_at);

-- +goose Down
DROP TABLE user_session;
