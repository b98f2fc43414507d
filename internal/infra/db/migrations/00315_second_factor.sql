-- +goose Up
-- An authenticator app as a second factor of sign-ins by password.
CREATE TABLE second_factor (
	user_id      TEXT PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
	secret       $BYTES NOT NULL,          -- sealed
	confirmed_at BIGINT,                   -- NULL: begun, and not asked for yet
	last_step    BIGINT NOT NULL DEFAULT 0 -- of the last code taken: it and earlier ones are refused
);
CREATE TABLE recovery_code (
	user_id TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	hash    TEXT NOT NULL, -- keyed hash
	PRIMARY KEY (user_id, hash)
);
-- Sign-ins whose password was right, and whose code is missing.
CREATE TABLE login_ticket (
	hash       TEXT PRIMARY KEY, -- keyed hash
	user_id    TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	expires_at BIGINT NOT NULL
);
CREATE INDEX login_ticket_user ON login_ticket (user_id);
CREATE INDEX login_ticket_expires ON login_ticket (expires_at);
ALTER TABLE team ADD COLUMN require_second_factor BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE team DROP COLUMN require_second_factor;
DROP TABLE login_ticket;
DROP TABLE recovery_code;
DROP TABLE second_factor;
