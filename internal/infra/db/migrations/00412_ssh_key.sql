-- +goose Up
-- Private keys and passwords for SSH, which tasks use without seeing them.
CREATE TABLE ssh_key (
	id               TEXT PRIMARY KEY,
	team_id          TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id          TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	project_id       TEXT NOT NULL,             -- empty: none
	name             TEXT NOT NULL,
	algorithm        TEXT NOT NULL,             -- or 'password'
	sealed           $BYTES NOT NULL,           -- the private key in OpenSSH's format, or the password, sealed with the id
	public_key       TEXT NOT NULL,             -- a line of authorized_keys; empty of a password
	fingerprint      TEXT NOT NULL,
	default_host     TEXT NOT NULL,
	default_port     BIGINT NOT NULL,
	default_username TEXT NOT NULL,
	created_at       BIGINT NOT NULL,
	updated_at       BIGINT NOT NULL,
	UNIQUE (team_id, user_id, name)
);

-- The keys of hosts as they were at their first use in a team.
CREATE TABLE ssh_host (
	id          TEXT PRIMARY KEY,
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	address     TEXT NOT NULL,                  -- host:port
	public_key  TEXT NOT NULL,                  -- a line of authorized_keys
	fingerprint TEXT NOT NULL,
	created_at  BIGINT NOT NULL,
	UNIQUE (team_id, address)
);

-- +goose Down
DROP TABLE ssh_host;
DROP TABLE ssh_key;
