-- +goose Up
ALTER TABLE member ADD COLUMN invited_at BIGINT; -- NULL: they came with their account, or made the team
ALTER TABLE user_account ADD COLUMN last_sign_in_at BIGINT;

-- Invitations: people who become members when they get an account.
CREATE TABLE invitation (
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	email      TEXT NOT NULL, -- lower case
	role       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (team_id, email)
);
CREATE INDEX invitation_of_email ON invitation (email);

-- Default members of new teams that are created from this one.
CREATE TABLE default_member (
	team_id TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	place   INTEGER NOT NULL, -- in the list, from 0
	email   TEXT NOT NULL,    -- lower case
	role    TEXT NOT NULL,
	PRIMARY KEY (team_id, place)
);

-- +goose Down
DROP TABLE default_member;
DROP TABLE invitation;
ALTER TABLE user_account DROP COLUMN last_sign_in_at;
ALTER TABLE member DROP COLUMN invited_at;
