-- +goose Up
-- Security keys and passkeys (WebAuthn) as second factors.
CREATE TABLE security_key (
	id            TEXT PRIMARY KEY,
	user_id       TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	name          TEXT NOT NULL,
	credential_id $BYTES NOT NULL UNIQUE,
	public_key    $BYTES NOT NULL,          -- COSE
	transports    TEXT NOT NULL,            -- how browsers reach it, joined by commas
	flags         BIGINT NOT NULL,          -- the byte of its last answer
	sign_count    BIGINT NOT NULL,          -- of its last answer; 0: it does not count
	created_at    BIGINT NOT NULL,
	last_used_at  BIGINT,
	suspect_at    BIGINT,                   -- when an answer with an old count was last refused
	UNIQUE (user_id, name)
);
-- Challenges that wait for the answer of a key; an answer uses its challenge up.
CREATE TABLE security_key_challenge (
	purpose    TEXT NOT NULL,
	bound      TEXT NOT NULL,   -- what it belongs to: the hash of a ticket, or a session
	user_id    TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	data       $BYTES NOT NULL, -- what the answer is compared with
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (purpose, bound)
);
CREATE INDEX security_key_challenge_user ON security_key_challenge (user_id);
CREATE INDEX security_key_challenge_expires ON security_key_challenge (expires_at);

-- +goose Down
DROP TABLE security_key_challenge;
DROP TABLE security_key;
