-- +goose Up
CREATE TABLE server_secret (
	name  TEXT PRIMARY KEY,
	value $BYTES NOT NULL
);

CREATE TABLE team (
	id          TEXT PRIMARY KEY,
	name        TEXT NOT NULL,
	plan        TEXT NOT NULL,
	owner_id    TEXT NOT NULL,
	webhook_url TEXT NOT NULL DEFAULT '',
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL
);

CREATE TABLE user_account (
	id                 TEXT PRIMARY KEY,
	email              TEXT NOT NULL UNIQUE, -- lower case
	password_hash      TEXT NOT NULL,        -- argon2id, PHC string; empty: no password
	system_admin       BOOLEAN NOT NULL DEFAULT FALSE,
	spending_cap_cents BIGINT,               -- NULL: no cap
	spent_cents        BIGINT NOT NULL DEFAULT 0,
	created_at         BIGINT NOT NULL
);

CREATE TABLE member (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	role       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, user_id)
);
CREATE INDEX member_user ON member (user_id, created_at);

CREATE TABLE api_key (
	id           TEXT PRIMARY KEY,
	user_id      TEXT NOT NULL UNIQUE REFERENCES user_account (id) ON DELETE CASCADE,
	hash         TEXT NOT NULL UNIQUE,
	created_at   BIGINT NOT NULL,
	last_used_at BIGINT
);

-- +goose Down
DROP TABLE api_key;
DROP TABLE member;
DROP TABLE user_account;
DROP TABLE team;
DROP TABLE server_secret;
