-- +goose Up
-- Whom an OpenID issuer's subjects are: bound at the first sign-in, so that an address that moves to somebody else at the
-- issuer does not open the account.
CREATE TABLE user_identity (
	issuer     TEXT NOT NULL,
	subject    TEXT NOT NULL,
	user_id    TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (issuer, subject),
	UNIQUE (issuer, user_id)
);
CREATE INDEX user_identity_user ON user_identity (user_id);
-- Sign-ins by the issuer that succeeded, until they would have expired: none works twice.
CREATE TABLE sign_in_used (
	hash       TEXT PRIMARY KEY, -- SHA-256 of the state
	expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_used_expires ON sign_in_used (expires_at);

-- +goose Down
DROP TABLE sign_in_used;
DROP TABLE user_identity;
