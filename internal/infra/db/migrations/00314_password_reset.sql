-- +goose Up
-- Links for a new password, which work once.
CREATE TABLE password_reset (
	hash       TEXT PRIMARY KEY, -- keyed hash of the token
	user_id    TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	expires_at BIGINT NOT NULL
);
CREATE INDEX password_reset_user ON password_reset (user_id);
CREATE INDEX password_reset_expires ON password_reset (expires_at);

-- +goose Down
DROP TABLE password_reset;
